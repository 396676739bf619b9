"""The leaderboard: who is compared with whom, the site it writes, and the repository of a new one."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import yaml

from tests.support.board_kit import claim_more, make_run, run_command, submit
from tests.support.pages import parse_page, read_words
from tests.support.view_kit import choice_samples, make_records, write_run
from vivant.core.types import Reply
from vivant.engine.evaluation import evaluate
from vivant.reporting.board.checking import check_submission
from vivant.reporting.board.entries import (
    BoardConfig,
    BoardEntry,
    BoardSource,
    gather_sources,
    list_entries,
)
from vivant.reporting.board.site import BoardTask, build_sections, write_board
from vivant.reporting.board.submission import Submission, write_submission
from vivant.runs.run import Run

EVIL = "<script>alert(1)</script>\u202e\x00\"'><img src=x onerror=alert(1)>/../../etc"


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


def test_comments_that_people_judge_apart_have_no_rank(tmp_path: Path) -> None:
    for name in ("one", "two"):
        samples = [
            msgspec.structs.replace(sample, task="mimic/comment", options=(), key=None)
            for sample in choice_samples(8)
        ]
        records = make_records(samples, [Reply(text=f"so good, {name}")] * 8)
        write_run(tmp_path / name, samples, records, model=name)
    entries = list_entries(gather_sources([tmp_path])[0])
    assert [(entry.value, entry.rank, entry.standing) for entry in entries] == [
        (100.0, "", "judged apart")
    ] * 2


def test_runs_on_other_questions_are_never_ranked_together(tmp_path: Path) -> None:
    make_run(tmp_path / "a", 110, "one", n=120)
    make_run(tmp_path / "b", 20, "two", n=60)
    sources, _ = gather_sources([tmp_path])
    entries = list_entries(sources)
    assert [(entry.rank, entry.standing) for entry in entries] == [("", "alone")] * 2
    assert len({entry.questions for entry in entries}) == 2


def test_an_entry_alone_on_its_questions_says_so_beside_ranks_on_others(tmp_path: Path) -> None:
    wide = make_run(tmp_path / "runs" / "a", 110, "wide", n=120, tasks=("jsonl/made", "jsonl/other"))
    make_run(tmp_path / "runs" / "b", 20, "narrow", n=120, tasks=("jsonl/made",))
    config = BoardConfig(editions={task: {data: "v1"} for task, data in wide.manifest.settings.data.items()})
    sources, _ = gather_sources([tmp_path / "runs"], None, config)
    entries = list_entries(sources, config)
    assert {(entry.model, entry.task): (entry.rank, entry.standing) for entry in entries} == {
        ("wide", "jsonl/made"): ("1", "ranked"),
        ("narrow", "jsonl/made"): ("2", "ranked"),
        ("wide", "jsonl/other"): ("", "alone"),
    }
    (section,) = build_sections(sources, entries)
    assert [(first.model, first.rank) for first, _ in section.lines] == [("wide", "1"), ("narrow", "2")]
    page = write_board(sources, tmp_path / "site", config).read_text()
    assert page.count('<span class="standing">alone</span>') == 2  # in the overview, and in the task's table


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
    claim_more(broken)
    out = tmp_path / "site"
    result = run_command("board", str(tmp_path / "subs"), "--out", str(out), "--title", "Ours")
    assert result.exit_code == 0, result.stderr
    assert "Refused: broken" in result.stderr
    data = json.loads((out / "board.json").read_text())
    assert {(entry["model"], entry["standing"]) for entry in data["entries"]} == {
        ("mine", "alone"), ("yours", "digest only"),
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
    assert run_command("board", str(tmp_path / "subs"), "--out", str(out)).exit_code == 0
    assert not (out / "models" / "yours.html").exists() and (out / "README.md").exists()
    # A site is no source of another one.
    assert run_command("board", str(tmp_path), "--out", str(tmp_path / "second")).exit_code == 0
    entries = json.loads((tmp_path / "second" / "board.json").read_text())["entries"]
    assert {(entry["model"], entry["standing"]) for entry in entries} == {
        ("mine", "alone"), ("yours", "ranked"), ("broken", "ranked"),
    }  # fmt: skip


def test_a_page_that_is_no_board_is_not_replaced(tmp_path: Path) -> None:
    submit(tmp_path)
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "index.html").write_text("mine")
    result = run_command("board", str(tmp_path / "subs"), "--out", str(tmp_path / "www"))
    assert result.exit_code == 1 and "is not empty and no earlier board" in result.stderr
    assert (tmp_path / "www" / "index.html").read_text() == "mine"


def test_a_board_never_removes_files_that_it_did_not_write(tmp_path: Path) -> None:
    submit(tmp_path, "mine", 40)
    submit(tmp_path, "yours", 20)
    out = tmp_path / "site"
    assert run_command("board", str(tmp_path / "subs"), "--out", str(out), "--logs").exit_code == 0
    (out / "models" / "weights.bin").write_bytes(b"mine")
    shutil.copytree(tmp_path / "subs" / "mine", out / "submissions" / "mine")
    shutil.rmtree(tmp_path / "subs" / "yours")
    # Inputs in the site's folder: refused, and nothing is touched.
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    result = run_command("board", str(out / "submissions" / "mine"), "--out", str(out))
    assert result.exit_code == 1 and "which is to go on the board" in result.stderr
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before
    # Written again: what the board wrote of the other model goes, the rest stays.
    assert run_command("board", str(tmp_path / "subs"), "--out", str(out)).exit_code == 0
    assert (out / "models" / "weights.bin").exists() and (out / "submissions" / "mine" / "log.jsonl").exists()
    assert [file.name for file in (out / "models").glob("*.html")] == ["mine.html"]
    assert len(list((out / "submissions").iterdir())) == 2


def test_a_folder_with_inputs_or_links_is_no_output(tmp_path: Path) -> None:
    submit(tmp_path)
    subs = tmp_path / "subs"
    for folder in (tmp_path, subs, subs / "mine"):
        result = run_command("board", str(subs), "--out", str(folder))
        assert result.exit_code == 1 and "which is to go on the board" in result.stderr
    assert not (tmp_path / "board.json").exists()
    out = tmp_path / "site"
    assert run_command("board", str(subs), "--out", str(out)).exit_code == 0
    (out / ".vivant-board.json").write_text(json.dumps({"files": ["../subs/mine/log.jsonl"]}))
    result = run_command("board", str(subs), "--out", str(out))
    assert result.exit_code == 1 and "leads out of" in result.stderr
    assert (subs / "mine" / "log.jsonl").exists()


def test_a_damaged_run_is_named_by_its_own_folder(tmp_path: Path) -> None:
    run = make_run(tmp_path / "damaged", 30, "x")
    (tmp_path / "damaged" / "samples.jsonl").write_text('{"id": ')
    result = run_command("board", "submit", str(run.dir.path), "--out", str(tmp_path / "sub"))
    assert result.exit_code == 1 and str(run.dir.path / "samples.jsonl") in result.stderr
    assert "vivant-board-" not in result.stderr
    result = run_command("board", str(run.dir.path), "--out", str(tmp_path / "site"))
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
    assert run_command("board", "check", str(folder)).exit_code == 1
    assert run_command("board", "check", str(folder), "--board", str(board)).exit_code == 0
    result = run_command("board", str(folder), "--out", str(tmp_path / "site"), "--board", str(board))
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
        assert parse_page(text).dangers == ["script"]
        assert "\x00" not in text
    assert all(tmp_path / "site" in file.resolve().parents for file in (tmp_path / "site").rglob("*"))
    assert not (tmp_path / "etc").exists()


def test_an_edition_that_the_board_does_not_take_is_refused(tmp_path: Path) -> None:
    folder = submit(tmp_path)
    stated = Run(folder).manifest.settings.data["jsonl/made"]
    file = tmp_path / "board.yaml"
    file.write_text(f"title: Ours\neditions:\n  jsonl/made:\n    {stated}: spring\n")
    assert run_command("board", "check", str(folder), "--board", str(file)).exit_code == 0
    assert (
        run_command("board", str(folder), "--board", str(file), "--out", str(tmp_path / "site")).exit_code
        == 0
    )
    assert "edition spring" in read_words((tmp_path / "site" / "index.html").read_text())
    file.write_text("editions:\n  jsonl/made:\n    0123456789abcdef: autumn\n")
    result = run_command("board", "check", str(folder), "--board", str(file))
    assert result.exit_code == 1 and "this board takes 0123456789abcdef" in result.stderr


def test_the_repository_of_a_new_board_is_ready_to_push(tmp_path: Path) -> None:
    assert run_command("board", "new", str(tmp_path / "ours"), "--title", "Mimed: actions").exit_code == 0
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
    assert run_command("board", "check", str(folder), "--board", str(board)).exit_code == 0
    again = run_command("board", "new", str(tmp_path / "ours"))
    assert again.exit_code == 1 and "exists already" in again.stderr


def list_lines(sources: Sequence[BoardSource], config: BoardConfig) -> Iterator[tuple[BoardTask, BoardEntry]]:
    """Every cell of the overviews with the task whose column it stands in."""
    for section in build_sections(sources, list_entries(sources, config)):
        for _, cells in section.lines:
            yield from ((task, cell) for task, cell in zip(section.tasks, cells, strict=True) if cell)


def test_tasks_whose_names_have_the_same_letters_in_an_address_keep_their_scores(tmp_path: Path) -> None:
    tasks = ("jsonl/猫", "jsonl/犬")
    run = make_run(tmp_path / "runs" / "a", 40, "a", tasks=tasks)
    config = BoardConfig(editions={task: {data: "v1"} for task, data in run.manifest.settings.data.items()})
    sources, _ = gather_sources([tmp_path / "runs"], None, config)
    cells = list(list_lines(sources, config))
    assert sorted(task.task for task, _ in cells) == sorted(tasks)
    assert all(task.task == cell.task for task, cell in cells)


def test_scores_on_other_questions_of_an_edition_stand_in_columns_of_their_own(tmp_path: Path) -> None:
    for seed in (1, 2):
        evaluate("mmrv", "first", data="mini", limit=4, seed=seed, out=str(tmp_path / "runs" / f"{seed}"))
    sources, _ = gather_sources([tmp_path / "runs"])
    cells = list(list_lines(sources, BoardConfig()))
    assert len(cells) == 2
    assert all(cell in task.entries for task, cell in cells)
    assert len({task.anchor for task, _ in cells}) == 2
