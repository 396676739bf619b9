"""Evaluation on a held-out slice during training, by the same code as `vivant run`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from vivant.core.errors import DataError, unknown_name_error
from vivant.core.files import remove
from vivant.engine.option_parsing import make_options
from vivant.engine.options import RunOptions
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import PlannedRun, plan_run
from vivant.runs.run import Run
from vivant.train.live_model import AnswerRounds, LiveEngine, LiveModel
from vivant.train.settings import EvaluationSettings, Recipe

_TASK_TOKENS = 256
"""Tokens of a task, about."""
_MAX_QUESTIONS = 16
"""Questions that a process answers at once, at most."""


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


def evaluate_together(
    recipe: Recipe, base: Path, out: Path, step: int, engine: LiveEngine, accelerator: Any
) -> dict[str, Any] | None:
    """Evaluate the model that learns, whose weights `out/last` holds; the run is kept in `out/evaluations`.

    Every process answers its share of the questions and must call this; the main one receives the figures.

    Args:
        recipe: what is evaluated, and how.
        base: the folder that its paths are relative to.
        out: the training's folder.
        step: the training's step.
        engine: this process's model at work.
        accelerator: of accelerate.
    """
    rounds = AnswerRounds(engine, accelerator)
    batch_size = count_questions_at_once(recipe) * accelerator.num_processes

    def run() -> dict[str, Any]:
        started = time.perf_counter()
        options = _make_run_options(recipe, base, out, step, concurrency=2 * batch_size)
        planned = plan_run(options)
        run_plan(PlannedRun(planned.plan, LiveModel(planned.model, rounds, batch_size), planned.out), options)
        row = _summarize_run(Run(planned.out), step)
        return {**row, "seconds": round(time.perf_counter() - started, 2)}

    return rounds.run(run)


def count_questions_at_once(recipe: Recipe) -> int:
    """How many questions a process answers at once: as many as have the tokens of one of the training's passes."""
    train = recipe.train
    rows = train.micro_rows or max(1, train.batch_tokens // train.row_tokens)
    length = recipe.model.visual_tokens + _TASK_TOKENS
    return max(1, min(_MAX_QUESTIONS, rows * train.row_tokens // length))


def _make_run_options(recipe: Recipe, base: Path, out: Path, step: int, *, concurrency: int) -> RunOptions:
    evaluation = recipe.evaluation
    assert evaluation is not None
    folder = out / "evaluations" / f"step-{step:08d}"
    selector, data = _resolve_paths(evaluation, base)
    remove(folder)  # a run that an interrupted training left there with other weights
    return make_options(
        selectors=selector,
        model=f"mimic-chat/{(out / 'last').resolve()}",
        data=(data,) if data else (),
        frames=recipe.data.frames,
        where=_resolve_conditions(evaluation, selector, data),
        style=evaluation.style or None,
        limit=evaluation.limit,
        out=str(folder),
        cache="off",
        concurrency=concurrency,
    )


def _summarize_run(run: Run, step: int) -> dict[str, Any]:
    scores = [score for part in run.scores() for _, _, score in part.rows]
    values = [score.value or 0.0 for score in scores if score.status in ("scored", "unparsed")]
    if not values:
        raise DataError(f"None of the held-out samples could be scored; see {run.path}")
    return {
        "step": step,
        "accuracy": sum(values) / len(values),
        "samples": len(values),
        "errors": sum(score.status == "missing" for score in scores),
        "unparsed": sum(score.status == "unparsed" for score in scores),
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
