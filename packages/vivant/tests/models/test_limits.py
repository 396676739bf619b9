"""Requests over a model's limits: shrunk by the stated rule and recorded, or refused."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.support.helpers import picture, questions
from tests.support.media_kit import make_video
from tests.support.standin import openai, openai_says
from vivant.core.records import SHRUNK, MediaUse
from vivant.core.types import Clip, Picture, Text, Turn, iter_pictures
from vivant.engine.evaluation import evaluate
from vivant.models.model_table import (
    ModelFacts,
    PictureTokens,
    RequestLimits,
    find_model,
    find_server,
    load_model_table,
    merge_limits,
)
from vivant.models.request_limits import (
    estimate_tokens,
    find_problems,
    fit_request,
    measure_request_bytes,
)
from vivant.runs.overview import build_overview


def noise(width: int, height: int, seed: int = 0, kind: str = "JPEG", time: float | None = None) -> Picture:
    """A picture that does not compress."""
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return Picture(buffer.getvalue(), f"image/{kind.lower()}", width, height, time)


def clip(frames: int, path: str = "v.mp4") -> tuple[Clip, MediaUse]:
    shown = tuple(noise(32, 24, number, time=float(number)) for number in range(frames))
    return Clip(shown, path), MediaUse("video", path, times=tuple(float(n) for n in range(frames)))


def asked(*parts: Any) -> tuple[Turn, ...]:
    return (Turn("user", (*parts, Text("What is it?"))),)


def test_what_fits_is_left_alone_to_the_last_byte() -> None:
    turns = asked(noise(64, 48))
    media = (MediaUse("image", "a.jpg", note="rotated"),)
    fitted = fit_request(turns, media, RequestLimits(images=1, side=64, pixels=64 * 48, request_bytes=10**6))
    assert fitted.turns is turns
    assert fitted.media is media
    assert fitted.notes == ()


@pytest.mark.parametrize(
    ("budget", "size"),
    [
        (RequestLimits(side=100), (100, 50)),
        (RequestLimits(pixels=5000), (100, 50)),
        (RequestLimits(many=0, many_side=80), (80, 40)),
    ],
)
def test_a_large_picture_is_scaled_in_its_own_format(budget: RequestLimits, size: tuple[int, int]) -> None:
    fitted = fit_request(asked(noise(200, 100)), (MediaUse("image", "a.jpg", note="rotated"),), budget)
    (shown,) = iter_pictures(fitted.turns)
    assert (shown.width, shown.height) == size
    assert Image.open(BytesIO(shown.data)).size == size
    assert shown.media_type == "image/jpeg"
    assert fitted.media[0].note == f"rotated; resized to {size[0]}×{size[1]}"
    assert fitted.notes == (f"{SHRUNK}: 1 pictures resized",)
    assert not list(find_problems(fitted.turns, budget))


def test_a_heavy_picture_is_scaled_until_its_bytes_fit() -> None:
    budget = RequestLimits(image_bytes=20_000)
    fitted = fit_request(asked(noise(300, 300, kind="PNG")), (MediaUse("image", "a.png"),), budget)
    (shown,) = iter_pictures(fitted.turns)
    assert len(shown.data) * 4 / 3 <= 20_000
    assert shown.media_type == "image/png"
    assert shown.width > 64


def test_a_heavy_request_has_all_its_pictures_scaled_together() -> None:
    turns = asked(noise(300, 200, 1), noise(200, 300, 2))
    media = (MediaUse("image", "a.jpg"), MediaUse("image", "b.jpg"))
    limit = measure_request_bytes(turns) // 3
    fitted = fit_request(turns, media, RequestLimits(request_bytes=limit))
    one, two = iter_pictures(fitted.turns)
    assert measure_request_bytes(fitted.turns) <= limit
    assert (one.width, one.height) == (two.height, two.width)
    assert all(use.note.count("resized to") == 1 for use in fitted.media)


def test_frames_are_thinned_evenly_by_each_videos_share_and_the_times_say_so() -> None:
    long, long_use = clip(40, "long.mp4")
    short, short_use = clip(10, "short.mp4")
    turns = asked(long, noise(32, 24), short)
    fitted = fit_request(turns, (long_use, MediaUse("image", "a.jpg"), short_use), RequestLimits(images=26))
    first, second = (part for part in fitted.turns[0].parts if isinstance(part, Clip))
    assert (len(first.frames), len(second.frames)) == (20, 5)
    assert first.frames[0].time == 0.0
    assert first.frames[-1].time == 39.0
    assert fitted.media[0].times == tuple(frame.time for frame in first.frames)
    assert fitted.media[0].note == "20 of 40 frames shown"
    assert fitted.media[1].note == ""
    assert fitted.notes == (f"{SHRUNK}: 25 of 50 frames shown",)


def test_frames_are_thinned_to_the_window_by_estimate() -> None:
    shown, use = clip(40)
    budget = RequestLimits(tokens=1000, picture=PictureTokens("fixed", 100))
    fitted = fit_request(asked(shown), (use,), budget)
    assert len(list(iter_pictures(fitted.turns))) == 9
    assert estimate_tokens(fitted.turns, budget) <= 1000


@pytest.mark.parametrize(
    ("parts", "budget", "words"),
    [
        ([noise(32, 24, n) for n in range(3)], RequestLimits(images=2), "3 pictures of at most 2"),
        ([clip(4)[0], clip(4)[0], clip(4)[0]], RequestLimits(images=2), "3 pictures of at most 2"),
        ([noise(80, 80)], RequestLimits(image_bytes=300), "smaller than 64 pixels"),
        ([], RequestLimits(request_bytes=100), "without pictures"),
        ([noise(32, 24)], RequestLimits(tokens=50, picture=PictureTokens("fixed", 258)), "about 261 tokens"),
    ],
)
def test_what_cannot_be_made_to_fit_is_refused(parts: list[Any], budget: RequestLimits, words: str) -> None:
    media = tuple(MediaUse("video" if isinstance(part, Clip) else "image", "m") for part in parts)
    fitted = fit_request(asked(*parts), media, budget)
    assert words in fitted.refused
    assert fitted.turns == asked(*parts) or fitted.media == media


def test_refusing_makes_no_change_and_says_what_is_over() -> None:
    turns = asked(noise(200, 100, kind="PNG"))
    budget = RequestLimits(side=100, formats=("image/jpeg",))
    fitted = fit_request(turns, (MediaUse("image", "a.png"),), budget, "refuse")
    assert fitted.refused == ("over the model's limits: pictures in image/png; a picture of 200×100 pixels")
    assert fitted.notes == ()


@settings(max_examples=25, deadline=None)
@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    stills=st.integers(0, 4),
    limit=st.integers(1, 40),
)
def test_any_number_of_frames_ends_within_the_limit_or_is_refused(
    counts: list[int], stills: int, limit: int
) -> None:
    small = Picture(b"x", "image/jpeg", 8, 8)
    clips = [Clip((small,) * count, f"{n}.mp4") for n, count in enumerate(counts)]
    media = tuple(MediaUse("image", "p") for _ in range(stills)) + tuple(
        MediaUse("video", c.path) for c in clips
    )
    fitted = fit_request(asked(*[small] * stills, *clips), media, RequestLimits(images=limit))
    kept = [len(part.frames) for part in fitted.turns[0].parts if isinstance(part, Clip)]
    if stills + len(counts) > limit:
        assert fitted.refused
    else:
        assert not fitted.refused
        assert stills + sum(kept) <= limit
        assert stills + sum(kept) == min(limit, stills + sum(counts)) or max(kept) > 1
        assert all(1 <= now <= before for now, before in zip(kept, counts, strict=True))


# ── the tables ──


def test_every_entry_of_the_tables_makes_limits() -> None:
    table = load_model_table()
    assert {facts.api for facts in table.servers} == {facts.api for facts in table.models}
    for server in table.servers:
        for model in table.models:
            merged = merge_limits(server, model, {})
            stated = [facts.limits.images for facts in (server, model) if facts.limits.images is not None]
            assert merged.images == (min(stated) if stated else None)
    anthropic = find_server("", api="anthropic")
    changed = merge_limits(anthropic, ModelFacts(), {"max_images": "7", "max_pixels": None})
    assert (changed.images, changed.side) == (7, 8000)
    assert merge_limits(find_server("http://nobody.example"), ModelFacts(), {}) == RequestLimits()


def test_a_model_is_known_by_its_longest_beginning() -> None:
    assert find_model("claude-haiku-4-5", "anthropic").limits.images == 100
    assert find_model("claude-sonnet-5", "anthropic").limits.images == 600
    assert not find_model("claude-opus-4-8", "anthropic").sampling
    assert find_model("something-else") == ModelFacts()


def test_pictures_cost_tokens_by_the_published_rules() -> None:
    tiles = PictureTokens("tiles", base=85, unit=170)
    assert tiles.count(1024, 1024) == 765
    assert tiles.count(2048, 4096) == 1105
    assert tiles.count(64, 64) == 255
    assert PictureTokens("area", unit=750, most=1600).count(1092, 1092) == 1590
    assert PictureTokens("area", unit=750, most=1600).count(4000, 4000) == 1600


# ── through a run ──


def test_a_shrunk_request_is_recorded_and_shown_under_the_table(tmp_path: Path) -> None:
    make_video(tmp_path / "v.mp4", 40)
    picture(tmp_path / "p.png", size=(400, 300))
    line = {
        "id": 1,
        "question": ["Before", {"image": "p.png"}, {"video": "v.mp4"}],
        "choices": ["a", "b"],
        "answer": "a",
    }
    path = tmp_path / "q.jsonl"
    path.write_bytes(msgspec.json.encode(line))
    options = {"max_images": "5", "max_side": "200"}
    with openai(lambda _: openai_says("A")) as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        named: Any = {"cache": "off", "base_url": url, "model_options": options, "frames": 16}
        run = evaluate(str(path), "openai/x", out=str(tmp_path / "shrunk"), **named)
        assert len(server.requests) == 1
        refused = evaluate(
            str(path), "openai/x", out=str(tmp_path / "refused"), on_too_large="refuse", **named
        )
        assert len(server.requests) == 1
    sent = [p for p in server.requests[0]["messages"][0]["content"] if p["type"] == "image_url"]
    assert len(sent) == 5
    record = next(iter(run.records().values()))
    assert [use.note for use in record.media] == ["resized to 200×150", "4 of 16 frames shown"]
    assert len(record.media[1].times) == 4
    assert record.notes == (f"{SHRUNK}: 4 of 16 frames shown; 1 pictures resized",)
    assert any(
        "1 requests were shrunk to the model's limits" in note
        for note in build_overview([run], "paper").notes
    )
    reply = next(iter(refused.records().values())).reply
    assert reply.status == "too_long"
    assert reply.error == "over the model's limits: 17 pictures of at most 5; a picture of 400×300 pixels"
    assert refused.manifest.settings.model["on_too_large"] == "refuse"


def test_a_cached_reply_to_a_shrunk_request_does_not_answer_a_whole_one(tmp_path: Path) -> None:
    path = questions(tmp_path, 1)
    with openai(lambda _: openai_says("A")) as server:
        for number, values in enumerate(({"max_side": "32"}, {}, {"max_side": "32"})):
            url, out = f"http://127.0.0.1:{server.port}/v1", tmp_path / f"run{number}"
            evaluate(str(path), "openai/x", out=out, base_url=url, model_options=values)
    assert len(server.requests) == 2
