"""A checkpoint of the transformers library at work: in a worker process, with torch."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from vivant.core.errors import UsageError
from vivant.core.types import Clip, Content, Decoding, Picture, Reply, Request, Sound, Text
from vivant.media.clips import frame_metadata
from vivant.models.base import ModelError
from vivant.models.processors import (
    decode_picture,
    hide_broken_torchvision,
    load_image_processor,
    takes_videos,
)
from vivant.models.row_sampling import RowSampler
from vivant.models.thought_marks import ENDED_THINKING, find_opened_mark, split_thinking
from vivant.models.weights_check import require_all_weights

_EXACT = ("second_per_grid_ts",)
"""Inputs that are times, not pixels: they keep their precision."""
DEFAULT_NEW_TOKENS = 1024
"""Length of a reply where neither the user nor the benchmark limits it."""


class TransformersEngine:
    """A loaded checkpoint."""

    def __init__(self, settings: Mapping[str, Any], accelerator: int) -> None:
        import torch

        self._torch = torch
        self._text_only: bool = settings["text_only"]
        self._max_pixels: int | None = settings["max_pixels"]
        self._thinking_room: int = settings.get("thinking_room", 0)
        self._template: Mapping[str, Any] = settings.get("template", {})
        self.accelerators = torch.cuda.device_count()
        self.note = ""
        self._check_torchvision(settings)
        device, dtype = choose_device(settings, accelerator)
        try:
            self._model = self._load(settings, dtype)
            self._processor = self._load_processor(settings)
        except (OSError, ValueError, ImportError, KeyError, UserWarning) as error:
            raise ModelError(describe_loading_error(settings["model"], error)) from error
        if not settings["device_map"]:
            self._model.to(device)
        self._model.eval()
        self.takes_video = settings["video"] != "images" and self._check_video(settings)
        self._tokenizer = self._processor if self._text_only else self._processor.tokenizer
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        ends = self._model.generation_config.eos_token_id
        self._end_tokens = (
            set(ends) if isinstance(ends, list) else {ends, self._tokenizer.eos_token_id} - {None}
        )

    def _check_torchvision(self, settings: Mapping[str, Any]) -> None:
        reason = hide_broken_torchvision()
        if reason and settings["video"] != "images" and not self._text_only:
            raise ModelError(
                f"torchvision cannot be imported ({reason}): "
                "install the one for your torch, or give frames with --video-as images"
            )

    def _load(self, settings: Mapping[str, Any], dtype: Any) -> Any:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

        origin = self._origin(settings)
        if not self._text_only:
            from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING as SEEING

            config = AutoConfig.from_pretrained(settings["model"], **origin)
            if type(config) not in SEEING and not origin["trust_remote_code"]:
                raise ModelError(
                    f"{settings['model']} ({config.model_type}) takes no pictures in the transformers library; "
                    "--model-option text_only=true asks it without them"
                )
        auto = AutoModelForCausalLM if self._text_only else AutoModelForImageTextToText
        more = {"device_map": settings["device_map"], "attn_implementation": settings["attention"]}
        extra = {name: value for name, value in more.items() if value}
        model, info = auto.from_pretrained(
            settings["model"], dtype=dtype, output_loading_info=True, **extra, **origin
        )
        require_all_weights(settings["model"], info, quantized=getattr(model, "is_quantized", False))
        if settings["adapter"]:
            from peft import PeftModel

            with warnings.catch_warnings():  # weights that are not there are an error
                warnings.filterwarnings("error", message=".*missing adapter keys.*")
                model = PeftModel.from_pretrained(model, settings["adapter"])
        return model

    def _load_processor(self, settings: Mapping[str, Any]) -> Any:
        from transformers import AutoProcessor, AutoTokenizer

        origin = self._origin(settings)
        if self._text_only:
            return AutoTokenizer.from_pretrained(settings["model"], **origin)
        try:
            processor = AutoProcessor.from_pretrained(settings["model"], **origin)
        except (ImportError, ValueError) as error:
            if "torchvision" not in str(error).lower():
                raise
            processor = load_image_processor(settings["model"], origin)
            if settings["video"] == "auto":
                self.note = "torchvision is not installed, so that videos go in as frames"
        if not getattr(processor, "chat_template", None):
            raise ModelError(
                f"{settings['model']} has no chat template, so that it cannot be asked questions"
            )
        return processor

    def _check_video(self, settings: Mapping[str, Any]) -> bool:
        """Whether the processor takes videos and its chat template has a place for them."""
        takes_video = not self._text_only and takes_videos(self._processor)
        if settings["video"] == "native" and not takes_video:
            raise ModelError(f"The processor of {settings['model']} takes no video: use --video-as images")
        return takes_video

    @staticmethod
    def _origin(settings: Mapping[str, Any]) -> dict[str, Any]:
        named = {"revision": settings["revision"], "gguf_file": settings["gguf_file"]}
        stated = {name: value for name, value in named.items() if value}
        return {"trust_remote_code": settings["trust_remote_code"], **stated}

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Greedy, or sampled where a temperature is given. All requests share their decoding."""
        decoding = requests[0].decoding
        inputs = self._inputs(requests)
        begin = inputs["input_ids"].shape[1]
        arguments = generation_arguments(decoding, self._thinking_room)
        if arguments["do_sample"]:
            arguments["logits_processor"] = [RowSampler(requests)]
        if decoding.stop:
            arguments |= {"stop_strings": list(decoding.stop), "tokenizer": self._tokenizer}
        with self._torch.inference_mode():
            generated = self._model.generate(**inputs, **arguments, pad_token_id=self._tokenizer.pad_token_id)
        rows = generated[:, begin:].tolist()
        counts = inputs["attention_mask"].sum(dim=1).tolist()
        tail = self._tokenizer.batch_decode(inputs["input_ids"][:, -8:])
        return [
            self._reply(row, count, decoding, arguments["max_new_tokens"], find_opened_mark(end))
            for row, count, end in zip(rows, counts, tail, strict=True)
        ]

    def _reply(self, row: list[int], count: int, decoding: Decoding, most: int, opened: bool) -> Reply:
        end = next((index for index, token in enumerate(row) if token in self._end_tokens), None)
        if end is None and decoding.stop:  # after a stop string, only padding follows
            end = next((p for p, token in enumerate(row) if token == self._tokenizer.pad_token_id), None)
        tokens = row if end is None else row[:end]
        text = self._tokenizer.decode(tokens, skip_special_tokens=True)
        for stop in decoding.stop:
            text = text.partition(stop)[0]
        thinking, text, unfinished = split_thinking(text, opened=opened)
        cut = (
            end is None and len(row) >= most and not _has_stop(self._tokenizer.decode(tokens), decoding.stop)
        )
        error = ENDED_THINKING if unfinished else ""
        return Reply(
            status="truncated" if cut or unfinished else "ok",
            text=text.strip(),
            thinking=thinking,
            error="stopped at the token limit" if cut else error,
            tokens_in=count,
            tokens_out=len(row) if end is None else end + 1,
            tokens_thinking=self._count_tokens(thinking),
        )

    def _count_tokens(self, thoughts: str) -> int | None:
        return len(self._tokenizer.encode(thoughts, add_special_tokens=False)) if thoughts else None

    def loglikelihood(self, requests: Sequence[Request], answers: Sequence[tuple[str, ...]]) -> list[Reply]:
        """The sum of the likelihoods of an answer's tokens, after the prompt."""
        ids = [
            [self._tokenizer.encode(text, add_special_tokens=False) for text in texts] for texts in answers
        ]
        if any(len(tokens) != 1 for options in ids for tokens in options):
            return [
                self._sum_loglikelihood(request, options)
                for request, options in zip(requests, ids, strict=True)
            ]
        inputs = self._inputs(requests)
        with self._torch.inference_mode():
            generated = self._model.generate(
                **inputs,
                max_new_tokens=1,
                do_sample=False,
                output_logits=True,
                return_dict_in_generate=True,
                pad_token_id=self._tokenizer.pad_token_id,
            )
        logs = generated.logits[0].float().log_softmax(-1)
        counts = inputs["attention_mask"].sum(dim=1).tolist()
        return [
            Reply(tokens_in=count, likelihoods=tuple(float(row[tokens[0]]) for tokens in options))
            for row, count, options in zip(logs, counts, ids, strict=True)
        ]

    def _sum_loglikelihood(self, request: Request, options: Sequence[list[int]]) -> Reply:
        """One pass for each answer, without padding: positions in a padded row differ between families."""
        torch = self._torch
        inputs = self._inputs([request])
        begin = inputs["input_ids"].shape[1]
        weights: list[float] = []
        for tokens in options:
            more = torch.tensor([tokens], device=inputs["input_ids"].device)
            longer = {**inputs, "input_ids": torch.cat([inputs["input_ids"], more], dim=1)}
            for name, value in inputs.items():  # masks and types, one figure a token
                if name != "input_ids" and getattr(value, "shape", None) == inputs["input_ids"].shape:
                    filling = torch.ones_like(more) if name == "attention_mask" else torch.zeros_like(more)
                    longer[name] = torch.cat([value, filling.to(value.dtype)], dim=1)
            with torch.inference_mode():
                logits = self._model(**longer).logits
            logs = logits[0, begin - 1 : begin - 1 + len(tokens)].float().log_softmax(-1)
            weights.append(sum(float(logs[index, token]) for index, token in enumerate(tokens)))
        return Reply(tokens_in=begin, likelihoods=tuple(weights))

    def _inputs(self, requests: Sequence[Request]) -> Any:
        """A batch as the model takes it, padded on the left."""
        chats = [self._chat(request) for request in requests]
        if self._text_only:
            if self._tokenizer.chat_template:
                texts = self._tokenizer.apply_chat_template(
                    chats, add_generation_prompt=True, tokenize=False, **self._template
                )
            else:  # a model that was never taught to chat continues the plain text
                texts = ["\n".join(turn["content"] for turn in chat) for chat in chats]
            plain = self._tokenizer.chat_template is None
            inputs = self._tokenizer(texts, padding=True, return_tensors="pt", add_special_tokens=plain)
        else:
            inputs = self._processor.apply_chat_template(
                chats,
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                processor_kwargs={"padding": True, **self._video_arguments(requests)},
                **self._template,
            )
        inputs = inputs.to(self._model.device)
        kind = self._model.dtype
        return {
            name: value.to(kind)
            if name not in _EXACT and getattr(value, "is_floating_point", bool)()
            else value
            for name, value in inputs.items()
        }

    def _chat(self, request: Request) -> list[dict[str, Any]]:
        if self._text_only:
            return [
                {"role": turn.role, "content": "\n".join(p.text for p in turn.parts if isinstance(p, Text))}
                for turn in request.turns
            ]
        return [
            {"role": turn.role, "content": [piece for part in turn.parts for piece in self._pieces(part)]}
            for turn in request.turns
        ]

    def _video_arguments(self, requests: Sequence[Request]) -> dict[str, Any]:
        """When the frames of each video are shown; they are chosen already."""
        parts = [part for request in requests for turn in request.turns for part in turn.parts]
        metadata = [frame_metadata(part) for part in parts if isinstance(part, Clip)]
        if not self.takes_video or not metadata:
            return {}
        # SmolVLM's pictures and videos share one input, so that the second would replace the first.
        videos = self._processor.video_processor
        if "pixel_values" in videos.model_input_names and any(isinstance(part, Picture) for part in parts):
            raise ValueError("this model takes pictures or videos in a question, not both: --video-as images")
        arguments = {"video_metadata": metadata, "do_sample_frames": False}
        if getattr(videos, "cap_pixels_per_frame", False) is None:  # Qwen's own code shares a budget out
            arguments["cap_pixels_per_frame"] = True
        return arguments

    def _pieces(self, part: Content) -> list[dict[str, Any]]:
        if isinstance(part, Text):
            return [{"type": "text", "text": part.text}]
        if isinstance(part, Clip) and self.takes_video:
            frames = [decode_picture(frame, self._max_pixels) for frame in part.frames]
            return [{"type": "video", "video": frames}]
        if isinstance(part, Clip):
            return [piece for frame in part.frames for piece in self._pieces(frame)]
        if isinstance(part, Sound):
            raise UsageError("this model is given no sound")
        return [{"type": "image", "image": decode_picture(part, self._max_pixels)}]


