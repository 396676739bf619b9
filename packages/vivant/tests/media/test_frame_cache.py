"""The cache: shared between policies and processes, whole or made again, trimmed by age."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.media_kit import make_video, number_of
from vivant.core.errors import MediaError
from vivant.core.types import FramePolicy, Video
from vivant.media import FrameCache, MediaLoader, measure_cache, trim_cache
from vivant.media.cached_media import read_cached_frames
from vivant.media.extraction import extract_frames
from vivant.media.file_hashes import SMALL, FileHashes
from vivant.media.frame_cache import encoding_key
from vivant.media.frame_selection import FrameSelection
from vivant.media.worker_pool import MediaWorkerPool

SHA = "ab" * 32


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("video") / "a.mp4")


@pytest.fixture
def store(tmp_path: Path) -> FrameCache:
    return FrameCache(tmp_path)


def take(store: FrameCache, video: Path, *policies: FramePolicy) -> int:
    return extract_frames(store, SHA, str(video), video.name, [FrameSelection(policy) for policy in policies])


def numbers(store: FrameCache, policy: FramePolicy) -> list[int]:
    frames = read_cached_frames(store, SHA, FrameSelection(policy), "a.mp4")
    assert frames is not None
    return [number_of(picture.data) for picture in frames.pictures]


# ── frames ──


def test_policies_share_frames(store: FrameCache, video: Path) -> None:
    every = {count: FramePolicy(count=count) for count in (2, 8, 16)}
    assert take(store, video, every[8]) == 8
    assert take(store, video, every[8]) == 0
    assert numbers(store, every[2]) == [0, 59]  # both are among the eight
    assert take(store, video, every[2]) == 0
    fresh = set(range(0, 60, 20)) - set(numbers(store, every[8]))
    assert take(store, video, FramePolicy(select="every", every=20)) == len(fresh)


def test_several_policies_are_one_pass(store: FrameCache, video: Path) -> None:
    policies = [FramePolicy(count=count) for count in (8, 16, 32, 60)]
    policies.append(FramePolicy(count=60, longest_side=80, format="png"))
    assert take(store, video, *policies) == 60
    assert numbers(store, policies[3]) == numbers(store, policies[4]) == list(range(60))


def test_encodings_do_not_mix() -> None:
    same = {encoding_key(FramePolicy(count=n, start=s)) for n in (1, 9) for s in (None, 2.0)}
    assert len(same) == 1
    different = [
        FramePolicy(),
        FramePolicy(quality=80),
        FramePolicy(longest_side=512),
        FramePolicy(format="png"),
        FramePolicy(format="png", longest_side=512),
    ]
    assert len({encoding_key(policy) for policy in different}) == len(different)
    assert encoding_key(FramePolicy(format="png", quality=1)) == encoding_key(FramePolicy(format="png"))


def test_size_and_format_of_frames(store: FrameCache, video: Path) -> None:
    policy = FramePolicy(count=2, longest_side=80, format="png")
    take(store, video, policy, FramePolicy(count=2))
    small = read_cached_frames(store, SHA, FrameSelection(policy), "a")
    large = read_cached_frames(store, SHA, FrameSelection(FramePolicy(count=2)), "a")
    assert small is not None and large is not None
    assert [(p.media_type, p.width, p.height) for p in small.pictures] == [("image/png", 80, 60)] * 2
    assert [(p.media_type, p.width, p.height) for p in large.pictures] == [("image/jpeg", 160, 120)] * 2


@pytest.mark.parametrize("content", [b"", b"\xff\xd8 cut off", b"nonsense"])
def test_spoilt_frames_are_made_again(store: FrameCache, video: Path, content: bytes) -> None:
    policy = FramePolicy(count=4)
    take(store, video, policy)
    whole = numbers(store, policy)
    Path(store.path(SHA, "jpeg-90-full/19.jpg")).write_bytes(content)
    assert read_cached_frames(store, SHA, FrameSelection(policy), "a") is None
    assert take(store, video, policy) == 1
    assert numbers(store, policy) == whole


@pytest.mark.parametrize("entry", ["table", "packets"])
@pytest.mark.parametrize(
    "spoil", [lambda _: b"", lambda data: data[:-9], lambda data: data[:40] + b"?" + data[41:]]
)
def test_spoilt_tables_are_made_again(store: FrameCache, video: Path, entry: str, spoil: Any) -> None:
    take(store, video, FramePolicy(count=2))
    path = Path(store.path(SHA, entry))
    path.write_bytes(spoil(path.read_bytes()))
    assert take(store, video, FramePolicy(count=4)) == 2
    assert numbers(store, FramePolicy(count=4)) == [0, 19, 39, 59]


def test_nobody_sees_half_a_file(tmp_path: Path, video: Path) -> None:
    """Four processes fill one cache at once; whatever is under its final name at any time is whole."""
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from vivant.media.extraction import extract_frames\nfrom vivant.media.frame_cache import FrameCache\n"
        "from vivant.media.frame_selection import FrameSelection\nfrom vivant.core.types import FramePolicy\n"
        f"store, wants = FrameCache(Path({str(tmp_path)!r})), [FrameSelection(FramePolicy(count=60))]\n"
        f"extract_frames(store, {SHA!r}, {str(video)!r}, 'a', wants)\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(4)]
    seen = 0
    while any(process.poll() is None for process in processes):
        for path in tmp_path.rglob("*.jpg"):
            if not path.name.startswith("."):
                data = path.read_bytes()
                assert data.startswith(b"\xff\xd8") and data.endswith(b"\xff\xd9")
                seen += 1
    assert [process.returncode for process in processes] == [0] * 4 and seen
    assert numbers(FrameCache(tmp_path), FramePolicy(count=60)) == list(range(60))
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]


# ── sweeps ──


def test_warming_decodes_each_video_once(
    tmp_path: Path, video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks: list[Any] = []
    run = MediaWorkerPool.run

    def counting(self: MediaWorkerPool, task: Any) -> Any:
        result = run(self, task)
        tasks.append((task.name, result))
        return result

    monkeypatch.setattr(MediaWorkerPool, "run", counting)
    root = tmp_path / "data"
    root.mkdir()
    (root / "a.mp4").write_bytes(video.read_bytes())
    (root / "broken.mp4").write_text("<html>")
    policies = [FramePolicy(count=count) for count in (8, 16, 32, 64)]
    with MediaLoader(tmp_path / "cache") as loader:
        problems = loader.warm(root, ["a.mp4", "broken.mp4", "gone.mp4", "../x.mp4"], policies)
        assert tasks == [("a.mp4", 60)]
        assert sorted(problems) == ["../x.mp4", "broken.mp4", "gone.mp4"]
        assert "HTML" in problems["broken.mp4"] and "missing" in problems["gone.mp4"]
        assert loader.warm(root, [Video("a.mp4", 1.0)], policies[:2]) == {}
        # The window selects frames that are all there.
        assert len(tasks) == 1


# ── identities ──


@pytest.fixture
def identities(tmp_path: Path) -> Iterator[FileHashes]:
    made = FileHashes(tmp_path / "cache")
    yield made
    made.close()


def settled(path: Path, data: bytes, age: float = 10) -> str:
    path.write_bytes(data)
    os.utime(path, (time.time() - age, time.time() - age))
    return str(path)


def test_hashes_and_changes(identities: FileHashes, tmp_path: Path) -> None:
    for size in (10, SMALL + 10):
        first, second = b"a" * size, b"b" * size
        path = settled(tmp_path / "f", first)
        assert identities.sha256(path, "f") == hashlib.sha256(first).hexdigest()
        settled(tmp_path / "f", second, age=5)
        assert identities.sha256(path, "f") == hashlib.sha256(second).hexdigest()
        data, sha256 = identities.read(path, "f")
        assert data == second and sha256 == hashlib.sha256(second).hexdigest()


def test_a_large_file_is_read_once_for_all_processes(
    identities: FileHashes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = settled(tmp_path / "f", b"a" * SMALL)
    expected = identities.sha256(path, "f")
    monkeypatch.setattr("vivant.media.file_hashes._hash", lambda *_: pytest.fail("read again"))
    other = FileHashes(tmp_path / "cache")
    assert other.sha256(path, "f") == expected
    other.close()


def test_a_file_written_just_now_is_not_trusted(identities: FileHashes, tmp_path: Path) -> None:
    path = tmp_path / "f"
    now = time.time_ns() + 10_000_000_000
    for content in (b"a", b"b"):
        path.write_bytes(content * SMALL)
        os.utime(path, ns=(now, now))
        assert identities.sha256(str(path), "f") == hashlib.sha256(content * SMALL).hexdigest()


@pytest.mark.parametrize("content", [b"", b"this is no database" * 99])
def test_a_damaged_memory_starts_anew(identities: FileHashes, tmp_path: Path, content: bytes) -> None:
    path = settled(tmp_path / "f", b"a" * SMALL)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "media.sqlite").write_bytes(content)
    assert identities.sha256(path, "f") == hashlib.sha256(b"a" * SMALL).hexdigest()
    with sqlite3.connect(tmp_path / "cache" / "media.sqlite") as database:
        assert database.execute("SELECT path FROM file").fetchall() == [(path,)]
    database.close()


def test_an_unreadable_file_is_named(identities: FileHashes, tmp_path: Path) -> None:
    with pytest.raises(MediaError, match=r"^the\.jpg is missing"):
        identities.sha256(str(tmp_path / "none"), "the.jpg")
    with pytest.raises(MediaError, match=r"^the\.jpg cannot be read"):
        identities.read(str(tmp_path / "none"), "the.jpg")


# ── upkeep ──


def test_size_and_trimming(tmp_path: Path, video: Path) -> None:
    store = FrameCache(tmp_path)
    for number, sha256 in enumerate(("ab" * 32, "cd" * 32)):
        extract_frames(store, sha256, str(video), "a", [FrameSelection(FramePolicy(count=4))])
        os.utime(store.path(sha256, ""), (time.time() - 1000 * number, time.time() - 1000 * number))
    before = measure_cache(tmp_path)
    assert (before.media, before.files) == (2, 12)
    assert before.bytes == sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert trim_cache(tmp_path, 5000).media == 0
    removed = trim_cache(tmp_path, 500)
    assert (removed.media, removed.files) == (1, 6)
    assert measure_cache(tmp_path).media == 1
    assert numbers(store, FramePolicy(count=4)) == [0, 19, 39, 59]
    # Trimmed to nothing, it fills again.
    trim_cache(tmp_path, -1)
    assert measure_cache(tmp_path).files == 0
    assert take(store, video, FramePolicy(count=4)) == 4


def test_use_keeps_entries_young(tmp_path: Path, video: Path) -> None:
    store = FrameCache(tmp_path)
    take(store, video, FramePolicy(count=4))
    os.utime(store.path(SHA, ""), (0, 0))
    assert numbers(store, FramePolicy(count=4))
    assert trim_cache(tmp_path, 500).media == 0


def test_an_empty_cache(tmp_path: Path) -> None:
    assert measure_cache(tmp_path / "none").bytes == 0
    assert trim_cache(tmp_path / "none", 0).bytes == 0
