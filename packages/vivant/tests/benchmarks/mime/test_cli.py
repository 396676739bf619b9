"""MIME as a user meets it: import, table, score, export, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.helpers import vivant
from tests.support.mime_kit import load_samples, make_raw_choice, make_raw_free, write_json


def test_from_a_result_file_to_a_table_and_back(tmp_path: Path) -> None:
    data = load_samples(tmp_path / "data", "mime/ff")
    texts = ["shooting an arrow", "Answer: shooting an arrow", "aiming a weapon", "cooking"]
    items = [make_raw_free(s, texts[i % 4]) for i, s in enumerate(data)]
    write_json(tmp_path / "cot" / "all" / "raw_ff_gemini_gemini-9.json", items)
    result = vivant(
        *("import", "mime/ff", "cot/all/raw_ff_gemini_gemini-9.json", "--data", "data", "--out", "run"),
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    before = vivant("table", "run", "--layout", "mime:5", "--format", "json", cwd=tmp_path)
    (base, *_) = [row for row in json.loads(before.stdout) if row["group"] == {"variant": "base+blank@0"}]
    assert (base["model"], base["style"], base["task"], base["n"]) == ("gemini-9", "cot", "mime/ff", 5)
    again = vivant("score", "run", "--set", "threshold=0.99", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    after = vivant("table", "run", "--layout", "mime:5", "--set", "threshold=0.99", cwd=tmp_path)
    assert "right from a similarity of 0.99 up" in after.stdout
    default = vivant("table", "run", "--layout", "mime:5", "--format", "json", cwd=tmp_path)
    assert default.stdout == before.stdout, "other settings leave the default scores alone"
    assert json.loads(before.stdout)[0]["value"] > 0
    exported = vivant("export", "run", "--as", "mime-raw", "--out", "native", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    native = json.loads((tmp_path / "native/mime-cropped/cot/all/raw_ff_gemini_gemini-9.json").read_text())
    assert [item["output_text"] for item in native] == [i["output_text"] for i in items[: len(native)]]


def test_a_wrong_file_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    data = load_samples(tmp_path / "data", "mime/mcq")
    items = [make_raw_choice(s) for s in data[:3]] + [make_raw_choice(data[3], video_path="nobody.mp4")]
    write_json(tmp_path / "raw_mcq_x_y.json", {"predictions": items})
    result = vivant("import", "mime/mcq", "raw_mcq_x_y.json", "--data", "data", "--out", "run", cwd=tmp_path)
    assert result.returncode != 0
    assert result.stderr.strip().count("\n") == 0
    assert "1 of 4 predictions fit no sample" in result.stderr and "item 3 'nobody.mp4'" in result.stderr
    assert not (tmp_path / "run").exists()
