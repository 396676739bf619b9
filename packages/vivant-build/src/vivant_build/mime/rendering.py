"""From a planned shot to its frames: the motion, the camera, the background, and one over the other."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from vivant.core import randomness as chance
from vivant.core.errors import DataError, UsageError
from vivant_build.mime.bundled_characters import make_character
from vivant_build.mime.camera import Camera
from vivant_build.mime.characters import Character, Colour
from vivant_build.mime.choreography import ACTIONS, perform
from vivant_build.mime.clean import Loop, close_loop, cut
from vivant_build.mime.motion import Motion
from vivant_build.mime.plan import Shot, Staging
from vivant_build.mime.plan_file import OwnAction, Specification
from vivant_build.mime.rasterizer import Picture, Plane, to_picture
from vivant_build.mime.recording import read_motion, read_recording
from vivant_build.mime.renderers import Performance, Renderer, find_renderer
from vivant_build.mime.scenes import draw_background, read_background
from vivant_build.mime.take import Variation, vary
from vivant_build.mime.video import crop_centre, frame_motion

logger = logging.getLogger("vivant")

_BLEND = 0.3
"""Seconds in which the end of a repeated motion passes into its start."""


@dataclass(frozen=True, eq=False)
class ActionSetup:
    """What all shots of one action share: only the variant's own factor differs between them."""

    motion: Motion
    camera: Camera
    """From the front; it suits the man, whoever is shown."""
    stature: float


def find_plan_action(spec: Specification, name: str) -> OwnAction:
    """An action of the plan by the name that it has there."""
    for action in spec.cast:
        if action.name == name:
            return action
    raise UsageError(f"The plan has no action '{name}'")


def choose_variation(spec: Specification, staging: Staging) -> Variation:
    """How this actor does this action. Recordings are shown as they were made."""
    action = ACTIONS.get(find_plan_action(spec, staging.action).motion)
    if action is None:
        return Variation()
    return vary(spec.seed, staging.actor, staging.action, may_mirror=action.may_mirror)


def set_up_action(spec: Specification, staging: Staging, root: Path) -> ActionSetup:
    """The motion of an action at the plan's rate and length, and the camera that suits it."""
    action = find_plan_action(spec, staging.action)
    variation = choose_variation(spec, staging)
    if action.motion in ACTIONS:
        noise = chance.derive_seed(spec.seed, staging.actor)
        motion = perform(ACTIONS[action.motion], spec.fps, variation, seed=noise)
    else:
        motion = _read_recording(root / action.motion, recording_state(spec, staging, root)).resampled(
            spec.fps
        )
    if action.heading:
        motion = motion.turned(action.heading)
    if spec.seconds is not None:
        motion = fit_length(motion, max(1, round(spec.seconds * spec.fps)))
    shapes = make_character("man", variation.stature).pose(motion)
    return ActionSetup(motion, frame_motion(shapes, (spec.width, spec.height)), variation.stature)


def recording_state(spec: Specification, staging: Staging, root: Path) -> tuple[int, int] | None:
    """Size and time of change of an action's recording; None for a bundled motion or a file that is gone."""
    action = find_plan_action(spec, staging.action)
    file = root / action.motion
    if action.motion in ACTIONS or not file.exists():
        return None
    status = file.stat()
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=2)
def _read_recording(file: Path, _state: tuple[int, int] | None) -> Motion:
    """`_state` is only a key: a file that has changed is read again."""
    return read_motion(file)


def fit_length(motion: Motion, frames: int) -> Motion:
    """The motion cut to so many frames, or repeated until it fills them, each end bent into the next start."""
    if frames <= len(motion):
        return cut(motion, 0, frames)
    looped = close_loop(motion, Loop(0, len(motion), 0.0), _BLEND)
    index = np.arange(frames) % len(looped)
    return replace(looped, root=looped.root[index], rotations=looped.rotations[index])


def load_body(spec: Specification, avatar: str, stature: float, root: Path) -> Character | Path:
    """A bundled body, one of the plan's own, or the file of a character."""
    entry = spec.avatars.get(avatar)
    if entry is None:
        return make_character(avatar, stature)
    if entry.file:
        return root / entry.file
    clothes = {part: _colour(text) for part, text in entry.clothes.items()}
    return make_character(entry.body, stature * entry.size, build=entry.build, clothes=clothes)


def _colour(text: str) -> Colour:
    red, green, blue = bytes.fromhex(text.removeprefix("#"))
    return red, green, blue


def load_background(spec: Specification, scene: str, camera: Camera, root: Path) -> Plane:
    """A background by its name in the plan, as the camera sees it."""
    entry = spec.backgrounds.get(scene)
    if entry is None:
        return draw_background(scene, camera, flat=spec.renderer == "capsules")
    return read_background(root / entry.file, (camera.width, camera.height))


def load_renderer(spec: Specification) -> Renderer:
    """The renderer that the plan asks for."""
    return find_renderer(spec.renderer, spec.samples)


def check_files(spec: Specification, root: Path) -> None:
    """Read every file that the plan names, so that a bad one is refused before hours of rendering."""
    refused: dict[str, DataError] = {}
    for action in spec.cast:
        if action.motion in ACTIONS:
            continue
        try:
            recording = read_recording(root / action.motion)
            _check_moves(recording.motion, spec.fps, root / action.motion)
        except DataError as error:
            refused[action.motion] = error
            continue
        for note in recording.notes:
            logger.warning("%s: %s", action.motion, note)
    if refused:
        first, *others = refused
        also = f"; refused are also {', '.join(others)}" if others else ""
        raise DataError(f"{refused[first]}{also}")
    for background in spec.backgrounds.values():
        read_background(root / background.file, spec.size)
    for avatar in spec.avatars.values():
        if avatar.file:
            from vivant_build.mime.blender.character import drive, read_bones

            still = cut(perform(ACTIONS["Waving01"], 4.0), 0, 1)
            drive(read_bones(root / avatar.file), still, avatar.size, str(root / avatar.file))


def _check_moves(motion: Motion, fps: float, file: Path) -> None:
    """Refuse a recording that is a single picture: nothing is mimed in it."""
    if len(motion) < 2 or round(motion.seconds * fps) < 2:
        raise DataError(
            f"{file}: {motion.seconds:.2f} s of motion are a single picture at {fps:g} frames a second; "
            "name a longer recording"
        )


@dataclass
class RenderStatistics:
    """What is learnt of a video while its frames pass by."""

    frames: int = 0
    least: float = 1.0
    """Smallest share of the picture that the body covered in any frame."""


def render_shot(
    spec: Specification,
    scene: ActionSetup,
    shot: Shot,
    renderer: Renderer,
    root: Path,
    seen: RenderStatistics | None = None,
) -> Iterator[Picture]:
    """The finished frames of one shot, one at a time: cut and scaled as the plan says."""
    view = replace(scene.camera, angle=float(shot.angle))
    background = load_background(spec, shot.scene, view, root)
    still = to_picture(background)
    entry = spec.avatars.get(shot.avatar)
    size = scene.stature * (entry.size if entry is not None else 1.0)
    performance = Performance(scene.motion, load_body(spec, shot.avatar, scene.stature, root), size)
    for layer in renderer.layers(performance, view):
        if seen is not None:
            seen.frames += 1
            seen.least = min(seen.least, layer.solid / (view.width * view.height))
        picture = layer.over(background, still)
        yield crop_centre(picture, spec.crop) if spec.crop else picture
