"""Logs that Inspect wrote, as runs. The files in `data/` were written by Inspect 0.3.285."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path

import msgspec
import pytest

from tests.support.helpers import vivant
from vivant import api
from vivant.bridges.formats import import_results
from vivant.bridges.inspect_export import export_inspect
from vivant.bridges.inspect_import import import_inspect
from vivant.core.errors import DataError, UsageError, VivantError
from vivant.core.types import Image, Text
from vivant.runs.directory import RunError

DATA = Path(__file__).parent / "data"


def test_choices_epochs_pictures_and_metadata_are_kept(tmp_path: Path) -> None:
    run = import_inspect(DATA / "colours.eval", tmp_path / "run")
    (part,) = run.scores()
    assert part.task == "inspect/colours"
    assert part.model == "vivant/./model.py:Painter"
    assert {(s.id, r.repeat, c.value) for s, r, c in part.rows if r is not None} == {
        ("1", 0, 1.0),
        ("1", 1, 1.0),
        ("two", 0, 0.0),
        ("two", 1, 0.0),
    }
    first = part.rows[0][0]
    assert first.facets == {"kind": "plain", "n": "3"}
    assert [option.text for option in first.options] == ["red", "blue"]
    assert first.key == 0
    record = part.rows[0][1]
    assert record is not None
    assert record.reply.text == "ANSWER: A"
    (picture, text) = record.messages[0].parts
    assert isinstance(picture, Image) and isinstance(text, Text)
    assert (Path(part.root) / picture.path).read_bytes().startswith(b"\x89PNG")
    assert "Which colour?" in text.text


@pytest.mark.parametrize("name", ["words.eval", "words.json"])
def test_several_scorers_are_kept_and_one_is_chosen(name: str, tmp_path: Path) -> None:
    run = import_inspect(DATA / name, tmp_path / "run")
    assert [score.value for _, _, score in run.scores()[0].rows] == [1.0, 1.0]  # includes: the first
    assert [s.value for _, _, s in run.scores(values={"scorer": "match"})[0].rows] == [1.0, 0.0]
    table = run.table(values={"scorer": "graded.grade"})
    assert table.rows[0].value == pytest.approx(4.75)  # a scale of ten: printed as Inspect prints it
    with pytest.raises(UsageError, match="Unknown scorer 'macth'; did you mean 'match'"):
        run.scores(values={"scorer": "macth"})


def test_roles_and_targets_of_a_conversation(tmp_path: Path) -> None:
    run = import_inspect(DATA / "words.eval", tmp_path / "run")
    rows = {sample.id: (sample, record) for sample, record, _ in run.scores()[0].rows}
    sample, record = rows["w2"]
    assert sample.answers == ("hi", "hello")
    assert record is not None and record.reply.text == "hello there"
    _, record = rows["w1"]
    assert record is not None and [message.role for message in record.messages] == ["system", "user"]


@pytest.mark.parametrize("suffix", [".json", ".eval"])
def test_a_sample_that_inspect_left_unscored_is_left_out(suffix: str, tmp_path: Path) -> None:
    """Inspect writes NaN for it, and for a metric without samples: neither is strict JSON."""
    log = json.loads((DATA / "words.json").read_text())
    log["samples"][0]["scores"] = {"includes": {"value": math.nan}}
    log["samples"][1]["scores"] = {"includes": {"value": "I"}}
    log["results"]["scores"][0]["metrics"]["stderr"]["value"] = math.nan
    path = tmp_path / f"words{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps(log))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for sample in log["samples"]:
                archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
            archive.writestr("header.json", json.dumps({**log, "samples": None}))
    run = import_inspect(path, tmp_path / "run")
    rows = {sample.id: score for sample, _, score in run.scores()[0].rows}
    assert (rows["w1"].status, rows["w2"].value) == ("missing", 0.0)
    assert (run.table().rows[0].value, run.table().rows[0].n) == (0.0, 1)


def test_the_command_prints_the_scores_and_names_the_run(tmp_path: Path) -> None:
    result = vivant("import", "--as", "inspect", DATA / "colours.eval", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "inspect/colours" in result.stdout
    assert " 50.0" in result.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("inspect-colours-")
    again = vivant("import", "--as", "inspect", DATA / "colours.eval", cwd=tmp_path)
    assert again.returncode == 1
    assert "exists already" in again.stderr


def test_a_folder_becomes_a_run_per_log(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("colours.eval", "words.eval"):
        (logs / name).write_bytes((DATA / name).read_bytes())
    runs = import_results("inspect", logs, tmp_path / "runs")
    assert [run.path.name for run in runs] == ["colours", "words"]
    with pytest.raises(RunError, match="exists already"):
        import_results("inspect", logs, tmp_path / "runs")


def _archive(path: Path, samples: list[dict[str, object]], **header: object) -> Path:
    spec = {"task": "t", "model": "m", "created": "2026-01-01T00:00:00+00:00"}
    with zipfile.ZipFile(path, "w") as archive:
        head = {"version": 2, "status": "success", "eval": spec, **header}
        archive.writestr("header.json", msgspec.json.encode(head))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", msgspec.json.encode(sample))
    return path


def test_failures_are_states(tmp_path: Path) -> None:
    samples: list[dict[str, object]] = [
        {"id": "good", "output": {"completion": "yes"}, "scores": {"s": {"value": True}}},
        {"id": "none", "output": {"completion": "hm"}, "scores": {"s": {"value": "N"}}},
        {"id": "partly", "output": {"completion": "so so"}, "scores": {"s": {"value": "P"}}},
        {"id": "broken", "error": {"message": "out of\nmemory"}},
        {
            "id": "filtered",
            "output": {
                "choices": [{"message": {"role": "assistant"}, "stop_reason": "content_filter"}],
            },
        },
    ]
    run = import_inspect(_archive(tmp_path / "x.eval", samples), tmp_path / "run")
    rows = {sample.id: (record, score) for sample, record, score in run.scores()[0].rows}
    assert {name: score.status for name, (_, score) in rows.items()} == {
        "good": "scored",
        "none": "unparsed",
        "partly": "scored",
        "broken": "missing",
        "filtered": "missing",
    }
    assert rows["partly"][1].value == 0.5
    assert rows["broken"][0] is not None and rows["broken"][0].reply.error == "out of memory"
    assert rows["filtered"][0] is not None and rows["filtered"][0].reply.status == "refused"


@pytest.mark.parametrize(("scorer", "shown"), [("model_graded_qa", 50.0), ("rater", 0.5)])
def test_numbers_of_an_unknown_scorer_are_shown_as_they_are(
    scorer: str, shown: float, tmp_path: Path
) -> None:
    samples: list[dict[str, object]] = [
        {"id": number, "scores": {scorer: {"value": number}}} for number in (0, 1)
    ]
    run = import_inspect(_archive(tmp_path / "x.eval", samples), tmp_path / "run")
    assert run.table().rows[0].value == pytest.approx(shown)
    told = any("for its scale is not known" in note for note in run.manifest.notes)
    assert told == (scorer == "rater")


def test_a_log_that_was_cut_off_says_so(tmp_path: Path) -> None:
    path = _archive(tmp_path / "x.eval", [{"id": 1, "scores": {"s": {"value": 1}}}], status="cancelled")
    run = import_inspect(path, tmp_path / "run")
    assert any("did not finish" in note and "cancelled" in note for note in run.manifest.notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not a zip", "is no Inspect log"),
        (b"", "is no Inspect log"),
    ],
)
def test_other_files_are_refused_in_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.eval"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        import_inspect(path, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_damaged_member_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    content = bytearray((DATA / "colours.eval").read_bytes())
    start = content.index(b"samples/1_epoch_1.json") + 60
    content[start : start + 200] = bytes(200)
    path = tmp_path / "x.eval"
    path.write_bytes(content)
    with pytest.raises(VivantError, match=r"x\.eval, samples/1_epoch_1\.json"):
        import_inspect(path, tmp_path / "run")
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.eval"]


def test_imported_tasks_cannot_be_run(tmp_path: Path) -> None:
    result = vivant("run", "inspect/colours", "--model", "random", cwd=tmp_path)
    assert result.returncode == 1
    assert "cannot be run" in result.stderr
    assert "vivant import --as inspect" in result.stderr


def test_an_unknown_harness_is_suggested(tmp_path: Path) -> None:
    result = vivant("import", "--as", "inspekt", "x", cwd=tmp_path)
    assert result.returncode == 1
    assert "did you mean 'inspect'" in result.stderr


def test_an_export_keeps_ids_apart(tmp_path: Path) -> None:
    lines = [
        {"id": name, "question": "Which?", "choices": ["x", "y"], "answer": "x"} for name in ("a/b", "a_b")
    ]
    (tmp_path / "q.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    run = api.evaluate(str(tmp_path / "q.jsonl"), "random", out=tmp_path / "run")
    (file,) = export_inspect(run, tmp_path / "logs")
    with zipfile.ZipFile(file) as archive:
        names = {name for name in archive.namelist() if name.startswith("samples/")}
    assert names == {"samples/a%2Fb_epoch_1.json", "samples/a_b_epoch_1.json"}


def test_exports_with_other_scoring_settings_lie_beside_each_other(tmp_path: Path) -> None:
    run = import_inspect(DATA / "words.eval", tmp_path / "run")
    (plain,) = export_inspect(run, tmp_path / "logs")
    content = plain.read_bytes()
    (other,) = export_inspect(run, tmp_path / "logs", values={"scorer": "match"})
    assert other != plain
    assert plain.read_bytes() == content
    assert export_inspect(run, tmp_path / "logs", values={"scorer": ""}) == [plain]
