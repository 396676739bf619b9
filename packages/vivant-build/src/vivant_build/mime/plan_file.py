"""A plan: all that an edition depends on, as a YAML file: actions × avatars × backgrounds × angles.

`load_plan` reads one and refuses what is misspelt, unknown or impossible before anything is rendered. Paths in
a plan are relative to the folder that it lies in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from vivant.benchmarks.mime import names
from vivant.core.errors import UsageError, unknown_name_error
from vivant.core.yaml_files import read_resource, read_yaml
from vivant.metrics.text import normalise_text
from vivant_build.mime.bundled_characters import CHARACTERS
from vivant_build.mime.choreography import ACTIONS, find_action
from vivant_build.mime.plan import VARIANTS, Variant
from vivant_build.mime.recording import MOTION_FILES
from vivant_build.mime.renderers import RENDERERS
from vivant_build.mime.scenes import BLANK, SCENES
from vivant_build.mime.semantic_choice import DISTRACTORS

PRESETS: dict[str, tuple[Variant, ...]] = {"mime": VARIANTS}
"""Sets of variants by name: `mime` is the ten of the paper."""
ROLES = (BLANK, "aligned", "misaligned")
"""Backgrounds that are decided action by action."""
EFFORTS = (
    *("ultrafast", "superfast", "veryfast", "faster", "fast"),
    *("medium", "slow", "slower", "veryslow", "placebo"),
)
CHARACTER_FILES = (".fbx", ".glb", ".gltf")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")


class OwnAction(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An action of one's own, or a bundled one with other labels or backgrounds."""

    name: str
    motion: str = ""
    """A bundled action's name, or a recording's file (.bvh, .npz, .glb …). [default: the one called `name`]"""
    labels: tuple[str, ...] = ()
    """Accepted answers; the first is shown as the option."""
    background: str = ""
    """The one that fits."""
    misaligned: str = ""
    """Decided by meaning, unless it is given."""
    distractors: tuple[str, ...] = ()
    """Wrong options; decided by meaning, unless they are given."""
    actor: str = ""
    heading: float = 0.0
    """Degrees by which a recorded actor is turned, so that the front camera sees the action well."""


