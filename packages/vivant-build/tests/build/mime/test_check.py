"""Checking a folder of videos against its plan: each kind of fault is found, and all of them at once."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import msgspec
import numpy as np
import pytest

from tests.build.mime.test_jobs import SMALL
from tests.support.helpers import vivant
from vivant.core.errors import VivantError
from vivant_build.mime import build
from vivant_build.mime.check import check_folder
from vivant_build.mime.contact_sheet import draw_sheet
from vivant_build.mime.plan_file import Specification
from vivant_build.mime.rasterizer import Picture
from vivant_build.mime.video import encode, read_frames

SPEC = msgspec.convert(
    {
        **SMALL,
        "variants": [
            {"avatar": "man", "background": "aligned"},
            {"avatar": "spacesuit", "background": "blank", "angle": 90},
            {"avatar": "woman", "background": "wall", "angle": 45},
        ],
        "backgrounds": {"wall": {"file": "wall.png", "description": "a wall"}},
        "width": 128,
        "height": 80,
        "crop": [96, 72],
    },
    Specification,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An edition that is as planned."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("edition")
    Image.new("RGB", (64, 48), (150, 90, 60)).save(folder / "wall.png")
    build(SPEC, folder / "out", root=folder)
    return folder / "out"


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.mp4"))


def test_what_is_as_planned_has_no_faults(made: Path) -> None:
    report = check_folder(made)
    assert report.lines == () and report.videos == 12 and report.frames > 100


@pytest.mark.full
def test_workers_find_what_one_process_finds(copy: Path) -> None:
    (copy / names(copy)[0]).unlink()
    assert check_folder(copy, workers=2) == check_folder(copy)


def _again(file: Path, frames: list[Picture], **changed: Any) -> None:
    encode(frames, file, **{"fps": 4.0, "crf": 18, "preset": "ultrafast", **changed})


def _uneven(file: Path, frames: list[Picture]) -> None:
    """The same frames, the later half of them late by half a frame."""
    with av.open(str(file), "w") as container:
        stream = container.add_stream("libx264", rate=8)
        stream.width, stream.height, stream.pix_fmt = 96, 72, "yuv420p"
        for number, picture in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number * 2 + (number > len(frames) // 2), Fraction(1, 8)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def _with_sound(file: Path, frames: list[Picture]) -> None:
    with av.open(str(file), "w") as container:
        stream = container.add_stream("libx264", rate=4)
        stream.width, stream.height, stream.pix_fmt = 96, 72, "yuv420p"
        sound = container.add_stream("aac", rate=44_100)
        for number, picture in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts = number
            container.mux(stream.encode(frame))
        silence = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        silence.rate = 44_100
        container.mux(sound.encode(silence))
        container.mux(sound.encode(None))
        container.mux(stream.encode(None))


def test_every_kind_of_fault_is_named_and_all_at_once(copy: Path) -> None:
    files = names(copy)
    frames = [read_frames(copy / name) for name in files]
    count = [len(pictures) for pictures in frames]
    aligned = next(n for n, name in enumerate(files) if "angle0" in name)
    empty = np.repeat(np.full((1, 72, 96, 3), (182, 184, 188), np.uint8), count[1], axis=0)
    empty[:, ::2] += np.uint8(8)
    expected: dict[str, str] = {}

    def fault(number: int, text: str) -> Path:
        assert files[number] not in expected
        expected[files[number]] = text
        return copy / files[number]

    blank = next(n for n, name in enumerate(files) if "blank" in name)
    places = iter(n for n in range(len(files)) if n not in (aligned, blank))
    n = next(places)
    fault(n, "it is missing").unlink()
    n = next(places)
    _again(fault(n, f"it has {count[n] - 1} frames, planned {count[n]}"), frames[n][:-1])
    n = next(places)
    _again(fault(n, "it has 5 frames a second, planned 4"), frames[n], fps=5.0)
    n = next(places)
    _again(fault(n, "it is 64×48, planned 96×72"), [np.ascontiguousarray(f[:48, :64]) for f in frames[n]])
    n = next(places)
    fault(n, "cannot be opened as media").write_bytes(b"\0" * 3000)
    n = next(places)
    _with_sound(fault(n, "it has sound"), frames[n])
    n = next(places)
    _again(
        fault(n, f"{count[n]} of {count[n]} frames are blank"), [np.zeros((72, 96, 3), np.uint8)] * count[n]
    )
    n = next(places)
    _uneven(fault(n, "time stamps are uneven"), frames[n])
    n = blank
    nobody = [*frames[n][:-2], *[picture.copy() for picture in empty[:2]]]
    _again(fault(n, f"2 of {count[n]} frames are without a person"), nobody)
    # The right person before another background.
    other = next(n for n, name in enumerate(files) if "angle45" in name and name not in expected)
    _again(fault(aligned, "not before the background that was planned"), frames[other])
    (copy / "stranger.mp4").write_bytes((copy / files[other]).read_bytes())
    expected["stranger.mp4"] = "it is not in the plan"
    (copy / "metadata.jsonl").write_text("{}\n")
    expected["metadata.jsonl"] = "it is not the plan's"

    lines = check_folder(copy).lines
    for name, text in expected.items():
        assert any(line.startswith(f"{name}: ") and text in line for line in lines), (name, text, lines)
    assert {line.partition(":")[0] for line in lines} == set(expected)


def test_another_video_of_the_same_form_is_not_taken_for_the_one_that_was_rendered(copy: Path) -> None:
    # Two actions of one length before one background: every frame shows a person where one is planned.
    lengths = {name: len(read_frames(copy / name)) for name in names(copy) if "blank" in name}
    first, other = next((a, b) for a in lengths for b in lengths if a < b and lengths[a] == lengths[b])
    (copy / first).write_bytes((copy / other).read_bytes())
    assert check_folder(copy).lines == (
        f"{first}: it is not the video that was rendered for it; run render again",
    )
    (copy / ".renders.jsonl").unlink()
    assert not any(line.startswith(first) for line in check_folder(copy, root=copy.parent).lines)


def test_a_stranger_is_to_be_deleted_and_one_fault_is_one(copy: Path, tmp_path: Path) -> None:
    shutil.copyfile(copy / names(copy)[0], copy / "stranger.mp4")
    said = vivant("build", "mime", "check", copy, "--workers", "1", cwd=tmp_path)
    assert said.returncode == 1 and said.stdout == "stranger.mp4: it is not in the plan; delete it\n"
    assert "1 fault in" in said.stderr and "render" not in said.stderr


def test_the_command_lists_faults_and_says_what_to_do(copy: Path, tmp_path: Path) -> None:
    fine = vivant("build", "mime", "check", copy, "--workers", "1", cwd=tmp_path)
    assert fine.returncode == 0 and "12 videos" in fine.stderr and fine.stdout == ""
    for name in names(copy)[:2]:
        (copy / name).write_bytes(b"")
    bad = vivant("build", "mime", "check", copy, "--workers", "1", cwd=tmp_path)
    assert bad.returncode == 1 and len(bad.stdout.splitlines()) == 2
    assert "2 faults" in bad.stderr and "vivant build mime render" in bad.stderr
    none = vivant("build", "mime", "check", tmp_path, cwd=tmp_path)
    assert none.returncode == 1 and none.stderr.count("\n") == 1 and "plan.json" in none.stderr


def test_files_of_the_plan_that_are_gone_are_said_to_be(copy: Path, made: Path, tmp_path: Path) -> None:
    report = check_folder(copy, root=tmp_path)
    assert len(report.lines) == 4 and all("wall.png" in line for line in report.lines)
    assert check_folder(copy, root=made.parent).lines == ()


def test_a_sheet_shows_all_variants_of_an_action_or_all_actions(made: Path, tmp_path: Path) -> None:
    from PIL import Image

    heights = {}
    for name, chosen in (
        ("one", {"action": "Waving01"}),
        ("all", {"variant": "base+aligned@0"}),
        ("first", {}),
    ):
        with Image.open(draw_sheet(made, tmp_path / f"{name}.png", frames=3, **chosen)) as picture:
            heights[name] = picture.height
    assert heights["one"] < heights["all"] == heights["first"], "three variants, four actions"
    assert (tmp_path / "all.png").read_bytes() == (tmp_path / "first.png").read_bytes()
    refused: list[tuple[dict[str, Any], str]] = [
        ({"action": "Waving"}, "did you mean 'Waving01'"),
        ({"variant": "base+aligned@1"}, "did you mean 'base"),
        ({"action": "Waving01", "variant": "base+aligned@0"}, "exclude each other"),
    ]
    for wrong, message in refused:
        with pytest.raises(VivantError, match=message):
            draw_sheet(made, tmp_path / "none.png", **wrong)
    with pytest.raises(VivantError, match="no kind of picture"):
        draw_sheet(made, tmp_path / "none.txt")
    with pytest.raises(VivantError, match="cannot be written"):
        draw_sheet(made, tmp_path / "gone" / "none.png")


def test_a_sheet_of_an_unfinished_folder_says_what_is_missing(copy: Path, tmp_path: Path) -> None:
    for name in names(copy):
        (copy / name).unlink()
    with pytest.raises(VivantError, match="is not there; run"):
        draw_sheet(copy, tmp_path / "none.png")
