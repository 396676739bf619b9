"""Videos as videos in the transformers backend: the processor's input is what the model's own recipe makes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.support import tiny_models, tiny_video_models
from tests.support.media_kit import full_decode, job, make_video, uneven
from tests.support.torchvision_ops import import_torchvision
from vivant.core.records import MediaUse
from vivant.core.types import Clip, Decoding, FramePolicy, Picture, Request, Text, Video, VideoInput
from vivant.media import MediaLoader
from vivant.media.clips import frame_metadata
from vivant.models.base import ModelError

NEEDED = ("torch", "transformers", "torchvision", "num2words")
pytestmark = [
    pytest.mark.skipif(
        any(find_spec(name) is None for name in NEEDED),
        reason="torchvision and num2words are not installed: pip install 'vivant[transformers]'",
    ),
    pytest.mark.filterwarnings("ignore"),  # of libraries that are not ours
]
SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("adapter", "max_pixels", "device_map", "attention", "revision", "gguf_file")),
    "text_only": False,
    "trust_remote_code": False,
    "dtype": "auto",
    "device": "auto",
    "video": "auto",
    "thinking_room": 0,
    "template": {},
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """A loaded checkpoint of a family, in this process."""
    import torch

    assert import_torchvision()
    from vivant.models.transformers_engine import TransformersEngine

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("tiny-video")
    checkpoint = cache(lambda name: tiny_video_models.build(name, folder / name))

    @cache
    def load(name: str, **settings: Any) -> Any:
        return TransformersEngine({**SETTINGS, "model": str(checkpoint(name)), **settings}, 0)

    yield load
    load.cache_clear()


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short video at 30 frames a second, a long one at one every two seconds, and one at an uneven rate."""
    folder = tmp_path_factory.mktemp("videos")
    make_video(folder / "short.mp4", 20)
    make_video(folder / "odd.mp4", 21)
    make_video(folder / "slow.mp4", 40, times=lambda number: number * 2000)
    make_video(folder / "uneven.mkv", 30, times=uneven())
    return folder


def show(folder: Path, name: str, policy: FramePolicy, **settings: Any) -> tuple[Clip, MediaUse]:
    """A video as a run prepares it for a model that takes videos; pixels are not compressed."""
    policy = FramePolicy(
        **{field: getattr(policy, field) for field in policy.__struct_fields__} | {"format": "png"}
    )
    start, end = settings.pop("start", None), settings.pop("end", None)

    async def load() -> Any:
        with MediaLoader(folder / "cache", workers=1) as loader:
            asked = job(folder, Video(name, start, end), frames=policy, **settings)
            return await loader.load(asked, video=VideoInput("video"))

    loaded = asyncio.run(load())
    (clip,) = [part for turn in loaded.turns for part in turn.parts if isinstance(part, Clip)]
    return clip, loaded.media[0]


def ask(*parts: Any) -> Request:
    from vivant.core.types import Turn

    return Request(turns=(Turn("user", (*parts, Text("Which?"))),), decoding=Decoding(max_tokens=4))


def own_recipe(engine: Any, frames: list[Any], metadata: dict[str, Any], **settings: Any) -> Any:
    """The inputs as the model's processor makes them from a decoded video."""
    import numpy as np

    content = [{"type": "video", "video": np.stack(frames)}, {"type": "text", "text": "Which?"}]
    return engine._processor.apply_chat_template(
        [{"role": "user", "content": content}],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
        processor_kwargs={"video_metadata": [metadata], **settings},
    )


def assert_same(ours: Any, theirs: Any) -> None:
    assert set(ours) == set(theirs)
    for name, value in theirs.items():
        if name.startswith("pixel_values"):
            assert (ours[name] - value).abs().max() < 1e-4, name
        else:
            assert ours[name].tolist() == value.tolist(), name


