"""vLLM and SGLang as libraries, through stand-ins with the signatures of the real ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.helpers import picture, questions
from vivant.core.errors import UsageError
from vivant.core.types import Clip, ClipTiming, Decoding, FramePolicy, Picture, Request, Text, Turn
from vivant.engine.evaluation import evaluate
from vivant.models.base import ModelError, ModelOptions
from vivant.models.inprocess import list_devices
from vivant.models.local_worker import run_batch
from vivant.models.registry import create

STANDINS = Path(__file__).parents[1] / "support" / "engines"
SETTINGS: dict[str, Any] = {
    "model": "org/m",
    "devices": [],
    "tensor_parallel": 1,
    "dtype": "auto",
    "revision": None,
    "max_pixels": None,
    "engine_args": {},
    "chat_template_kwargs": {},
    "trust_remote_code": False,
    "video": "auto",
    "sampling": None,
    "thinking_room": 0,
}


class Processor:
    """A chat template with a place for pictures and videos."""

    image_processor = video_processor = object()
    video_token = "<video>"

    def apply_chat_template(
        self, chat: Any, *, add_generation_prompt: bool, tokenize: bool, **more: Any
    ) -> str:
        assert add_generation_prompt and not tokenize
        places = {"image": "<image>", "video": "<video>"}
        turns = [
            f"{turn['role']}: "
            + "".join(places.get(part["type"], part.get("text", "")) for part in turn["content"])
            for turn in chat
        ]
        return "\n".join([*turns, "assistant:", *([json.dumps(more)] if more else [])])


@pytest.fixture(autouse=True)
def standins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by this process and by workers, in place of the real libraries."""
    for name in ("vllm", "sglang"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(STANDINS))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """An engine in this process."""
    from vivant.models import sglang_engine, vllm_engine

    for module in (vllm_engine, sglang_engine):
        monkeypatch.setattr(module, "load_processor", lambda _: Processor())

    def make(kind: str, **settings: Any) -> Any:
        engine: Any = vllm_engine.VLLMEngine if kind == "vllm" else sglang_engine.SGLangEngine
        return engine({**SETTINGS, **settings}, 0)

    return make


def request(*parts: Any, **decoding: Any) -> Request:
    return Request(turns=(Turn("user", (*parts, Text("Which?"))),), decoding=Decoding(**decoding))


def clip(tmp_path: Path, **timing: Any) -> Clip:
    data = picture(tmp_path / "p.png")
    frames = tuple(Picture(data, "image/png", 8, 6, time) for time in (0.0, 1.0, 2.0))
    return Clip(frames, "v.mp4", timing=ClipTiming(**{"rate": 10.0, "total": 30, "duration": 3.0, **timing}))


def seen(reply: Any) -> Any:
    assert reply.status in ("ok", "truncated"), reply
    return json.loads(reply.text)


