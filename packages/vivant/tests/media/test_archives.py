"""Archives: joined from pieces, resumed, and never outside their folder."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from vivant.core.errors import DataError
from vivant.core.file_parts import check_parts, find_parts
from vivant.media.archives import unpack_all, unpack_archive, unsafe_reason

STEM = "videos.tar.part."


def content(number: int, size: int = 3000) -> bytes:
    return bytes((number * 7 + i) % 251 for i in range(size))


def member(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, len(data), link
    return info


def make_tar(files: dict[str, bytes], extra: list[tarfile.TarInfo] | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for info in extra or []:
            archive.addfile(info, io.BytesIO(b"x" * info.size))
        for name, data in files.items():
            archive.addfile(member(name, data), io.BytesIO(data))
    return buffer.getvalue()


def split(data: bytes, folder: Path, size: int) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, start in enumerate(range(0, len(data), size)):
        path = folder / (STEM + chr(97 + number // 26) + chr(97 + number % 26))
        path.write_bytes(data[start : start + size])
        paths.append(path)
    return paths


FILES = {f"videos/नाम {n} - clip.mp4": content(n) for n in range(9)}


def test_pieces_join_and_report_their_checksums(tmp_path: Path) -> None:
    paths = split(make_tar(FILES), tmp_path, 7001)
    assert len(paths) > 4
    assert find_parts(tmp_path, STEM) == paths
    assert check_parts(paths, STEM) == (paths, [])
    seen: list[tuple[int, int]] = []
    result = unpack_archive(
        paths, tmp_path / "out", progress=lambda done, total, _: seen.append((done, total))
    )
    assert result.complete
    assert (result.written, result.present) == (9, 0)
    assert {p.name: p.sha256 for p in result.pieces} == {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in paths
    }
    for name, data in FILES.items():
        assert (tmp_path / "out" / name).read_bytes() == data
    assert seen[-1][0] == seen[-1][1] == sum(p.stat().st_size for p in paths)
    assert not list((tmp_path / "out").glob(".vivant-part*"))


def test_a_finished_unpacking_is_not_done_again_and_a_lost_file_is_restored(tmp_path: Path) -> None:
    paths = split(make_tar(FILES), tmp_path, 7001)
    first = unpack_archive(paths, tmp_path / "out")
    reads: list[int] = []
    again = unpack_archive(paths, tmp_path / "out", progress=lambda done, _total, _name: reads.append(done))
    assert reads == []
    assert (again.written, again.present, again.pieces) == (0, 9, first.pieces)
    lost = tmp_path / "out" / "videos/नाम 3 - clip.mp4"
    lost.write_bytes(b"short")
    mended = unpack_archive(paths, tmp_path / "out")
    assert (mended.written, mended.present) == (1, 8)
    assert lost.read_bytes() == content(3)


def test_a_torn_note_costs_a_second_reading_only(tmp_path: Path) -> None:
    paths = split(make_tar(FILES), tmp_path, 7001)
    unpack_archive(paths, tmp_path / "out")
    (note,) = (tmp_path / "out").glob(".unpacked-*")
    note.write_bytes(note.read_bytes()[:20])
    assert (unpack_archive(paths, tmp_path / "out").present) == 9


def test_a_truncated_last_piece_gives_what_comes_before_it(tmp_path: Path) -> None:
    paths = split(make_tar(FILES), tmp_path, 7001)[:3]
    paths[-1].write_bytes(paths[-1].read_bytes()[:-1500])
    result = unpack_archive(paths, tmp_path / "out")
    assert not result.complete
    whole = sorted(p.name for p in (tmp_path / "out" / "videos").iterdir())
    assert result.written == len(whole)
    assert 0 < len(whole) < 9
    (line,) = result.problems
    assert paths[-1].name in line
    assert f"{len(whole)} file(s) recovered" in line
    assert all((tmp_path / "out" / n).read_bytes() == FILES[n] for n in (f"videos/{w}" for w in whole))


def test_unpacking_goes_on_when_the_rest_arrives(tmp_path: Path) -> None:
    paths = split(make_tar(FILES), tmp_path, 7001)
    part = unpack_archive(paths[:3], tmp_path / "out")
    result = unpack_archive(paths, tmp_path / "out")
    assert result.complete
    assert result.present == part.written > 0
    assert result.written + result.present == 9


@pytest.mark.parametrize("keep", [0, 1])
def test_a_cut_between_two_members_is_still_noticed(tmp_path: Path, keep: int) -> None:
    data = make_tar({"a.mp4": content(1, 512), "b.mp4": content(2, 512)})
    (tmp_path / "x.tar").write_bytes(data[: 1024 + 512 * keep])
    result = unpack_archive([tmp_path / "x.tar"], tmp_path / "out")
    assert result.written == 1
    assert len(result.problems) == 1


def test_a_damaged_header_in_the_middle_is_noticed(tmp_path: Path) -> None:
    data = bytearray(make_tar({"a.mp4": content(1, 512), "b.mp4": content(2, 512), "c.mp4": content(3, 512)}))
    data[1024:1100] = b"\xff" * 76
    (tmp_path / "x.tar").write_bytes(data)
    result = unpack_archive([tmp_path / "x.tar"], tmp_path / "out")
    assert result.written == 1
    assert "1 file(s) recovered" in result.problems[0]


def test_gaps_and_cut_pieces_are_named(tmp_path: Path) -> None:
    paths = split(make_tar(FILES), tmp_path, 5000)
    paths[2].unlink()
    sound, problems = check_parts(find_parts(tmp_path, STEM), STEM)
    assert sound == paths[:2]
    assert problems == [
        f"{tmp_path}: 1 piece(s) missing before {STEM}ad: {STEM}ac; fetch them",
    ]
    paths[2].write_bytes(b"z" * 100)
    sound, problems = check_parts(find_parts(tmp_path, STEM), STEM)
    assert sound == paths[:3]
    assert "truncated, 100 of 5,000 bytes" in problems[0]
    paths[0].unlink()
    sound, problems = check_parts(find_parts(tmp_path, STEM), STEM)
    assert sound == []
    assert f"{STEM}aa" in problems[0]


def test_a_page_in_place_of_a_piece_is_called_so(tmp_path: Path) -> None:
    paths = split(make_tar(FILES), tmp_path, 5000)
    paths[1].write_bytes(b"<!DOCTYPE html><title>404</title>")
    sound, problems = check_parts(paths, STEM)
    assert sound == paths[:1]
    assert "an HTML page" in problems[0]
    (tmp_path / "p.tar").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    result = unpack_archive([tmp_path / "p.tar"], tmp_path / "out")
    assert "a Git LFS pointer" in result.problems[0]


def test_nothing_leaves_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    extra = [
        member("/etc/evil.mp4", b"x"),
        member("../outside/evil.mp4", b"x"),
        member("videos/../../outside/evil.mp4", b"x"),
        member("C:\\evil.mp4", b"x"),
        member("videos/link.mp4", kind=tarfile.SYMTYPE, link="../../outside/evil.mp4"),
        member("videos/hard.mp4", kind=tarfile.LNKTYPE, link="/etc/passwd"),
        member("videos/fifo", kind=tarfile.FIFOTYPE),
        member("videos/null", kind=tarfile.CHRTYPE),
    ]
    (tmp_path / "x.tar").write_bytes(make_tar({"ok.mp4": b"fine"}, extra))
    out = tmp_path / "out"
    out.mkdir()
    result = unpack_archive([tmp_path / "x.tar"], out)
    assert result.written == 1
    assert len(result.problems) == len(extra)
    assert all("refused" in line for line in result.problems)
    assert list(outside.iterdir()) == []
    assert sorted(p.name for p in out.rglob("*") if not p.name.startswith(".")) == ["ok.mp4"]
    assert unpack_archive([tmp_path / "x.tar"], out).problems == result.problems


def test_a_link_that_was_there_before_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    out = tmp_path / "out"
    out.mkdir()
    (out / "videos").symlink_to(outside)
    (tmp_path / "x.tar").write_bytes(make_tar({"videos/a.mp4": b"aaaa"}))
    result = unpack_archive([tmp_path / "x.tar"], out)
    assert result.written == 0
    assert "leads away" in result.problems[0]
    assert list(outside.iterdir()) == []


def test_a_tar_gz_and_its_truncation(tmp_path: Path) -> None:
    import random

    noise = random.Random(5)
    files = {f"images/{n}.png": noise.randbytes(4000) for n in range(6)}
    data = gzip.compress(make_tar(files))
    (tmp_path / "i.tar.gz").write_bytes(data)
    assert unpack_archive([tmp_path / "i.tar.gz"], tmp_path / "whole").written == 6
    (tmp_path / "t.tar.gz").write_bytes(data[: len(data) // 2])
    result = unpack_archive([tmp_path / "t.tar.gz"], tmp_path / "half")
    assert 0 < result.written < 6
    assert f"{result.written} file(s) recovered" in result.problems[0]


def test_members_go_where_they_are_told_and_never_on_top_of_each_other(tmp_path: Path) -> None:
    files = {"deep/one/a.mp4": b"1", "deep/two/a.mp4": b"22", "deep/one/b.txt": b"3", "._a.mp4": b"4"}
    (tmp_path / "x.tar").write_bytes(make_tar(files))

    def place(path: PurePosixPath) -> PurePosixPath | None:
        return PurePosixPath(path.name) if path.suffix == ".mp4" else None

    result = unpack_archive([tmp_path / "x.tar"], tmp_path / "out", choose_path=place)
    assert (tmp_path / "out" / "a.mp4").read_bytes() == b"1"
    assert result.written == 1
    assert "same place" in result.problems[0]
    assert not (tmp_path / "out" / "b.txt").exists()


def test_no_archive_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no archive to unpack"):
        unpack_archive([tmp_path / "none.tar"], tmp_path)
    with pytest.raises(DataError, match="no archive to unpack"):
        unpack_archive([], tmp_path)
    (tmp_path / "bad.tar").write_bytes(b"nonsense" * 400)
    assert "no tar archive" in unpack_archive([tmp_path / "bad.tar"], tmp_path / "o").problems[0]


def test_unsafe_names() -> None:
    assert unsafe_reason("videos/a..b.mp4") == ""
    assert unsafe_reason("a\\..\\b")
    assert unsafe_reason("\\\\server\\x")
    assert unsafe_reason("d:/x")


def test_zip_archives_and_pieces_are_unpacked_by_pattern(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a_01.zip", "w") as archive:
        archive.writestr("data/x.mp4", b"video")
        archive.writestr("__MACOSX/._x.mp4", b"junk")
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        member = tarfile.TarInfo("data/y.mp4")
        member.size = 5
        tar.addfile(member, io.BytesIO(b"other"))
    data = whole.getvalue()
    (tmp_path / "b.tar.part.aa").write_bytes(data[:700])
    (tmp_path / "b.tar.part.ab").write_bytes(data[700:])
    assert unpack_all(tmp_path, ["*.zip", "b.tar*"]) == 2
    assert (tmp_path / "data" / "x.mp4").read_bytes() == b"video"
    assert (tmp_path / "data" / "y.mp4").read_bytes() == b"other"
    assert not (tmp_path / "__MACOSX").exists()
    assert unpack_all(tmp_path, ["*.zip", "b.tar*"]) == 0  # all is there


@pytest.mark.parametrize("name", ["../out.mp4", "/etc/out.mp4"])
def test_a_zip_member_never_leaves_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr(name, b"x")
    with pytest.raises(DataError, match="refused"):
        unpack_all(folder, ["*.zip"])
    assert list(tmp_path.iterdir()) == [folder]


def test_a_damaged_zip_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(DataError, match=r"a\.zip: damaged or not readable .* fetch it again"):
        unpack_all(tmp_path, ["*.zip"])


def _write_archive(path: Path, data: bytes) -> None:
    if path.suffix == ".tar":
        path.write_bytes(make_tar({"images/1.jpg": data}))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("images/1.jpg", data)


@pytest.mark.parametrize("first,second", [("a.tar", "b.tar"), ("a.zip", "b.zip"), ("a.tar", "b.zip")])
@pytest.mark.parametrize("other", [b"BBBB", b"BBBBBB"])
def test_a_member_never_replaces_another_archives(
    tmp_path: Path, first: str, second: str, other: bytes
) -> None:
    _write_archive(tmp_path / first, b"AAAA")
    _write_archive(tmp_path / second, other)
    for _ in range(2):
        with pytest.raises(DataError, match=rf"{second}: member 'images/1.jpg' refused: {first} has another"):
            unpack_all(tmp_path, [first, second])
        assert (tmp_path / "images/1.jpg").read_bytes() == b"AAAA"
    (tmp_path / first).unlink()
    (tmp_path / f".unpacked-{first}.json").unlink()
    assert unpack_all(tmp_path, [second]) == 1
    assert (tmp_path / "images/1.jpg").read_bytes() == other
    _write_archive(tmp_path / "c.tar", other)
    assert unpack_all(tmp_path, ["c.tar"]) == 0  # the same content in two archives is no dispute


@pytest.mark.parametrize("name", ["a.tar", "a.zip"])
def test_a_newer_archive_replaces_members_of_the_same_size(tmp_path: Path, name: str) -> None:
    old, new = content(1, 3 << 20), content(1, (3 << 20) - 1) + b"!"
    _write_archive(tmp_path / name, old)
    assert unpack_all(tmp_path, [name]) == 1
    _write_archive(tmp_path / name, new)
    assert unpack_all(tmp_path, [name]) == 1
    assert (tmp_path / "images/1.jpg").read_bytes() == new != old
    assert unpack_all(tmp_path, [name]) == 0
