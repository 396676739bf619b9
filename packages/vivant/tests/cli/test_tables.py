"""Tables on the command line: folders of runs, narrow terminals, scores with other settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.helpers import vivant
from tests.support.runs_kit import answer, make_run, quiz
from vivant.cli.output import print_table
from vivant.core.table import Table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Runs beside what is none, as they lie after a demo."""
    samples = quiz(8, facets={"half": ("first", "second")})
    right = [answer(sample, 0) for sample in samples]
    make_run(tmp_path / "runs" / "demo" / "one", samples, right, model="openai/a-model-with-a-long-name")
    make_run(
        tmp_path / "runs" / "demo" / "two",
        samples,
        right,
        model="openai/a-model-with-a-long-name",
        control="blind",
        frames={"count": 16},
        limit=8,
    )
    make_run(tmp_path / "runs" / "plain", quiz(4), [answer(s, 1) for s in quiz(4)], model="other")
    (tmp_path / "runs" / "notes").mkdir()
    (tmp_path / "runs" / "list.txt").write_text("not a run")
    return tmp_path


@pytest.mark.parametrize("columns", ["80", "100"])
def test_a_folder_of_runs_is_one_table_that_fits(folder: Path, columns: str) -> None:
    names = ["runs/demo", "runs/plain", "runs/notes", "runs/list.txt"]
    result = vivant("table", *names, "--by", "half", cwd=folder, env={"COLUMNS": columns})
    assert result.returncode == 0, result.stderr
    assert result.stderr.strip() == "Skipped, no run: runs/notes, runs/list.txt"
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= int(columns)
    for whole in ("openai/a-model-with-a-long-name", "blind", "16 frames", "limit 8", "other", " all "):
        assert whole in result.stdout
    assert "Without the facet 'half', and shown whole: jsonl." in " ".join(result.stdout.split())


def test_other_scoring_settings_leave_the_default_scores(folder: Path) -> None:
    run = folder / "runs" / "plain"
    default = vivant("score", run, cwd=folder)
    stored = run / "scores" / "paper.jsonl"
    before = stored.read_bytes() if stored.exists() else None
    assert (default.returncode, before is not None) == (0, True), default.stderr
    other = vivant("score", run, "--set", "threshold=0.75", cwd=folder)
    assert other.returncode == 0, other.stderr
    assert stored.read_bytes() == before
    (extra,) = [path for path in stored.parent.glob("*.jsonl") if path != stored]
    assert str(extra) in other.stderr


def test_tables_in_a_row_stand_apart(capsys: pytest.CaptureFixture[str]) -> None:
    noted = Table(title="First", columns=("name", "n"), body=(("a", 1),), notes=("A note.",))
    plain = Table(title="Second", columns=("name", "n"), body=(("b", 2),))
    print_table(noted, plain, noted)
    lines = capsys.readouterr().out.splitlines()
    for number in [index for index, line in enumerate(lines) if line in ("First", "Second")][1:]:
        assert (lines[number - 1], bool(lines[number - 2].strip())) == ("", True), "one empty line"
    assert lines.index("Second") - lines.index("  A note.") == 2
