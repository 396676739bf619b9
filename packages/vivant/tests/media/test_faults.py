"""Broken files cost a sample, never a run: clear lines, what can be had of them, no stall, no orphan."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.media_kit import job, make_video, number_of
from tests.support.processes import list_children, wait_until
from vivant.core.errors import MediaError, UsageError
from vivant.core.records import MediaUse
from vivant.core.types import Clip, FramePolicy, Video
from vivant.media import MediaLoader, probe, verify
from vivant.media.frame_selection import FrameSelection
from vivant.media.worker_pool import MediaWorkerPool
from vivant.media.worker_protocol import FramesTask, ProbeTask, SoundTask

FASTSTART = {"movflags": "faststart"}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frames")


@pytest.fixture(scope="module")
def loader(cache: Path) -> Iterator[MediaLoader]:
    with MediaLoader(cache, workers=1) as made:
        yield made


def frames_of(loader: MediaLoader, path: Path, count: int = 8) -> tuple[list[int], MediaUse]:
    loaded = asyncio.run(loader.load(job(path.parent, Video(path.name), frames=FramePolicy(count=count))))
    clip = loaded.turns[0].parts[1]
    assert isinstance(clip, Clip)
    return [number_of(frame.data) for frame in clip.frames], loaded.media[0]


def damage(data: bytes, start: float, end: float) -> bytes:
    """Overwrite a stretch of the frames' bytes, given as shares of the file."""
    first, last = int(len(data) * start), int(len(data) * end)
    return data[:first] + random.Random(4).randbytes(last - first) + data[last:]


def test_a_damaged_stretch_costs_its_frames_alone(loader: MediaLoader, tmp_path: Path) -> None:
    # Raw H.264 would hide the gap; MP4 says how many frames there should be.
    path = make_video(tmp_path / "a.mp4", container=FASTSTART)
    whole, _ = frames_of(loader, path, 32)
    path.write_bytes(damage(path.read_bytes(), 0.5, 0.62))
    got, use = frames_of(loader, path, 32)
    assert len(got) == len(use.times) < 32
    assert f"{32 - len(got)} of 32 frames undecodable" in use.note
    assert re.search(r"\d+ of 32 frames follow damage and may show it", use.note)
    # Frames before the damage are untouched, and numbering does not slip behind it.
    assert got[:8] == whole[:8]
    assert got[-1] == whole[-1] == 59


@pytest.mark.parametrize(("name", "word"), [("a.mp4", "frames are there"), ("a.mkv", "s are there")])
def test_a_file_cut_short_gives_what_is_there(
    loader: MediaLoader, tmp_path: Path, name: str, word: str
) -> None:
    path = make_video(tmp_path / name, container=FASTSTART if name.endswith("mp4") else None)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    got, use = frames_of(loader, path)
    assert got == sorted(got) and got[0] == 0 and 20 < got[-1] < 45
    assert "cut short" in use.note and word in use.note
    assert "cut short" in (verify(path) or "")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "is empty"),
        (b"\n  <!DOCTYPE html><html><body>Sign in</body></html>", "is an HTML page"),
        (b"<html>" + b" " * 5000, "is an HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b'{"error": "quota"}', "text file"),
        (b"#EXTM3U\n#EXTINF:10,\nfile:///etc/hostname\n", "text file"),
        (b"ffconcat version 1.0\nfile '/etc/hostname'\n", "text file"),
        (bytes(range(256)) * 40, "cannot be opened"),
    ],
)
def test_what_is_no_video_is_named_for_what_it_is(
    loader: MediaLoader, tmp_path: Path, content: bytes, word: str
) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(content)
    with pytest.raises(MediaError, match=r"^clip\.mp4 ") as caught:
        frames_of(loader, path)
    assert word in str(caught.value) and "\n" not in str(caught.value)
    line = verify(path)
    assert line is not None and word in line and "clip.mp4" not in line


