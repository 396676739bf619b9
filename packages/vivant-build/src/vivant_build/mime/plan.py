"""What is to be rendered, as data: actions × variants, each a shot that says everything about one video."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from msgspec import Struct

from vivant.core.errors import UsageError
from vivant.core.structs import copy_shared_fields


class Variant(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to show an action; `name` is MIME's config_name, made of the rest where it is empty."""

    name: str = ""
    avatar: str = "man"
    background: str = "blank"
    """blank, aligned (fits the action), misaligned (fits another one), or a background for all actions."""
    angle: int = 0


VARIANTS: tuple[Variant, ...] = (
    Variant("base+blank@0", "man", "blank"),
    Variant("adversarial+blank@0", "spacesuit", "blank"),
    Variant("woman+blank@0", "woman", "blank"),
    Variant("base+aligned@0", "man", "aligned"),
    Variant("base+misaligned@0", "man", "misaligned"),
    Variant("adversarial+aligned@0", "spacesuit", "aligned"),
    Variant("adversarial+misaligned@0", "spacesuit", "misaligned"),
    Variant("base+blank@90", "man", "blank", 90),
    Variant("base+blank@180", "man", "blank", 180),
    Variant("base+blank@270", "man", "blank", 270),
)
"""The ten of the paper: against base+blank@0 each changes the body, the background or the angle."""


class Staging(Struct, frozen=True, kw_only=True):
    """What is decided once for an action and holds for all its variants."""

    action: str
    actor: str
    """One letter; it stands in the file names."""
    labels: tuple[str, ...]
    distractors: tuple[str, ...]
    aligned: str
    """Names of the backgrounds."""
    misaligned: str


class Shot(Struct, frozen=True, kw_only=True):
    """One video to be made."""

    action: str
    actor: str
    variant: str
    avatar: str
    background: str
    scene: str
    angle: int
    file: str


class MimeMetadataRow(Struct, frozen=True, kw_only=True):
    """A line of metadata.jsonl: MIME's columns, in MIME's order, all of them strings."""

    action: str
    angle: str
    avatar: str
    background_config: str
    background_name: str
    distractors: str
    label: str
    sample_id: str
    s3_url: str
    type: str
    split: str
    file_name: str
    config_name: str


def plan_shots(stagings: Sequence[Staging], variants: Sequence[Variant] = VARIANTS) -> list[Shot]:
    """Every staged action in every variant, in a fixed order."""
    shots = []
    for staging in stagings:
        scenes = {"blank": "blank", "aligned": staging.aligned, "misaligned": staging.misaligned}
        for variant in variants:
            scene = scenes.get(variant.background, variant.background)
            file = f"{variant.avatar}_{staging.actor}_{staging.action}_angle{variant.angle}_{scene}.mp4"
            shots.append(
                Shot(
                    **copy_shared_fields(staging, Shot),
                    **copy_shared_fields(variant, Shot),
                    variant=variant.name,
                    scene=scene,
                    file=file,
                )
            )
    if not shots:
        raise UsageError("The plan has no videos; give at least one action and one variant")
    _refuse_shared_files(shots)
    return shots


def _refuse_shared_files(shots: Sequence[Shot]) -> None:
    """Refuse two videos of one file name; many file systems do not tell letter case apart."""
    seen: dict[str, Shot] = {}
    for shot in shots:
        other = seen.setdefault(shot.file.lower(), shot)
        if other is not shot:
            remedy = (
                f"its '{other.background}' and '{shot.background}' are both {shot.scene}: give another background"
                if other.action == shot.action
                else "rename one of the actions"
            )
            raise UsageError(
                f"The plan makes {shot.file} twice: {other.action}, {other.variant}, and {shot.action}, "
                f"{shot.variant}; {remedy}"
            )


def build_metadata_rows(
    stagings: Sequence[Staging], shots: Sequence[Shot], split: str = "test"
) -> list[MimeMetadataRow]:
    """The metadata of planned videos; a sample's id is derived from its file name."""
    staged: Mapping[str, Staging] = {staging.action: staging for staging in stagings}
    return [
        MimeMetadataRow(
            action=shot.action,
            angle=str(shot.angle),
            avatar=shot.avatar,
            background_config=shot.background,
            background_name=shot.scene,
            distractors="|".join(staged[shot.action].distractors),
            label="|".join(staged[shot.action].labels),
            sample_id=hashlib.sha256(shot.file.encode()).hexdigest()[:8],
            s3_url="",
            type="MIME",
            split=split,
            file_name=shot.file,
            config_name=shot.variant,
        )
        for shot in shots
    ]
