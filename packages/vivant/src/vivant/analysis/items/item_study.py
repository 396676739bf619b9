"""A study that puts the suspects of an item analysis to people, as the questions they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vivant.analysis.items.findings import ItemAnalysis
from vivant.core.errors import UsageError
from vivant.hooks import NewStudy, load_people_hook

SUSPECTS = ("suspect key", "ambiguous")
"""What people are asked about where no kind is named."""


def write_item_study(
    analyses: Sequence[ItemAnalysis], folder: Path, kinds: Sequence[str] = (), judgements: int = 5
) -> NewStudy:
    """Write the study. People see question, media and options, and nothing of what made an item suspect.

    Args:
        analyses: of tasks with options, from the same runs.
        folder: where to write it; it must be empty or absent.
        kinds: findings to ask about; none: suspect keys and ambiguous items.
        judgements: from how many people each item gets an answer.
    """
    keys = {
        f"{item.task}/{item.id}"
        for analysis in analyses
        for item in analysis.select(*(kinds or SUSPECTS))
        if item.right
    }
    if not keys:
        raise UsageError(f"No item with options has a finding of the kind {' or '.join(kinds or SUSPECTS)}")
    runs = {str(run.path) for analysis in analyses for run in analysis.matrix.runs[:1]}
    if len(runs) != 1:
        raise UsageError(
            "The suspects come from runs on different tasks; write a study for one task at a time"
        )
    origin = runs.pop()
    return load_people_hook().make(
        folder,
        kind="mcq",
        origin=(origin,),
        judgements_per_item=judgements,
        odd_options=True,
        only={origin: frozenset(keys)},
    )
