"""`data check mmrv`: pieces joined, everything wrong listed at once."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

from tests.support.mmrv_kit import make_item, write_items
from vivant import mini
from vivant.benchmarks.mmrv import MMRV
from vivant.benchmarks.mmrv.check import STEM, check, unpack

MINI = mini.root("mmrv")
assert MINI is not None
VIDEOS = sorted((MINI / "videos").iterdir())


def accept_file(path: Path) -> str | None:
    return None if path.stat().st_size > 10 else "does not open"


def write_archive(folder: Path, names: dict[str, bytes], size: int) -> list[Path]:
    """A tar in pieces, as `split` makes them."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in names.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    data = buffer.getvalue()
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, start in enumerate(range(0, len(data), size)):
        paths.append(folder / f"{STEM}a{chr(97 + number)}")
        paths[-1].write_bytes(data[start : start + size])
    return paths


CLIPS = {f"MMR-V/videos/video {n}.mp4": bytes([n]) * 4000 for n in range(3)}


def test_pieces_are_joined_into_videos_and_their_checksums_reported(tmp_path: Path) -> None:
    paths = write_archive(tmp_path, CLIPS, 5000)
    write_items(tmp_path / "MMR-V.json", [make_item(n) for n in range(6)])
    report = check(tmp_path, verify=accept_file)
    assert report.problems == ()
    digest = hashlib.sha256(paths[1].read_bytes()).hexdigest()
    assert f"{STEM}ab: 5,000 bytes, sha256 {digest}" in report.contents
    assert "archive: 3 video(s) extracted, 0 there already" in report.contents
    assert "videos: 3 of 3 open" in report.contents
    assert (tmp_path / "videos" / "video 2.mp4").read_bytes() == bytes([2]) * 4000
    assert "archive: 0 video(s) extracted, 3 there already" in check(tmp_path, verify=accept_file).contents


def test_a_truncated_last_piece_is_said_with_what_was_recovered(tmp_path: Path) -> None:
    paths = write_archive(tmp_path, CLIPS, 5000)
    for path in paths[3:]:
        path.unlink()
    paths[2].write_bytes(paths[2].read_bytes()[:100])
    write_items(tmp_path / "MMR-V.json", [make_item(n) for n in range(6)])
    report = check(tmp_path, verify=accept_file)
    assert any("file(s) recovered" in line and paths[2].name in line for line in report.problems)
    assert any(f"{STEM}av" in line for line in report.problems)
    assert any("video 2.mp4: missing (question_idx 2 and 1 more)" in line for line in report.problems)


def test_a_missing_piece_is_named_and_nothing_else_is_lost(tmp_path: Path) -> None:
    paths = write_archive(tmp_path, CLIPS, 5000)
    paths[0].unlink()
    result = unpack(tmp_path)
    assert result is not None
    assert (result.written, result.pieces) == (0, ())
    assert f"{STEM}aa" in result.problems[0]
    assert unpack(tmp_path / "nothing") is None


def test_a_whole_archive_is_unpacked_too(tmp_path: Path) -> None:
    (piece,) = write_archive(tmp_path, CLIPS, 10**9)
    piece.rename(tmp_path / "videos.tar")
    result = unpack(tmp_path)
    assert result is not None
    assert (result.written, result.problems) == (3, ())


def test_everything_wrong_is_listed_at_once(tmp_path: Path) -> None:
    write_items(
        tmp_path / "MMR-V.json",
        [
            make_item(0, video="ok.mp4", options=[f"({x}) {x}" for x in "ABCDEFHIJ"]),
            make_item(1, video="page.mp4"),
            make_item(2, video="gone.mp4", correctAnswer="(K)"),
            make_item(2, video="ok.mp4"),
            make_item(4, video="ok.mp4", options=["(A) one"]),
            make_item(5, video="ok.mp4", abilityType_L2="Smell", abilityType_L3="Rose", videoType="radio"),
            make_item(6, video="../../etc/passwd"),
            make_item(7, video="cut.mp4", options=[f"({x}) {x}" for x in "ABCDEFGHIJKLM"]),
            {"video": "ok.mp4"},
        ],
    )
    videos = tmp_path / "videos"
    videos.mkdir()
    content = VIDEOS[0].read_bytes()
    (videos / "ok.mp4").write_bytes(content)
    (videos / "cut.mp4").write_bytes(content[:200])
    (videos / "page.mp4").write_text("<!DOCTYPE html><title>404</title>")
    report = MMRV().data.check(MMRV(), tmp_path)
    for words in (
        ("page.mp4", "HTML", "question_idx 1"),
        ("gone.mp4: missing", "question_idx 2"),
        ("question_idx 2", "'(K)' is no option (ABCDEFGHIJ)"),
        ("item 3", "question_idx 2 stands already"),
        ("question_idx 4", "1 option(s)"),
        ("question_idx 5", "unknown ability 'Smell'"),
        ("question_idx 5", "unknown level-3 ability 'Rose'"),
        ("question_idx 5", "unknown video type 'radio'"),
        ("passwd", "leads out", "question_idx 6"),
        ("cut.mp4", "question_idx 7"),
        ("question_idx 7", "beyond L"),
        ("item 8", "no question_idx"),
    ):
        assert any(all(word in line for word in words) for line in report.problems), words
    assert len(report.problems) == 12
    assert any("letters skipped in 1 question(s): 0 (G)" in line for line in report.contents)


def test_no_questions_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    assert "no file with MMR-V questions" in check(tmp_path, verify=accept_file).problems[0]
