"""SGLang inside a worker process: `Engine.generate`, with prompts rendered by the checkpoint's own chat template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vivant.core.errors import UsageError
from vivant.core.types import Clip, Content, Decoding, Reply, Request, Sound, Text
from vivant.models.base import ModelError
from vivant.models.inprocess import build_reply, select_devices
from vivant.models.openai import encode_data_url
from vivant.models.processors import takes_videos
from vivant.models.transformers_engine import DEFAULT_NEW_TOKENS, describe_loading_error
from vivant.models.vllm_engine import load_processor


class SGLangEngine:
    """A loaded checkpoint."""

    accelerators = 0
    """The number of workers is settled before they start."""

    def __init__(self, settings: Mapping[str, Any], number: int) -> None:
        select_devices(settings, number)
        import sglang

        self._settings = settings
        config: dict[str, Any] = {}
        if settings["sampling"]:
            config["video"] = dict(settings["sampling"])
        if settings["max_pixels"] is not None:
            for kind in ("image", "video"):
                config[kind] = {**config.get(kind, {}), "max_pixels": settings["max_pixels"]}
        try:
            self._processor = load_processor(settings)
            self._engine = sglang.Engine(
                model_path=settings["model"],
                tp_size=settings["tensor_parallel"],
                dtype=settings["dtype"],
                revision=settings["revision"],
                trust_remote_code=settings["trust_remote_code"],
                **({"mm_process_config": config} if config else {}),
                **settings["engine_args"],
            )
        except (OSError, ValueError, ImportError, RuntimeError, TypeError) as error:
            raise ModelError(describe_loading_error(settings["model"], error)) from error
        self._takes_parts = hasattr(self._processor, "image_processor")
        self.takes_video = settings["video"] == "native"
        if self.takes_video and not takes_videos(self._processor):
            raise ModelError(f"The processor of {settings['model']} takes no video: use --video-as images")

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """All requests at once: the library batches them continuously."""
        room = self._settings["thinking_room"]
        prompts, pictures, videos = [], [], []
        for request in requests:
            chat, images, filmed = self._chat(request)
            prompts.append(
                self._processor.apply_chat_template(
                    chat, add_generation_prompt=True, tokenize=False, **self._settings["chat_template_kwargs"]
                )
            )
            pictures.append(images)
            videos.append(filmed)
        outputs = self._engine.generate(
            prompt=prompts,
            sampling_params=[sampling_arguments(request.decoding, room) for request in requests],
            image_data=pictures if any(pictures) else None,
            video_data=videos if any(videos) else None,
        )
        return [read_output(output, prompt) for output, prompt in zip(outputs, prompts, strict=True)]

    def loglikelihood(
        self,
        requests: Sequence[Request],  # noqa: ARG002
        answers: Sequence[tuple[str, ...]],  # noqa: ARG002
    ) -> list[Reply]:
        """Not offered."""
        raise UsageError("sglang-local does not report likelihoods; ask a server with openai/ID")

    def _chat(self, request: Request) -> tuple[list[dict[str, Any]], list[str], list[str]]:
        """A conversation for the chat template, its pictures and its video files, in order."""
        pictures: list[str] = []
        videos: list[str] = []
        chat: list[dict[str, Any]] = []
        for turn in request.turns:
            content: list[dict[str, Any]] = []
            for part in turn.parts:
                content += self._place(part, pictures, videos)
            plain = "\n".join(piece["text"] for piece in content if piece["type"] == "text")
            chat.append({"role": turn.role, "content": content if self._takes_parts else plain})
        return chat, pictures, videos

    def _place(self, part: Content, pictures: list[str], videos: list[str]) -> list[dict[str, Any]]:
        if isinstance(part, Text):
            return [{"type": "text", "text": part.text}]
        if isinstance(part, Sound):
            raise UsageError("this model is given no sound")
        if isinstance(part, Clip) and not part.frames:
            videos.append(part.path)
            return [{"type": "video"}]
        frames = part.frames if isinstance(part, Clip) else (part,)
        pictures += [encode_data_url(frame.data, frame.media_type) for frame in frames]
        return [{"type": "image"}] * len(frames)


def sampling_arguments(decoding: Decoding, thinking_room: int = 0) -> dict[str, Any]:
    """Decoding in SGLang's words; what is not set keeps the library's default."""
    named = {
        "max_new_tokens": (decoding.max_tokens or DEFAULT_NEW_TOKENS) + thinking_room,
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "sampling_seed": decoding.seed,
        "stop": list(decoding.stop) or None,
    }
    return {name: value for name, value in named.items() if value is not None}


def read_output(output: Mapping[str, Any], prompt: str) -> Reply:
    """What `Engine.generate` returns for one prompt as a Reply."""
    info = output["meta_info"]
    reason = info.get("finish_reason") or {}
    return build_reply(
        output["text"],
        prompt,
        reason.get("type"),
        message=str(reason.get("message") or ""),
        tokens_in=info.get("prompt_tokens"),
        tokens_out=info.get("completion_tokens"),
    )
