"""Motion clean-up: ends, feet, loops, rates and units; and files that are refused in one line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.helpers import vivant
from vivant.core.errors import DataError, UsageError
from vivant_build.mime.bvh import load_bvh, write_bvh
from vivant_build.mime.choreography import ACTIONS, perform
from vivant_build.mime.clean import (
    MARGIN,
    STILL,
    clean_file,
    close_loop,
    cut,
    find_ends,
    find_loop,
    find_turn,
    keep_in_place,
    trim,
)
from vivant_build.mime.foot_sliding import format_sliding, measure_sliding
from vivant_build.mime.motion import Motion
from vivant_build.mime.recording_check import tell_unit
from vivant_build.mime.retarget import read_bvh
from vivant_build.mime.rotation import about
from vivant_build.mime.skeleton import INDEX, Skeleton


def _held(motion: Motion, before: int, after: int) -> Motion:
    """The motion with its first and last pose held for so many frames."""
    counts = np.ones(len(motion), dtype=int)
    counts[0] += before
    counts[-1] += after
    return replace(
        motion, root=motion.root.repeat(counts, axis=0), rotations=motion.rotations.repeat(counts, axis=0)
    )


@pytest.mark.parametrize("before,after", [(60, 45), (0, 90), (0, 0)])
def test_still_ends_are_cut_but_for_a_breath(before: int, after: int) -> None:
    motion = perform(ACTIONS["Sawing01"], 30.0)
    start, end = find_ends(_held(motion, before, after))
    breath = round(MARGIN * 30)
    assert abs(start - max(0, before - breath)) <= 3
    assert abs(end - min(before + len(motion) + breath, before + len(motion) + after)) <= 3
    assert len(trim(_held(motion, before, after))) == end - start


def test_a_pause_in_the_middle_stays() -> None:
    motion = perform(ACTIONS["Sawing01"], 30.0)
    counts = np.ones(len(motion), dtype=int)
    counts[len(motion) // 2] = 60
    paused = replace(
        motion, root=motion.root.repeat(counts, axis=0), rotations=motion.rotations.repeat(counts, axis=0)
    )
    assert len(trim(paused)) >= len(paused) - 3


def test_jitter_is_no_action() -> None:
    motion = cut(perform(ACTIONS["Sawing01"], 30.0), 0, 1)
    still = _held(motion, 40, 0)
    wobble = 0.0005 * np.random.default_rng(0).normal(size=(len(still), 3))
    with pytest.raises(DataError, match=f"nothing moves faster than {STILL:g} m a second"):
        find_ends(replace(still, root=still.root + wobble))


def test_sliding_is_what_a_standing_foot_moves() -> None:
    motion = perform(ACTIONS["Clapping01"], 30.0)
    assert measure_sliding(motion).worst < 1e-6
    way = np.linspace(0.0, 0.30, len(motion))[:, None] * [0.6, 0.0, 0.8]
    found = measure_sliding(replace(motion, root=motion.root + way))
    assert found.worst == pytest.approx(0.30, rel=0.02) and found.slides and found.standing == 1.0
    assert found.rate == pytest.approx(0.30 / motion.seconds, rel=0.05)
    assert "30" in format_sliding(found) and "more than a viewer overlooks" in format_sliding(found)
    # Twice the way for the same time; a foot in the air is free to move.
    lifted = replace(motion, root=motion.root + way + [0.0, 0.0, 0.0])
    bob = 0.5 * np.abs(np.sin(np.linspace(0, 3.14, len(motion))))
    hopped = replace(lifted, root=lifted.root + bob[:, None] * [0.0, 1.0, 0.0])
    assert measure_sliding(hopped).worst < 0.05


def test_feet_that_hardly_rest_are_not_called_fine() -> None:
    motion = perform(ACTIONS["Clapping01"], 30.0)
    rise = np.linspace(0.0, 2.0, len(motion))[:, None] * [0.0, 1.0, 0.0]
    sentence = format_sliding(measure_sliding(replace(motion, root=motion.root + rise)))
    assert "too few to tell" in sentence and "fine" not in sentence


@pytest.mark.parametrize("degrees,turned", [(0, False), (75, False), (-90, False), (150, True), (-170, True)])
def test_who_faces_away_is_turned_to_the_camera(degrees: int, turned: bool, tmp_path: Path) -> None:
    recorded = perform(ACTIONS["Clapping01"], 30.0)
    straight = recorded.turned(-ACTIONS["Clapping01"].heading)
    write_bvh(straight.turned(degrees), tmp_path / "raw.bvh")
    report = clean_file(tmp_path / "raw.bvh", tmp_path / "new" / "out.bvh", ends=False)
    result, _ = read_bvh(tmp_path / "new" / "out.bvh").joints(Skeleton())
    across = (result[:, INDEX["LeftArm"]] - result[:, INDEX["RightArm"]]).mean(axis=0)
    facing = np.degrees(np.arctan2(-across[2], across[0]))
    assert facing == pytest.approx(0 if turned else degrees, abs=8)
    assert any("to face the camera" in line for line in report.lines()) == turned
    kept = clean_file(tmp_path / "raw.bvh", tmp_path / "kept.bvh", ends=False, keep_heading=True)
    assert not kept.turned and np.allclose(kept.result.root, straight.turned(degrees).root, atol=0.5)


def test_who_turns_about_is_left_as_recorded() -> None:
    motion = perform(ACTIONS["Clapping01"], 30.0)
    around = np.stack([about("Y", angle) for angle in np.linspace(90, 450, len(motion))])
    rotations = motion.rotations.copy()
    rotations[:, 0] = around @ rotations[:, 0]
    assert find_turn(replace(motion, rotations=rotations)) == 0.0


def test_a_recording_that_trembles_does_not_slide() -> None:
    motion = perform(ACTIONS["Clapping01"], 120.0)
    tremble = 0.0004 * np.random.default_rng(3).normal(size=(len(motion), 3))
    found = measure_sliding(replace(motion, root=motion.root + tremble))
    assert not found.slides and found.standing > 0.9


def test_a_turn_on_the_toes_is_not_sliding() -> None:
    motion = perform(ACTIONS["GolfSwing001"], 30.0)
    place, _ = motion.joints(Skeleton())
    heel = place[:, INDEX["RightFoot"]]
    assert np.linalg.norm(heel[-1, [0, 2]] - heel[0, [0, 2]]) > 0.06, "the heel comes round"
    assert not measure_sliding(motion).slides


def _gap(motion: Motion, one: int, other: int) -> float:
    place, _ = motion.joints(Skeleton())
    return float(np.linalg.norm(place[one] - place[other], axis=-1).max())


@pytest.mark.parametrize("name", ["Kayaking01", "Running01", "Rowing01", "Clapping01", "Violin002"])
def test_loops_close(name: str) -> None:
    motion = perform(ACTIONS[name], 30.0)
    loop = find_loop(motion)
    assert loop is not None and 0.6 * 30 <= loop.end - loop.start < len(motion)
    closed = close_loop(motion, loop)
    assert len(closed) == loop.end - loop.start
    seam = _gap(closed, -1, 0)
    steps = [_gap(closed, n, n + 1) for n in range(len(closed) - 1)]
    assert seam <= 1.3 * max(steps), "the step over the seam is no larger than others"
    assert np.allclose(closed.rotations @ np.swapaxes(closed.rotations, -1, -2), np.eye(3))


@pytest.mark.full
def test_quick_and_long_recordings_are_looked_through_in_steps() -> None:
    once = perform(ACTIONS["Kayaking01"], 120.0)
    loop = find_loop(once)
    usual = find_loop(perform(ACTIONS["Kayaking01"], 30.0))
    assert loop is not None and usual is not None
    rounds = (loop.end - loop.start) / 4 / (usual.end - usual.start)
    assert rounds == pytest.approx(round(rounds), abs=0.05) and loop.gap < 0.02
    long = _held(once, 30_000, 0)
    found = find_loop(long)
    assert found is not None and found.start >= 29_900 and found.end <= len(long)


def test_a_way_over_the_stage_is_taken_out_of_a_loop() -> None:
    motion = perform(ACTIONS["Running01"], 30.0)
    way = np.arange(len(motion))[:, None] * [0.0, 0.0, 0.08]
    moving = replace(motion, root=motion.root + way)
    loop = find_loop(moving)
    assert loop is not None
    closed = close_loop(moving, loop)
    assert np.ptp(closed.root[:, 2]) < 0.1


@pytest.mark.parametrize("name", ["Bowling003", "GolfSwing001", "BaseballBat01"])
def test_what_ends_otherwise_than_it_began_is_no_loop(name: str) -> None:
    assert find_loop(perform(ACTIONS[name], 30.0)) is None
    assert find_loop(cut(perform(ACTIONS[name], 30.0), 0, 10)) is None


@pytest.mark.parametrize("fps", [0.0, 1e9, float("nan")])
def test_impossible_rates_are_refused(fps: float, tmp_path: Path) -> None:
    write_bvh(perform(ACTIONS["Waving01"], 10.0), tmp_path / "a.bvh")
    with pytest.raises(UsageError, match="not from 1 to 240"):
        clean_file(tmp_path / "a.bvh", tmp_path / "b.bvh", fps=fps)


def test_frames_outside_the_motion_are_refused() -> None:
    with pytest.raises(UsageError, match="frames 5 to 900"):
        cut(perform(ACTIONS["Waving01"], 10.0), 5, 900)


@pytest.mark.parametrize(
    "factor,unit", [(1.0, "centimetres"), (0.01, "metres"), (1 / 2.54, "inches"), (10.0, "millimetres")]
)
def test_units_are_told_by_height_and_change_nothing(factor: float, unit: str, tmp_path: Path) -> None:
    motion = perform(ACTIONS["Saluting01"], 20.0)
    write_bvh(motion, tmp_path / "a.bvh")
    (tmp_path / "b.bvh").write_text(_scaled((tmp_path / "a.bvh").read_text(), factor))
    report = clean_file(tmp_path / "b.bvh", tmp_path / "c.bvh", ends=False)
    assert report.unit == unit
    assert any(f"{175 * factor:.4g} {unit} tall" in line for line in report.lines())
    again = read_bvh(tmp_path / "c.bvh")
    assert np.allclose(again.rotations, motion.rotations, atol=1e-4)
    assert np.ptp(again.root - motion.root, axis=0).max() < 1e-3


def _scaled(text: str, factor: float) -> str:
    lines, start = text.splitlines(), 0
    for number, line in enumerate(lines):
        if "OFFSET" in line:
            values = [f"{float(v) * factor:.8f}" for v in line.split()[1:]]
            lines[number] = f"OFFSET {' '.join(values)}"
        if line.startswith("Frame Time"):
            start = number + 1
    for number in range(start, len(lines)):
        values = lines[number].split()
        lines[number] = " ".join([*(f"{float(v) * factor:.8f}" for v in values[:3]), *values[3:]])
    return "\n".join(lines) + "\n"


def test_heights_of_no_person_have_no_unit() -> None:
    assert tell_unit(0.6) == "" and tell_unit(0.0) == ""


def test_the_command_cleans_and_says_what_it_found(tmp_path: Path) -> None:
    motion = _held(perform(ACTIONS["Kayaking01"], 30.0), 60, 60)
    write_bvh(motion, tmp_path / "in.bvh")
    said = vivant("build", "mime", "clean", "in.bvh", "out.bvh", "--fps", "24", "--loop", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "cut 1." in said.stderr and "closed a loop" in said.stderr and "feet slide" in said.stderr
    out = load_bvh(tmp_path / "out.bvh")
    assert 1 / out.frame_time == pytest.approx(24) and len(out.values) < 0.9 * len(motion)


def _text(tmp_path: Path) -> str:
    write_bvh(perform(ACTIONS["Waving01"], 10.0), tmp_path / "good.bvh")
    return (tmp_path / "good.bvh").read_text()


def _swapped(text: str) -> str:
    """Positions stated after the rotations, values left as they are."""
    return text.replace(
        "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation",
        "CHANNELS 6 Zrotation Xrotation Yrotation Xposition Yposition Zposition",
    )


def _upside_down(text: str) -> str:
    lines = text.splitlines()
    for number in range(
        next(n for n, line in enumerate(lines) if line.startswith("Frame Time")) + 1, len(lines)
    ):
        values = lines[number].split()
        lines[number] = " ".join([*values[:3], "180", *values[4:]])
    return "\n".join(lines)


@pytest.mark.parametrize(
    "spoil,reason",
    [
        (  # without feet, the shape of the tree does not tell the joints either
            lambda t: re.sub(
                r"(\w+(?:Toe|Foot)\s*\{\s*OFFSET) .*", r"\1 0 0 0", t.replace("LeftForeArm", "Tentacle7")
            ),
            "no joint can be taken for LeftForeArm",
        ),
        (
            lambda t: t[: t.index("Frame Time")].replace("Frames: 24", "Frames: 0") + "Frame Time: 0.1\n",
            "no frames",
        ),
        (
            lambda t: t.replace("Zrotation Xrotation Yrotation", "Zrotation Wrotation Yrotation", 1),
            "unknown channel",
        ),
        (_upside_down, "the head is below the hips in 100% of the frames; are the values in the order"),
        (lambda _: "", "'HIERARCHY'"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(spoil: object, reason: str, tmp_path: Path) -> None:
    assert callable(spoil)
    (tmp_path / "bad.bvh").write_text(spoil(_text(tmp_path)))
    with pytest.raises(DataError) as caught:
        clean_file(tmp_path / "bad.bvh", tmp_path / "out.bvh")
    message = str(caught.value)
    assert reason in message and "bad.bvh" in message and "\n" not in message
    assert not (tmp_path / "out.bvh").exists()


def test_positions_taken_for_rotations_are_noticed(tmp_path: Path) -> None:
    motion = perform(ACTIONS["Bowling003"], 10.0)
    write_bvh(motion.turned(40.0), tmp_path / "good.bvh")
    (tmp_path / "bad.bvh").write_text(_swapped((tmp_path / "good.bvh").read_text()))
    with pytest.raises(DataError, match="order that CHANNELS states"):
        read_bvh(tmp_path / "bad.bvh")


def test_a_result_is_a_bvh_file_or_lies_in_a_folder(tmp_path: Path) -> None:
    write_bvh(perform(ACTIONS["Waving01"], 30.0), tmp_path / "in.bvh")
    said = vivant("build", "mime", "clean", "in.bvh", "out.fbx", "--no-sheet", cwd=tmp_path)
    assert said.returncode != 0 and "out.fbx: the result is BVH, not '.fbx'; name a .bvh" in said.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.bvh"]
    said = vivant("build", "mime", "clean", "in.bvh", "motions", "--no-sheet", cwd=tmp_path)
    assert said.returncode == 0 and (tmp_path / "motions" / "in.bvh").is_file()
    said = vivant("build", "mime", "clean", "in.bvh", ".", "--no-sheet", cwd=tmp_path)
    assert said.returncode != 0 and "would be overwritten" in said.stderr


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    said = vivant("build", "mime", "clean", "none.bvh", "out.bvh", cwd=tmp_path)
    assert said.returncode == 1 and said.stderr.count("\n") == 1 and "none.bvh" in said.stderr


def test_a_walk_is_kept_on_the_spot_and_keeps_its_steps() -> None:
    motion = perform(ACTIONS["Running01"], 30.0)
    away = np.linspace([0.0, 0.0, 0.0], [4.0, 0.0, 9.0], len(motion))
    walk = replace(motion, root=motion.root + away)
    still = keep_in_place(walk)
    assert np.ptp(walk.root[:, 2]) > 8.5 and np.ptp(still.root[:, [0, 2]], axis=0).max() < 0.5
    assert np.array_equal(still.root[:, 1], walk.root[:, 1]), "height is left alone"
    assert np.array_equal(still.rotations, walk.rotations)
    assert len(keep_in_place(cut(walk, 0, 1))) == 1


def test_a_long_way_is_told_with_its_remedy(tmp_path: Path) -> None:
    motion = perform(ACTIONS["Running01"], 30.0)
    walk = replace(motion, root=motion.root + np.linspace([0.0, 0.0, 0.0], [0.0, 0.0, 9.0], len(motion)))
    write_bvh(walk, tmp_path / "walk.bvh")
    said = clean_file(tmp_path / "walk.bvh", tmp_path / "a.bvh").lines()
    assert any("--in-place" in line and line.startswith("it walks") for line in said)
    said = clean_file(tmp_path / "walk.bvh", tmp_path / "b.bvh", in_place=True).lines()
    assert not any("--in-place" in line for line in said)
