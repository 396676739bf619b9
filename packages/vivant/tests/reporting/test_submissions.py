"""Submissions to a leaderboard: they are recomputed, and what cannot be is refused."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tests.support.board_kit import claim_more, make_run, restate, submit
from tests.support.view_kit import make_records
from vivant.benchmarks.sample_units import SampleUnit, TaskOrder
from vivant.core.files import write_jsonl
from vivant.core.records import Record
from vivant.core.types import Reply, Sample
from vivant.engine.evaluation import evaluate
from vivant.reporting.board.checking import check_submission
from vivant.reporting.board.entries import gather_sources
from vivant.reporting.board.submission import Submission, SubmissionError, write_submission
from vivant.runs.run import Run
from vivant.runs.stopping import Stopping, write_stopping


def test_a_run_that_stopped_early_is_refused_until_the_rest_is_asked(tmp_path: Path) -> None:
    """Scored as if its size were fixed, it would have an interval that does not hold."""
    run = make_run(tmp_path / "runs" / "early", 40, "early")
    log = run.dir.log_file.read_bytes().splitlines(keepends=True)
    units = tuple(SampleUnit((sample.id,), 1) for sample in run.dir.samples())
    write_stopping(run.dir, Stopping(tasks={"jsonl/made": TaskOrder(units=units)}))
    run.dir.log_file.write_bytes(b"".join(log[:45]))
    stated = Submission(name="early", protocol="strict")
    with pytest.raises(
        SubmissionError, match=r"jsonl/made stopped early, at 45 of 60 samples.*without --until"
    ):
        write_submission(Run(run.dir.path), tmp_path / "sub", stated)
    assert not (tmp_path / "sub").exists()
    make_run(tmp_path / "runs" / "whole", 30, "whole")
    sources, refused = gather_sources([tmp_path / "runs"])
    assert [source.submission.name for source in sources] == ["whole"]
    assert "early: jsonl/made stopped early" in refused[0]
    run.dir.log_file.write_bytes(b"".join(log))
    assert check_submission(write_submission(Run(run.dir.path), tmp_path / "sub", stated)).passed


def test_a_submission_is_accepted_as_it_was_made(tmp_path: Path) -> None:
    folder = submit(tmp_path)
    result = check_submission(folder)
    assert result.problems == ()
    assert [(row.task, round(row.value or 0, 1), row.n) for row in result.rows] == [("jsonl/made", 66.7, 60)]
    assert {file.name for file in folder.iterdir()} == {
        "submission.json", "manifest.json", "scores.json", "samples.jsonl", "log.jsonl",
    }  # fmt: skip


def test_checking_writes_nothing_into_the_submission(tmp_path: Path) -> None:
    folder = submit(tmp_path)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert check_submission(folder).passed
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def _change_reply(folder: Path) -> None:
    log = folder / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"text":"C"', b'"text":"B"'))


def _change_reply_and_digest(folder: Path) -> None:
    _change_reply(folder)
    restate(folder)


def _change_key(folder: Path) -> None:
    file = folder / "samples.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"key":1', b'"key":2'))
    restate(folder)


def _repeat_question(folder: Path) -> None:
    file = folder / "samples.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:-1], lines[0]]))
    restate(folder)


def _swap_options(folder: Path) -> None:
    records = [
        msgspec.json.decode(line, type=Record) for line in (folder / "log.jsonl").read_bytes().splitlines()
    ]
    swapped = [msgspec.structs.replace(record, order=(0, 2, 1, 3)) for record in records]
    write_jsonl(folder / "log.jsonl", swapped)
    restate(folder)


def _answer_other_question(folder: Path) -> None:
    with (folder / "log.jsonl").open("ab") as log:
        stray = Sample(id="other", task="jsonl/made")
        log.write(msgspec.json.encode(make_records([stray], [Reply(text="B")])[0]) + b"\n")
    restate(folder)


def _link_log(folder: Path) -> None:
    (folder / "log.jsonl").unlink()
    (folder / "log.jsonl").symlink_to("/etc/hostname")


def _add_code(folder: Path) -> None:
    (folder / "evil.py").write_text("raise SystemExit('run')")


def _name_code(folder: Path) -> None:
    file = folder / "manifest.json"
    content = json.loads(file.read_text().replace("jsonl/made", "evil.py/made"))
    file.write_text(json.dumps(content))


def _rename_model(folder: Path) -> None:
    file = folder / "manifest.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "model": "openai/gpt-9"}))


def _drop_task(folder: Path) -> None:
    (folder / "scores.json").write_text("[]")


def _break_json(folder: Path) -> None:
    (folder / "submission.json").write_text('{"name": ')


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (claim_more, "claims value 71.667, the log gives 66.667"),
        (_change_reply, "log.jsonl is not the file that submission.json states"),
        (_change_reply_and_digest, "the log gives 100.000"),
        (_change_key, "or were changed"),
        (_repeat_question, "asks a question twice"),
        (_swap_options, "shows other options than its question has"),
        (_answer_other_question, "which samples.jsonl does not ask"),
        (_link_log, "log.jsonl is a link"),
        (_add_code, "evil.py does not belong to a submission"),
        (_name_code, "changed by hand"),
        (_rename_model, "it states the model 'openai/gpt-9', its settings 'mine'"),
        (_drop_task, "claims nothing for it"),
        (_break_json, "submission.json cannot be read"),
    ],
)
def test_a_submission_that_cannot_be_recomputed_is_refused(
    tmp_path: Path, damage: object, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = submit(tmp_path)
    monkeypatch.chdir(folder)  # a file beside it must not be taken for a benchmark
    assert callable(damage)
    damage(folder)
    result = check_submission(folder)
    assert any(reason in problem for problem in result.problems), result.problems


def test_code_beside_a_submission_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = submit(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("from pathlib import Path; Path('ran').touch()")
    manifest = json.loads((folder / "manifest.json").read_text().replace("jsonl/made", "evil.py/made"))
    run = msgspec.convert(manifest, type=type(Run(folder).manifest))
    manifest["fingerprint"] = run.settings.fingerprint()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    scores = (folder / "scores.json").read_text().replace("jsonl/made", "evil.py/made")
    (folder / "scores.json").write_text(scores)
    for name in ("samples.jsonl", "log.jsonl"):
        file = folder / name
        file.write_text(file.read_text().replace("jsonl/made", "evil.py/made"))
    restate(folder)
    assert not check_submission(folder).passed
    assert not (tmp_path / "ran").exists()


def test_a_digest_needs_the_run_that_it_is_of(tmp_path: Path) -> None:
    folder = submit(tmp_path, include_log=False)
    assert not (folder / "log.jsonl").exists() and not (folder / "samples.jsonl").exists()
    assert "nothing can be recomputed" in check_submission(folder).problems[0]
    assert check_submission(folder, tmp_path / "runs" / "mine").passed
    other = make_run(tmp_path / "runs" / "other", 12, "other")
    assert "is not the file" in check_submission(folder, other.dir.path).problems[0]


def test_a_part_of_an_edition_is_compared_with_its_data(tmp_path: Path) -> None:
    run = evaluate("mime/mcq", "random", data=("mini",), limit=12, out=str(tmp_path / "run"))
    folder = write_submission(run, tmp_path / "sub", Submission(name="random", protocol="paper"))
    result = check_submission(folder)
    assert result.problems == () and "12 of 170 questions" in result.notes[0]
    file = folder / "samples.jsonl"
    key = msgspec.json.decode(file.read_bytes().splitlines()[0])["key"]
    file.write_bytes(file.read_bytes().replace(b'"key":%d' % key, b'"key":%d' % ((key + 1) % 4), 1))
    restate(folder)
    assert any("is not the one of the data" in problem for problem in check_submission(folder).problems)


@pytest.mark.parametrize("benchmark", ["mmrv", "mimic/thinking", "milebench/S-1"])
def test_runs_of_the_bundled_benchmarks_can_be_submitted(tmp_path: Path, benchmark: str) -> None:
    run = evaluate(benchmark, "random", data=("mini",), limit=5, out=str(tmp_path / "run"))
    folder = write_submission(run, tmp_path / "sub", Submission(name="random", protocol="paper"))
    assert check_submission(folder).problems == ()


def test_a_submission_names_no_folder_of_its_machine(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "x", 10, "x")
    manifest = msgspec.structs.replace(
        run.manifest,
        roots={"jsonl/made": "/home/ann/secret/data"},
        server="http://10.0.0.7:8000/v1",
        command="vivant run /home/ann/secret/mine.jsonl --model x",
    )
    run.dir.manifest_file.write_bytes(msgspec.json.encode(manifest))
    folder = write_submission(Run(run.dir.path), tmp_path / "sub", Submission(name="x", protocol="strict"))
    text = (folder / "manifest.json").read_text()
    assert "secret" not in text and "10.0.0.7" not in text and "mine.jsonl" in text


def test_a_link_must_be_a_web_address() -> None:
    with pytest.raises(SubmissionError, match="no web address"):
        Submission(name="x", protocol="paper", link="javascript:alert(1)")
