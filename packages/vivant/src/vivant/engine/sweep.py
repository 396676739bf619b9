"""The same evaluation under several numbers of frames: one run each, each video decoded once for all."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.summary import summarise
from vivant.core.arguments import as_strings
from vivant.core.paths import cache_root
from vivant.core.table import Row, Table
from vivant.core.types import Video
from vivant.engine.cost import Ask, announce_cost
from vivant.engine.options import RunOptions
from vivant.engine.run_execution import run_plan
from vivant.engine.run_planning import PlannedRun, default_run_name, plan_run
from vivant.runs.run import Run, choose_common_protocol

logger = logging.getLogger("vivant")


class SweepPoint(Struct, frozen=True):
    """One run of a sweep."""

    frames: int
    run: Run


class Sweep(Struct, frozen=True):
    """The runs of a sweep, by number of frames."""

    points: tuple[SweepPoint, ...]

    @property
    def runs(self) -> list[Run]:
        """One run for each number of frames, in that order."""
        return [point.run for point in self.points]

    def table(self, by: str | Sequence[str] = (), protocol: Protocol | None = None) -> Table:
        """Score against frames, one line per number of frames, task and group."""
        return build_sweep_table(self.points, protocol, as_strings(by))

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def run_sweep(options: RunOptions, counts: Sequence[int], ask: Ask | None = None) -> list[SweepPoint]:
    """Evaluate with each number of frames. Resumes like any run; stops early where the user stops it.

    Args:
        options: those of every run.
        counts: the numbers of frames.
        ask: puts a question to the user, for `--confirm-above`.
    """
    plans = [(count, _plan_with_frames(options, count)) for count in sorted(set(counts))]
    base = Path(options.out) if options.out else _default_base(plans[0][1])
    runs = {count: PlannedRun(run.plan, run.model, base / f"frames-{count}") for count, run in plans}
    announce_cost(list(runs.values()), options, ask)
    decode_once(list(runs.values()))
    points: list[SweepPoint] = []
    for count, placed in runs.items():
        logger.info("%d frames: %d requests → %s", count, placed.plan.size, placed.out)
        outcome = run_plan(placed, _set_frames(options, count))
        if outcome.stopped:
            if outcome.reason:
                logger.info("Stopped: %s.", outcome.reason)
            break
        points.append(SweepPoint(count, Run(placed.out)))
    return points


def _set_frames(options: RunOptions, count: int) -> RunOptions:
    policy = msgspec.structs.replace(options.frame_policy, select="count", count=count)
    return msgspec.structs.replace(
        options, frames=policy, fps=None, every=None, max_frames=None, longest_side=None
    )


def _plan_with_frames(options: RunOptions, count: int) -> PlannedRun:
    return plan_run(_set_frames(options, count))


def _default_base(prepared: PlannedRun) -> Path:
    selections = [registry.Selection(task.benchmark, (task.task,), task.root) for task in prepared.plan.tasks]
    return Path("runs") / f"sweep-{default_run_name(prepared.plan, prepared.model.name, selections)}"


def decode_once(prepared: Sequence[PlannedRun]) -> None:
    """Fill the frame cache for all policies together."""
    from vivant.media import MediaLoader

    with MediaLoader(cache_root()) as preparer:
        for task in prepared[0].plan.tasks:
            root = str(task.benchmark.data.media_root(task.root).resolve())
            videos = sorted({p.path for s in task.chosen for p in s.question if isinstance(p, Video)})
            if videos:
                logger.info("%s: decoding %d videos once for all frame counts", task.task, len(videos))
                preparer.warm(root, videos, [each.plan.settings.frames for each in prepared])


def build_sweep_table(
    points: Sequence[SweepPoint], protocol: Protocol | None = None, by: Sequence[str] = ()
) -> Table:
    """Score against frames, one line per number of frames, task and group."""
    protocol = choose_common_protocol([point.run for point in points], protocol)
    rows: list[tuple[int, Row]] = []
    for point in points:
        for part in point.run.scores(protocol):
            rows += [(point.frames, row) for row in summarise(part, registry.get_by_task(part.task), by)]
    rows.sort(key=lambda pair: (pair[1].task, sorted(pair[1].group.items()), pair[0]))
    truncated = any(row.truncated for _, row in rows)
    body = tuple(
        (
            row.task,
            *(row.group.get(facet, "") for facet in by),
            frames,
            row.value,
            f"{row.interval[0]:.1f} – {row.interval[1]:.1f}" if row.interval else "–",
            row.n,
            row.errors,
            row.unparsed,
            *((row.truncated,) if truncated else ()),
        )
        for frames, row in rows
    )
    model = points[0].run.model if points else ""
    return Table(
        title=f"{model}: score against frames, protocol {protocol}",
        columns=(
            "task",
            *by,
            "frames",
            "score",
            "95 % interval",
            "n",
            "errors",
            "unparsed",
            *(("truncated",) if truncated else ()),
        ),
        body=body,
        rows=tuple(
            msgspec.structs.replace(row, group={**row.group, "frames": str(frames)}) for frames, row in rows
        ),
    )
