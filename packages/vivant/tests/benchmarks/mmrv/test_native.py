"""The original's result files: joined by question_idx, refused when ids do not fit, written as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.helpers import vivant
from tests.support.mmrv_kit import TASK, make_item, make_record, make_sample, score_pairs, write_items
from vivant.benchmarks.base import Imported, ScoreSettings
from vivant.benchmarks.mmrv import MMRV
from vivant.core.errors import DataError, UsageError
from vivant.core.records import Score
from vivant.core.types import Reply, Sample

SAMPLES = [make_sample(n) for n in range(4)]


def read_import(file: Path, samples: list[Sample] | None = None) -> Imported:
    imported = MMRV().native.read_predictions(file, SAMPLES if samples is None else samples, "mcq")
    assert imported is not None
    return imported


def score_by_id(imported: Imported) -> dict[str, Score]:
    by_id = {entry.id: entry for entry in imported.samples}
    pairs = [(by_id[entry.id], entry) for entry in imported.records]
    return {score.id: score for score in MMRV().score(pairs, ScoreSettings())}


def make_result(number: int, reply: Any, **changes: Any) -> dict[str, Any]:
    return {**make_item(number), "gpt-x_raw_response": reply, **changes}


def test_gpt_4o_is_right_on_96_of_the_200(parity: Path) -> None:
    imported = read_import(parity / "mmrv" / "questions_200.json")
    assert (imported.model, imported.style, len(imported.samples)) == ("gpt-4o", "cot", 200)
    assert sum(score.value or 0 for score in score_by_id(imported).values()) == 96
    assert any("no question_idx" in note for note in imported.notes)
    assert any("1 stored answers differ" in note for note in imported.notes)


def test_logged_replies_join_a_set_of_that_size(parity: Path) -> None:
    everything = [make_sample(n, options=[f"({x}) {x}" for x in "ABCDEFGHIJKL"]) for n in range(1257)]
    for name, model, style in (
        ("mmrv_gemma-3-12b-it.json", "gemma-3-12b-it", "zero-shot"),
        ("mmrv_gemma-3-27b-it_cot.json", "gemma-3-27b-it", "cot"),
        ("mmrv_o4-cot.json", "o4", "cot"),
    ):
        file = parity / "mmrv" / name
        imported = read_import(file, everything)
        assert (imported.model, imported.style) == (model, style)
        result = score_by_id(imported)
        for entry in json.loads(file.read_text()):
            assert (result[str(entry["idx"])].answer or None) == entry["answer"]
    assert any("122 replies are empty" in note for note in imported.notes)
    assert any("331 of 1257 questions have no reply; the first is 926" in note for note in imported.notes)


def test_results_are_joined_by_id_not_by_place_or_text(tmp_path: Path) -> None:
    results = [make_result(2, "[[C]]", question="same"), make_result(0, "[[A]]", question="same")]
    imported = read_import(write_items(tmp_path / "gpt-x_on_MMR_V_cot.json", results))
    assert (imported.model, imported.style) == ("gpt-x", "cot")
    assert {name: score.answer for name, score in score_by_id(imported).items()} == {"2": "C", "0": "A"}
    assert len(imported.samples) == 4
    assert imported.notes == ("gpt-x_on_MMR_V_cot.json: 2 of 4 questions have no reply; the first is 1",)


def test_a_mapping_by_id_and_json_lines_are_read_too(tmp_path: Path) -> None:
    mapping = {"1": {"gpt-x_raw_response": "[[B]]"}, "3": {"gpt-x_raw_response": "\\boxed{C}"}}
    found = score_by_id(read_import(write_items(tmp_path / "a.json", mapping)))
    assert {name: score.answer for name, score in found.items()} == {"1": "B", "3": "C"}
    lines = tmp_path / "a.jsonl"
    lines.write_bytes(b"\n".join(msgspec.json.encode(make_result(n, "[[C]]")) for n in range(4)))
    assert sum(score.value or 0 for score in score_by_id(read_import(lines)).values()) == 4


def test_failures_are_errors_and_empty_replies_are_unparsed(tmp_path: Path) -> None:
    results = [
        make_result(0, None),
        make_result(1, "Error: Invalid response type"),
        make_result(2, ""),
        make_result(3, "[[C]]"),
    ]
    imported = read_import(write_items(tmp_path / "gpt-x_on_MMR_V.json", results))
    assert [entry.reply.status for entry in imported.records] == ["error", "error", "ok", "ok"]
    assert any("2 replies are missing or failed" in note and "first is 0" in note for note in imported.notes)
    assert any("1 replies are empty" in note and "first is 2" in note for note in imported.notes)
    assert score_by_id(imported)["2"].status == "unparsed"


def refuse(file: Path, *words: str) -> None:
    with pytest.raises(DataError) as caught:
        MMRV().native.read_predictions(file, SAMPLES, "mcq")
    line = str(caught.value)
    assert "\n" not in line
    for word in (file.name, *words):
        assert word in line


def test_ids_that_do_not_fit_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    double = [
        make_result(0, "[[A]]"),
        make_result(1, "[[A]]"),
        make_result(1, "[[B]]"),
        make_result(0, "[[B]]"),
    ]
    refuse(
        write_items(tmp_path / "d.json", double),
        "2 ids stand more than once",
        "first is 1",
        "item 1 and item 2",
    )
    unknown = [make_result(0, "[[A]]"), make_result(77, "[[A]]"), make_result(78, "[[A]]")]
    refuse(write_items(tmp_path / "s.json", unknown), "2 of 3 ids", "first is 77")
    without = [
        make_result(0, "[[A]]"),
        {k: v for k, v in make_result(1, "[[A]]").items() if k != "question_idx"},
    ]
    refuse(write_items(tmp_path / "w.json", without), "item 1", "no question_idx")
    two = [{**make_result(0, "[[A]]"), "gpt-y_raw_response": "[[B]]"}]
    refuse(write_items(tmp_path / "t.json", two), "2 models (gpt-x, gpt-y)")
    assert read_import(write_items(tmp_path / "gpt-y_on_MMR_V.json", two)).model == "gpt-y"
    broken = tmp_path / "b.json"
    broken.write_bytes(msgspec.json.encode([make_result(0, "[[A]]")])[:-30])
    refuse(broken, "not valid JSON")


def test_other_files_are_left_to_others(tmp_path: Path) -> None:
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"id": "0", "response": "[[A]]"}\n')
    assert MMRV().native.read_predictions(plain, SAMPLES, "mcq") is None
    table = tmp_path / "x.csv"
    table.write_text("a,b\n")
    assert MMRV().native.read_predictions(table, SAMPLES, "mcq") is None


def test_the_command_line_imports_tabulates_and_exports(tmp_path: Path) -> None:
    results = [make_result(n, "so [[C]]" if n % 2 else "it is c") for n in range(4)]
    write_items(tmp_path / "data" / "MMR-V.json", [make_item(n) for n in range(4)])
    file = write_items(tmp_path / "gpt-x_on_MMR_V.json", results)
    done = vivant("import", "mmrv", file, "--data", tmp_path / "data", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = vivant("table", "run", "--layout", "mmrv:extraction", "--format", "json", cwd=tmp_path)
    found = {row["group"]["step"]: (row["n"], row["value"]) for row in json.loads(table.stdout)}
    assert found == {"[[X]]": (2, 100.0), "last letter": (2, 100.0)}
    done = vivant("export", "run", "--as", "mmrv-raw", "--out", "native", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    exported = json.loads((tmp_path / "native" / "gpt-x_on_MMR_V.json").read_text())
    assert [entry["gpt-x_raw_response"] for entry in exported] == [
        entry["gpt-x_raw_response"] for entry in results
    ]
    write_items(file, [*results, results[0]])
    done = vivant("import", "mmrv", file, "--data", tmp_path / "data", "--out", "run2", cwd=tmp_path)
    assert done.returncode != 0
    assert "1 ids stand more than once; the first is 0" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_export_is_read_back_as_it_was(tmp_path: Path) -> None:
    odd = make_sample(1, videoType="movie", correctAnswer="(B) ")
    pairs = [
        (make_sample(0), make_record(make_sample(0), "so [[C]]")),
        (odd, make_record(odd, "nothing here to see")),
    ]
    run = score_pairs(pairs, model="lab/m", style="cot")
    missing = (make_sample(2), None, Score(key=f"{TASK}/2", task=TASK, id="2", status="missing"))
    failed = msgspec.structs.replace(
        make_record(make_sample(3), ""), reply=Reply(status="error", error="time-out")
    )
    error = (make_sample(3), failed, Score(key=failed.key, task=TASK, id="3", status="missing", rule="error"))
    run = msgspec.structs.replace(run, rows=(*run.rows, missing, error))
    (path,) = MMRV().native.export([run], "mmrv-raw", tmp_path)
    assert path.name == "lab_m_on_MMR_V_cot.json"
    first, second, third, fourth = json.loads(path.read_text())
    assert {k: v for k, v in first.items() if not k.startswith("lab/m")} == make_item(0)
    assert first["lab/m_response"] == {"final_answer": "C"}
    assert (second["videoType"], second["correctAnswer"], "lab/m_response" in second) == (
        "movie",
        "(B) ",
        False,
    )
    assert third["lab/m_raw_response"] is None and fourth["lab/m_raw_response"] is None
    assert [r.reply.status for r in read_import(path).records] == ["ok", "ok", "error", "error"]
    again = score_by_id(read_import(path))
    assert [again[n].value for n in ("0", "1")] == [score.value for _, _, score in run.rows[:2]]
    with pytest.raises(UsageError, match="mmrv-raw"):
        MMRV().native.export([run], "csv", tmp_path)
