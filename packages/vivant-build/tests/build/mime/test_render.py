"""The renderer against its definition, the camera, the scenes, and the files that come out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from tests.support.quick_params import mark_most_full
from vivant.core.errors import MediaError, UsageError
from vivant_build.mime import (
    ACTIONS,
    CHARACTERS,
    SCENES,
    Camera,
    Motion,
    Painter,
    Performance,
    draw_background,
    draw_contact_sheet,
    encode,
    make_character,
    perform,
    read_background,
    render_video,
)
from vivant_build.mime.characters import Shapes
from vivant_build.mime.rasterizer import Picture
from vivant_build.mime.rotation import unit
from vivant_build.mime.video import frame_motion, read_frames, render_frames

SMALL = Camera(width=160, height=120)


@pytest.fixture(scope="module")
def motion() -> Motion:
    return perform(ACTIONS["Archery001"], 10.0)


Place = tuple[float, float, float]
Part = tuple[Place, Place, float, float, int]


def shapes(*capsules: Part) -> Shapes:
    """One frame of capsules; the last number is a grey."""
    return Shapes(
        np.array([[c[0] for c in capsules]], float),
        np.array([[c[1] for c in capsules]], float),
        np.array([c[2] for c in capsules], float),
        np.array([c[3] for c in capsules], float),
        np.array([[c[4]] * 3 for c in capsules], np.float32),
        np.zeros(len(capsules), bool),
    )


def picture(camera: Camera, *capsules: Part) -> Picture:
    return next(Painter(camera).frames(shapes(*capsules)))


@pytest.mark.parametrize(
    "a,b,r1,r2",
    mark_most_full(
        [
            ((-0.4, 0.6, 0.0), (0.4, 1.3, 0.0), 0.12, 0.12),
            ((-0.4, 0.6, 0.0), (0.4, 1.3, 0.0), 0.2, 0.05),
            ((-0.2, 0.8, -0.4), (0.2, 1.1, 0.4), 0.15, 0.1),
            ((0.2, 1.1, 0.4), (-0.2, 0.8, -0.4), 0.1, 0.15),
            ((0.0, 0.9, -0.3), (0.03, 0.92, 0.3), 0.1, 0.1),
            ((0.0, 0.9, -0.3), (0.02, 0.9, 0.3), 0.2, 0.08),
            ((0.0, 0.9, 0.3), (0.02, 0.9, -0.3), 0.2, 0.08),
        ],
        5,
    ),
)
def test_a_capsule_covers_what_rays_through_its_balls_hit(
    a: tuple[float, float, float], b: tuple[float, float, float], r1: float, r2: float
) -> None:
    camera = Camera(width=240, height=180, field=30.0)
    hit = np.zeros((camera.height, camera.width), bool)
    right, down, ahead = camera.axes
    x = np.arange(camera.width) + 0.5 - camera.width / 2
    y = np.arange(camera.height)[:, None] + 0.5 - camera.height / 2
    rays = unit(x[..., None] * right + y[..., None] * down + camera.focal * ahead)
    for share in np.linspace(0, 1, 300):
        centre = np.asarray(a) * (1 - share) + np.asarray(b) * share - camera.position
        off = np.linalg.norm(centre - (rays @ centre)[..., None] * rays, axis=-1)
        hit |= off < r1 * (1 - share) + r2 * share
    drawn = picture(camera, (a, b, r1, r2, 200))[..., 3] > 127
    differ = int((hit != drawn).sum())
    edge = int((hit[1:] != hit[:-1]).sum() + (hit[:, 1:] != hit[:, :-1]).sum())
    # Perspective bends within one limb, which the renderer leaves out: part of a pixel at the outline.
    assert differ < 0.25 * edge, f"{differ} pixels differ along an outline of {edge}"


def test_what_is_nearer_hides_what_is_behind_whatever_the_order() -> None:
    near, far = (
        ((0.0, 0.9, 0.5), (0.0, 0.9, 0.5), 0.2, 0.2, 250),
        ((0.0, 0.9, -0.5), (0.0, 0.9, -0.5), 0.3, 0.3, 60),
    )
    one, other = picture(SMALL, near, far), picture(SMALL, far, near)
    assert np.array_equal(one, other)
    assert one[60, 80, 0] > 150
    behind = picture(replace(SMALL, angle=180.0), near, far)
    assert behind[60, 80, 0] < 80


def test_crossing_capsules_are_sorted_pixel_by_pixel() -> None:
    # Each is nearer at one end: no order of whole capsules could be right.
    light = ((-0.5, 0.9, 0.4), (0.5, 0.9, -0.4), 0.1, 0.1, 250)
    dark = ((-0.5, 0.9, -0.4), (0.5, 0.9, 0.4), 0.1, 0.1, 40)
    row = picture(SMALL, light, dark)[60, :, 0]
    assert row[65] > 120 and row[95] < 60


def test_edges_are_soft_and_the_rest_is_empty() -> None:
    alpha = picture(SMALL, ((0, 0.9, 0), (0, 0.9, 0), 0.3, 0.3, 200))[..., 3]
    assert alpha[0, 0] == 0 and alpha[60, 80] == 255
    assert ((alpha > 20) & (alpha < 235)).sum() > 20
    area = alpha.astype(float).sum() / 255
    scale = SMALL.focal / SMALL.distance
    assert area == pytest.approx(np.pi * (0.3 * scale) ** 2, rel=0.03)


def test_light_comes_from_above() -> None:
    ball = picture(SMALL, ((0, 0.9, 0), (0, 0.9, 0), 0.4, 0.4, 200))
    assert int(ball[45, 75, 0]) > int(ball[75, 85, 0]) + 30


def test_things_outside_the_picture_or_behind_the_camera_do_no_harm() -> None:
    far_aside = ((50.0, 0.9, 0.0), (51.0, 0.9, 0.0), 0.2, 0.2, 200)
    behind = ((0.0, 0.9, 9.0), (0.0, 0.9, 9.5), 0.2, 0.2, 200)
    cut = ((0.9, 0.9, 0.0), (3.0, 0.9, 0.0), 0.2, 0.2, 200)
    assert picture(SMALL, far_aside, behind)[..., 3].max() == 0
    assert picture(SMALL, cut)[60, -1, 3] == 255


def test_the_camera_agrees_with_its_own_floor() -> None:
    for angle in (0.0, 90.0, 215.0):
        camera = replace(SMALL, angle=angle)
        x, z = camera.floor()
        rows, columns = [70, 100, 119], [10, 80, 150]
        points = np.array([[x[r, c], 0.0, z[r, c]] for r in rows for c in columns])
        pixels = camera.project(points)
        assert np.allclose(pixels, [[c + 0.5, r + 0.5] for r in rows for c in columns])
        above = np.arange(camera.height) + 0.5 < camera.horizon
        assert np.all(np.isnan(z[above])) and not np.any(np.isnan(z[~above]))


def test_the_left_hand_is_on_the_right_of_the_picture_seen_from_the_front() -> None:
    left = np.array([0.5, 1.0, 0.0])
    assert SMALL.project(left)[0] > 80
    assert replace(SMALL, angle=180.0).project(left)[0] < 80
    # From 90° the camera stands at the figure's left.
    assert replace(SMALL, angle=90.0).view(left)[2] < replace(SMALL, angle=90.0).view(-left)[2]


@pytest.mark.parametrize("name", CHARACTERS)
def test_a_body_is_whole_in_the_picture_from_every_angle_with_its_shadow(name: str, motion: Motion) -> None:
    posed = make_character(name).pose(motion)
    camera = frame_motion(posed, (160, 120))
    for angle in (0.0, 90.0, 180.0, 270.0):
        frame = next(Painter(replace(camera, angle=angle)).frames(posed))
        solid = frame[..., 3] > 250
        assert not solid[0].any() and not solid[:, 0].any() and not solid[:, -1].any() and not solid[-1].any()
        assert np.ptp(np.flatnonzero(solid.any(axis=1))) > 60, "the body is too small"
        shadow = (frame[..., 3] > 20) & (frame[..., 3] < 200) & (frame[..., :3].max(axis=-1) < 8)
        assert shadow.sum() > 100
        assert np.flatnonzero(shadow.any(axis=1)).min() > 60, "the shadow lies on the floor"


def test_the_three_avatars_look_different(motion: Motion) -> None:
    camera = frame_motion(make_character("man").pose(motion), (160, 120))
    pictures = {n: next(Painter(camera).frames(make_character(n).pose(motion))) for n in CHARACTERS}
    area = {n: int((p[..., 3] > 250).sum()) for n, p in pictures.items()}
    assert area["spacesuit"] > 1.2 * area["man"] > 1.2 * area["woman"] * 1.02
    for one, other in (("man", "woman"), ("man", "spacesuit"), ("woman", "spacesuit")):
        both = (pictures[one][..., 3] > 250) & (pictures[other][..., 3] > 250)
        gap = np.abs(pictures[one][both].astype(int) - pictures[other][both].astype(int))[:, :3].max(axis=1)
        assert np.mean(gap > 40) > 0.5, f"{one} and {other} are dressed alike"


def test_unknown_avatars_and_scenes_are_named_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="spacesuit"):
        make_character("spacesuite")
    with pytest.raises(UsageError, match="living_room"):
        draw_background("livingroom", SMALL)


def test_scenes_differ_fill_the_picture_and_say_what_they_fit() -> None:
    drawn = {name: draw_background(name, SMALL) for name in ["blank", *SCENES]}
    for name, planes in drawn.items():
        assert planes.shape == (3, 120, 160) and planes.dtype == np.float32
        assert planes.min() >= 0.0 and planes.max() <= 1.0
        if name != "blank":
            assert planes.std() > 0.05
            assert SCENES[name].fits and SCENES[name].description
    assert drawn["blank"].std(axis=(1, 2)).max() == pytest.approx(0.0, abs=1e-6)
    names = list(drawn)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            assert np.abs(drawn[one] - drawn[other]).mean() > 0.04, f"{one} and {other} look alike"
    assert {action.scene for action in ACTIONS.values()} <= set(SCENES)


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_has_the_same_ground_from_near_and_far(name: str) -> None:
    # What lies behind a near camera must not come out upside down.
    near, far = (
        draw_background(name, replace(SMALL, distance=d, target=(0.0, 0.6, 0.0))) for d in (3.0, 6.0)
    )
    ground = [picture[:, 108:, 60:100].mean(axis=(1, 2)) for picture in (near, far)]
    assert np.abs(ground[0] - ground[1]).max() < 0.12


def test_a_picture_serves_as_background_cut_around_its_middle(tmp_path: Path) -> None:
    wide = np.zeros((50, 200, 3), np.uint8)
    wide[:, 90:110] = (255, 0, 0)
    Image.fromarray(wide).save(tmp_path / "wide.png")
    planes = read_background(tmp_path / "wide.png", (160, 120))
    assert planes.shape == (3, 120, 160)
    assert planes[0, 60, 80] > 0.9 and planes[0, 60, 5] < 0.1
    (tmp_path / "not.png").write_bytes(b"this is no picture")
    with pytest.raises(MediaError, match=r"not\.png"):
        read_background(tmp_path / "not.png", (160, 120))
    with pytest.raises(MediaError, match="no such"):
        read_background(tmp_path / "gone.png", (160, 120))


def test_a_video_has_the_frames_size_rate_and_no_sound(tmp_path: Path, motion: Motion) -> None:
    out = tmp_path / "a.mp4"
    count = render_video(motion, "woman", "gym", 90, (160, 120), 12.5, out)
    assert count == round(motion.seconds * 12.5)
    with av.open(str(out)) as container:
        assert not container.streams.audio
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height, stream.frames) == (160, 120, count)
        times = [frame.time for frame in container.decode(stream)]
    assert np.allclose(times, np.arange(count) / 12.5, atol=1e-4)
    # Ready for playing while it is still being fetched: the index comes before the pictures.
    data = out.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


@pytest.mark.parametrize("fps", [4.0, 12.5, 23.976, 30.0])
@pytest.mark.parametrize("preset", ["ultrafast", "medium"])
def test_times_are_even_however_late_the_encoder_writes(tmp_path: Path, fps: float, preset: str) -> None:
    # More frames than any encoder holds back, so that the file's head is written in between.
    frames = [np.full((48, 64, 3), shade, np.uint8) for shade in range(0, 240, 3)]
    assert encode(frames, tmp_path / "a.mp4", fps, preset=preset) == 80
    with av.open(str(tmp_path / "a.mp4")) as container:
        stream = container.streams.video[0]
        assert stream.average_rate is not None and float(stream.average_rate) == pytest.approx(fps)
        times = [frame.time for frame in container.decode(stream)]
    assert np.allclose(times, np.arange(80) / fps, atol=1e-3)


def test_frames_survive_encoding(tmp_path: Path, motion: Motion) -> None:
    man = make_character("man")
    camera = frame_motion(man.pose(motion), (160, 120))
    frames = list(render_frames(Performance(motion, man), camera, draw_background("road", camera)))
    encode(iter(frames), tmp_path / "a.mp4", 10.0, crf=12)
    for made, read in zip(frames, read_frames(tmp_path / "a.mp4"), strict=True):
        assert np.abs(made.astype(int) - read.astype(int)).mean() < 4


PLAIN_PROCESSOR = """
import ctypes, sys
from pathlib import Path
import av
from vivant_build.mime import ACTIONS, perform, render_video
from vivant_build.mime.video import VideoWriter

