"""Commands that the documentation shows work: each is executed on the mini-editions, or at least parsed.

tests/support/doc_commands.py says what takes the place of servers, keys, accelerators and downloads.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import vivant
from tests.support.data_files import base64_image, write_tsv
from tests.support.doc_commands import (
    LONG_REASON,
    ROOT,
    ShownCommand,
    explain_unrunnable,
    list_commands,
    list_pages,
    localise,
    parse_command,
)
from tests.support.helpers import picture, questions
from tests.support.suite_kit import write_suite
from vivant import mini
from vivant.cli.main import app
from vivant.core.errors import VivantError
from vivant.core.files import write_jsonl
from vivant_build.mimic.topics import QUESTIONS, Topic, make_questions

PAGES = [page for page in list_pages() if list_commands(page)]
RUNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "mime": ("mime", "random", {}),
    "mime-twice": ("mime/mcq", "random", {"repeat": 2, "permute": 2}),
    "mime-blind": ("mime/mcq", "random", {"control": "blind", "repeat": 2, "permute": 2}),
    "mime-shuffled": ("mime/mcq", "random", {"control": "shuffled", "repeat": 2, "permute": 2}),
    "nearest": ("mime/mcq", "blind", {}),
    "mmie": ("mmie", "blind", {}),
    "mmie-random": ("mmie", "random", {}),
    "comment": ("mimic/comment", "random", {}),
    "comment-blind": ("mimic/comment", "blind", {}),
    "mmrv": ("mmrv", "random", {}),
}
PLACES = {
    "README.md": {"runs/demo/vivant-tiny": "mime", "runs/demo/nearest": "nearest"},
    "docs/judges.md": {"RUN": "mmie"},
    "docs/mime.md": {"RUN": "mime"},
    "docs/mimic.md": {"runs/b": "comment-blind"},
    "docs/mmie.md": {"RUN": "mmie"},
    "docs/mmrv.md": {"runs/gpt-x": "mmrv"},
    "docs/report.md": {"runs/mime-a": "mime", "runs/mmrv-a": "mmrv"},
    "docs/statistics.md": {"RUN": "mime-twice", "RUN-blind": "mime-blind", "RUN-shuffled": "mime-shuffled"},
    "docs/studies.md": {
        "runs/a": "comment",
        "runs/b": "comment-blind",
        "runs/mmie-a": "mmie",
        "runs/mmie-b": "mmie-random",
        "runs/my-model": "mime",
    },
}
"""Runs that a page's reader has made, by the name that the page gives them."""


SUITE_PAGES = ("docs/bring-your-benchmark.md", "docs/from-vlmevalkit.md")


