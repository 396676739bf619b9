"""The same evaluation under several numbers of frames: one run each, each video decoded once for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.benchmarks import registry
from vivant.benchmarks.base import Protocol
from vivant.benchmarks.summary import summarise
from vivant.core.paths import cache_root
from vivant.core.table import Row, Table
from vivant.core.types import FramePolicy, Video
from vivant.engine.evaluation import Options, Prepared, default_name, prepare, run_plan
from vivant.runs.run import Run


class Point(Struct, frozen=True):
    """One run of a sweep."""

    frames: int
    run: Run


def sweep(
    options: Options, counts: Sequence[int], say: Callable[[str], None] = lambda _: None
) -> list[Point]:
    """Evaluate with each number of frames. Resumes like any run; stops early where the user stops it."""
    plans = [(count, _prepared(options, count)) for count in sorted(set(counts))]
    base = Path(options.out) if options.out else _default_base(plans[0][1])
    decode_once([prepared for _, prepared in plans], say)
    points: list[Point] = []
    for count, prepared in plans:
        placed = Prepared(prepared.plan, prepared.model, base / f"frames-{count}")
        say(f"{count} frames: {prepared.plan.size} requests → {placed.out}")
        outcome = run_plan(placed, _with_frames(options, count), say)
        if outcome.stopped:
            if outcome.reason:
                say(f"Stopped: {outcome.reason}.")
            break
        points.append(Point(count, Run(placed.out)))
    return points


def _with_frames(options: Options, count: int) -> Options:
    policy: FramePolicy = msgspec.structs.replace(options.frames, select="count", count=count)
    return msgspec.structs.replace(options, frames=policy)


def _prepared(options: Options, count: int) -> Prepared:
    return prepare(_with_frames(options, count))


def _default_base(prepared: Prepared) -> Path:
    selections = [registry.Selection(task.benchmark, (task.task,), task.root) for task in prepared.plan.tasks]
    return Path("runs") / f"sweep-{default_name(prepared.plan, prepared.model.name, selections)}"


def decode_once(prepared: Sequence[Prepared], say: Callable[[str], None]) -> None:
    """Fill the frame cache for all policies together."""
    from vivant.media import MediaLoader

    with MediaLoader(cache_root()) as loader:
        for task in prepared[0].plan.tasks:
            root = str(task.benchmark.data.media_root(task.root).resolve())
            videos = sorted({p.path for s in task.chosen for p in s.question if isinstance(p, Video)})
            if videos:
                say(f"{task.task}: decoding {len(videos)} videos once for all frame counts")
                loader.warm(root, videos, [each.plan.settings.frames for each in prepared])


def sweep_table(points: Sequence[Point], protocol: Protocol = "paper", by: Sequence[str] = ()) -> Table:
    """Score against frames, one line per number of frames, task and group."""
    rows: list[tuple[int, Row]] = []
    for point in points:
        for part in point.run.scores(protocol):
            rows += [(point.frames, row) for row in summarise(part, registry.of_task(part.task), by)]
    rows.sort(key=lambda pair: (pair[1].task, sorted(pair[1].group.items()), pair[0]))
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
        )
        for frames, row in rows
    )
    model = points[0].run.model if points else ""
    return Table(
        title=f"{model}: score against frames, protocol {protocol}",
        columns=("task", *by, "frames", "score", "95 % interval", "n", "errors", "unparsed"),
        body=body,
        rows=tuple(
            msgspec.structs.replace(row, group={**row.group, "frames": str(frames)}) for frames, row in rows
        ),
    )