def _has_stop(text: str, stops: tuple[str, ...]) -> bool:
    return any(stop in text for stop in stops)


def generation_arguments(decoding: Decoding, thinking_room: int = 0) -> dict[str, Any]:
    """Decoding in the library's own words, with room for thoughts besides the answer."""
    sampled = bool(decoding.temperature)
    arguments: dict[str, Any] = {
        "max_new_tokens": (decoding.max_tokens or DEFAULT_NEW_TOKENS) + thinking_room,
        "do_sample": sampled,
        "num_beams": 1,
    }
    if sampled:
        arguments |= {"temperature": decoding.temperature, "top_k": 0, "top_p": decoding.top_p or 1.0}
    return arguments


def choose_device(settings: Mapping[str, Any], accelerator: int) -> tuple[Any, Any]:
    """Device and number format: what the user says, or this worker's accelerator in the checkpoint's own
    format, or the processor in float32, which it is quickest at."""
    import torch

    device = settings["device"]
    if device == "auto":
        if torch.cuda.is_available():
            device = f"cuda:{accelerator % torch.cuda.device_count()}"
        else:
            device = "mps" if torch.backends.mps.is_available() else "cpu"
    name = settings["dtype"]
    if name == "auto":
        return device, torch.float32 if device == "cpu" else "auto"
    dtype = getattr(torch, str(name), None)
    if not isinstance(dtype, torch.dtype):
        raise ModelError(f"--model-option dtype={name}: write float32, bfloat16 or float16")
    return device, dtype


def describe_loading_error(checkpoint: str, error: Exception) -> str:
    """Why a checkpoint cannot be loaded, in one line."""
    line = " ".join(str(error).split())
    if "trust_remote_code" in line:
        return f"{checkpoint} brings code of its own; --trust-remote-code runs it, if you trust it"
    return f"{checkpoint} cannot be loaded: {line[:300]}"
