"""Runs that stop when they are settled against another run, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.helpers import logged_messages
from tests.support.standin import openai, openai_says
from tests.support.stopping_kit import ask, clustered
from vivant.core.errors import UsageError
from vivant.engine.evaluation import evaluate
from vivant.engine.retry import RetryPolicy


def test_a_clear_difference_is_settled_early_and_named(tmp_path: Path) -> None:
    clustered(tmp_path, 600)
    ask(tmp_path, "weak", 0.4)
    run = ask(tmp_path, "strong", 0.8, until_better_than=str(tmp_path / "weak"))
    table = run.table()
    assert table.rows[0].n < 300
    assert re.search(r"strong, jsonl/mine: better than weak \(\+\d", " ".join(table.notes))
    worse = ask(tmp_path, "weaker", 0.35, until_better_than=str(tmp_path / "strong")).table()
    assert "worse than strong (" in " ".join(worse.notes)


def test_a_difference_that_the_benchmark_cannot_settle_is_given_up(tmp_path: Path) -> None:
    clustered(tmp_path, 400)
    ask(tmp_path, "one", 0.6, model_options={"seed": "x"})
    table = ask(tmp_path, "two", 0.6, until_better_than=str(tmp_path / "one")).table()
    assert "too close to one to be settled within this benchmark" in " ".join(table.notes)
    assert 40 < table.rows[0].n < 400


def test_the_rank_is_among_the_runs_in_the_same_folder(tmp_path: Path) -> None:
    clustered(tmp_path, 400)
    ask(tmp_path, "runs/low", 0.3)
    ask(tmp_path, "runs/high", 0.95)
    table = ask(tmp_path, "runs/new", 0.65, until_rank=True).table()
    notes = " ".join(table.notes)
    assert "better than low (" in notes
    assert "worse than high (" in notes
    assert table.rows[0].n < 400


def test_what_cannot_be_compared_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    clustered(tmp_path, 60)
    ask(tmp_path, "old")
    clustered(tmp_path, 60, choices=["right", "wrong", "changed", "wrong too"])
    with pytest.raises(UsageError, match=r"60 of 60 samples have other options.*same edition"):
        ask(tmp_path, "new", until_better_than=str(tmp_path / "old"))
    assert not (tmp_path / "new").exists()
    with pytest.raises(UsageError, match="holds no other run of jsonl/mine"):
        ask(tmp_path, "empty/new", until_rank=True)
    for target, reason in (
        (0.0, "above 0"),
        (float("nan"), "above 0"),
        (50.0, "below 50"),
        (200.0, "below 50"),
    ):
        with pytest.raises(UsageError, match=f"--until {target:g}: must be {reason}"):
            ask(tmp_path, "new", until=target)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("field", ['"cluster":""', '"other":""'])
def test_data_without_clusters_fall_back_to_single_samples_and_say_so(tmp_path: Path, field: str) -> None:
    clustered(tmp_path, 300)
    path = tmp_path / "mine.jsonl"
    path.write_text(re.sub(r'"cluster":"v\d+"', field, path.read_text("utf-8")), "utf-8")
    with logged_messages() as messages:
        run = ask(tmp_path, until=9)
    assert any("The data name no clusters" in message for message in messages)
    assert "the data name no clusters" in " ".join(run.table().notes)


def test_a_benchmark_that_scores_all_together_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clustered(tmp_path, 60)
    monkeypatch.setattr("vivant.engine.stopping.scores_apart", lambda _: False)
    with pytest.raises(UsageError, match="scores_apart = True"):
        ask(tmp_path, until=9)


def test_batches_are_handed_over_in_rounds_until_it_is_enough(tmp_path: Path) -> None:
    path = clustered(tmp_path, 600)

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        text = msgspec.json.encode(body).decode()
        letter = re.search(r"([A-D])[.):]+ right\b", text)
        assert letter is not None, text
        number = int(re.search(r"number (\d+)", text)[1])  # type: ignore[index]
        return openai_says(letter[1] if number % 10 < 8 else "none")

    with openai(answer) as server:
        run = evaluate(
            str(path),
            "openai/gpt-4o",
            out=tmp_path / "run",
            base_url=f"http://127.0.0.1:{server.port}/v1",
            batch=True,
            cache="off",
            retry=RetryPolicy(first=0.01),
            until=6,
        )
        assert 1 < len(server.batches) < 6
    row = run.table().rows[0]
    assert row.interval is not None
    assert row.interval[1] - row.interval[0] <= 12.0
    assert row.n < 500
