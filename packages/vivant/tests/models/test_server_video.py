"""Videos for servers: the file with the server's own frame settings, chosen frames with their times, and the record."""

from __future__ import annotations

import asyncio
import json
import math
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.models.test_hosted import ask, videos
from tests.support.helpers import logged_messages
from tests.support.media_kit import make_video, number_of
from tests.support.model_requests import question
from tests.support.standin import Standin, gemini, gemini_says, openai, openai_says
from vivant.core.errors import UsageError
from vivant.core.records import MediaUse
from vivant.core.types import Clip, ClipTiming, FramePolicy, Picture, Text
from vivant.models.base import ModelError, ModelOptions
from vivant.models.openai import OpenAI
from vivant.models.server_video import sample_files


def send(path: Path, server: Standin, name: str, **options: Any) -> tuple[dict[str, Any], MediaUse]:
    """Ask one question about a video; what was sent, and what the record says of the video."""
    settings = {"server": name, "key_variable": "HOME", **options.pop("model_options", {})}
    out = path.parent / f"run-{name}-{len(list(path.parent.iterdir()))}"
    run = ask(path, "openai/m", server, out, model_options=settings, video_as="native", **options)
    (record,) = run.records().values()
    assert record.reply.status == "ok", record.reply.error
    return server.requests[-1], record.media[0]


def pieces(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [piece for message in body["messages"] for piece in message["content"] if piece["type"] != "text"]


def data_of(piece: dict[str, Any]) -> bytes:
    return b64decode(piece["video_url"]["url"].partition(",")[2])


def test_vllm_is_sent_the_file_and_the_frame_policy(tmp_path: Path) -> None:
    path = videos(tmp_path, 1)  # 12 frames in 0.4 s
    with openai(lambda _: openai_says("A")) as server:
        body, use = send(path, server, "vllm", frames=4)
    (piece,) = pieces(body)
    assert data_of(piece) == (tmp_path / "0.mp4").read_bytes()
    sampling = body["media_io_kwargs"]["video"]
    assert (sampling["num_frames"], sampling["fps"]) == (4, pytest.approx(10, abs=1e-3))
    assert (use.shown_as, use.fps, use.times, use.note) == ("file", 10.0, (), "")


@pytest.mark.parametrize("seconds", [0.7, 7.3, 29.97, 61.0, 3599.9])
def test_vllms_rounding_leaves_the_number_of_frames(seconds: float) -> None:
    timing = ClipTiming(30.0, math.ceil(seconds * 30), seconds)
    for count in (1, 7, 8, 32):
        sampling = sample_files([Clip((), "v", timing=timing, policy=FramePolicy(count=count))])
        taken = min(timing.total, count)
        assert min(sampling["num_frames"], math.floor(seconds * sampling["fps"]), timing.total) in (
            taken,
            timing.total - 1,
        )


def test_a_rate_without_a_number_is_not_cut_at_vllms_32_frames(tmp_path: Path) -> None:
    path = videos(tmp_path, 1)
    with openai(lambda _: openai_says("A")) as server:
        body, _ = send(path, server, "vllm", fps=5.0)
        assert body["media_io_kwargs"]["video"] == {"num_frames": -1, "fps": pytest.approx(5, abs=1e-3)}
        with_cap, use = send(path, server, "vllm", fps=20.0, max_frames=2)
    assert with_cap["media_io_kwargs"]["video"] == {"num_frames": 2, "fps": pytest.approx(5, abs=1e-3)}
    assert use.fps == 5.0


def test_vllm_takes_chosen_frames_as_a_video_with_their_times(tmp_path: Path) -> None:
    make_video(tmp_path / "v.mp4", 60)
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({"id": 1, "question": "Seen?", "video": "v.mp4", "answers": ["yes"]}))
    with openai(lambda _: openai_says("A")) as server:
        body, use = send(
            path, server, "vllm", frames=3, control="reversed", model_options={"send_video": "frames"}
        )
    (piece,) = pieces(body)
    kind, _, data = piece["video_url"]["url"].partition(";base64,")
    assert kind == "data:video/jpeg"
    assert [number_of(b64decode(frame)) for frame in data.split(",")] == [59, 29, 0]
    assert body["media_io_kwargs"]["video"] == {
        "total_num_frames": 60,
        "fps": 30.0,
        "duration": 2.0,
        "frames_indices": [0, 29, 59],
        "num_frames": -1,
        "do_sample_frames": False,
    }
    assert (use.shown_as, use.fps, use.size, len(use.times)) == ("video", 1.5, (160, 120), 3)


def test_a_control_shows_frames_where_the_file_cannot_honour_it(tmp_path: Path) -> None:
    path = videos(tmp_path, 1)
    with openai(lambda _: openai_says("A")) as server:
        body, use = send(path, server, "vllm", frames=3, control="reversed")
    assert [piece["type"] for piece in pieces(body)] == ["image_url"] * 3
    assert "media_io_kwargs" not in body
    assert (use.shown_as, use.note) == ("images", "shown as frames, not as a file")