class OwnCharacter(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A character file for Blender, or a bundled body of another size and in other clothes."""

    file: str = ""
    body: str = ""
    size: float = 1.0
    build: float = 1.0
    """Below 1 slighter, above it stouter."""
    clothes: Mapping[str, str] = field(default_factory=dict)
    """A part of the body's dress → its colour, #rrggbb."""


class OwnBackground(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A picture, with words on what people do there: alignment is decided by them."""

    file: str
    description: str = ""
    fits: tuple[str, ...] = ()


class Cross(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every avatar before every background from every angle."""

    avatars: tuple[str, ...] = ("man",)
    backgrounds: tuple[str, ...] = (BLANK,)
    angles: tuple[int, ...] = (0,)


class Specification(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that an edition depends on, besides the files that it names."""

    actions: tuple[str | OwnAction, ...]
    variants: str | tuple[Variant, ...] | Cross = "mime"
    avatars: Mapping[str, OwnCharacter] = field(default_factory=dict)
    backgrounds: Mapping[str, OwnBackground] = field(default_factory=dict)
    actors: tuple[str, ...] = ("j", "n")
    seed: int = 29
    drop: int = 4
    """How many of the nearest labels are left out before wrong options are drawn."""
    width: int = 640
    height: int = 480
    crop: tuple[int, int] | None = None
    """Width and height that are cut from the middle of each frame, scaled down where the aspect allows more."""
    fps: float = 30.0
    seconds: float | None = None
    """Every video lasts so long: motions are cut or repeated. [default: as long as the motion]"""
    quality: int = 23
    """x264's crf: 0 is lossless, 51 is worst."""
    effort: str = "medium"
    """x264's preset."""
    renderer: str = "built-in"
    """Or capsules, the plain look of earlier editions; or cycles or workbench: Blender."""
    samples: int = 32
    """Rays that Cycles sends through each pixel; its time goes by them."""
    split: str = "test"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the videos."""
        return self.crop or (self.width, self.height)

    @property
    def shown(self) -> tuple[Variant, ...]:
        """The variants, whichever way they are stated."""
        if isinstance(self.variants, str):
            if self.variants not in PRESETS:
                raise unknown_name_error("preset of variants", self.variants, PRESETS)
            return PRESETS[self.variants]
        if isinstance(self.variants, Cross):
            cross = self.variants
            return tuple(
                Variant(_variant_name(avatar, background, angle), avatar, background, angle)
                for avatar in cross.avatars
                for background in cross.backgrounds
                for angle in cross.angles
            )
        return tuple(
            v if v.name else msgspec.structs.replace(v, name=_variant_name(v.avatar, v.background, v.angle))
            for v in self.variants
        )

    @property
    def cast(self) -> tuple[OwnAction, ...]:
        """All actions with everything filled in that the bundled ones bring."""
        return tuple(_fill(entry) for entry in self.actions)

    @property
    def action_names(self) -> tuple[str, ...]:
        """The names that stand in file names and metadata."""
        return tuple(entry if isinstance(entry, str) else entry.name for entry in self.actions)


def _variant_name(avatar: str, background: str, angle: int) -> str:
    return names.format_variant(avatar, background, str(angle)) or f"{avatar}+{background}@{angle}"


def _fill(entry: str | OwnAction) -> OwnAction:
    action = OwnAction(name=entry) if isinstance(entry, str) else entry
    source = action.motion or action.name
    if Path(source).suffix.lower() in MOTION_FILES:
        return action
    bundled = find_action(source)
    return msgspec.structs.replace(
        action,
        motion=source,
        labels=action.labels or bundled.labels,
        background=action.background or bundled.scene,
    )


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


def load_mini_plan() -> Specification:
    """The plan of the bundled mini-edition."""
    return read_resource("vivant_build.mime", "mini.yaml", Specification)


def load_plan(file: Path) -> Specification:
    """A plan from a file, checked: everything it names is there. `mini` is the bundled one."""
    if str(file) == "mini":
        return load_mini_plan()
    spec = read_yaml(file, Specification)
    check_plan(spec, str(file), file.resolve().parent)
    return spec


# ── checking ─────────────────────────────────────────────────────────────────────────────────────


def check_plan(spec: Specification, source: str, root: Path) -> None:
    """Refuse a plan that could not be rendered, by the first thing that is wrong with it."""

    def fault(text: str) -> UsageError:
        return UsageError(f"{source}: {text}")

    _check_figures(spec, fault)
    try:
        variants, cast = spec.shown, spec.cast
        if not variants or not cast:
            raise UsageError("there is nothing to render; give at least one action and one variant")
        scenes = {BLANK, *SCENES, *spec.backgrounds}
        for variant in variants:
            if variant.avatar not in CHARACTERS and variant.avatar not in spec.avatars:
                raise unknown_name_error("avatar", variant.avatar, [*CHARACTERS, *spec.avatars])
            if variant.background not in ROLES and variant.background not in scenes:
                raise unknown_name_error("background", variant.background, [*ROLES, *scenes])
            if not 0 <= variant.angle < 360:
                raise UsageError(f"the angle {variant.angle} of '{variant.name}' is not from 0 to 359")
        for action in cast:
            _check_action(action, scenes, root)
    except UsageError as error:
        raise fault(str(error)) from None
    _check_twice("action", (action.name for action in cast), fault)
    _check_twice("variant", (variant.name for variant in variants), fault)
    shots = (f"{variant.avatar}, {variant.background}, angle {variant.angle}" for variant in variants)
    _check_twice("combination", shots, fault)
    for name, avatar in spec.avatars.items():
        _check_avatar(name, avatar, spec, fault, root)
    for name, picture in spec.backgrounds.items():
        if name in ROLES or name in SCENES or not _NAME.fullmatch(name.replace("_", "-")):
            raise fault(f"the background '{name}' needs another name: letters and digits, none that is taken")
        _check_file(picture.file, f"the background '{name}'", (), fault, root)


def _check_figures(spec: Specification, fault: Any) -> None:
    sizes = [(spec.width, spec.height), *([spec.crop] if spec.crop else [])]
    for width, height in sizes:
        if not (16 <= width <= 4096 and 16 <= height <= 4096) or width % 2 or height % 2:
            raise fault(f"a picture of {width}×{height} is not possible; use even numbers from 16 to 4096")
    if spec.crop and (spec.crop[0] > spec.width or spec.crop[1] > spec.height):
        raise fault(f"{spec.crop[0]}×{spec.crop[1]} cannot be cut from {spec.width}×{spec.height}")
    if not 1 <= spec.fps <= 240:
        raise fault(f"fps {spec.fps:g} is not from 1 to 240")
    if spec.seconds is not None and not 0.1 <= spec.seconds <= 600:
        raise fault(f"seconds {spec.seconds:g} is not from 0.1 to 600")
    if not 0 <= spec.quality <= 51:
        raise fault(f"quality {spec.quality} is not from 0 (lossless) to 51")
    if spec.effort not in EFFORTS:
        raise fault(str(unknown_name_error("effort", spec.effort, EFFORTS)))
    if spec.renderer not in RENDERERS:
        raise fault(str(unknown_name_error("renderer", spec.renderer, RENDERERS)))
    if not 1 <= spec.samples <= 4096:
        raise fault(f"samples {spec.samples} is not from 1 to 4096")
    if spec.drop < 0:
        raise fault(f"drop {spec.drop} is negative")
    strange = [actor for actor in spec.actors if not _NAME.fullmatch(actor)]
    if strange or not spec.actors:
        raise fault(f"actors should be letters or digits: {', '.join(strange) or 'there are none'}")


def _check_action(action: OwnAction, scenes: Iterable[str], root: Path) -> None:
    if not _NAME.fullmatch(action.name):
        raise UsageError(f"the action '{action.name}' needs a name of letters and digits; it names files")
    if Path(action.motion or action.name).suffix.lower() in MOTION_FILES:
        _check_file(action.motion, f"the motion of '{action.name}'", MOTION_FILES, UsageError, root)
    elif action.motion not in ACTIONS:
        raise unknown_name_error("action", action.motion, ACTIONS)
    if not action.labels or not all(label.strip() for label in action.labels):
        raise UsageError(f"the action '{action.name}' has no labels; give `labels: [name of it, other name]`")
    if not action.background:
        raise UsageError(f"the action '{action.name}' has no background that fits; give `background: NAME`")
    if action.actor and not _NAME.fullmatch(action.actor):
        raise UsageError(f"the actor '{action.actor}' of '{action.name}' should be letters or digits")
    if not math.isfinite(action.heading):
        raise UsageError(f"the heading {action.heading:g} of '{action.name}' is not a number of degrees")
    for label in (*action.labels, *action.distractors):
        if "|" in label:
            raise UsageError(
                f"'{label}' of '{action.name}' has a | in it, which separates labels in metadata"
            )
    check_distractors(action)
    for scene in (action.background, action.misaligned):
        if scene and scene not in scenes:
            raise unknown_name_error("background", scene, scenes)


def check_distractors(action: OwnAction) -> None:
    """Refuse stated wrong options that are not wrong, not different, or not as many as drawn ones are."""
    if len(action.distractors) not in (0, DISTRACTORS):
        raise UsageError(
            f"'{action.name}' has {len(action.distractors)} distractors; give {DISTRACTORS}, or none"
        )
    labels = {normalise_text(label) for label in action.labels}
    seen: set[str] = set()
    for text in action.distractors:
        form = normalise_text(text)
        if not form:
            raise UsageError(f"a distractor of '{action.name}' says nothing: '{text}'")
        if form in labels:
            raise UsageError(f"'{text}' is a label of '{action.name}' and also one of its distractors")
        if form in seen:
            raise UsageError(f"the distractor '{text}' of '{action.name}' stands there twice")
        seen.add(form)


def _check_avatar(name: str, avatar: OwnCharacter, spec: Specification, fault: Any, root: Path) -> None:
    if name in CHARACTERS or not _NAME.fullmatch(name):
        raise fault(f"the avatar '{name}' needs another name: letters and digits, none that is taken")
    if bool(avatar.file) == bool(avatar.body):
        raise fault(f"the avatar '{name}' needs either `file:` (a character) or `body:` (a bundled one)")
    if avatar.body and avatar.body not in CHARACTERS:
        raise fault(str(unknown_name_error("body", avatar.body, CHARACTERS)))
    for measure, value in (("size", avatar.size), ("build", avatar.build)):
        if not 0.5 <= value <= 2.0:
            raise fault(f"the avatar '{name}' has {measure} {value:g}, which is not from 0.5 to 2")
    pieces = CHARACTERS[avatar.body].clothes if avatar.body else {}
    for piece, colour in avatar.clothes.items():
        if piece not in pieces:
            raise fault(str(unknown_name_error(f"clothes of the avatar '{name}'", piece, pieces)))
        if not re.fullmatch("#[0-9a-fA-F]{6}", colour):
            raise fault(f"the avatar '{name}': '{colour}' is not a colour like '#2c385c'")
    if avatar.file:
        _check_file(avatar.file, f"the avatar '{name}'", CHARACTER_FILES, fault, root)
        if spec.renderer in ("built-in", "capsules"):
            raise fault(f"the avatar '{name}' is a file, which Blender draws; set `renderer: cycles`")


def _check_file(path: str, what: str, suffixes: tuple[str, ...], fault: Any, root: Path) -> None:
    if suffixes and Path(path).suffix.lower() not in suffixes:
        raise fault(f"{what} is '{path}', which is none of {', '.join(suffixes)}")
    if not (root / path).is_file():
        raise fault(f"{what}: there is no file {root / path}")


def _check_twice(what: str, names: Iterable[str], fault: Any) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise fault(f"the {what} '{name}' stands there twice")
        seen.add(name)
