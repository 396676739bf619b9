"""Items, ranks, subsets and plans from Python, as a notebook shows them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import vivant
from tests.support.correction_kit import judge_kindly, make_answers
from tests.support.runs_kit import answer, make_run, quiz


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight runs of different strength; the key of the last question is wrong, and all strong runs say so."""
    folder = tmp_path_factory.mktemp("many") / "runs"
    samples = quiz(60)
    generator = random.Random(3)
    for number in range(8):
        choices = [
            0 if generator.random() < 0.55 + 0.05 * number else generator.randint(1, 3) for _ in samples
        ]
        choices[-1] = 2
        records = [answer(sample, choice) for sample, choice in zip(samples, choices, strict=True)]
        make_run(folder / f"r{number}", samples, records, model=f"model {number}")
    return folder


def test_items_are_shown_selected_written_and_drawn(runs: Path, tmp_path: Path) -> None:
    found = vivant.items(runs)
    assert "Items" in repr(found)
    assert "<table" in found._repr_html_()
    (suspect,) = found.select("suspect-key")
    assert suspect.id == "q059"
    assert found.write(tmp_path / "items.jsonl") == 60
    found.draw(tmp_path / "items.svg")
    assert (tmp_path / "items.svg").stat().st_size > 1000
    suspects = vivant.items(runs, kinds="suspect key")
    assert [item.id for item in suspects.select()] == ["q059"]
    with pytest.raises(vivant.VivantError, match="Unknown kind of finding 'suspekt'"):
        vivant.items(runs, kinds="suspekt")
    with pytest.raises(vivant.VivantError, match="Cannot write"):
        found.write(tmp_path / "no" / "folder" / "items.jsonl")


def test_ranks_are_shown_in_a_notebook(runs: Path) -> None:
    ranking = vivant.rank(runs)
    assert ranking._repr_html_().count("<table") == len(ranking.tables())
    assert "Ranks: jsonl/quiz" in repr(ranking)


def test_a_subset_is_written_and_shows_its_error(runs: Path, tmp_path: Path) -> None:
    subset = vivant.make_subset(runs, 20, tmp_path / "subset.json")
    assert "Error on models left out" in repr(subset)
    assert "<table" in subset._repr_html_()
    assert (tmp_path / "subset.json").exists()
    assert len(subset.tasks["jsonl/quiz"].items) == 20


def test_judgements_are_planned_and_corrected(tmp_path: Path) -> None:
    judge_kindly(make_answers(tmp_path, 60))
    plan = vivant.plan_judgements(tmp_path / "runs", half_width=5, count=10)
    assert "What to ask people next" in repr(plan)
    with pytest.raises(vivant.VivantError, match="one pack of comments alone"):
        vivant.plan_judgements([tmp_path / "runs"], key="key.jsonl")