def test_qwen2_5_is_given_what_its_own_sampler_takes_from_the_file(
    engine: Callable[..., Any], videos: Path
) -> None:
    clip, use = show(videos, "short.mp4", FramePolicy(select="fps", fps=15))
    assert (use.shown_as, use.fps, use.size, len(use.times)) == ("video", 15.0, (160, 120), 10)
    loaded = engine("qwen2.5")
    theirs = own_recipe(
        loaded,
        full_decode(videos / "short.mp4"),
        {"total_num_frames": 20, "fps": 30.0, "duration": 20 / 30},
        do_sample_frames=True,
        fps=15,
        cap_pixels_per_frame=True,
    )
    assert theirs["second_per_grid_ts"].tolist() == pytest.approx([2 / 15])
    assert_same(loaded._inputs([ask(clip)]), theirs)


def test_qwen3_is_given_the_times_that_its_own_sampler_states(
    engine: Callable[..., Any], videos: Path
) -> None:
    clip, _ = show(videos, "odd.mp4", FramePolicy(count=6))
    loaded = engine("qwen3")
    theirs = own_recipe(
        loaded,
        full_decode(videos / "odd.mp4"),
        {"total_num_frames": 21, "fps": 30.0, "duration": 0.7},
        do_sample_frames=True,
        num_frames=6,
        fps=None,
        cap_pixels_per_frame=True,
    )
    assert_same(loaded._inputs([ask(clip)]), theirs)


@pytest.mark.parametrize("family", tiny_video_models.FAMILIES)
def test_chosen_frames_reach_every_family_as_one_video(
    engine: Callable[..., Any], videos: Path, family: str
) -> None:
    clip, _ = show(videos, "slow.mp4", FramePolicy(count=4))
    frames = full_decode(videos / "slow.mp4")
    loaded = engine(family)
    seconds = clip.timing.duration if clip.timing is not None else 0.0
    assert 78 < seconds < 80  # the last frame is shown for less than two seconds: the rate is not constant
    metadata: dict[str, Any] = {"total_num_frames": round(seconds * 1000), "fps": 1000.0, "duration": seconds}
    metadata["frames_indices"] = [0, 26_000, 52_000, 78_000]
    capped = {"cap_pixels_per_frame": True} if family.startswith("qwen") else {}
    theirs = own_recipe(
        loaded, [frames[index] for index in (0, 13, 26, 39)], metadata, do_sample_frames=False, **capped
    )
    ours = loaded._inputs([ask(clip)])
    assert_same(ours, theirs)
    text = loaded._tokenizer.decode(ours["input_ids"][0])
    if family == "qwen3":  # the middle of each pair of frames
        assert re.findall(r"<([\d.]+) seconds>", text) == ["13.0", "65.0"]
    if family == "smolvlm2":
        assert "from a 0:01:18" in text
        assert re.findall(r"Frame from ([\d:]+):<", text) == ["00:00", "00:26", "00:52", "01:18"]
    together = loaded.generate([ask(clip), ask(clip)])
    assert together[0] == together[1]
    assert together[0].tokens_in == ours["input_ids"].shape[1]
    for answers in (("A", "B"), ("the first one", "B")):  # --answer-by loglik, of one token and of several
        weighed = loaded.loglikelihood([ask(clip)], [answers])[0]
        assert len(weighed.likelihoods) == 2 and all(weight < 0 for weight in weighed.likelihoods)
        assert weighed.tokens_in == together[0].tokens_in


def test_times_are_right_in_a_part_at_an_uneven_rate_and_under_a_control(
    engine: Callable[..., Any], videos: Path
) -> None:
    clip, use = show(videos, "uneven.mkv", FramePolicy(count=4), start=0.3, control="reversed")
    assert list(use.times) == sorted(use.times, reverse=True)
    ours = engine("qwen3")._inputs([ask(clip)])
    stated = re.findall(r"<([\d.]+) seconds>", engine("qwen3")._tokenizer.decode(ours["input_ids"][0]))
    first, second, third, fourth = sorted(use.times)
    assert [float(time) for time in stated] == pytest.approx(
        [(first + second) / 2, (third + fourth) / 2], abs=0.051
    )
    assert clip.timing is not None and use.fps == pytest.approx(4 / clip.timing.duration, rel=1e-4)


