"""Runs of one model are told apart by the settings that differ: in tables, comparisons and names of folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import vivant
from tests.support.helpers import logged_messages, questions
from tests.support.runs_kit import answer, make_run, quiz
from vivant.runs.settings import RunSettings


def _thinking(**sent: object) -> dict[str, object]:
    return {"model": "m", "thinking": {"room": 32_768, "sent": sent}}


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ({"model": "m"}, ()),
        (_thinking(), ()),
        (_thinking(reasoning_effort="low"), ("effort low",)),
        (_thinking(reasoning={"effort": "high"}), ("effort high",)),
        (_thinking(reasoning_effort="none"), ("no thinking",)),
        (_thinking(chat_template_kwargs={"enable_thinking": False}), ("no thinking",)),
        (_thinking(generationConfig={"thinkingConfig": {"thinkingLevel": "low"}}), ("effort low",)),
        (_thinking(generationConfig={"thinkingConfig": {"thinkingBudget": 0}}), ("no thinking",)),
        ({"model": "m", "thinking": {"budget": 4000}}, ("thinking 4000",)),
    ],
)
def test_how_a_model_thinks_is_part_of_what_tells_runs_apart(
    model: dict[str, object], word: tuple[str, ...]
) -> None:
    settings = RunSettings(tasks=(), model=model, style="zero-shot", data={})
    assert settings.list_distinctions() == word


def test_runs_of_one_model_are_told_apart_by_their_settings(tmp_path: Path) -> None:
    samples = quiz(8)
    records = [answer(sample, 0) for sample in samples]
    plain = make_run(tmp_path / "plain", samples, records)
    blind = make_run(tmp_path / "blind", samples, records, control="blind", limit=8)
    frames = make_run(tmp_path / "frames", samples, records, frames={"count": 16}, limit=8)
    thinks = make_run(
        tmp_path / "thinks", samples, records, model=_thinking(reasoning_effort="high"), limit=8
    )
    table = vivant.table([plain, blind, frames, thinks])
    settings = [row[table.columns.index("settings")] for row in table.body]
    assert settings == ["", "blind, limit 8", "16 frames, limit 8", "limit 8, effort high"]
    shared = vivant.table([blind, frames])
    assert [row[shared.columns.index("settings")] for row in shared.body] == ["blind", "16 frames"]
    assert "m, blind" in repr(vivant.compare([blind, frames]))
    assert "blind · limit 8" in repr(blind)


def test_names_of_runs_say_what_is_not_as_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = questions(tmp_path, 4, pictures=False)
    arguments: dict[str, Any] = {"control": "blind", "frames": 16, "limit": 2}
    run = vivant.evaluate(str(path), "first", **arguments)
    assert run.name.startswith("mine-first-zero-shot-blind-16frames-limit2-")
    run.path.rename(tmp_path / "runs" / f"an-older-name-{run.name.rpartition('-')[2]}")
    with logged_messages() as messages:
        assert vivant.evaluate(str(path), "first", **arguments).name.startswith("an-older-name-")
    assert any("2 of 2 samples are done" in message for message in messages)