def test_servers_differ_in_what_they_can_be_told(tmp_path: Path) -> None:
    path = videos(tmp_path, 1)
    with openai(lambda _: openai_says("A")) as server:
        body, use = send(path, server, "dashscope", frames=4)
        assert pieces(body)[0]["fps"] == 10.0
    with openai(lambda _: openai_says("A")) as server:
        body, use = send(path, server, "sglang", frames=4)
    assert set(pieces(body)[0]) == {"type", "video_url"}
    assert "media_io_kwargs" not in body
    assert (use.shown_as, use.note) == ("file", "the server chooses the frames")


def test_a_server_may_read_the_file_itself(tmp_path: Path) -> None:
    folder = tmp_path / "my videos"
    folder.mkdir()
    path = videos(folder, 1)
    with openai(lambda _: openai_says("A")) as server:
        body, _ = send(path, server, "vllm", model_options={"video_url": "file"})
        assert pieces(body)[0]["video_url"]["url"] == (folder / "0.mp4").as_uri()
        served = {"video_url": "https://media.example/v", "video_root": str(tmp_path)}
        body, _ = send(path, server, "vllm", model_options=served)
    assert pieces(body)[0]["video_url"]["url"] == "https://media.example/v/my%20videos/0.mp4"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"send_video": "frames"}, "needs a vLLM server"),
        ({"send_video": "both", "server": "vllm"}, "write file or frames"),
        ({"video_url": "s3"}, "write data, file, or an address"),
        ({"video_url": "https://media.example"}, "video_root=FOLDER"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_sent(
    values: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        OpenAI("m", ModelOptions(base_url="http://127.0.0.1:9/v1", video="native", values=values))


def test_two_videos_have_one_set_of_times_so_chosen_frames_are_refused() -> None:
    options = ModelOptions(
        base_url="http://127.0.0.1:9/v1", video="native", values={"server": "vllm", "send_video": "frames"}
    )
    clip = Clip((Picture(b"x", "image/jpeg", 2, 2, 0.0),), "v", timing=ClipTiming(30.0, 60, 2.0))
    with pytest.raises(Exception, match="one video a request; use send_video=file"):
        OpenAI("m", options).body(question(clip, clip, Text("Same?")))


@pytest.mark.parametrize("inline", ["1000000", "100"])
def test_gemini_is_told_the_rate_and_the_part(tmp_path: Path, inline: str) -> None:
    path = videos(tmp_path, 1)
    part = FramePolicy(select="fps", fps=3, start=0.00001, end=0.1 + 0.2)  # as the API reads durations
    sent = []
    with gemini(lambda _: gemini_says("A")) as server:
        asked: tuple[dict[str, Any], ...] = ({"fps": 3.0}, {"frames": part}, {"frames": 2})
        for number, settings in enumerate(asked):
            options: dict[str, Any] = {
                "model_options": {"inline_bytes": inline},
                "video_as": "native",
                **settings,
            }
            run = ask(path, "gemini/g", server, tmp_path / str(number), **options)
            sent.append(server.requests[-1]["contents"][0]["parts"][0])
    assert [piece["videoMetadata"] for piece in sent] == [
        {"fps": 3.0},
        {"fps": 3.0, "startOffset": "0.00001s", "endOffset": "0.3s"},
        {"fps": 5.0},
    ]
    assert {("fileData" if inline == "100" else "inlineData") in piece for piece in sent} == {True}
    (record,) = run.records().values()
    assert (record.media[0].shown_as, record.media[0].fps) == ("file", 5.0)


@pytest.mark.parametrize(
    ("version", "way", "refused"),
    [
        ("0.17.1", "file", "upgrade it to 0.18"),
        ("0.19.0", "frames", "upgrade it to 0.20"),
        ("0.18.0", "file", ""),
        ("0.27.1", "frames", ""),
        ("0.1.dev1+g1a2b", "file", ""),
        ("", "file", ""),
    ],
)
def test_a_vllm_that_would_drop_the_frame_settings_is_refused(version: str, way: str, refused: str) -> None:
    options = ModelOptions(video="native", values={"server": "vllm", "send_video": way})

    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"version": version})

    async def main() -> None:
        app = web.Application()
        app.router.add_get("/version", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = runner.addresses[0][1]
            model = OpenAI("m", msgspec.structs.replace(options, base_url=f"http://127.0.0.1:{port}/v1"))
            try:
                await model.open()
            finally:
                await model.close()
        finally:
            await runner.cleanup()

    if refused:
        with pytest.raises(ModelError, match=refused):
            asyncio.run(main())
        return
    with logged_messages() as messages:
        asyncio.run(main())
    assert any("does not say which version of vLLM" in message for message in messages) == (version == "")
