"""Videos published as folders of pictures: the pictures unchanged in a video file, and folders that are none."""

from __future__ import annotations

from pathlib import Path

import av
import numpy
import pytest
from PIL import Image

from tests.support.data_files import write_split_tar, write_zip
from vivant.benchmarks.declarative.media_files import MediaFiles
from vivant.core.errors import DataError
from vivant.media.archives import is_unpacked, unpack_all
from vivant.media.frame_folders import list_frames, name_frame_video, write_frame_video


def write_frames(folder: Path, ending: str, count: int = 5) -> Path:
    folder.mkdir(parents=True)
    for number in range(count):
        Image.new("RGB", (32, 24), (40 * number, 10, 90)).save(folder / f"{number:05}{ending}")
    return folder


@pytest.mark.parametrize(("ending", "off"), [(".jpg", 2), (".png", 0)])
@pytest.mark.parametrize("rate", [3.0, 23.976])
def test_pictures_become_the_frames_of_a_video(tmp_path: Path, ending: str, off: int, rate: float) -> None:
    frames = list_frames(write_frames(tmp_path / "frames", ending))
    target = tmp_path / "made" / name_frame_video(frames, rate, "frames")
    write_frame_video(frames, target, rate)
    first = target.read_bytes()
    write_frame_video(frames, target, rate)
    assert target.read_bytes() == first
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    with av.open(str(target)) as container:
        decoded = [
            (frame.time or 0.0, frame.to_ndarray(format="rgb24").astype(int))
            for frame in container.decode(video=0)
        ]
    assert [time for time, _ in decoded] == pytest.approx([n / rate for n in range(5)], abs=0.002)
    for (_, pixels), file in zip(decoded, frames, strict=True):
        assert abs(pixels - numpy.asarray(Image.open(file)).astype(int)).max() <= off


def test_a_folder_of_something_else_is_no_video(tmp_path: Path) -> None:
    folder = write_frames(tmp_path / "frames", ".jpg")
    names = {name_frame_video(list_frames(folder), rate, "frames") for rate in (3, 4)}
    assert len(names) == 2
    (folder / "00001.png").write_bytes(b"")
    with pytest.raises(DataError, match="is no video; it must hold JPEG pictures or PNG pictures alone"):
        list_frames(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="is no video"):
        list_frames(tmp_path / "empty")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "1.jpg").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"1\.jpg is no picture"):
        write_frame_video(list_frames(tmp_path / "bad"), tmp_path / "x.mov", 3)


def test_folders_of_one_name_with_pictures_of_one_size_are_two_videos(tmp_path: Path) -> None:
    first, second = (write_frames(tmp_path / name / "clip", ".png") for name in "uw")
    for one, other in zip(list_frames(first), reversed(list_frames(first)), strict=True):
        (second / one.name).write_bytes(other.read_bytes())
    for folder in (first, second):  # pictures of one colour, as long as each other
        longest = max(frame.stat().st_size for frame in list_frames(first))
        for frame in list_frames(folder):
            frame.write_bytes(frame.read_bytes().ljust(longest, b"\0"))
    media = MediaFiles(tmp_path, "")
    videos = [media.join_frames(f"{name}/clip", 3) for name in "uw"]
    assert (tmp_path / videos[0]).read_bytes() != (tmp_path / videos[1]).read_bytes()
    assert media.join_frames("u/clip", 3) == videos[0]


def test_an_archive_is_known_to_be_unpacked(tmp_path: Path) -> None:
    write_zip(tmp_path / "a.zip", ["x/1.txt", "x/2.txt"], b"text")
    write_split_tar(tmp_path, "b.tar", {"y/1.txt": b"text"})
    archives = [tmp_path / "a.zip", tmp_path / "b.tar.part.aa", tmp_path / "b.tar.part.ab"]
    assert not any(map(is_unpacked, archives))
    unpack_all(tmp_path, ["*.zip", "b.tar*"])
    assert all(map(is_unpacked, archives))
    (tmp_path / "x" / "2.txt").unlink()
    assert not is_unpacked(tmp_path / "a.zip")
