"""vLLM and SGLang as libraries: one engine per group of accelerators, each in a worker process of its own.

The library batches continuously inside an engine; requests are spread over the engines as they become free. Nothing
here imports either library: the engines (`vllm_engine.py`, `sglang_engine.py`) do, in the workers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from vivant.core.errors import UsageError
from vivant.core.types import FramePolicy, Reply, Tokenizer
from vivant.models.base import (
    Capabilities,
    Model,
    ModelOptions,
    parse_bool,
    parse_mapping,
    parse_positive,
    require_package,
)
from vivant.models.local_model import (
    LocalModel,
    check_checkpoint_path,
    format_checkpoint_name,
    hash_checkpoint,
    require_checkpoint,
)
from vivant.models.model_table import LIMIT_OPTIONS, ModelFacts, ServerFacts, merge_limits
from vivant.models.thinking import engine_thinking, plan_thinking, thinking_identity
from vivant.models.thought_marks import ENDED_THINKING, find_opened_mark, split_thinking
from vivant.models.tokenizer import load_tokenizer

_OPTIONS: Mapping[str, Any] = {
    "batch_size": 256,
    "gpus": "auto",
    "tensor_parallel": 1,
    "dtype": "auto",
    "revision": None,
    "engine_args": {},
    "chat_template_kwargs": {},
    "trust_remote_code": False,
}
_NAMED = ("dtype", "max_pixels", "revision", "engine_args", "chat_template_kwargs", "video", "sampling")


class InProcessModel(LocalModel):
    """`vllm-local/ID` or `sglang-local/ID`, a name on the hub or a folder."""

    stacks_videos = False

    def __init__(self, backend: str, checkpoint: str, options: ModelOptions, engine: str) -> None:
        values = options.resolve(**_OPTIONS, **LIMIT_OPTIONS)
        checkpoint = check_checkpoint_path(checkpoint, "model")
        pixels = values.pop("max_pixels")
        group = parse_positive("tensor_parallel", values["tensor_parallel"])
        devices = list_devices(values["gpus"])
        if devices and group > len(devices):
            raise UsageError(f"--model-option tensor_parallel={group}: only {len(devices)} accelerators here")
        self.thinking = plan_thinking(checkpoint, options.thinking)
        thinking = engine_thinking(self.thinking)
        template = parse_mapping("chat_template_kwargs", values["chat_template_kwargs"])
        self._settings_sent = {
            "model": checkpoint,
            "devices": devices,
            "tensor_parallel": group,
            "dtype": str(values["dtype"]),
            "revision": values["revision"],
            "max_pixels": None if pixels is None else parse_positive("max_pixels", pixels),
            "engine_args": parse_mapping("engine_args", values["engine_args"]),
            "chat_template_kwargs": {**thinking["template"], **template},
            "thinking_room": thinking["thinking_room"],
            "trust_remote_code": parse_bool("trust_remote_code", values["trust_remote_code"]),
            "video": options.video,
            "sampling": None,
        }
        super().__init__(
            format_checkpoint_name(backend, checkpoint),
            engine,
            self._settings_sent,
            batch_size=values["batch_size"],
            workers=max(1, len(devices) // group),
        )
        self.limits = merge_limits(ServerFacts(name="here"), ModelFacts(), values)
        self._stated_limits = options.select(*(name for name in LIMIT_OPTIONS if name != "max_pixels"))
        self._checkpoint, self._revision = checkpoint, values["revision"]

    @property
    def identity(self) -> Mapping[str, Any]:
        stated = {name: self._settings_sent[name] for name in _NAMED}
        stated["checkpoint"] = hash_checkpoint(self._checkpoint)
        named = {name: value for name, value in stated.items() if value not in _UNSAID}
        return {"model": self.name, **named, **self._stated_limits, **thinking_identity(self.thinking)}

    def tokenizer(self) -> Tokenizer | None:
        return load_tokenizer(self._checkpoint, self._revision)


_UNSAID: tuple[Any, ...] = (None, "", "auto", {})


class VLLMLocal(InProcessModel):
    """vLLM's `LLM`. Chosen frames go in as a video with their times where the checkpoint takes videos."""

    def __init__(self, checkpoint: str, options: ModelOptions) -> None:
        super().__init__("vllm-local", checkpoint, options, "vivant.models.vllm_engine:VLLMEngine")

    async def open(self) -> None:
        await super().open()
        self.capabilities = msgspec.structs.replace(self.capabilities, clips=self.takes_video)


