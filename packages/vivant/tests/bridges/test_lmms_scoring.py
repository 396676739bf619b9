"""Scoring of lmms-eval's tasks, without lmms-eval: rows that are not those which were asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from vivant.bridges.lmms_scoring import score_task
from vivant.bridges.lmms_task import LmmsTask
from vivant.core.errors import DataError
from vivant.core.records import Record
from vivant.core.types import Reply, Sample


def build(answers: str) -> LmmsTask:
    """A task whose rows have these answers."""
    docs = [{"answer": answer} for answer in answers]

    def process(doc: dict[str, str], text: str, _index: int) -> tuple[dict[str, Any], int]:
        return {"none": {"acc": float(text == doc["answer"])}}, 0

    task = SimpleNamespace(aggregation=lambda: {"acc": None}, doc_to_target=lambda doc: doc["answer"])
    return cast(
        LmmsTask,
        SimpleNamespace(name="t", scoring_docs=docs, task=task, process_results=process, config=None),
    )


ITEMS = [
    (
        Sample(id=str(n), task="lmms/t", answers=(answer,)),
        Record(key=f"lmms/t/{n}", task="lmms/t", id=str(n), reply=Reply(text="A")),
    )
    for n, answer in enumerate("AB")
]


def test_rows_of_another_dataset_are_refused() -> None:
    """A run is scored with the dataset that the task was asked of last, which may be another copy or version."""
    assert [score.value for score in score_task(build("AB"), ITEMS)] == [1.0, 0.0]
    with pytest.raises(DataError, match=r"row 1 has the answer 'A', and the run asked one with 'B'.*--data"):
        list(score_task(build("AA"), ITEMS))
