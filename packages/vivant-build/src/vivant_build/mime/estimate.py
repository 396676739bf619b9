"""What a plan would cost: counts are exact, time and disk are measured on a few frames of it."""

from __future__ import annotations

import tempfile
import time
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core.table import Table
from vivant_build.mime.edition import stage
from vivant_build.mime.jobs import count_workers, format_duration
from vivant_build.mime.plan import Shot, plan_shots
from vivant_build.mime.plan_file import ROLES, Specification
from vivant_build.mime.renderers import find_renderer
from vivant_build.mime.rendering import ActionSetup, check_files, render_shot, set_up_action
from vivant_build.mime.video import encode

_SAMPLE = 12
"""Frames drawn to measure with."""
_CYCLES, _WORKBENCH, _START = 1.6, 1.3, 6.0
"""Seconds of a core for Cycles' every million rays, for Workbench's million pixels, and until Blender draws.

As measured on one machine; another may differ by a lot."""


class RenderEstimate(Struct, frozen=True):
    """Counts of a plan, and what making it takes."""

    videos: int
    frames: int
    seconds: float
    """Of one core."""
    bytes: int


def estimate_render(spec: Specification, root: Path, source: str = "The plan") -> RenderEstimate:
    """Count every frame; draw and encode a few of the first action to know time and size.

    Whatever `render` would refuse at its start (a file, too few wrong options, no background that does not fit) is
    refused here, too.
    """
    stagings = stage(spec, source=source)
    shots = plan_shots(stagings, spec.shown)[: len(spec.shown)]
    check_files(spec, root)
    scenes = [set_up_action(spec, staging, root) for staging in stagings]
    frames = sum(len(scene.motion) for scene in scenes) * len(spec.shown)
    videos = len(stagings) * len(spec.shown)
    plainest, busiest = (
        _measure(spec, shots[0], scenes[0], root),
        _measure(spec, shots[-1], scenes[0], root),
    )
    seconds = frames * (plainest[0] + busiest[0]) / 2
    if spec.renderer in ("cycles", "workbench"):
        pixel = spec.samples * _CYCLES if spec.renderer == "cycles" else _WORKBENCH
        seconds += frames * pixel * spec.width * spec.height / 1e6 + videos * _START
    return RenderEstimate(videos, frames, seconds, round(frames * (plainest[1] + busiest[1]) / 2))


def _measure(spec: Specification, shot: Shot, scene: ActionSetup, root: Path) -> tuple[float, float]:
    """Seconds and bytes a frame with the man, who stands in for any character; Blender is not asked."""
    plain = msgspec.structs.replace(shot, avatar="man")
    renderer = find_renderer("capsules" if spec.renderer == "capsules" else "built-in")
    # Once before the clock starts: the background is drawn and the first frame allocates.
    list(islice(render_shot(spec, scene, plain, renderer, root), 1))
    began = time.perf_counter()
    frames = list(islice(render_shot(spec, scene, plain, renderer, root), _SAMPLE))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sample.mp4"
        encode(frames, file, spec.fps, crf=spec.quality, preset=spec.effort)
        size = file.stat().st_size
    return (time.perf_counter() - began) / len(frames), size / len(frames)


def build_plan_table(spec: Specification, cost: RenderEstimate, title: str) -> Table:
    """The plan at a glance."""
    workers = count_workers()
    shared = format_duration(cost.seconds / workers)
    variants = spec.shown
    fixed = sorted({v.background for v in variants} - set(ROLES))
    roles = [role for role in ROLES if any(v.background == role for v in variants)]
    size = f"{spec.size[0]}×{spec.size[1]}"
    if spec.crop:
        size += f", cut from {spec.width}×{spec.height}"
    body: tuple[tuple[str, str], ...] = (
        ("actions", f"{len(spec.actions)}: {_format_names(spec.action_names)}"),
        ("variants", f"{len(variants)}: {_format_names([v.name for v in variants])}"),
        ("avatars", _format_names(sorted({v.avatar for v in variants}))),
        ("backgrounds", _format_names([*roles, *fixed])),
        ("angles", _format_names([str(a) for a in sorted({v.angle for v in variants})])),
        ("renderer", spec.renderer),
        (
            "videos",
            f"{cost.videos:,} of {size}, {spec.fps:g} frames a second, quality {spec.quality} ({spec.effort})",
        ),
        ("frames", f"{cost.frames:,} ({format_duration(cost.frames / spec.fps)} of video)"),
        ("time", f"about {format_duration(cost.seconds)} on one core, {shared} on {workers}"),
        ("disk", f"about {cost.bytes / 1e6:,.1f} MB"),
    )
    return Table(title=f"Plan {title}", columns=("what", "how much"), body=body)


def _format_names(names: list[str] | tuple[str, ...], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" … and {len(names) - most} more" if len(names) > most else "")
