"""Bad frames of a recording are set aside, named and counted; a bad file of a folder costs only itself."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.support.helpers import vivant
from tests.support.recordings import smpl_arrays
from vivant.core.errors import DataError
from vivant_build.mime.bvh import write_bvh
from vivant_build.mime.choreography import ACTIONS, perform
from vivant_build.mime.motion import Motion
from vivant_build.mime.recording import read_recording
from vivant_build.mime.retarget import Retargeted
from vivant_build.mime.skeleton import Skeleton


@pytest.fixture(scope="module")
def motion() -> Motion:
    return perform(ACTIONS["Bowling003"], 30.0)


def _spoiled(motion: Motion, folder: Path, rows: dict[int, str]) -> Path:
    """A file in which a pattern replaces rows: `{row}` stands for the values that were there."""
    file = folder / "take.bvh"
    write_bvh(motion, file)
    lines = file.read_text().splitlines()
    first = len(lines) - len(motion)
    for row, pattern in rows.items():
        values = lines[first + row].split()
        lines[first + row] = pattern.format(row=" ".join(values), rest=" ".join(values[1:]))
    file.write_text("\n".join(lines) + "\n")
    return file


def _line(file: Path, row: int, motion: Motion) -> int:
    return len(file.read_text().splitlines()) - len(motion) + row + 1


def _apart(result: Retargeted, motion: Motion, rows: slice) -> float:
    """Metres between joints of a result and of the motion's rows, around the hips."""
    body = Skeleton()
    theirs, ours = (each.joints(body)[0] for each in (result.motion, motion))
    ours = ours[rows]
    return float(np.linalg.norm((theirs - theirs[:, :1]) - (ours - ours[:, :1]), axis=-1).max())


@pytest.mark.parametrize(
    "pattern,reason",
    [
        ("{rest}", "values, but the channels ask for"),
        ("{row} 0.0", "values, but the channels ask for"),
        ("nan {rest}", "it holds nan, which is not a finite number"),
        ("-inf {rest}", "it holds -inf, which is not a finite number"),
        ("1,25 {rest}", "'1,25' is not a number"),
    ],
)
def test_a_bad_row_is_bridged_and_named(pattern: str, reason: str, motion: Motion, tmp_path: Path) -> None:
    file = _spoiled(motion, tmp_path, {40: pattern})
    result = read_recording(file)
    assert len(result.motion) == len(motion)
    assert _apart(result, motion, slice(None)) < 0.03, "the bridge follows the motion"
    note = f"set aside 1 of {len(motion)} frames: line {_line(file, 40, motion)}: "
    assert any(each.startswith(note) and reason in each for each in result.notes)


def test_untracked_rows_of_zeros_are_set_aside(motion: Motion, tmp_path: Path) -> None:
    zeros = " ".join(["0.0"] * (3 + 3 * motion.rotations.shape[1]))
    result = read_recording(_spoiled(motion, tmp_path, {60: zeros, 61: zeros}))
    assert _apart(result, motion, slice(None)) < 0.03
    assert any("2 of" in note and "every value is 0" in note for note in result.notes)


def test_bad_rows_at_the_ends_are_cut(motion: Motion, tmp_path: Path) -> None:
    rows = dict.fromkeys([*range(6), *range(len(motion) - 5, len(motion) - 1)], "x {rest}")
    # The last row is cut short, as by a recorder that was killed.
    result = read_recording(_spoiled(motion, tmp_path, {**rows, len(motion) - 1: "1.0 2.0"}))
    assert len(result.motion) == len(motion) - 11
    assert _apart(result, motion, slice(6, len(motion) - 5)) < 0.001
    assert any(f"kept frames 7 to {len(motion) - 5}" in note for note in result.notes)


def test_a_long_gap_parts_a_recording_and_the_longer_part_stays(motion: Motion, tmp_path: Path) -> None:
    rows = dict.fromkeys(range(12, 30), "x {rest}")
    result = read_recording(_spoiled(motion, tmp_path, rows))
    assert len(result.motion) == len(motion) - 30
    assert any(f"kept frames 31 to {len(motion)}" in note for note in result.notes)


def test_too_many_bad_rows_are_refused_with_count_and_first_line(motion: Motion, tmp_path: Path) -> None:
    count = len(motion) // 4 + 1
    file = _spoiled(motion, tmp_path, dict.fromkeys(range(10, 10 + count), "x {rest}"))
    words = f"take.bvh: {count} of {len(motion)} frames cannot be used, more than 25%"
    with pytest.raises(DataError, match=f"{words}.*line {_line(file, 10, motion)}: 'x'"):
        read_recording(file)


def test_hips_that_leap_and_return_are_bridged(motion: Motion, tmp_path: Path) -> None:
    result = read_recording(_spoiled(motion, tmp_path, {30: "9000 {rest}", 31: "9100 {rest}"}))
    assert len(result.motion) == len(motion)
    assert np.abs(np.diff(result.motion.root, axis=0)).max() < 0.2, "no leap is left"
    assert any("2 of" in note and "frame 31: the hips leap" in note for note in result.notes)


def test_hips_that_leap_for_good_are_refused(motion: Motion, tmp_path: Path) -> None:
    file = _spoiled(motion, tmp_path, dict.fromkeys(range(20, 50), "9000 {rest}"))
    with pytest.raises(
        DataError, match=r"the hips leap .* between frames (20 and 21|50 and 51), and \d+% of"
    ):
        read_recording(file)


def test_a_row_of_amass_that_is_no_number_is_set_aside(motion: Motion, tmp_path: Path) -> None:
    arrays = smpl_arrays(motion)
    whole = tmp_path / "whole.npz"
    np.savez(whole, **arrays)
    arrays["trans"][20, 1] = np.nan
    arrays["poses"][21, 5] = np.inf
    np.savez(tmp_path / "take.npz", **arrays)
    result, expected = read_recording(tmp_path / "take.npz"), read_recording(whole)
    assert len(result.motion) == len(expected.motion)
    assert _apart(result, expected.motion, slice(None)) < 0.03
    assert any("row 21 of trans" in note and "row 22 of poses" in note for note in result.notes)


def test_a_bad_file_of_a_folder_costs_only_itself(motion: Motion, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    (raw / "day 2").mkdir(parents=True)
    write_bvh(motion, raw / "one.bvh")
    write_bvh(motion, raw / "day 2" / "two.bvh")
    (raw / "broken.bvh").write_text("HIERARCHY\nnonsense\n")
    (raw / "notes.txt").write_text("by hand\n")
    result = vivant("build", "mime", "clean", "raw", "motions", "--no-sheet", cwd=tmp_path)
    assert result.returncode == 1
    written = {str(file.relative_to(tmp_path / "motions")) for file in (tmp_path / "motions").rglob("*.bvh")}
    assert written == {"one.bvh", "day 2/two.bvh"}
    assert re.search(r"refused: raw/broken.bvh, line 2: ", result.stderr)
    assert "notes.txt" in result.stderr and "2 of 3 recordings written" in result.stderr
    write_bvh(motion, raw / "one.BVH.glb")
    np.savez(raw / "one.npz", a=np.zeros(1))
    result = vivant("build", "mime", "clean", "raw", "again", cwd=tmp_path)
    assert result.returncode != 0 and "would both become" in result.stderr
    assert not (tmp_path / "again").exists(), "nothing is cleaned before names are settled"