def test_vllm_renders_text_and_pictures_itself(load: Callable[..., Any], tmp_path: Path) -> None:
    data = picture(tmp_path / "p.png")
    engine = load(
        "vllm", chat_template_kwargs={"enable_thinking": False}, engine_args={"max_model_len": 4096}
    )
    asked = [request(Text("Look:"), Picture(data, "image/png", 8, 6)), request(temperature=0.5, max_tokens=1)]
    with_picture, plain = engine.generate(asked)
    (message,) = seen(with_picture)["chat"]
    assert [part["type"] for part in message["content"]] == ["text", "image_url", "text"]
    assert message["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert seen(plain)["chat"] == [{"role": "user", "content": "Which?"}]
    assert (seen(plain)["temperature"], seen(plain)["template"]) == (0.5, {"enable_thinking": False})
    assert seen(plain)["made"]["max_model_len"] == 4096
    assert (plain.status, plain.tokens_in, plain.tokens_out) == ("truncated", 11, 3)


def test_vllm_is_given_chosen_frames_as_a_video_with_their_times(
    load: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = load("vllm")
    assert engine.takes_video
    film, text = engine.generate([request(clip(tmp_path)), request()])
    assert seen(text)["chat"]
    assert seen(film)["prompt"] == "user: <video>Which?\nassistant:"
    assert not seen(film)["plain"]
    monkeypatch.setattr(Processor, "tokenizer", SimpleNamespace(bos_token="user"), raising=False)
    (again,) = engine.generate([request(clip(tmp_path))])
    assert seen(again)["plain"]  # the template wrote the first token itself
    (video,) = seen(film)["videos"]
    assert (video["shape"][0], video["shape"][3], video["type"]) == (3, 3, "uint8")
    assert {name: video[name] for name in ("fps", "total_num_frames", "duration", "frames_indices")} == {
        "fps": 10.0,
        "total_num_frames": 30,
        "duration": 3.0,
        "frames_indices": [0, 10, 20],
    }
    assert video["do_sample_frames"] is False
    (as_images,) = load("vllm", video="images").generate([request(clip(tmp_path))])
    (message,) = seen(as_images)["chat"]
    assert [part["type"] for part in message["content"]] == ["image_url"] * 3 + ["text"]


def test_a_request_that_is_too_long_costs_itself_alone(load: Callable[..., Any]) -> None:
    engine = load("vllm")
    replies = run_batch(engine, [request(), request(Text("too long")), request()])
    assert [reply.status for reply in replies] == ["ok", "too_long", "ok"]
    assert "longer than the maximum model length" in replies[1].error


@pytest.mark.parametrize("kind", ["vllm", "sglang"])
def test_an_argument_that_the_library_does_not_know_is_one_line(load: Callable[..., Any], kind: str) -> None:
    with pytest.raises(ModelError, match="unexpected keyword argument 'max_len'"):
        load(kind, engine_args={"max_len": 5})


def test_sglang_is_given_prompts_pictures_and_files(load: Callable[..., Any], tmp_path: Path) -> None:
    data = picture(tmp_path / "p.png")
    still = Picture(data, "image/png", 8, 6)
    engine = load("sglang", video="native", sampling={"fps": 2.0, "max_frames": 8}, max_pixels=200_704)
    film = Clip((), "/data/v.mp4")
    both = [request(still, film), request(clip(tmp_path), max_tokens=1, seed=3, stop=("\n",))]
    first, second = engine.generate(both)
    assert seen(first)["prompt"] == "user: <image><video>Which?\nassistant:"
    assert (seen(first)["images"], seen(first)["videos"]) == (["data:image/png;base64,"], ["/data/v.mp4"])
    assert seen(first)["made"]["mm_process_config"] == {
        "image": {"max_pixels": 200_704},
        "video": {"fps": 2.0, "max_frames": 8, "max_pixels": 200_704},
    }
    assert seen(second)["prompt"].startswith("user: <image><image><image>Which?")
    assert seen(second)["sampling"] == {
        "max_new_tokens": 1,
        "temperature": 0.0,
        "sampling_seed": 3,
        "stop": ["\n"],
    }
    assert (second.status, second.tokens_in, second.tokens_out) == ("truncated", 11, 3)
    (aborted,) = engine.generate([request(Text("abort"))])
    assert (aborted.status, aborted.error) == ("error", "stopped for abort: Aborted")


@pytest.mark.parametrize(
    ("policy", "sampling"),
    [
        (FramePolicy(count=6), {"fps": 1000.0, "max_frames": 6}),
        (FramePolicy(select="fps", fps=2, cap=9), {"fps": 2, "max_frames": 9}),
        (FramePolicy(select="fps", fps=2), {"fps": 2}),
        (FramePolicy(select="every", every=3), None),
    ],
)
def test_sglang_is_told_the_frame_policy_when_it_starts(policy: FramePolicy, sampling: Any) -> None:
    model = create("sglang-local/org/m", ModelOptions(video="native", frames=policy))
    assert model.capabilities.video_input.sampling == (sampling is not None)
    assert model.identity.get("sampling") == sampling


def test_engines_share_the_accelerators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    path = questions(tmp_path, 12)
    options = {"tensor_parallel": "2", "batch_size": "3"}
    run = evaluate(
        str(path),
        "vllm-local/org/m",
        out=tmp_path / "run",
        video_as="images",
        model_options=options,
        cache="off",
    )
    said = [seen(record.reply) for record in run.records().values()]
    assert {(one["made"]["devices"], one["made"]["tensor_parallel_size"]) for one in said} == {
        ("4,5", 2),
        ("6,7", 2),
    }
    assert max(one["batch"] for one in said) == 3
    assert run.manifest.model == "vllm-local/org/m"


def test_accelerators_are_counted_or_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list_devices("3") == ["0", "1", "2"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,3")
    assert list_devices("auto") == ["1", "3"]
    assert list_devices("1") == ["1"]
    with pytest.raises(UsageError, match="CUDA_VISIBLE_DEVICES names 2"):
        list_devices("3")
    with pytest.raises(UsageError, match="tensor_parallel=4: only 2 accelerators here"):
        create("vllm-local/org/m", ModelOptions(values={"tensor_parallel": "4"}))


def test_a_checkpoint_that_cannot_be_loaded_ends_the_run_in_one_line(tmp_path: Path) -> None:
    path = questions(tmp_path, 1, pictures=False)
    with pytest.raises(
        ModelError, match=r"vllm-local/org/missing: org/missing cannot be loaded: .*not a valid"
    ):
        evaluate(str(path), "vllm-local/org/missing", out=tmp_path / "run", video_as="images")


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for name in ("vllm", "sglang"):
        with pytest.raises(UsageError, match=rf"needs the package '{name}': pip install 'vivant\[{name}\]'"):
            create(f"{name}-local/org/m")


def test_what_changes_a_reply_is_part_of_the_identity() -> None:
    def identity(**values: Any) -> Any:
        return create("vllm-local/org/m", ModelOptions(values=values)).identity

    assert identity() == {"model": "vllm-local/org/m"} == identity(gpus="2", batch_size="9")
    for values in (
        {"engine_args": '{"quantization": "fp8"}'},
        {"chat_template_kwargs": '{"enable_thinking": false}'},
        {"dtype": "float16"},
        {"max_pixels": "1000"},
    ):
        assert identity(**values) != identity()
    images = create("vllm-local/org/m", ModelOptions(video="images"))
    assert images.identity != identity()
