"""Recorders' own files (MVNX, ASF and AMC, Motive's CSV) give back the motion that they were written from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.recorders import write_amc, write_motive, write_mvnx
from vivant.core.errors import DataError, UsageError
from vivant_build.mime import ACTIONS, Motion, perform
from vivant_build.mime.clean import clean_file
from vivant_build.mime.recording import read_recording
from vivant_build.mime.recording_folder import clean_folder
from vivant_build.mime.skeleton import INDEX, JOINTS, Skeleton

BODY = [INDEX[joint] for joint in JOINTS if not joint.endswith("Fingers")]


@pytest.fixture(scope="module")
def motion() -> Motion:
    return perform(ACTIONS["Soccer003"], 30.0).turned(25.0)


def _apart(result: Motion, motion: Motion, lost: range = range(0)) -> float:
    """Metres by which any joint is elsewhere, but for frames that were lost; the path is centred."""
    kept = [frame for frame in range(len(motion)) if frame not in lost]
    ours, theirs = (m.joints(Skeleton())[0][kept][:, BODY] for m in (motion, result))
    gap = theirs - ours
    return float(np.linalg.norm(gap - gap[0, 0], axis=-1).max())


@pytest.mark.parametrize("named", [True, False])
def test_mvnx_gives_its_motion_back(named: bool, motion: Motion, tmp_path: Path) -> None:
    write_mvnx(motion, tmp_path / "a.mvnx", named=named)
    result = read_recording(tmp_path / "a.mvnx")
    # Xsens' Z is up and X ahead: the figure faces +X, which a retargeted one does not turn back.
    assert len(result.motion) == len(motion) and result.motion.fps == 30.0
    assert result.stature == pytest.approx(1.75, abs=0.06)
    turns = [_apart(result.motion.turned(degrees), motion) for degrees in (0.0, 90.0, -90.0)]
    assert min(turns) < 0.005


def test_a_torn_frame_of_mvnx_is_bridged_and_a_torn_file_refused(motion: Motion, tmp_path: Path) -> None:
    write_mvnx(motion, tmp_path / "a.mvnx")
    lines = (tmp_path / "a.mvnx").read_text().split("\n")
    place = next(n for n, line in enumerate(lines) if 'index="20"' in line)
    lines[place] = lines[place].replace("<position>", "<position>x ")
    (tmp_path / "a.mvnx").write_text("\n".join(lines))
    notes = read_recording(tmp_path / "a.mvnx").notes
    assert f"set aside 1 of {len(motion)} frames: frame 21: its orientation or position" in notes[0]
    (tmp_path / "b.mvnx").write_text("\n".join(lines[:place]))
    with pytest.raises(DataError, match=r"b\.mvnx: is not an XML file that can be read"):
        read_recording(tmp_path / "b.mvnx")


def test_amc_gives_its_motion_back_with_the_skeleton_beside_it(motion: Motion, tmp_path: Path) -> None:
    file = write_amc(motion, tmp_path)
    result = read_recording(file, source_fps=30)
    # Of the two bones of its neck the first is taken, and here the second one turns: 2 cm at the head.
    assert _apart(result.motion, motion) < 0.02 and result.motion.fps == 30.0
    assert result.stature == pytest.approx(1.75 / 0.056444, rel=0.04)
    assert "120 frames a second, as CMU's" in read_recording(file).notes[0]
    # A folder of CMU's: the skeleton's file is no motion, and is passed over.
    outcome = clean_folder(tmp_path, tmp_path / "out", lambda a, b, _: clean_file(a, b))
    assert [each.name for each in outcome.cleaned] == ["79_17.bvh"]
    assert [each.name for each in outcome.others] == ["79.asf"]
    text = file.read_text().split("\n")
    cut = text.index("12")
    file.write_text("\n".join([*text[: cut + 3], *text[cut + 5 :]]))
    assert "line " in read_recording(file).notes[1] and "set aside 1 of" in read_recording(file).notes[1]
    (tmp_path / "79.asf").unlink()
    with pytest.raises(DataError, match=r"its skeleton, 79\.asf, is not beside it"):
        read_recording(file)


@pytest.mark.parametrize(
    ("skeleton", "motions"),
    [("79-walk.asf", "79_05-walk.amc"), ("HDM_bd.asf", "HDM_bd_kick_001_120.amc"), ("79.ASF", "79_17_2.amc")],
)
def test_amc_finds_its_skeleton_among_those_of_others(
    skeleton: str, motions: str, motion: Motion, tmp_path: Path
) -> None:
    file = write_amc(motion, tmp_path)
    (tmp_path / "79.asf").rename(tmp_path / skeleton)
    file = file.rename(tmp_path / motions)
    for other in ("7.asf", "HDM_mm.asf", "790.asf", "80-run.asf"):
        (tmp_path / other).write_text(":version 1.10\n")
    assert _apart(read_recording(file, source_fps=30).motion, motion) < 0.02
    lost = file.rename(tmp_path / "output.amc")
    with pytest.raises(
        DataError, match=r"output\.asf, is not beside it; beside it are 7\.asf, .* under that name"
    ):
        read_recording(lost)


@pytest.mark.parametrize("kind", ["Quaternion", "XYZ"])
def test_motives_table_gives_its_motion_back(kind: str, motion: Motion, tmp_path: Path) -> None:
    write_motive(motion, tmp_path / "take.csv", kind=kind, lost=range(20, 24))
    result = read_recording(tmp_path / "take.csv")
    assert result.motion.fps == 30.0 and len(result.motion) == len(motion)
    assert _apart(result.motion, motion, range(20, 24)) < 0.005
    assert _apart(result.motion, motion) < 0.1, "four frames of a kick are bridged"
    assert "a bone was not tracked" in result.notes[0] and result.notes[1].startswith("bridged 4 frames")
    assert result.stature == pytest.approx(1750, rel=0.04)
    with pytest.raises(UsageError, match="this kind states it"):
        read_recording(tmp_path / "take.csv", source_fps=30)


def test_a_table_of_markers_is_refused_with_the_remedy(motion: Motion, tmp_path: Path) -> None:
    write_motive(motion, tmp_path / "take.csv")
    text = (
        (tmp_path / "take.csv")
        .read_text()
        .replace(",Bone,", ",Rigid Body,")
        .replace(",Bone,", ",Rigid Body,")
    )
    (tmp_path / "take.csv").write_text(text)
    with pytest.raises(DataError, match="markers or rigid bodies and no skeleton; export it with Bones"):
        read_recording(tmp_path / "take.csv")
    (tmp_path / "take.c3d").write_bytes(b"\x02\x50")
    with pytest.raises(UsageError, match=r"take\.c3d: it holds markers and no skeleton; .* BVH or FBX"):
        read_recording(tmp_path / "take.c3d")
