"""Evaluation on a held-out slice during training, by the same code as `vivant run`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from vivant.core.errors import DataError, unknown_name_error
from vivant.core.files import remove
from vivant.train.settings import EvaluationSettings, Recipe


def check_evaluation(recipe: Recipe, base: Path) -> None:
    """Refuse an evaluation that could not take place, before the training begins."""
    from vivant.benchmarks import registry
    from vivant.benchmarks.summary import matches, parse_where

    evaluation = recipe.evaluation
    if evaluation is None:
        return
    selector, data = _resolve_paths(evaluation, base)
    conditions = _resolve_conditions(evaluation, selector, data)
    for chosen in registry.select([selector], [data] if data else [], {}):
        if evaluation.style and evaluation.style not in chosen.benchmark.styles:
            raise unknown_name_error(
                f"style of {chosen.benchmark.name}", evaluation.style, chosen.benchmark.styles
            )
        for task in chosen.tasks:
            pool = list(chosen.benchmark.load(chosen.root, task))
            where = parse_where(conditions, pool)
            if any(matches(sample, where) for sample in pool):
                return
    raise DataError(
        f"evaluation: no sample of {evaluation.benchmark} in {data or selector} fits its conditions"
    )


def _resolve_paths(evaluation: EvaluationSettings, base: Path) -> tuple[str, str]:
    """The benchmark and its data, with paths relative to the recipe's folder."""
    from vivant.benchmarks import registry

    selector, data = evaluation.benchmark, evaluation.data
    if registry.is_file(selector):
        selector = str(base / selector)
    elif data and data != "mini":
        data = str(base / Path(data).expanduser())
    return selector, data


def evaluate_checkpoint(
    recipe: Recipe, base: Path, out: Path, step: int, *, workers: int = 1
) -> dict[str, Any]:
    """Evaluate the model in `out/last`; the run is kept in `out/evaluations`.

    Args:
        recipe: what is evaluated, and how.
        base: the folder that its paths are relative to.
        out: the training's folder.
        step: the training's step.
        workers: copies of the model that share the samples, each on a device of its own.
    """
    from vivant.engine.evaluation import evaluate

    evaluation = recipe.evaluation
    assert evaluation is not None
    started = time.perf_counter()
    folder = out / "evaluations" / f"step-{step:08d}"
    selector, data = _resolve_paths(evaluation, base)
    remove(folder)  # a run that an interrupted training left there with other weights
    device = "cpu" if recipe.train.device == "cpu" else "auto"
    run = evaluate(
        selector,
        f"mimic-chat/{(out / 'last').resolve()}",
        data=(data,) if data else (),
        frames=recipe.data.frames,
        where=_resolve_conditions(evaluation, selector, data),
        style=evaluation.style or None,
        limit=evaluation.limit,
        out=str(folder),
        cache="off",
        model_options={"device": device, "threads": recipe.train.threads, "workers": workers},
    )
    scores = [score for part in run.scores() for _, _, score in part.rows]
    values = [score.value or 0.0 for score in scores if score.status in ("scored", "unparsed")]
    if not values:
        raise DataError(f"None of the held-out samples could be scored; see {folder}")
    return {
        "step": step,
        "accuracy": sum(values) / len(values),
        "samples": len(values),
        "errors": sum(score.status == "missing" for score in scores),
        "unparsed": sum(score.status == "unparsed" for score in scores),
        "seconds": round(time.perf_counter() - started, 2),
    }


def _resolve_conditions(evaluation: EvaluationSettings, selector: str, data: str) -> tuple[str, ...]:
    from vivant.benchmarks import registry

    if evaluation.split is None:
        return evaluation.where
    chosen = registry.select([selector], [data] if data else [], {})
    pool = [
        sample for part in chosen for task in part.tasks for sample in part.benchmark.load(part.root, task)
    ]
    return (*evaluation.where, evaluation.split.format_condition(pool))
