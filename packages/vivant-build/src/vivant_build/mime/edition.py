"""An edition of MIME from a plan to a folder: what is decided about every action, and the files beside the videos."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from vivant.core.errors import DataError
from vivant.core.files import write_atomic
from vivant_build.mime.cards import format_datasheet
from vivant_build.mime.plan import Shot, Staging, build_metadata_rows, plan_shots
from vivant_build.mime.plan_file import OwnAction, Specification, load_mini_plan
from vivant_build.mime.scenes import SCENES
from vivant_build.mime.semantic_choice import (
    PhraseEncoder,
    Similarities,
    choose_distractors,
    choose_misaligned,
)

MINI = load_mini_plan()
"""The bundled mini-edition."""
PLAN, METADATA, SHEET = "plan.json", "metadata.jsonl", "README.md"


class Edition(Struct, frozen=True):
    """A plan and every decision that was made for it: the content of plan.json."""

    specification: Specification
    stagings: tuple[Staging, ...]

    @property
    def shots(self) -> list[Shot]:
        """Every video, in a fixed order."""
        return plan_shots(self.stagings, self.specification.shown)


def stage(
    spec: Specification, encoder: PhraseEncoder | None = None, *, source: str = "The plan"
) -> list[Staging]:
    """Decide actor, options and backgrounds of every action.

    Loads MiniLM, unless an encoder is given or the plan itself states all options and backgrounds. `source` names the
    plan where it is refused.
    """
    try:
        return _stage(spec, encoder)
    except DataError as error:
        raise DataError(f"{source}: {error}") from None


def _stage(spec: Specification, encoder: PhraseEncoder | None) -> list[Staging]:
    cast = spec.cast
    contrasted = any(variant.background == "misaligned" for variant in spec.shown)
    labels = {action.name: action.labels for action in cast}
    scenes = {action.name: action.background for action in cast}
    words = {scene: describe_scene(spec, scene) for scene in scenes.values()}
    near: Similarities | None = None

    def similarities() -> Similarities:
        nonlocal near
        if near is None:
            texts = [text for group in (*labels.values(), *words.values()) for text in group]
            near = Similarities(encoder or _load_encoder(), texts)
        return near

    def distractors(action: OwnAction) -> tuple[str, ...]:
        if action.distractors:
            return action.distractors
        return choose_distractors(action.name, labels, similarities(), seed=spec.seed, drop=spec.drop)

    def misaligned(action: OwnAction) -> str:
        if action.misaligned or not contrasted:
            return action.misaligned
        return choose_misaligned(action.name, labels, scenes, words, similarities(), seed=spec.seed)

    return [
        Staging(
            action=action.name,
            actor=action.actor or spec.actors[index % len(spec.actors)],
            labels=action.labels,
            distractors=distractors(action),
            aligned=action.background,
            misaligned=misaligned(action),
        )
        for index, action in enumerate(cast)
    ]


def _load_encoder() -> PhraseEncoder:
    from vivant.metrics.similarity import load_encoder

    return load_encoder()


def describe_scene(spec: Specification, scene: str) -> tuple[str, ...]:
    """What is known in words of a background: meaning is measured on these phrases."""
    background = spec.backgrounds.get(scene)
    if background is not None:
        return tuple(
            text for text in (background.description or scene.replace("_", " "), *background.fits) if text
        )
    if scene not in SCENES:
        return (scene,)
    return (SCENES[scene].description, *SCENES[scene].fits)


def write_plan(edition: Edition, out: Path) -> None:
    """plan.json, before anything is rendered: an unfinished folder can then be checked against it."""
    _write(out / PLAN, plan_document(edition.specification, edition.stagings))


def write_metadata(edition: Edition, out: Path) -> Path:
    """The data sheet and, last, metadata.jsonl: its presence says that all videos are there."""
    spec, stagings = edition.specification, edition.stagings
    _write(out / SHEET, format_datasheet(spec, stagings, len(edition.shots)).encode())
    _write(out / METADATA, format_metadata(spec, stagings))
    return out / METADATA


def _write(file: Path, content: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, content)
    except OSError as error:
        raise DataError(f"{file.parent}: the edition cannot be written ({error.strerror or error})") from None


def read_edition(folder: Path) -> Edition:
    """The plan and the decisions that a folder of videos was made from."""
    try:
        return msgspec.json.decode((folder / PLAN).read_bytes(), type=Edition)
    except OSError as error:
        raise DataError(
            f"{folder / PLAN} cannot be read ({error.strerror}); name a folder that `vivant build mime render` made"
        ) from None
    except msgspec.DecodeError as error:
        raise DataError(f"{folder / PLAN} is not a plan of this version: {error}; render it anew") from None


def format_metadata(spec: Specification, stagings: Sequence[Staging]) -> bytes:
    """metadata.jsonl of an edition, byte for byte."""
    rows = build_metadata_rows(stagings, plan_shots(stagings, spec.shown), spec.split)
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def plan_document(spec: Specification, stagings: Sequence[Staging]) -> bytes:
    """plan.json: the specification and every decision, for review and for building again."""
    document = Edition(spec, tuple(stagings))
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
