"""Evaluation on a held-out slice during training, by the same code as `vivant run`."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Any

from vivant.benchmarks import registry
from vivant.benchmarks.conditions import matches, parse_where
from vivant.core.errors import DataError, unknown_name_error
from vivant.core.files import remove
from vivant.core.types import FramePolicy
from vivant.engine.option_parsing import make_options
from vivant.engine.options import RunOptions
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import PlannedRun, plan_run
from vivant.runs.run import Run
from vivant_train.live_model import AnswerRounds, LiveEngine, LiveModel
from vivant_train.settings import EvaluationSettings, Recipe

_TASK_TOKENS = 256
"""Tokens of a task, about."""
_MAX_QUESTIONS = 16
"""Questions that a process answers at once, at most."""


def check_evaluation(recipe: Recipe, base: Path) -> None:
    """Refuse an evaluation that could not take place, before the training begins."""
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


def format_run_command(recipe: Recipe, base: Path, model: Path) -> str:
    """The command that evaluates a finished model on what its recipe holds out, with the frames of its training.

    Where a recipe holds nothing out, or only a part of what it learns from, on the bundled edition.
    """
    held_out = recipe.evaluation
    benchmark = held_out.benchmark if held_out else recipe.data.sources[0].benchmark
    if held_out is None or held_out.split:
        held_out = EvaluationSettings(benchmark=benchmark, data="mini")
    selector, data = _resolve_paths(held_out, base)
    words = ["vivant", "run", selector, "--model", f"mimic-chat/{model}"]
    words += ["--data", data] if data and not registry.is_file(selector) else []
    words += [word for condition in held_out.where for word in ("--where", condition)]
    words += ["--style", held_out.style] if held_out.style else []
    return shlex.join([*words, *_format_frame_options(recipe.data.frames)])


def _format_frame_options(frames: FramePolicy) -> list[str]:
    """The options of `vivant run` that choose the same frames."""
    options = {
        "count": ["--frames", str(frames.count)],
        "fps": ["--fps", f"{frames.fps:g}"],
        "every": ["--every", str(frames.every), "--every-start", frames.every_start],
    }.get(frames.select, [])
    options += ["--max-frames", str(frames.cap)] if frames.cap and frames.select != "count" else []
    options += ["--spread", frames.spread] if frames.spread != FramePolicy().spread else []
    return [*options, "--longest-side", str(frames.longest_side)] if frames.longest_side else options


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
    if evaluation.split is None:
        return evaluation.where
    chosen = registry.select([selector], [data] if data else [], {})
    pool = [
        sample for part in chosen for task in part.tasks for sample in part.benchmark.load(part.root, task)
    ]
    return (*evaluation.where, evaluation.split.format_condition(pool))
