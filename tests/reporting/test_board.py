"""The leaderboard: submissions are recomputed, what cannot be is refused, and nothing in them harms a reader."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from typer.testing import CliRunner

from tests.support.pages import parse_page, read_words
from tests.support.view_kit import choice_samples, make_records, write_run
from vivant.benchmarks.sample_units import SampleUnit, TaskOrder
from vivant.cli.main import app
from vivant.core.errors import VivantError
from vivant.core.files import write_jsonl
from vivant.core.records import Record
from vivant.core.types import Reply, Sample
from vivant.engine.evaluation import evaluate
from vivant.reporting.board.checking import check_submission
from vivant.reporting.board.entries import BoardConfig, gather_sources, list_entries
from vivant.reporting.board.site import write_board
from vivant.reporting.board.submission import Submission, SubmissionError, digest_evidence, write_submission
from vivant.runs.run import Run
from vivant.runs.settings import digest
from vivant.runs.stopping import Stopping, write_stopping

EVIL = "<script>alert(1)</script>\u202e\x00\"'><img src=x onerror=alert(1)>/../../etc"


def vivant(*arguments: str) -> Any:
    """The command line, in this process."""
    result = CliRunner().invoke(app, arguments)
    if isinstance(result.exception, VivantError):
        result.stderr_bytes += f"vivant: {result.exception}".encode()
    return result


def make_run(folder: Path, right: int, model: str, n: int = 60, errors: int = 0) -> Run:
    """A run of a made-up task whose manifest states the digest of its questions, as a real one does."""
    samples = choice_samples(n, "jsonl/made")
    replies = [Reply(text="B" if number < right else "C") for number in range(n - errors)]
    replies += [Reply(status="error", error="HTTP 503")] * errors
    run = write_run(folder, samples, make_records(samples, replies), model=model)
    settings = msgspec.structs.replace(run.manifest.settings, data={"jsonl/made": digest(samples)[:16]})
    manifest = msgspec.structs.replace(
        run.manifest, settings=settings, fingerprint=settings.fingerprint(), command=""
    )
    run.dir.manifest_file.write_bytes(msgspec.json.encode(manifest))
    return Run(folder)


def submit(tmp_path: Path, name: str = "mine", right: int = 40, *, include_log: bool = True) -> Path:
    run = make_run(tmp_path / "runs" / name, right, name)
    stated = Submission(name=name, protocol="strict", contributor="Ann", weights="open")
    return write_submission(run, tmp_path / "subs" / name, stated, include_log=include_log)


def restate(folder: Path) -> None:
    """State the digests that the files have now, as somebody would who wants to cheat."""
    file = folder / "submission.json"
    content = json.loads(file.read_text())
    content["digests"] = digest_evidence(folder)
    file.write_text(json.dumps(content))


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


def _claim_more(folder: Path) -> None:
    rows = json.loads((folder / "scores.json").read_text())
    rows[0]["value"] += 5
    (folder / "scores.json").write_text(json.dumps(rows))


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
        (_claim_more, "claims value 71.667, the log gives 66.667"),
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


def test_ranks_are_ranges_and_baselines_have_none(tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path / name, right, model, n=120, errors=errors)
        for name, right, model, errors in (
            ("a", 110, "strong", 0), ("b", 106, "also-strong", 0), ("c", 40, "weak", 0), ("d", 30, "random", 0),
            ("e", 60, "half-gone", 30),
        )
    ]  # fmt: skip
    blind = runs[2].manifest
    settings = msgspec.structs.replace(blind.settings, control="blind", seed=7)
    make_run(tmp_path / "f", 50, "strong", n=120)
    manifest = msgspec.structs.replace(
        blind, model="strong", settings=settings, fingerprint=settings.fingerprint()
    )
    (tmp_path / "f" / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    sources, refused = gather_sources([tmp_path])
    assert refused == []
    entries = list_entries(sources)
    assert [(entry.model, entry.rank, entry.standing) for entry in entries] == [
        ("strong", "1–2", "ranked"),
        ("also-strong", "1–2", "ranked"),
        ("half-gone", "", "incomplete"),
        ("strong", "", "control"),
        ("weak", "3", "ranked"),
        ("random", "", "baseline"),
    ]


def test_runs_on_other_questions_are_never_ranked_together(tmp_path: Path) -> None:
    make_run(tmp_path / "a", 110, "one", n=120)
    make_run(tmp_path / "b", 20, "two", n=60)
    sources, _ = gather_sources([tmp_path])
    entries = list_entries(sources)
    assert [entry.rank for entry in entries] == ["1", "1"]
    assert len({entry.questions for entry in entries}) == 2


def test_stored_scores_are_not_believed(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", 30, "liar")
    run.scores("paper")
    file = run.dir.score_file("paper")
    file.write_bytes(file.read_bytes().replace(b'"value":0.0', b'"value":1.0'))
    assert run.table().rows[0].value == 100.0  # what the forged file says
    sources, _ = gather_sources([tmp_path])
    assert list_entries(sources)[0].value == 50.0


def test_the_same_log_counts_once(tmp_path: Path) -> None:
    make_run(tmp_path / "a", 30, "one")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    sources, refused = gather_sources([tmp_path])
    assert len(sources) == 1 and refused == ["b: has the same log as a"]


def test_the_site_has_pages_data_and_a_folder_per_submission(tmp_path: Path) -> None:
    submit(tmp_path, "mine", 40)
    submit(tmp_path, "yours", 20, include_log=False)
    broken = submit(tmp_path, "broken", 30)
    _claim_more(broken)
    out = tmp_path / "site"
    result = vivant("board", str(tmp_path / "subs"), "--out", str(out), "--title", "Ours")
    assert result.exit_code == 0, result.stderr
    assert "Refused: broken" in result.stderr
    data = json.loads((out / "board.json").read_text())
    assert {(entry["model"], entry["standing"]) for entry in data["entries"]} == {
        ("mine", "ranked"), ("yours", "digest only"),
    }  # fmt: skip
    table = list(csv.DictReader((out / "board.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["model"] for row in table] == [entry["model"] for entry in data["entries"]]
    for entry in data["entries"]:
        folder = out / "submissions" / entry["submission"]
        assert {file.name for file in folder.iterdir()} == {"submission.json", "manifest.json", "scores.json"}
    words = read_words((out / "index.html").read_text())
    assert "Ours" in words and "1 submission refused" in words
    assert "recomputed from its log" in read_words((out / "models" / "mine.html").read_text())
    # Again, with one model less: its page goes, other files stay.
    (out / "README.md").write_text("mine")
    shutil.rmtree(tmp_path / "subs" / "yours")
    assert vivant("board", str(tmp_path / "subs"), "--out", str(out)).exit_code == 0
    assert not (out / "models" / "yours.html").exists() and (out / "README.md").exists()
    # A site is no source of another one.
    assert vivant("board", str(tmp_path), "--out", str(tmp_path / "second")).exit_code == 0
    entries = json.loads((tmp_path / "second" / "board.json").read_text())["entries"]
    assert {(entry["model"], entry["standing"]) for entry in entries} == {
        ("mine", "ranked"), ("yours", "ranked"), ("broken", "ranked"),
    }  # fmt: skip


def test_a_page_that_is_no_board_is_not_replaced(tmp_path: Path) -> None:
    submit(tmp_path)
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "index.html").write_text("mine")
    result = vivant("board", str(tmp_path / "subs"), "--out", str(tmp_path / "www"))
    assert result.exit_code == 1 and "is not empty and no earlier board" in result.stderr
    assert (tmp_path / "www" / "index.html").read_text() == "mine"


def test_a_board_never_removes_files_that_it_did_not_write(tmp_path: Path) -> None:
    submit(tmp_path, "mine", 40)
    submit(tmp_path, "yours", 20)
    out = tmp_path / "site"
    assert vivant("board", str(tmp_path / "subs"), "--out", str(out), "--logs").exit_code == 0
    (out / "models" / "weights.bin").write_bytes(b"mine")
    shutil.copytree(tmp_path / "subs" / "mine", out / "submissions" / "mine")
    shutil.rmtree(tmp_path / "subs" / "yours")
    # Inputs in the site's folder: refused, and nothing is touched.
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    result = vivant("board", str(out / "submissions" / "mine"), "--out", str(out))
    assert result.exit_code == 1 and "which is to go on the board" in result.stderr
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before
    # Written again: what the board wrote of the other model goes, the rest stays.
    assert vivant("board", str(tmp_path / "subs"), "--out", str(out)).exit_code == 0
    assert (out / "models" / "weights.bin").exists() and (out / "submissions" / "mine" / "log.jsonl").exists()
    assert [file.name for file in (out / "models").glob("*.html")] == ["mine.html"]
    assert len(list((out / "submissions").iterdir())) == 2


def test_a_folder_with_inputs_or_links_is_no_output(tmp_path: Path) -> None:
    submit(tmp_path)
    subs = tmp_path / "subs"
    for folder in (tmp_path, subs, subs / "mine"):
        result = vivant("board", str(subs), "--out", str(folder))
        assert result.exit_code == 1 and "which is to go on the board" in result.stderr
    assert not (tmp_path / "board.json").exists()
    out = tmp_path / "site"
    assert vivant("board", str(subs), "--out", str(out)).exit_code == 0
    (out / ".vivant-board.json").write_text(json.dumps({"files": ["../subs/mine/log.jsonl"]}))
    result = vivant("board", str(subs), "--out", str(out))
    assert result.exit_code == 1 and "leads out of" in result.stderr
    assert (subs / "mine" / "log.jsonl").exists()


def test_a_damaged_run_is_named_by_its_own_folder(tmp_path: Path) -> None:
    run = make_run(tmp_path / "damaged", 30, "x")
    (tmp_path / "damaged" / "samples.jsonl").write_text('{"id": ')
    result = vivant("board", "submit", str(run.dir.path), "--out", str(tmp_path / "sub"))
    assert result.exit_code == 1 and str(run.dir.path / "samples.jsonl") in result.stderr
    assert "vivant-board-" not in result.stderr
    result = vivant("board", str(run.dir.path), "--out", str(tmp_path / "site"))
    assert result.exit_code == 1 and "vivant-board-" not in result.stderr


def test_a_name_that_is_not_the_models_is_refused(tmp_path: Path) -> None:
    folder = submit(tmp_path)
    assert check_submission(folder).notes == ()
    file = folder / "submission.json"
    stated = file.read_text()
    for longer in ("Mine", "Mine 8B (new prompt)"):
        file.write_text(stated.replace('"mine"', f'"{longer}"'))
        assert check_submission(folder).notes == (f"The board shows it as '{longer}'; the run is of 'mine'",)
    file.write_text(stated.replace('"mine"', '"better"'))
    (problem,) = check_submission(folder).problems
    assert problem.startswith("It is named 'better', the run is of 'mine'")
    sources, refused = gather_sources([folder, make_run(tmp_path / "other", 12, "other").dir.path])
    assert [source.submission.name for source in sources] == ["other"] and "It is named" in refused[0]
    board = tmp_path / "board.yaml"
    board.write_text("names:\n  mine: better\n")
    assert vivant("board", "check", str(folder)).exit_code == 1
    assert vivant("board", "check", str(folder), "--board", str(board)).exit_code == 0
    result = vivant("board", str(folder), "--out", str(tmp_path / "site"), "--board", str(board))
    assert result.exit_code == 0 and "better" in (tmp_path / "site" / "index.html").read_text()


def test_hostile_names_harm_nobody(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 30, EVIL)
    stated = Submission(name=EVIL, protocol="strict", contributor=EVIL, notes=EVIL)
    write_submission(run, tmp_path / "sub", stated)
    sources, refused = gather_sources([tmp_path / "sub"])
    write_board(sources, tmp_path / "site", BoardConfig(title=EVIL), refused=[*refused, EVIL])
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) == 2
    for page in pages:
        text = page.read_text(encoding="utf-8")
        # The page's own script is the one that its policy allows by digest.
        assert parse_page(text).dangers == (["script"] if page.name == "index.html" else [])
        assert "\x00" not in text
    assert all(tmp_path / "site" in file.resolve().parents for file in (tmp_path / "site").rglob("*"))
    assert not (tmp_path / "etc").exists()


def test_an_edition_that_the_board_does_not_take_is_refused(tmp_path: Path) -> None:
    folder = submit(tmp_path)
    stated = Run(folder).manifest.settings.data["jsonl/made"]
    file = tmp_path / "board.yaml"
    file.write_text(f"title: Ours\neditions:\n  jsonl/made:\n    {stated}: spring\n")
    assert vivant("board", "check", str(folder), "--board", str(file)).exit_code == 0
    assert vivant("board", str(folder), "--board", str(file), "--out", str(tmp_path / "site")).exit_code == 0
    assert "edition spring" in read_words((tmp_path / "site" / "index.html").read_text())
    file.write_text("editions:\n  jsonl/made:\n    0123456789abcdef: autumn\n")
    result = vivant("board", "check", str(folder), "--board", str(file))
    assert result.exit_code == 1 and "this board takes 0123456789abcdef" in result.stderr


def test_the_repository_of_a_new_board_is_ready_to_push(tmp_path: Path) -> None:
    assert vivant("board", "new", str(tmp_path / "ours"), "--title", "Mimed: actions").exit_code == 0
    check = yaml.safe_load((tmp_path / "ours" / ".github" / "workflows" / "check.yml").read_text())
    assert check["permissions"] == {"contents": "read"}
    steps = check["jobs"]["check"]["steps"]
    assert steps[0]["with"]["ref"] == "${{ github.event.pull_request.base.sha }}"
    assert "vivant board check" in steps[-1]["run"]
    # No text of a pull request is pasted into a shell.
    assert all("${{" not in step.get("run", "") for step in steps)
    assert yaml.safe_load((tmp_path / "ours" / "board.yaml").read_text())["title"] == "Mimed: actions"
    space = (tmp_path / "ours" / "space" / "README.md").read_text().split("---")[1]
    assert yaml.safe_load(space)["sdk"] == "static"
    folder = submit(tmp_path)
    board = tmp_path / "ours" / "board.yaml"
    assert vivant("board", "check", str(folder), "--board", str(board)).exit_code == 0
    again = vivant("board", "new", str(tmp_path / "ours"))
    assert again.exit_code == 1 and "exists already" in again.stderr
