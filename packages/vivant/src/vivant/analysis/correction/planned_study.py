"""A study of exactly what a plan asks people about; its chances are written beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from vivant.analysis.correction.asking_plan import PlannedAnswer, write_plan
from vivant.analysis.correction.judge_plan import UNITS, AskingPlan
from vivant.core.errors import UsageError
from vivant.hooks import load_people_hook
from vivant.runs.run import choose_common_protocol


class PlannedStudy(Struct, frozen=True, kw_only=True):
    """What was written."""

    says: str
    notes: tuple[str, ...] = ()


def write_planned_study(plan: AskingPlan, folder: Path, judgements: int = 1) -> PlannedStudy:
    """Write a study of exactly the answers that the plan names, with their chances beside it.

    Args:
        plan: what `plan_people` or `plan_comments` returned.
        folder: where to write it; it must be empty or absent.
        judgements: from how many people each answer is judged.
    """
    if not any(draw.chosen for draw in plan.draws):
        raise UsageError(
            "Nothing is left to ask: the interval is as narrow as wanted, or within a tenth of what is possible; "
            "--count N asks about more all the same"
        )
    result = load_people_hook().make(folder, **_choose_settings(plan, judgements))
    units = UNITS[plan.kind]
    if plan.kind == "labels":
        chosen = {unit for draw in plan.draws for unit in draw.chosen}
        units = f"passages and wrong answers of {len(chosen)} {units}"
    words = f"{result.items} {units}, {judgements} judgement(s) each"
    written = PlannedStudy(says=f"{words}: {result.places} participants → {folder}", notes=result.notes)
    write_plan(
        folder,
        [
            PlannedAnswer(
                task=task,
                id=name,
                model=draw.model,
                stratum=stratum,
                probability=round(float(chance), 6),
                chosen=bool(taken),
            )
            for draw in plan.draws
            for (task, name), stratum, chance, taken in zip(
                draw.units, draw.strata, draw.draw.probabilities, draw.draw.chosen, strict=True
            )
        ],
    )
    return written


def _choose_settings(plan: AskingPlan, judgements: int) -> dict[str, Any]:
    if plan.kind == "comments":
        videos = frozenset(video for draw in plan.draws for _, video in draw.chosen)
        return {
            "kind": "blind-comments",
            "origin": (str(plan.pack),),
            "key": plan.key,
            "seed": plan.seed,
            "judgements_per_item": judgements,
            "only": {str(plan.pack): videos},
        }
    chosen: dict[str, set[str]] = {str(run.dir.path): set() for run in plan.runs}
    folders = {run.name: str(run.dir.path) for run in plan.runs}
    for draw in plan.draws:
        for origin in chosen if plan.kind == "pairs" else (folders[draw.run],):
            chosen[origin].update(f"{task}/{name}" for task, name in draw.chosen)
    if plan.kind == "labels":
        return {
            "kind": "mcq",
            "origin": (str(plan.runs[0].dir.path),),
            "seed": plan.seed,
            "judgements_per_item": judgements,
            "labels": choose_common_protocol(plan.runs, plan.protocol),
            "title": "What does this rest on?",
            "languages": ("en",),
            "only": {origin: frozenset(samples) for origin, samples in chosen.items()},
        }
    return {
        "kind": "pairwise" if plan.kind == "pairs" else "rating",
        "origin": tuple(origin for origin, samples in chosen.items() if samples),
        "seed": plan.seed,
        "judgements_per_item": judgements,
        "only": {origin: frozenset(samples) for origin, samples in chosen.items()},
    }