def test_an_mp4_without_its_index(loader: MediaLoader, tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.mp4")
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(MediaError, match=r"a\.mp4 cannot be opened"):
        frames_of(loader, path)


def test_a_playlist_in_disguise_opens_nothing_else(loader: MediaLoader, tmp_path: Path) -> None:
    make_video(tmp_path / "secret.mp4")
    (tmp_path / "list.m3u8").write_bytes(
        b"\0#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nsecret.mp4\n#EXT-X-ENDLIST\n"
    )
    with pytest.raises(MediaError, match="cannot be opened"):
        frames_of(loader, tmp_path / "list.m3u8")


def test_probe_and_verify(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.mp4", 45, sound=1.5)
    assert verify(path) is None
    assert (probe(path).frames, probe(path).has_audio) == (45, True)
    assert verify(tmp_path / "none.mp4") == "is missing"
    assert verify(tmp_path) == "is a folder or device, not a file"
    with pytest.raises(MediaError, match=r"none\.mp4 is missing"):
        probe(tmp_path / "none.mp4")


# ── workers that hang or crash ──


def children() -> set[int]:
    """Processes that this one started and that still run."""
    return list_children(os.getpid())


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A file that is never finished: opening it hangs, as libav may. (`resolve` refuses such files.)"""
    path = tmp_path / "endless.mp4"
    os.mkfifo(path)
    return path


def test_a_hang_ends_at_the_time_limit_and_the_next_file_works(pipe: Path, tmp_path: Path) -> None:
    good = make_video(tmp_path / "good.mp4", 5)
    pool = MediaWorkerPool(1, time_limit=5.0)
    assert probe(good, pool).frames == 5
    with pytest.raises(MediaError, match=r"endless\.mp4 could not be decoded within 5 s"):
        pool.run(ProbeTask(path=str(pipe), name="endless.mp4"))
    assert probe(good, pool).frames == 5
    pool.close()


def test_a_crash_costs_one_file(pipe: Path, tmp_path: Path) -> None:
    good = make_video(tmp_path / "good.mp4", 5)
    pool = MediaWorkerPool(1, time_limit=900)
    before = children()
    assert probe(good, pool).frames == 5
    (worker,) = children() - before
    errors: list[str] = []

    def hang() -> None:
        try:
            pool.run(ProbeTask(path=str(pipe), name="endless.mp4"))
        except MediaError as error:
            errors.append(str(error))

    thread = threading.Thread(target=hang)
    thread.start()
    time.sleep(0.2)
    os.kill(worker, signal.SIGSEGV)
    thread.join(600)
    assert errors == ["endless.mp4 crashed the decoder (signal SIGSEGV); it may be damaged"]
    assert probe(good, pool).frames == 5
    assert worker not in children()
    pool.close()
    assert children() == before


def test_a_file_that_hangs_is_tried_once_for_all_its_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_video(tmp_path / "a.mp4", 5)
    tasks = []
    run = MediaWorkerPool.run

    def slow(self: MediaWorkerPool, task: ProbeTask) -> object:
        tasks.append(task)
        return run(self, ProbeTask(path=str(tmp_path / "pipe"), name="a.mp4"))

    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(MediaWorkerPool, "run", slow)
    with MediaLoader(tmp_path / "cache", workers=1, time_limit=0.5) as loader:
        for _ in range(3):
            with pytest.raises(MediaError, match=r"a\.mp4 could not be decoded within 0\.5 s"):
                frames_of(loader, path)
    assert len(tasks) == 1


def test_closing_ends_what_is_under_way(pipe: Path) -> None:
    pool = MediaWorkerPool(1, time_limit=900)
    errors: list[str] = []

    def hang() -> None:
        try:
            pool.run(ProbeTask(path=str(pipe), name="endless.mp4"))
        except MediaError as error:
            errors.append(str(error))

    before = children()
    thread = threading.Thread(target=hang)
    thread.start()
    wait_until(lambda: children() - before)
    pool.close()
    thread.join(600)
    assert errors == ["endless.mp4 was not decoded: the run was ending"]
    assert children() == before
    with pytest.raises(MediaError, match="the run was ending"):
        pool.run(ProbeTask(path=str(pipe), name="late.mp4"))


def test_workers_die_with_a_killed_run(pipe: Path) -> None:
    script = (
        "import os, sys, threading\n"
        "from vivant.media.worker_pool import MediaWorkerPool\n"
        "from vivant.media.worker_protocol import ProbeTask\n"
        "pool = MediaWorkerPool(1, 600)\n"
        f"task = ProbeTask(path={str(pipe)!r}, name='x')\n"
        "threading.Thread(target=pool.run, args=(task,), daemon=True).start()\n"
        "sys.stdin.read()\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)
    wait_until(lambda: list_children(run.pid))
    (worker,) = list_children(run.pid)
    # The worker has opened the pipe, or is about to: either way it must not outlive its run.
    time.sleep(0.5)
    run.kill()
    run.wait()
    assert run.stdin is not None
    run.stdin.close()
    wait_until(lambda: not Path(f"/proc/{worker}").exists())


def test_senseless_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="0 media workers"):
        MediaLoader(tmp_path, workers=0)
    with pytest.raises(UsageError, match="0 s each"):
        MediaLoader(tmp_path, time_limit=0)


def test_a_cache_that_becomes_unusable_is_the_users_to_mend(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.mp4", 5)
    with MediaLoader(tmp_path / "cache", workers=1) as loader:
        (tmp_path / "cache" / "frames").mkdir(parents=True)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        (tmp_path / "cache" / "frames" / sha256[:2]).write_text("a file where the folder should be")
        with pytest.raises(UsageError, match="The media cache cannot be used at"):
            frames_of(loader, path)


def test_no_mutation_of_a_file_upsets_the_reader(tmp_path: Path) -> None:
    """Bytes changed, cut out and cut off, at random: a result or a clear line, never an error of our own."""
    sources = [
        make_video(tmp_path / name, 24, sound=0.8 if name in ("a.ts", "a.flv") else 0.0)
        for name in ("a.mp4", "a.mkv", "a.ts", "a.flv", "a.avi", "a.h264")
    ]
    chance = random.Random(11)
    pool = MediaWorkerPool(1, time_limit=20)
    victim = tmp_path / "victim.bin"
    for turn in range(90):
        data = bytearray(sources[turn % len(sources)].read_bytes())
        if turn % 3 == 0:
            data = data[: chance.randrange(len(data))]
        elif turn % 3 == 1:
            for _ in range(chance.choice([1, 9, 200])):
                data[chance.randrange(len(data))] = chance.randrange(256)
        else:
            place = chance.randrange(len(data))
            data = data[:place] + data[place + chance.randrange(1, 2000) :]
        victim.write_bytes(data)
        sha256 = hashlib.sha256(data).hexdigest()
        common: dict[str, Any] = {"cache": str(tmp_path / "c"), "sha256": sha256, "path": str(victim)}
        wants = (FrameSelection(FramePolicy()),)
        for task in (
            FramesTask(name="victim.bin", wants=wants, **common),
            SoundTask(name="victim.bin", **common),
        ):
            try:
                pool.run(task)
            except MediaError as error:
                assert str(error).startswith("victim.bin ") and "Error" not in str(error)
    pool.close()
