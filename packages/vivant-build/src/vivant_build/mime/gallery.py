"""A gallery of what comes with the project: every action, the variants of one, its takes and the bodies, moving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import Struct
from PIL import Image

from vivant.core import randomness as chance
from vivant.core.errors import DataError
from vivant.core.progress import ProgressCallback
from vivant.core.yaml_files import write_text
from vivant_build.mime.bundled_characters import CHARACTERS, make_character
from vivant_build.mime.camera import Camera
from vivant_build.mime.characters import Character
from vivant_build.mime.choreography import ACTIONS, find_action, perform
from vivant_build.mime.clean import cut
from vivant_build.mime.motion import Motion
from vivant_build.mime.plan import VARIANTS
from vivant_build.mime.rasterizer import Picture
from vivant_build.mime.renderers import RENDERERS, Performance, find_renderer
from vivant_build.mime.scenes import draw_background
from vivant_build.mime.take import vary
from vivant_build.mime.video import crop_centre, frame_motion, render_frames
from vivant_build.templates import render_markdown

FPS = 10.0
SHOWN = "Archery001"
"""The action whose variants are shown."""
TAKEN = "Fencing01"
"""The action whose takes are shown."""
_MISALIGNED = "house_front"
"""Where the bundled mini-edition shows it and it does not belong."""
_SIZE = (176, 176)
_DRAWN = 2
"""Pictures are drawn so many times larger and scaled down."""
_ACROSS = 5
LOOKS = "looks.webp"
_LOOK = (320, 240)
_SEED = 29
_KINDS = {
    "sport": "Sports",
    "music": "Music",
    "chore": "Chores",
    "daily": "Daily life",
    "gesture": "Gestures",
}


class GalleryClip(Struct, frozen=True, kw_only=True):
    """One moving picture."""

    file: str
    title: str
    note: str = ""
    group: str


def make_gallery(
    out: Path, page: Path | None = None, progress: ProgressCallback | None = None, *, looks: bool = False
) -> list[GalleryClip]:
    """Write all clips as animated WebP into `out`, and the page that shows them where one is named.

    `looks` also draws one shot by every renderer, for which Blender must be there.
    """
    clips: list[GalleryClip] = []
    if looks:
        for name in RENDERERS:
            find_renderer(name)
    total = len(ACTIONS) + len(VARIANTS) + 2

    def keep(clip: GalleryClip, frames: Sequence[Picture]) -> None:
        _save(frames, out / clip.file)
        clips.append(clip)
        if progress is not None:
            progress(len(clips), total, clip.file)

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out} cannot be written: {error.strerror or error}") from None
    for action in ACTIONS.values():
        motion = perform(action, FPS)
        clip = GalleryClip(
            file=f"{action.name}.webp",
            title=action.labels[0],
            note=action.name,
            group=_KINDS[action.category],
        )
        keep(clip, _frames(motion, make_character("man"), "blank"))
    example = perform(find_action(SHOWN), FPS)
    camera = _camera(example, make_character("man"))
    scenes = {"blank": "blank", "aligned": ACTIONS[SHOWN].scene, "misaligned": _MISALIGNED}
    for variant in VARIANTS:
        scene = scenes[variant.background]
        file = f"variant-{variant.name.replace('+', '-').replace('@', '-')}.webp"
        view = replace(camera, angle=float(variant.angle))
        keep(
            GalleryClip(file=file, title=variant.name, note=scene, group="Variants"),
            _frames(example, make_character(variant.avatar), scene, view),
        )
    takes = [_take(actor) for actor in "abcdef"]
    keep(
        GalleryClip(file="takes.webp", title="Six takes by six actors", group="Takes"),
        _side_by_side([_frames(motion, make_character("man", size), "blank") for motion, size in takes]),
    )
    wave = perform(find_action("Waving01"), FPS)
    wide = _camera(wave, make_character("man"))
    bodies = [_frames(wave, make_character(name), "blank", wide) for name in CHARACTERS]
    keep(GalleryClip(file="bodies.webp", title=", ".join(CHARACTERS), group="Bodies"), _side_by_side(bodies))
    if looks:
        draw_looks(out / LOOKS)
    if page is not None:
        write_text(page, format_gallery(clips, _between(page, out), looks=looks))
    return clips


def draw_looks(file: Path) -> Path:
    """One moment of one action by every renderer, side by side, as a picture whose format `file` names."""
    motion = perform(find_action(SHOWN), FPS)
    moment = cut(motion, len(motion) // 2, len(motion) // 2 + 1)
    rows = []
    for avatar, scene in (("woman", ACTIONS[SHOWN].scene), ("spacesuit", "living_room")):
        body = make_character(avatar)
        camera = replace(frame_motion(make_character("man").pose(moment), _LOOK), angle=20.0)
        pictures: list[Picture] = []
        for name in RENDERERS:
            background = draw_background(scene, camera, flat=name == "capsules")
            pictures.extend(render_frames(Performance(moment, body), camera, background, name))
        rows.append(np.concatenate(pictures, axis=1))
    try:
        Image.fromarray(np.concatenate(rows)).save(file, quality=80)
    except (OSError, ValueError) as error:
        raise DataError(f"{file} cannot be written: {error}") from None
    return file


def _take(actor: str) -> tuple[Motion, float]:
    action = find_action(TAKEN)
    variation = vary(_SEED, actor, TAKEN, may_mirror=action.may_mirror)
    return perform(action, FPS, variation, seed=chance.derive_seed(_SEED, actor)), variation.stature


def _camera(motion: Motion, body: Character) -> Camera:
    return frame_motion(body.pose(motion), (_SIZE[0] * _DRAWN, _SIZE[1] * _DRAWN))


def _frames(motion: Motion, body: Character, scene: str, camera: Camera | None = None) -> list[Picture]:
    view = camera or _camera(motion, body)
    drawn = render_frames(Performance(motion, body), view, draw_background(scene, view))
    return [crop_centre(picture, _SIZE) for picture in drawn]


def _side_by_side(clips: Sequence[Sequence[Picture]]) -> list[Picture]:
    """Clips at half their size next to each other; shorter ones wait in their last picture."""
    count = max(len(clip) for clip in clips)
    small = (_SIZE[0] * 5 // 8, _SIZE[1] * 5 // 8)
    rows = [[crop_centre(clip[min(n, len(clip) - 1)], small) for clip in clips] for n in range(count)]
    return [np.concatenate(row, axis=1) for row in rows]


def _save(frames: Sequence[Picture], file: Path) -> None:
    first, *rest = [Image.fromarray(picture) for picture in frames]
    try:
        first.save(
            file,
            save_all=True,
            append_images=rest,
            duration=round(1000 / FPS),
            loop=0,
            quality=66,
            method=5,
            minimize_size=True,
        )
    except OSError as error:
        raise DataError(f"{file} cannot be written: {error.strerror or error}") from None


def _between(page: Path, out: Path) -> str:
    import os

    return Path(os.path.relpath(out.resolve(), page.resolve().parent)).as_posix()


def format_gallery(clips: Sequence[GalleryClip], folder: str, *, looks: bool = False) -> str:
    """The page in Markdown: actions by kind, then variants, takes, bodies and renderers."""
    groups = [*_KINDS.values(), "Variants"]
    return render_markdown(
        "vivant_build.mime",
        "gallery.md",
        actions=len(ACTIONS),
        groups=groups[:-1],
        clips={group: [clip for clip in clips if clip.group == group] for group in groups},
        first_variant=VARIANTS[0].name,
        characters=list(CHARACTERS),
        folder=folder,
        looks=LOOKS if looks else "",
        renderers=list(RENDERERS),
        across=_ACROSS,
        width=_SIZE[0],
    )
