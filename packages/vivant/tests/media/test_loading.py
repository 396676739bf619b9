"""Jobs become turns: frames chosen, parts in their order, controls."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.support.media_kit import job, load, numbers
from vivant.core.errors import MediaError, UsageError
from vivant.core.types import (
    Audio,
    FramePolicy,
    Image,
    Job,
    Message,
    Text,
    Video,
)
from vivant.media import LoadedMedia, MediaLoader
from vivant.media.worker_pool import MediaWorkerPool


def test_text_alone_passes_straight_through(loader: MediaLoader) -> None:
    messages = (Message("system", (Text("Be brief."),)), Message("user", (Text("Why?"), Text("How?"))))
    made = Job(key="k", task="t", id="1", messages=messages)
    coroutine = loader.load(made)
    # It finishes without giving way to the event loop once.
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    loaded = ended.value.value
    assert [turn.role for turn in loaded.turns] == ["system", "user"]
    assert [turn.parts for turn in loaded.turns] == [message.parts for message in messages]
    assert loaded.media == () == loader.describe(made)


def test_a_small_picture_needs_no_thread_either(loader: MediaLoader, data: Path) -> None:
    coroutine = loader.load(job(data, Image("3.png")))
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    assert numbers(ended.value.value) == [3]
    assert repr(ended.value.value) == "LoadedMedia(1 turns, 1 media)"


def test_parts_stay_in_their_order(loader: MediaLoader, data: Path) -> None:
    made = Job(
        key="k",
        task="t",
        id="1",
        root=str(data),
        frames=FramePolicy(count=2),
        messages=(
            Message("user", (Image("1.png"), Text("then"), Video("mute.mp4"), Text("?"))),
            Message("assistant", (Text("A"),)),
            Message("user", (Text("and"), Image("2.png"))),
        ),
    )
    loaded = load(loader, made)
    kinds = [[type(part).__name__ for part in turn.parts] for turn in loaded.turns]
    assert kinds == [["Picture", "Text", "Clip", "Text"], ["Text"], ["Text", "Picture"]]
    assert numbers(loaded) == [1, 0, 59, 2]
    assert [(use.kind, use.path) for use in loaded.media] == [
        ("image", "1.png"),
        ("video", "mute.mp4"),
        ("image", "2.png"),
    ]


def test_what_is_described_is_what_is_used(loader: MediaLoader, data: Path) -> None:
    made = job(data, Image("1.png"), Video("talk.mp4"), Audio("talk.mp4"), frames=FramePolicy(count=3))
    described = loader.describe(made)
    used = load(loader, made).media
    assert [(use.kind, use.path, use.sha256) for use in described] == [
        (use.kind, use.path, use.sha256) for use in used
    ]
    assert described[1].sha256 == hashlib.sha256((data / "talk.mp4").read_bytes()).hexdigest()
    assert asyncio.run(loader.identify(made)) == described
    assert used[1].times == pytest.approx((0, 44 / 30, 89 / 30), abs=1e-3)


def test_the_policy_and_the_part_choose_the_frames(loader: MediaLoader, data: Path) -> None:
    second = FramePolicy(select="fps", fps=10, start=1.0)
    assert numbers(load(loader, job(data, Video("mute.mp4", end=1.5), frames=second))) == [
        30,
        33,
        36,
        39,
        42,
    ]
    with pytest.raises(MediaError, match=r"mute\.mp4.*starts at 9 s"):
        load(loader, job(data, Video("mute.mp4", start=9)))
    with pytest.raises(UsageError, match="count"):
        load(loader, job(data, Video("mute.mp4"), frames=FramePolicy(count=0)))


def test_two_questions_about_one_video_decode_it_once(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []
    run = MediaWorkerPool.run

    def counting(self: MediaWorkerPool, task: Any) -> Any:
        result = run(self, task)
        decoded.append(result)
        return result

    monkeypatch.setattr(MediaWorkerPool, "run", counting)

    async def ask() -> None:
        with MediaLoader(tmp_path) as loader:
            jobs = [job(data, Video("mute.mp4"), frames=FramePolicy(count=4)) for _ in range(6)]
            for loaded in await asyncio.gather(*map(loader.load, jobs)):
                assert numbers(loaded) == [0, 19, 39, 59]

    asyncio.run(ask())
    assert decoded == [4]


def test_controls_on_a_video(loader: MediaLoader, data: Path) -> None:
    def under(control: str, seed: int = 1) -> LoadedMedia:
        made = job(data, Video("mute.mp4"), frames=FramePolicy(count=8), control=control, seed=seed)
        return load(loader, made)

    plain = numbers(under("none"))
    assert plain == [0, 8, 16, 25, 33, 42, 50, 59]
    assert numbers(under("one-frame")) == [29]
    assert numbers(under("reversed")) == plain[::-1]
    shuffled = under("shuffled")
    assert sorted(numbers(shuffled)) == plain != numbers(shuffled)
    assert numbers(under("shuffled")) == numbers(shuffled) != numbers(under("shuffled", seed=2))
    # The record says in which order they were shown.
    assert [round(time * 30) for time in shuffled.media[0].times] == numbers(shuffled)
    blind = under("blind")
    assert blind.media == () and blind.turns[0].parts == (Text("Look:"),)
    assert loader.describe(job(data, Video("none.mp4"), control="blind")) == ()


def test_controls_on_pictures_of_one_message(loader: MediaLoader, data: Path) -> None:
    parts = (
        Image("0.png"),
        Text("a"),
        Image("1.png"),
        Image("2.png"),
        Text("b"),
        Image("3.png"),
        Image("4.png"),
    )

    def under(control: str) -> LoadedMedia:
        return load(loader, job(data, *parts, control=control, seed=3))

    assert numbers(under("reversed")) == [4, 3, 2, 1, 0]
    shuffled = under("shuffled")
    assert sorted(numbers(shuffled)) == [0, 1, 2, 3, 4] != numbers(shuffled)
    # Texts keep their places.
    kinds = [type(part).__name__ for part in shuffled.turns[0].parts]
    assert kinds == ["Text", "Picture", "Text", "Picture", "Picture", "Text", "Picture", "Picture"]
    one = under("one-frame")
    assert numbers(one) == [2] and [p.text for p in one.turns[0].parts if isinstance(p, Text)] == [
        "Look:",
        "a",
        "b",
    ]
    assert [use.path for use in one.media] == ["2.png"]
    described = loader.describe(job(data, *parts, control="shuffled", seed=3))
    assert [use.path for use in described] == [use.path for use in shuffled.media]
