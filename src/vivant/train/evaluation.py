"""A look at a held-out slice, by the same code as `vivant run`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from vivant.core.errors import DataError
from vivant.train.settings import Evaluation, Recipe


def look(recipe: Recipe, base: Path, out: Path, step: int) -> dict[str, Any]:
    """Evaluate the model in `out/last`; the run is kept in `out/evaluations`."""
    from vivant.benchmarks import registry
    from vivant.engine.evaluation import evaluate

    asked = recipe.evaluation
    assert asked is not None
    began = time.perf_counter()
    folder = out / "evaluations" / f"step-{step:08d}"
    selector, data = asked.benchmark, asked.data
    if registry.is_file(selector):
        selector = str(base / selector)
    elif data and data != "mini":
        data = str(base / Path(data).expanduser())
    device = "cpu" if recipe.train.device == "cpu" else "auto"
    run = evaluate(
        selector,
        f"mimic-chat/{(out / 'last').resolve()}",
        data=(data,) if data else (),
        frames=recipe.data.frames,
        where=_where(asked, selector, data),
        style=asked.style or None,
        limit=asked.limit,
        out=str(_fresh(folder)),
        cache="off",
        model_options={"device": device, "threads": recipe.train.threads},
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
        "seconds": round(time.perf_counter() - began, 2),
    }


def _where(asked: Evaluation, selector: str, data: str) -> tuple[str, ...]:
    from vivant.benchmarks import registry

    if asked.split is None:
        return asked.where
    chosen = registry.select([selector], [data] if data else [], {})
    pool = [
        sample for each in chosen for task in each.tasks for sample in each.benchmark.load(each.root, task)
    ]
    return (*asked.where, asked.split.condition(pool))


def _fresh(folder: Path) -> Path:
    """The folder, free of a run that an interrupted training left there with other weights."""
    import shutil

    if folder.exists():
        shutil.rmtree(folder)
    return folder