def write_suite_data(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What readers of the pages on described benchmarks have: a table, a small MMMU, one of VLMEvalKit's tables."""
    picture(folder / "p.png")
    lines = ["id,question,choices,answer,image"]
    lines += [f"{n},Which?,\"['left', 'right']\",B,p.png" for n in range(3)]
    (folder / "questions.csv").write_text("\n".join(lines))
    write_suite("mmmu", folder / "data" / "mmmu")
    rows = [
        {"index": n, "image": base64_image(n), "question": "?", "A": "x", "B": "y", "answer": "A"}
        for n in range(2)
    ]
    write_tsv(folder / "MMBench_DEV_EN.tsv", [{**row, "category": "c"} for row in rows])
    monkeypatch.setenv("VIVANT_DATA", str(folder / "data"))
    monkeypatch.setenv("LMUData", str(folder))


@pytest.fixture(scope="module")
def base_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small run of each kind."""
    folder = tmp_path_factory.mktemp("base")
    for name, (selector, model, options) in RUNS.items():
        vivant.evaluate(selector, model, data="mini", limit=4, out=folder / name, **options)
    judged = CliRunner().invoke(app, ["score", str(folder / "mmie"), "--judge", "heuristic"])
    assert judged.exit_code == 0, judged.exception
    return folder


@pytest.fixture
def reader(page: str, base_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder: their runs, their questions, the mini-editions as data."""
    data = mini.root("mime")
    assert data is not None
    monkeypatch.setenv("VIVANT_DATA", str(data.parent))
    monkeypatch.setenv("VIVANT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.chdir(tmp_path)
    for place, run in PLACES.get(page, {}).items():
        shutil.copytree(base_runs / run, tmp_path / place)
    questions(tmp_path, 4)
    if page in SUITE_PAGES:
        write_suite_data(tmp_path, monkeypatch)
    if page == "docs/mimic-topics.md":
        _write_topic_questions(tmp_path / "w" / "topics")
    if page != "docs/your-own-model.md":
        assert CliRunner().invoke(app, ["models", "new", "my_model.py"]).exit_code == 0
    return tmp_path


def _write_topic_questions(folder: Path) -> None:
    """What the step topics leaves for a review."""
    topics = [
        Topic(id=f"en-{n:02d}", name=f"bread {n}", terms=("bread", f"{n}"), videos=9, examples=(f"Loaf {n}",))
        for n in range(1, 6)
    ]
    folder.mkdir(parents=True)
    write_jsonl(folder / QUESTIONS, make_questions(topics, 0))


@pytest.mark.parametrize("page", PAGES)
def test_every_command_shown_is_one_that_the_command_line_takes(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in list_commands(page):
        try:
            parse_command(command)
        except Exception as error:
            pytest.fail(f"{page}, line {command.line}: {command.text}\n{getattr(error, 'message', error)}")


def mark_pages() -> Iterator[Any]:
    """Yield the pages; one on which no command is new is left to `make test-full`."""
    seen: set[str] = set()
    for page in PAGES:
        names = {command.words[0] for command in list_commands(page)}
        yield pytest.param(page, marks=() if names - seen else pytest.mark.full)
        seen |= names


@pytest.mark.parametrize("page", [*mark_pages()])
def test_every_command_that_can_run_here_runs(page: str, reader: Path) -> None:
    for command in list_commands(page):
        if explain_unrunnable(command, reader):
            continue
        words = expand(localise(command))
        result = CliRunner().invoke(app, words, catch_exceptions=True)
        if result.exit_code != 0:
            reason = result.exception if isinstance(result.exception, VivantError) else repr(result.exception)
            pytest.fail(
                f"{page}, line {command.line}: vivant {' '.join(words)}\n{reason}\n{result.output[-500:]}"
            )


def expand(words: list[str]) -> list[str]:
    """File patterns as a shell expands them."""
    return [
        path
        for word in words
        for path in (sorted(map(str, Path().glob(word))) if "*" in word else []) or [word]
    ]


def test_most_commands_are_executed(tmp_path: Path) -> None:
    """So that a rule that leaves commands out cannot quietly leave out all of them. Builds and trainings, which have
    tests of their own, stand aside."""
    total = executed = 0
    for page in PAGES:
        folder = tmp_path / page
        for place in PLACES.get(page, {}):
            (folder / place).mkdir(parents=True)
        for command in list_commands(page):
            reason = explain_unrunnable(command, folder)
            total += reason != LONG_REASON
            executed += not reason
    assert total > 150
    assert executed > total / 2, f"{executed} of {total}"


def test_a_command_that_does_not_exist_is_noticed() -> None:
    for words in (
        ("run", "mime", "--no-such-option"),
        ("tabel", "runs/a"),
        ("run", "mime", "--frames", "many"),
    ):
        with pytest.raises((Exception, AssertionError)):
            parse_command(ShownCommand("page.md", 1, words))


def test_the_job_for_kubernetes_is_yaml_that_names_one_version() -> None:
    text = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    job = yaml.safe_load(block)
    assert job["kind"] == "RayJob"
    assert job["spec"]["entrypoint"].startswith("vivant run ")
    assert f"rayproject/ray:{job['spec']['rayClusterSpec']['rayVersion']}-" in text
