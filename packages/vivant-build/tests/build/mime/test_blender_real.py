"""With a real Blender: set VIVANT_BLENDER to one (4.2 to 4.5), or to a Python that has bpy; skipped without."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from vivant.benchmarks.mime import Mime
from vivant.core.errors import VivantError
from vivant_build.mime import ACTIONS, Camera, make_character, perform
from vivant_build.mime.blender.process import VARIABLE
from vivant_build.mime.check import check_folder
from vivant_build.mime.clean import cut
from vivant_build.mime.jobs import build
from vivant_build.mime.plan_file import Specification
from vivant_build.mime.recording import list_animations, read_motion, read_recording
from vivant_build.mime.renderers import Performance, find_renderer
from vivant_build.mime.skeleton import INDEX, Skeleton
from vivant_build.mime.video import frame_motion

REAL = os.environ.get(VARIABLE) or shutil.which("blender")
SMALL = Camera(width=64, height=48)
MOTION = cut(perform(ACTIONS["Archery001"], 4.0), 5, 6)
pytestmark = [
    pytest.mark.skipif(REAL is None, reason="no Blender here; set VIVANT_BLENDER"),
]


@pytest.fixture(scope="module")
def characters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rigged body and a recording, made by Blender itself."""
    folder = tmp_path_factory.mktemp("characters")
    script = str(Path(__file__).parents[2] / "support" / "blender_character.py")
    program = str(REAL)
    start = (
        [program, script]
        if "python" in Path(program).name
        else [program, "--background", "--python", script, "--"]
    )
    subprocess.run([*start, str(folder)], check=True, capture_output=True, timeout=600)
    return folder


def test_one_action_in_ten_variants_is_rendered_checked_and_read(tmp_path: Path) -> None:
    spec = msgspec.convert(
        {
            "actions": [
                {
                    "name": "Archery001",
                    "misaligned": "living_room",
                    "distractors": ["bowling", "playing piano", "rowing a boat"],
                }
            ],
            "renderer": "workbench",
            "width": 160,
            "height": 90,
            "crop": [96, 72],
            "fps": 4,
            "seconds": 1,
            "effort": "ultrafast",
        },
        Specification,
    )
    metadata = build(spec, tmp_path / "out", root=tmp_path)
    report = check_folder(tmp_path / "out")
    assert (report.videos, report.frames, report.lines) == (10, 40, ())
    samples = Mime().load(tmp_path / "out", "mime/mcq")
    assert len(samples) == 10 and {s.facets["variant"] for s in samples} == {v.name for v in spec.shown}
    assert metadata.is_file()


def test_engines_draw_the_dressed_bodies_that_the_built_in_renderer_draws() -> None:
    body = make_character("man")
    camera = replace(frame_motion(body.pose(MOTION), (192, 144)), angle=30.0)
    drawn = {
        name: next(iter(find_renderer(name, samples=16).layers(Performance(MOTION, body), camera))).alone(
            192, 144
        )
        for name in ("built-in", "workbench", "cycles")
    }
    for name, picture in drawn.items():
        both = (picture[..., 3] > 200) & (drawn["built-in"][..., 3] > 200)
        either = (picture[..., 3] > 200) | (drawn["built-in"][..., 3] > 200)
        assert both.sum() / either.sum() > 0.92, name
        # Clothes at the same places: the light differs, which colour is strongest does not.
        hues = [image[both][..., :3].astype(int).argmax(axis=-1) for image in (picture, drawn["built-in"])]
        assert (hues[0] == hues[1]).mean() > 0.85, name
    dark = drawn["cycles"][100:, :, 3]
    assert ((dark > 30) & (dark < 200)).sum() > 80, "the floor catches a shadow"


@pytest.mark.parametrize("suffix", ["fbx", "glb"])
def test_characters_move_as_our_bodies_do(characters: Path, suffix: str) -> None:
    body = make_character("man")
    camera = frame_motion(body.pose(MOTION), (96, 72))
    renderer = find_renderer("workbench")
    ours = next(iter(renderer.layers(Performance(MOTION, body), camera))).alone(96, 72)[..., 3] > 200
    theirs = next(iter(renderer.layers(Performance(MOTION, characters / f"body.{suffix}"), camera)))
    shape = theirs.alone(96, 72)[..., 3] > 200
    assert (ours & shape).sum() / (ours | shape).sum() > 0.55, "boxes for limbs, in the same pose"
    for axis in (0, 1):
        seen = [np.flatnonzero(mask.any(axis=axis)) for mask in (ours, shape)]
        assert abs(seen[0][0] - seen[1][0]) <= 4 and abs(seen[0][-1] - seen[1][-1]) <= 4


def test_faults_of_character_files_are_one_line(characters: Path) -> None:
    (characters / "text.fbx").write_text("this is no FBX")
    faults = (
        ("armless.fbx", "taken for RightArm"),
        ("bare.fbx", "no skeleton"),
        ("text.fbx", "cannot import"),
    )
    for name, message in faults:
        with pytest.raises(VivantError, match=message) as caught:
            list(find_renderer("workbench").layers(Performance(MOTION, characters / name), SMALL))
        assert name in str(caught.value) and "\n" not in str(caught.value)


def test_recordings_leave_fbx_as_motions(characters: Path) -> None:
    motion = read_motion(characters / "wave.fbx")
    assert (len(motion), motion.fps) == (30, 30.0)
    place, _ = motion.joints(Skeleton())
    moved = np.ptp(place, axis=0).max(axis=-1)
    assert moved[INDEX["RightHand"]] > 0.2 and moved[INDEX["LeftHand"]] < 0.02
    with pytest.raises(VivantError, match="no animation"):
        read_motion(characters / "body.fbx")


def test_each_animation_of_an_fbx_file_moves_what_it_moves(characters: Path) -> None:
    file = characters / "both.fbx"
    assert set(list_animations(file)) == {"Greet", "Wave"}
    with pytest.raises(VivantError, match="holds 2 animations"):
        read_motion(file)
    for name, hand, still in (("Wave", "RightHand", "LeftHand"), ("Greet", "LeftHand", "RightHand")):
        motion = read_recording(file, animation=name).motion
        place, _ = motion.joints(Skeleton())
        moved = np.ptp(place, axis=0).max(axis=-1)
        assert moved[INDEX[hand]] > 0.1 and moved[INDEX[still]] < 0.02, name
