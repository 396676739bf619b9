# ruff: noqa: ARG002 (arguments are there to be accepted)
"""Stands in for vLLM: the signatures of its `LLM` and `SamplingParams`, so that a wrong keyword raises.

Names and defaults are those of vLLM 0.27 (`vllm/entrypoints/llm.py`, `vllm/sampling_params.py`, `vllm/outputs.py`). It
answers with what it was given.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

_ENGINE_ARGS = {"max_model_len", "max_num_seqs", "limit_mm_per_prompt", "data_parallel_size", "enable_lora"}
"""Some of the arguments that `LLM` hands on to its `EngineArgs`, which knows no others."""
_PARTS = {"text", "image_url", "image_pil", "video_url", "input_audio"}


@dataclass(kw_only=True)
class SamplingParams:
    n: int = 1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 16
    min_tokens: int = 0
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    detokenize: bool = True
    skip_special_tokens: bool = True


@dataclass
class CompletionOutput:
    index: int
    text: str
    token_ids: list[int]
    cumulative_logprob: float | None
    logprobs: Any
    finish_reason: str | None = None
    stop_reason: int | str | None = None


@dataclass
class RequestOutput:
    request_id: str
    prompt: str | None
    prompt_token_ids: list[int] | None
    outputs: list[CompletionOutput] = field(default_factory=list)


class LLM:
    def __init__(
        self,
        model: str,
        *,
        tokenizer: str | None = None,
        trust_remote_code: bool = False,
        allowed_local_media_path: str = "",
        tensor_parallel_size: int = 1,
        dtype: str = "auto",
        quantization: str | None = None,
        revision: str | None = None,
        seed: int = 0,
        gpu_memory_utilization: float = 0.92,
        enforce_eager: bool = False,
        mm_processor_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if unknown := set(kwargs) - _ENGINE_ARGS:
            raise TypeError(f"EngineArgs.__init__() got an unexpected keyword argument {unknown.pop()!r}")
        if kwargs.get("data_parallel_size", 1) > 1:
            raise ValueError(
                "LLM(data_parallel_size=2) is not supported for single-process usage and may hang."
            )
        if model == "org/missing":
            raise OSError("org/missing is not a local folder and is not a valid model identifier")
        self._made = {"model": model, "tensor_parallel_size": tensor_parallel_size, "dtype": dtype, **kwargs}
        self._made["devices"] = os.environ.get("CUDA_VISIBLE_DEVICES")

    def chat(
        self,
        messages: Any,
        sampling_params: SamplingParams | list[SamplingParams] | None = None,
        use_tqdm: bool = True,
        lora_request: Any = None,
        chat_template: str | None = None,
        chat_template_content_format: str = "auto",
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        tools: Any = None,
        chat_template_kwargs: dict[str, Any] | None = None,
        tokenization_kwargs: dict[str, Any] | None = None,
        mm_processor_kwargs: dict[str, Any] | None = None,
    ) -> list[RequestOutput]:
        assert isinstance(sampling_params, list) and len(sampling_params) == len(messages)
        assert tokenization_kwargs == {"add_special_tokens": False}
        for conversation in messages:
            for message in conversation:
                parts = message["content"] if isinstance(message["content"], list) else []
                assert {part["type"] for part in parts} <= _PARTS, parts
        return [
            self._answer(
                {"chat": conversation, "batch": len(messages), "template": chat_template_kwargs}, parameters
            )
            for conversation, parameters in zip(messages, sampling_params, strict=True)
        ]

    def generate(
        self,
        prompts: Any,
        sampling_params: SamplingParams | list[SamplingParams] | None = None,
        *,
        use_tqdm: bool = True,
        lora_request: Any = None,
        priority: list[int] | None = None,
        tokenization_kwargs: dict[str, Any] | None = None,
        mm_processor_kwargs: dict[str, Any] | None = None,
    ) -> list[RequestOutput]:
        assert isinstance(sampling_params, list) and len(sampling_params) == len(prompts)
        assert tokenization_kwargs in (None, {"add_special_tokens": False})
        answers = []
        for prompt, parameters in zip(prompts, sampling_params, strict=True):
            assert set(prompt) == {"prompt", "multi_modal_data"}
            media = prompt["multi_modal_data"]
            videos = [
                {"shape": list(frames.shape), "type": str(frames.dtype), **metadata}
                for frames, metadata in media["video"]
            ]
            seen = {
                "plain": tokenization_kwargs is not None,
                "prompt": prompt["prompt"],
                "videos": videos,
                "images": len(media.get("image", [])),
            }
            answers.append(self._answer(seen, parameters))
        return answers

    def _answer(self, given: dict[str, Any], parameters: SamplingParams) -> RequestOutput:
        assert isinstance(parameters, SamplingParams)
        text = json.dumps({**given, "made": self._made, "temperature": parameters.temperature}, default=str)
        reason = "length" if parameters.max_tokens == 1 else "stop"
        if "too long" in text:
            raise ValueError(
                "The decoder prompt (length 9000) is longer than the maximum model length of 4096."
            )
        output = CompletionOutput(0, text, [1, 2, 3], None, None, finish_reason=reason)
        return RequestOutput("0", "…<|im_start|>assistant\n", [5] * 11, [output])