library = next(line.split()[-1] for line in open("/proc/self/maps") if "libavutil" in line)
ctypes.CDLL(library).av_force_cpu_flags(0)
start = VideoWriter.__init__

def start_plain(writer, *given, **named):
    start(writer, *given, **named)
    options = writer._stream.options
    writer._stream.options = {**options, "x264-params": options["x264-params"] + ":asm=0"}

VideoWriter.__init__ = start_plain
render_video(perform(ACTIONS["Archery001"], 10.0), "man", "road", 30, (160, 120), 10, Path(sys.argv[1]))
"""
"""Draws a video without the instructions that some processors have and others lack."""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="the library's path is read from /proc")
def test_a_video_is_the_same_on_every_processor(tmp_path: Path, motion: Motion) -> None:
    render_video(motion, "man", "road", 30, (160, 120), 10, tmp_path / "here.mp4")
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": " ".join(found), "OPENBLAS_CORETYPE": "Prescott"}
    subprocess.run(
        [sys.executable, "-c", PLAIN_PROCESSOR, str(tmp_path / "plain.mp4")], env=environment, check=True
    )
    assert (tmp_path / "plain.mp4").read_bytes() == (tmp_path / "here.mp4").read_bytes()


def test_bad_videos_are_refused_and_leave_nothing_behind(tmp_path: Path) -> None:
    odd = np.zeros((31, 40, 3), np.uint8)
    with pytest.raises(UsageError, match="even"):
        encode([odd], tmp_path / "odd.mp4", 10.0)
    with pytest.raises(UsageError, match="no frames"):
        encode([], tmp_path / "none.mp4", 10.0)

    def broken() -> Iterator[Picture]:
        yield np.zeros((32, 40, 3), np.uint8)
        raise RuntimeError("stopped in the middle")

    with pytest.raises(RuntimeError):
        encode(broken(), tmp_path / "half.mp4", 10.0)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(MediaError, match="cannot be written"):
        encode([np.zeros((32, 40, 3), np.uint8)], tmp_path / "gone" / "a.mp4", 10.0)


def test_a_background_of_another_size_is_refused(motion: Motion) -> None:
    performance = Performance(motion, make_character("man"))
    with pytest.raises(UsageError, match="one size"):
        next(render_frames(performance, SMALL, np.zeros((3, 60, 80), np.float32)))


def test_a_contact_sheet_shows_every_video(tmp_path: Path, motion: Motion) -> None:
    videos = []
    for name in ("road", "gym"):
        videos.append(tmp_path / f"{name}.mp4")
        render_video(motion, "man", name, 0, (160, 120), 10.0, videos[-1])
    sheet = draw_contact_sheet(
        videos, tmp_path / "sheet.png", titles=["a", "b"], frames=4, height=60, crop=1.0
    )
    with Image.open(sheet) as opened:
        pixels = np.asarray(opened.convert("RGB")).astype(int)
    assert pixels.shape[0] == 2 * 60 + 2
    assert pixels.shape[1] > 4 * 80
    assert np.abs(pixels[:60] - pixels[62:]).mean() > 20
    with pytest.raises(UsageError, match="at least one"):
        draw_contact_sheet([], tmp_path / "none.png")
    (tmp_path / "bad.mp4").write_bytes(b"0" * 600)
    with pytest.raises(MediaError, match=r"bad\.mp4"):
        draw_contact_sheet([tmp_path / "bad.mp4"], tmp_path / "none.png")
