"""vLLM inside a worker process: `LLM.chat` for text and pictures, `LLM.generate` for videos.

`LLM.chat` renders messages as vLLM's server does, but cannot be told when the frames of a video are shown; so a
question about a video is rendered with the checkpoint's own chat template, and its frames go in beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vivant.core.errors import UsageError
from vivant.core.types import Clip, Decoding, Picture, Reply, Request, Sound, Text
from vivant.media.clips import frame_metadata
from vivant.models.base import ModelError
from vivant.models.inprocess import build_reply, select_devices
from vivant.models.openai import encode_data_url, join_text
from vivant.models.processors import decode_picture, takes_videos
from vivant.models.transformers_engine import DEFAULT_NEW_TOKENS, describe_loading_error

_PLAIN = {"add_special_tokens": False}
"""For prompts in which the chat template has written the first token."""


class VLLMEngine:
    """A loaded checkpoint."""

    accelerators = 0
    """The number of workers is settled before they start."""

    def __init__(self, settings: Mapping[str, Any], number: int) -> None:
        select_devices(settings, number)
        from vllm import LLM, SamplingParams

        self._sampling = SamplingParams
        self._settings = settings
        try:
            self._llm = LLM(
                model=settings["model"],
                tensor_parallel_size=settings["tensor_parallel"],
                dtype=settings["dtype"],
                revision=settings["revision"],
                trust_remote_code=settings["trust_remote_code"],
                **settings["engine_args"],
            )
            self._processor = None if settings["video"] == "images" else load_processor(settings)
        except (OSError, ValueError, ImportError, RuntimeError, TypeError) as error:
            raise ModelError(describe_loading_error(settings["model"], error)) from error
        self.takes_video = self._processor is not None and takes_videos(self._processor)
        if settings["video"] == "native" and not self.takes_video:
            raise ModelError(f"The processor of {settings['model']} takes no video: use --video-as images")

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """All requests at once: the library batches them continuously."""
        replies: dict[int, Reply] = {}
        videos = [index for index, request in enumerate(requests) if self.takes_video and _has_video(request)]
        others = [index for index in range(len(requests)) if index not in set(videos)]
        for indices, run in ((others, self._chat), (videos, self._generate)):
            if indices:
                chosen = [requests[index] for index in indices]
                outputs = run(chosen, [self._parameters(request) for request in chosen])
                replies |= {
                    index: read_output(output) for index, output in zip(indices, outputs, strict=True)
                }
        return [replies[index] for index in range(len(requests))]

    def loglikelihood(
        self,
        requests: Sequence[Request],  # noqa: ARG002
        answers: Sequence[tuple[str, ...]],  # noqa: ARG002
    ) -> list[Reply]:
        """Not offered."""
        raise UsageError("vllm-local does not report likelihoods; use vllm/ID")

    def _chat(self, requests: list[Request], parameters: list[Any]) -> Any:
        return self._llm.chat(
            [self._messages(request) for request in requests],
            sampling_params=parameters,
            use_tqdm=False,
            chat_template_kwargs=self._settings["chat_template_kwargs"] or None,
            tokenization_kwargs=_PLAIN,  # as its server does; LLM.chat itself writes a first token twice
        )

    def _generate(self, requests: list[Request], parameters: list[Any]) -> Any:
        prompts = [self._prompt(request) for request in requests]
        first = getattr(getattr(self._processor, "tokenizer", None), "bos_token", None)
        is_written = bool(first) and all(prompt["prompt"].startswith(first) for prompt in prompts)
        return self._llm.generate(
            prompts,
            sampling_params=parameters,
            use_tqdm=False,
            tokenization_kwargs=_PLAIN if is_written else None,
        )

    def _messages(self, request: Request) -> list[dict[str, Any]]:
        messages = []
        for turn in request.turns:
            content = join_text([piece for part in turn.parts for piece in self._pieces(part)])
            only_text = len(content) == 1 and content[0]["type"] == "text"
            messages.append({"role": turn.role, "content": content[0]["text"] if only_text else content})
        return messages

    def _pieces(self, part: Any) -> list[dict[str, Any]]:
        if isinstance(part, Text):
            return [{"type": "text", "text": part.text}]
        if isinstance(part, Clip):
            return [piece for frame in part.frames for piece in self._pieces(frame)]
        if isinstance(part, Sound):
            raise UsageError("this model is given no sound")
        if self._settings["max_pixels"] is not None:
            return [{"type": "image_pil", "image_pil": decode_picture(part, self._settings["max_pixels"])}]
        return [{"type": "image_url", "image_url": {"url": encode_data_url(part.data, part.media_type)}}]

    def _prompt(self, request: Request) -> dict[str, Any]:
        import numpy as np

        chat, pictures, videos = [], [], []
        for turn in request.turns:
            content: list[dict[str, Any]] = []
            for part in turn.parts:
                if isinstance(part, Text):
                    content.append({"type": "text", "text": part.text})
                elif isinstance(part, Picture):
                    content.append({"type": "image"})
                    pictures.append(decode_picture(part, self._settings["max_pixels"]))
                elif isinstance(part, Clip):
                    content.append({"type": "video"})
                    frames = [decode_picture(frame, self._settings["max_pixels"]) for frame in part.frames]
                    pixels = np.stack([np.asarray(frame) for frame in frames])
                    videos.append((pixels, {**frame_metadata(part), "do_sample_frames": False}))
                else:
                    raise UsageError("this model is given no sound")
            chat.append({"role": turn.role, "content": content})
        assert self._processor is not None
        text = self._processor.apply_chat_template(
            chat, add_generation_prompt=True, tokenize=False, **self._settings["chat_template_kwargs"]
        )
        media: dict[str, Any] = {"video": videos} | ({"image": pictures} if pictures else {})
        return {"prompt": text, "multi_modal_data": media}

    def _parameters(self, request: Request) -> Any:
        return self._sampling(**sampling_arguments(request.decoding, self._settings["thinking_room"]))


def load_processor(settings: Mapping[str, Any]) -> Any:
    """The checkpoint's processor, for its chat template."""
    from transformers import AutoProcessor

    named = {"revision": settings["revision"]} if settings["revision"] else {}
    return AutoProcessor.from_pretrained(
        settings["model"], trust_remote_code=settings["trust_remote_code"], **named
    )


def sampling_arguments(decoding: Decoding, thinking_room: int = 0) -> dict[str, Any]:
    """Decoding in vLLM's words; what is not set keeps the library's default."""
    named = {
        "max_tokens": (decoding.max_tokens or DEFAULT_NEW_TOKENS) + thinking_room,
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "seed": decoding.seed,
        "stop": list(decoding.stop) or None,
    }
    return {name: value for name, value in named.items() if value is not None}


def read_output(output: Any) -> Reply:
    """A `RequestOutput` as a Reply."""
    completion = output.outputs[0]
    return build_reply(
        completion.text,
        str(output.prompt or ""),
        completion.finish_reason,
        tokens_in=len(output.prompt_token_ids or ()),
        tokens_out=len(completion.token_ids),
    )


def _has_video(request: Request) -> bool:
    return any(isinstance(part, Clip) for turn in request.turns for part in turn.parts)