def test_a_rate_keeps_its_precision_in_half_precision(engine: Callable[..., Any], videos: Path) -> None:
    clip, _ = show(videos, "odd.mp4", FramePolicy(count=6))
    inputs = engine("qwen2.5", dtype="bfloat16")._inputs([ask(clip)])
    assert str(inputs["pixel_values_videos"].dtype) == "torch.bfloat16"
    assert inputs["second_per_grid_ts"].tolist() == pytest.approx([2 / (6 / 0.7)], abs=1e-6)


def test_frames_as_images_stay_available(engine: Callable[..., Any], videos: Path) -> None:
    clip, _ = show(videos, "odd.mp4", FramePolicy(count=4))
    inputs = engine("qwen2.5", video="images")._inputs([ask(clip)])
    assert len(inputs["image_grid_thw"]) == 4
    assert "video_grid_thw" not in inputs


def test_a_picture_beside_a_video_is_taken_or_refused_in_words(
    engine: Callable[..., Any], videos: Path
) -> None:
    clip, _ = show(videos, "odd.mp4", FramePolicy(count=4))
    picture = clip.frames[0]
    assert isinstance(picture, Picture)
    inputs = engine("qwen2.5")._inputs([ask(picture, clip)])
    assert len(inputs["image_grid_thw"]) == len(inputs["video_grid_thw"]) == 1
    with pytest.raises(ValueError, match="pictures or videos in a question, not both: --video-as images"):
        engine("smolvlm2")._inputs([ask(picture, clip)])


def test_a_checkpoint_without_a_place_for_videos_gets_frames_unless_told(
    engine: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tiny_video_models.build("internvl", tmp_path / "no-video")
    (folder / "chat_template.jinja").write_text(tiny_video_models.chat_template("<IMG_CONTEXT>\n", ""))
    assert engine("qwen2.5").takes_video
    assert not engine("internvl", model=str(folder)).takes_video
    with pytest.raises(ModelError, match="takes no video: use --video-as images"):
        engine("internvl", model=str(folder), video="native")


def test_molmo_2_reads_the_time_before_each_frame(videos: Path) -> None:
    """Its processor alone: the model's smallest configuration is not small."""
    assert import_torchvision()
    from transformers import Molmo2ImageProcessor, Molmo2Processor, Molmo2VideoProcessor

    from vivant.models.processors import decode_picture, takes_videos

    parts = [
        "im_patch",
        "im_col",
        "im_start",
        "low_res_im_start",
        "frame_start",
        "im_end",
        "frame_end",
        "im_low",
    ]
    special = ["<|image|>", "<|video|>", *(f"<{part}>" for part in parts)]
    words = tiny_models.tokenizer([*tiny_models.CHAT, *special], "<|im_end|>", "<|endoftext|>")
    processor = Molmo2Processor(
        Molmo2ImageProcessor(),
        Molmo2VideoProcessor(size={"height": 56, "width": 56}),
        words,
        chat_template=tiny_video_models.chat_template("<|image|>", "<|video|>"),
    )
    assert takes_videos(processor)
    clip, _ = show(videos, "slow.mp4", FramePolicy(count=4))
    content = [{"type": "video", "video": [decode_picture(frame) for frame in clip.frames]}]
    inputs = processor.apply_chat_template(
        [{"role": "user", "content": content}],
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
        processor_kwargs={"video_metadata": [frame_metadata(clip)], "do_sample_frames": False},
    )
    text = words.decode(inputs["input_ids"][0])
    assert re.findall(r"([\d.]+) <frame_start>", text) == ["0.0", "26.0", "52.0", "78.0"]
    assert inputs["video_grids"].tolist()[0][0] == 4