class SGLangLocal(InProcessModel):
    """SGLang's `Engine`. It takes a video as a file and is told the frame policy when it starts."""

    def __init__(self, checkpoint: str, options: ModelOptions) -> None:
        super().__init__("sglang-local", checkpoint, options, "vivant.models.sglang_engine:SGLangEngine")
        native = options.video == "native"
        sampling = frame_sampling(options.frames) if native else None
        self._settings_sent["sampling"] = sampling
        self.capabilities = Capabilities(video=native, sampling=sampling is not None)


def frame_sampling(policy: FramePolicy) -> dict[str, Any] | None:
    """A frame policy in SGLang's words (`mm_process_config`), which has a rate and a greatest number; None where
    those cannot say it."""
    if policy.select == "count":
        return {"fps": _EVERY_FRAME, "max_frames": policy.count}
    if policy.select == "fps":
        return {"fps": policy.fps} | ({} if policy.cap is None else {"max_frames": policy.cap})
    return None


_EVERY_FRAME = 1000.0
"""A rate above that of any file: the number alone decides."""


def list_devices(gpus: Any) -> list[str]:
    """The accelerators that a model may use: those that the environment allows, or the first so many of them."""
    stated = os.environ.get("CUDA_VISIBLE_DEVICES")
    if stated is not None:
        devices = [device.strip() for device in stated.split(",") if device.strip()]
    else:
        devices = [str(number) for number in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]
    if gpus == "auto":
        return devices
    count = parse_positive("gpus", gpus)
    if stated is not None and count > len(devices):
        raise UsageError(f"--model-option gpus={count}: CUDA_VISIBLE_DEVICES names {len(devices)}")
    return devices[:count] if stated is not None else [str(number) for number in range(count)]


def select_devices(settings: Mapping[str, Any], number: int) -> None:
    """Let this worker see its group of accelerators alone. Call it before anything imports torch."""
    group = settings["tensor_parallel"]
    devices = settings["devices"][number * group : (number + 1) * group]
    if devices:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(devices)


def build_reply(
    text: str,
    prompt: str,
    finish: str | None,
    *,
    message: str = "",
    tokens_in: int | None,
    tokens_out: int | None,
) -> Reply:
    """What an engine wrote after a prompt, as a Reply. Both libraries end with `stop`, `length` or `abort`."""
    thinking, answer, unfinished = split_thinking(text, opened=find_opened_mark(prompt))
    error = ""
    if finish == "length":
        error = "stopped at the token limit"
    elif finish != "stop":
        error = f"stopped for {finish}: {message}".rstrip(": ")
    elif unfinished:
        error = ENDED_THINKING
    return Reply(
        status="ok" if not error else "truncated" if finish in ("stop", "length") else "error",
        text=answer.strip(),
        thinking=thinking,
        error=error,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
    )


def create_vllm(name: str, options: ModelOptions) -> Model:
    """`--model vllm-local/ID-or-folder`."""
    require_checkpoint("vllm-local", name)
    require_package("vllm", "vllm", f"--model vllm-local/{name}")
    return VLLMLocal(name, options)


def create_sglang(name: str, options: ModelOptions) -> Model:
    """`--model sglang-local/ID-or-folder`."""
    require_checkpoint("sglang-local", name)
    require_package("sglang", "sglang", f"--model sglang-local/{name}")
    return SGLangLocal(name, options)
