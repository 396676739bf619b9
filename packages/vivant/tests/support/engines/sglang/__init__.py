# ruff: noqa: ARG002 (arguments are there to be accepted)
"""Stands in for SGLang: the signature of its `Engine`, so that a wrong keyword raises.

Names are those of SGLang 0.5 (`sglang/srt/entrypoints/engine.py`, `server_args.py`, `sampling/sampling_params.py`). It
answers with what it was given.
"""

from __future__ import annotations

import json
import os
from typing import Any

_SERVER_ARGS = {
    *("model_path", "tokenizer_path", "tp_size", "dp_size", "dtype", "revision", "trust_remote_code"),
    *("context_length", "mem_fraction_static", "mm_process_config", "enable_multimodal", "base_gpu_id"),
    *("log_level", "random_seed", "quantization", "chat_template"),
}
_SAMPLING = {
    *("max_new_tokens", "stop", "stop_token_ids", "temperature", "top_p", "top_k", "min_p", "n"),
    *("frequency_penalty", "presence_penalty", "repetition_penalty", "min_new_tokens", "ignore_eos"),
    *("skip_special_tokens", "sampling_seed"),
}


class Engine:
    def __init__(self, **kwargs: Any) -> None:
        if unknown := set(kwargs) - _SERVER_ARGS:
            raise TypeError(f"ServerArgs.__init__() got an unexpected keyword argument {unknown.pop()!r}")
        for key, value in (kwargs.get("mm_process_config") or {}).items():
            assert key in ("image", "video", "audio") and isinstance(value, dict)
        self._made = {**kwargs, "devices": os.environ.get("CUDA_VISIBLE_DEVICES")}

    def generate(
        self,
        prompt: list[str] | str | None = None,
        sampling_params: list[dict[str, Any]] | dict[str, Any] | None = None,
        input_ids: Any = None,
        image_data: Any = None,
        audio_data: Any = None,
        video_data: Any = None,
        mm_hashes: Any = None,
        mm_content_hashes: Any = None,
        return_logprob: Any = False,
        logprob_start_len: Any = None,
        top_logprobs_num: Any = None,
        token_ids_logprob: Any = None,
        lora_path: Any = None,
        stream: bool = False,
        rid: Any = None,
    ) -> list[dict[str, Any]]:
        assert isinstance(prompt, list) and isinstance(sampling_params, list)
        assert len(prompt) == len(sampling_params)
        answers = []
        for index, (text, parameters) in enumerate(zip(prompt, sampling_params, strict=True)):
            assert set(parameters) <= _SAMPLING, parameters
            given = {
                "prompt": text,
                "images": None if image_data is None else [url[:22] for url in image_data[index]],
                "videos": None if video_data is None else video_data[index],
                "sampling": parameters,
                "made": self._made,
            }
            kind = (
                "length" if parameters.get("max_new_tokens") == 1 else "abort" if "abort" in text else "stop"
            )
            reason = {"type": kind, **({"message": "Aborted"} if kind == "abort" else {})}
            info = {"finish_reason": reason, "prompt_tokens": 11, "completion_tokens": 3}
            answers.append({"text": json.dumps(given), "meta_info": info})
        return answers
