"""An edition of MIME from a specification to a folder: videos, metadata, the plan and a data sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant import chance
from vivant.build.mime.bodies import make_avatar
from vivant.build.mime.datasheet import datasheet
from vivant.build.mime.meaning import Encoder, Similarities, choose_distractors, choose_misaligned
from vivant.build.mime.moves import find_action, perform
from vivant.build.mime.plan import Shot, Staging, metadata_rows, plan_shots
from vivant.build.mime.render import Picture
from vivant.build.mime.scenes import SCENES, draw_background
from vivant.build.mime.take import Variation, vary
from vivant.build.mime.video import encode, framing, render_frames
from vivant.errors import DataError

Progress = Callable[[int, int, str], None]
"""Called after each video with how many are done, how many there are, and the file's name."""


class Specification(Struct, frozen=True, kw_only=True):
    """All that an edition depends on."""

    actions: tuple[str, ...]
    actors: tuple[str, ...] = ("j", "n")
    seed: int = 29
    drop: int = 4
    """How many of the nearest labels are left out before wrong options are drawn."""
    width: int = 320
    height: int = 240
    fps: float = 20.0
    crf: int = 28
    preset: str = "veryslow"
    split: str = "test"


MINI = Specification(
    actions=(
        "Archery001",
        "Basketball001",
        "Bowling003",
        "Boxing001",
        "Climbing001",
        "Driving002",
        "Fishing001",
        "GolfSwing001",
        "JumpRope01",
        "Piano002",
        "PlayingAGuitar002",
        "Rowing01",
        "Soccer003",
        "Sweeping01",
        "Swimming001",
        "Violin002",
        "Weightlifting001",
    )
)
"""The bundled mini-edition. Soccer003, Fishing001 and Violin002 are MIME's few-shot demonstrations."""


def stage(spec: Specification, encoder: Encoder | None = None) -> list[Staging]:
    """Decide actor, options and backgrounds of every action. Loads MiniLM unless an encoder is given."""
    if encoder is None:
        from vivant.scoring.similarity import load_encoder

        encoder = load_encoder()
    actions = [find_action(name) for name in spec.actions]
    labels = {action.name: action.labels for action in actions}
    scenes = {action.name: action.scene for action in actions}
    words = {scene: (SCENES[scene].description, *SCENES[scene].fits) for scene in scenes.values()}
    texts = [text for group in (*labels.values(), *words.values()) for text in group]
    near = Similarities(encoder, texts)
    return [
        Staging(
            action=action.name,
            actor=spec.actors[place % len(spec.actors)],
            labels=action.labels,
            distractors=choose_distractors(action.name, labels, near, seed=spec.seed, drop=spec.drop),
            aligned=action.scene,
            misaligned=choose_misaligned(action.name, labels, scenes, words, near, seed=spec.seed),
        )
        for place, action in enumerate(actions)
    ]


def variation_of(spec: Specification, staging: Staging) -> Variation:
    """How this actor does this action."""
    may_mirror = find_action(staging.action).may_mirror
    return vary(spec.seed, staging.actor, staging.action, may_mirror=may_mirror)


def shoot(
    spec: Specification, staging: Staging, shots: list[Shot]
) -> Iterator[tuple[Shot, Iterator[Picture]]]:
    """The frames of several shots of one action. All share the camera that suits the man, so that only the
    variant's own factor differs."""
    variation = variation_of(spec, staging)
    noise = chance.derive(spec.seed, staging.actor)
    motion = perform(find_action(staging.action), spec.fps, variation, seed=noise)
    camera = framing(make_avatar("man", variation.stature).pose(motion), (spec.width, spec.height))
    for shot in shots:
        shapes = make_avatar(shot.avatar, variation.stature).pose(motion)
        view = replace(camera, angle=float(shot.angle))
        yield shot, render_frames(shapes, view, draw_background(shot.scene, view))


def build(
    spec: Specification, out: Path, progress: Progress | None = None, encoder: Encoder | None = None
) -> Path:
    """Make an edition in the folder `out` and return its metadata file, which is written last."""
    stagings = stage(spec, encoder)
    shots = plan_shots(stagings)
    try:
        out.mkdir(parents=True, exist_ok=True)
        done = 0
        for staging, (_, group) in zip(stagings, groupby(shots, key=lambda shot: shot.action), strict=True):
            for shot, frames in shoot(spec, staging, list(group)):
                encode(frames, out / shot.file, spec.fps, crf=spec.crf, preset=spec.preset)
                done += 1
                if progress is not None:
                    progress(done, len(shots), shot.file)
        (out / "plan.json").write_bytes(plan_document(spec, stagings))
        (out / "README.md").write_text(datasheet(spec, stagings, len(shots)), encoding="utf-8")
        metadata = out / "metadata.jsonl"
        metadata.write_bytes(metadata_document(spec, stagings))
    except OSError as error:
        raise DataError(f"{out}: the edition cannot be written ({error.strerror or error})") from None
    return metadata


def metadata_document(spec: Specification, stagings: list[Staging]) -> bytes:
    """metadata.jsonl of an edition, byte for byte."""
    rows = metadata_rows(stagings, plan_shots(stagings), spec.split)
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def plan_document(spec: Specification, stagings: list[Staging]) -> bytes:
    """plan.json: the specification and every decision, for review and for building again."""
    document = {"specification": spec, "stagings": stagings}
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def build_mini(out: Path, progress: Progress | None = None) -> Path:
    """Make the bundled mini-edition anew in the folder `out`."""
    return build(MINI, out, progress)
