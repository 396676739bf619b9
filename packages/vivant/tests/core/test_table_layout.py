"""Tables in terminals of any width: nothing is wider than the terminal, no word is broken, nothing is lost unsaid.

After a change of the layout, `python -m tests.core.test_table_layout` writes the snapshots anew; read their diff.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from vivant.benchmarks import registry
from vivant.benchmarks.milebench.tables import build_main_table
from vivant.core.table import PIPED_WIDTH, Table, to_text
from vivant.core.table_layout import SHORT_HEADS, layout_table
from vivant.core.text_wrapping import wrap_text

SNAPSHOTS = Path(__file__).with_name("snapshots")
WIDTHS: tuple[int | None, ...] = (80, 100, 120, 200, None)


def _main_table() -> Table:
    """MileBench's leaderboard: 19 columns, names with spaces and marks."""
    return build_main_table([], "paper", registry.get("milebench"))


def _scores() -> Table:
    models = ("openai/gpt-4o-mini-2024-07-18", "vivant/tiny")
    tasks = ("mime/mcq", "milebench/ImageNeedleInAHaystack", "mimic/comment-popularity")
    metrics = ("accuracy", "accuracy", "written")
    body = tuple(
        (
            m,
            task,
            metric,
            41.25,
            "21.6 – 64.0",
            25.0,
            170,
            0,
            3,
            12,
            f"{task.split('/')[0]}-a-long-run-name-1a2b3c4d",
        )
        for m in models
        for task, metric in zip(tasks, metrics, strict=True)
    )
    heads = (
        "model",
        "task",
        "metric",
        "score",
        "95 % interval",
        "chance",
        "n",
        "errors",
        "unparsed",
        "truncated",
    )
    return Table(
        title="Scores, protocol paper",
        columns=(*heads, "run"),
        body=body,
        notes=("Intervals: clustered Wilson.",),
        optional=("run", "metric", "chance"),
    )


def _one_run() -> Table:
    scores = _scores()
    return Table(title=scores.title, columns=scores.columns[:-1], body=(scores.body[1][:-1],))


def _texts() -> Table:
    return Table(
        title="Models",
        columns=("--model", "what it is", "needs", "ready"),
        body=(
            (
                "openai/NAME",
                "any OpenAI-compatible server (--base-url)",
                "a server",
                "no: OPENAI_API_KEY is not set",
            ),
            (
                "transformers/ID or FOLDER",
                "checkpoints on this machine, in batches",
                "torch, transformers",
                "yes",
            ),
        ),
    )


def _names() -> Table:
    return Table(
        title="MileBench",
        columns=("", ""),
        body=(
            (
                "--task-option max-context-len=…",
                "Tokens of the model's window. Longer prompts are cut to it.",
            ),
            ("data", "from huggingface.co/datasets/FreedomIntelligence/MileBench/blob/main/README.md"),
        ),
    )


TABLES = {
    "milebench-main": _main_table,
    "scores": _scores,
    "one-run": _one_run,
    "texts": _texts,
    "names": _names,
}


def _snapshot(name: str) -> str:
    table = TABLES[name]()
    return "".join(f"=== {width or 'piped'}\n{to_text(table, width)}" for width in WIDTHS)


@pytest.mark.parametrize("name", TABLES)
def test_tables_look_as_they_did(name: str) -> None:
    assert _snapshot(name) == (SNAPSHOTS / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 157, 200, None])
def test_no_line_is_too_wide_and_no_word_is_broken(name: str, width: int | None) -> None:
    table = TABLES[name]()
    text = to_text(table, width)
    words = text.split()
    longest = max(map(len, words))
    for line in text.splitlines():
        assert len(line) <= (width or PIPED_WIDTH) or line.strip() in words, f"{line!r} with {longest}"
    source = [table.title, *table.columns, *table.notes, *SHORT_HEADS.values()]
    source += [
        to_cell
        for row in table.body
        for cell in row
        for to_cell in (str(cell), f"{cell:.1f}" if isinstance(cell, float) else "–")
    ]
    whole = {word for piece in source for word in piece.split()}
    added = {
        "In",
        "every",
        "row:",
        "Also:",
        "=",
        "Heads:",
        "Left",
        "out",
        "to",
        "fit",
        "columns:",
        "(a",
        "wider",
        "window",
        "shows",
        "all).",
    }
    for word in words:
        bare = word.rstrip(",;.")
        assert (
            {word, bare, bare + "."} & whole or word in added or set(word) == {"─"} or word == str(width)
        ), word


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_every_column_is_shown_or_named_as_left_out(width: int) -> None:
    table = _scores()
    text = to_text(table, width)
    left_out = next((line for line in text.splitlines() if "Left out" in line), "")
    for column in table.columns:
        shown = column in text or SHORT_HEADS.get(column, column) in text
        assert shown, f"{column} at {width}"
    assert ("run" in left_out) == ("a-long-run-name" not in text)


def test_columns_go_in_the_stated_order() -> None:
    wide = Table(
        title="",
        columns=("name", "kept", "first to go", "second to go"),
        body=(("a", 1.0, "x" * 30, "y" * 30), ("b", 2.0, "z" * 30, "w" * 30)),
        optional=("first to go", "second to go"),
    )
    text = to_text(wide, 60)
    assert "x" * 30 not in text
    assert "y" * 30 in text
    assert "Left out to fit 60 columns: first to go (" in text
    assert "x" * 30 in to_text(wide, 90)
    assert "Left out" not in to_text(wide, 90)


def test_a_table_of_one_row_is_turned_when_it_is_too_wide() -> None:
    heads = tuple(f"measure{number}" for number in range(12))
    lines = to_text(Table(title="", columns=("model", *heads), body=(("tiny", *range(12)),)), 60).splitlines()
    assert any(line.split() == ["measure11", "11"] for line in lines)


def test_marked_figures_do_not_count_as_names_when_a_table_is_turned() -> None:
    heads = tuple(f"measure{number}" for number in range(12))
    table = Table(title="", columns=("model", *heads), body=(("tiny", "0.0*", "12.5*", *range(10)),))
    lines = [line.split() for line in to_text(table, 60).splitlines()]
    assert ["model", "tiny"] in lines
    assert ["measure0", "0.0*"] in lines and ["measure11", "9"] in lines


def test_figures_keep_their_signs_and_marks_stay_with_their_names() -> None:
    assert wrap_text("12.0 – 34.5", 5) == ["12.0 – 34.5"]
    assert wrap_text("Claude 3 Opus †", 8) == ["Claude 3", "Opus †"]
    assert wrap_text("95 % interval", 8) == ["95 %", "interval"]


def test_wide_characters_count_as_two_columns() -> None:
    table = Table(title="", columns=("name", "n"), body=(("手振り", 1), ("wave", 20)))
    rows = [line.text for line in layout_table(table, 80)][-3:-1]
    assert rows == [" 手振り   1", " wave    20"]


if __name__ == "__main__":
    for each in TABLES:
        (SNAPSHOTS / f"{each}.txt").write_text(_snapshot(each), encoding="utf-8")
