"""MIMIC-Chat checkpoints, as `vivant train mimic-chat` writes them.

Frames and pictures of a request, in order, are the video; all text is the task. The engine runs in a worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vivant.core.errors import UsageError
from vivant.core.types import Reply, Request
from vivant.models.base import (
    Capabilities,
    Model,
    ModelError,
    ModelOptions,
    refuse_native_video,
    require_package,
)
from vivant.models.local_model import (
    LocalModel,
    check_checkpoint_path,
    format_checkpoint_name,
    hash_checkpoint,
)
from vivant.models.mimic_chat_format import make_reply, refuse_long_prompt, split_request
from vivant.models.row_sampling import RowSampler
from vivant.models.transformers_engine import choose_device, generation_arguments


class MimicChatModel(LocalModel):
    """`mimic-chat/FOLDER`."""

    has_loglikelihood = True

    def __init__(self, path: str, options: ModelOptions) -> None:
        values = options.resolve(batch_size=16, workers=1, dtype="auto", device="auto", threads=0)
        refuse_native_video(options, "mimic-chat")
        folder = path.rstrip("/")
        path = check_checkpoint_path(path if path.startswith((".", "/", "~")) else f"./{path}", "model")
        if not (Path(path) / "config.json").exists() and (Path(path) / "best" / "config.json").exists():
            raise UsageError(
                f"{folder} is a training with several checkpoints; the best one is mimic-chat/{folder}/best"
            )
        super().__init__(
            _format_model_name(path),
            "vivant_train.torch_backend:TorchMimicChatEngine",
            {"model": path, **{name: values[name] for name in ("dtype", "device", "threads")}},
            batch_size=values["batch_size"],
            workers=values["workers"],
        )
        self.capabilities = Capabilities(images=True)
        named = {name: value for name, value in options.select("dtype").items() if value != "auto"}
        self._identity = {"model": self.name, "checkpoint": hash_checkpoint(path), **named}

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity


def _format_model_name(path: str) -> str:
    """A training's `best` and `last` go by the training's name."""
    folder = Path(path)
    if folder.name in ("best", "last") and folder.parent.name:
        return f"mimic-chat/{folder.parent.name}/{folder.name}"
    return format_checkpoint_name("mimic-chat", path)


def create(rest: str, options: ModelOptions) -> Model:
    """`--model mimic-chat/FOLDER`."""
    if not rest:
        raise UsageError("Name the checkpoint: mimic-chat/FOLDER, as `vivant train mimic-chat` wrote it")
    for module in ("torch", "transformers", "peft"):
        require_package(module, "train", f"--model mimic-chat/{rest}")
    return MimicChatModel(rest, options)


class TorchMimicChatEngine:
    """Inference with a loaded checkpoint."""

    def __init__(self, settings: Mapping[str, Any], accelerator: int) -> None:
        import torch

        from vivant_train.checkpoints import load_model

        self._torch = torch
        if settings["threads"]:
            torch.set_num_threads(int(settings["threads"]))
        self.accelerators = torch.cuda.device_count()
        device, dtype = choose_device(settings, accelerator)
        stated = dtype if isinstance(dtype, torch.dtype) else None
        model, processor = load_model(settings["model"], dtype=stated)
        if stated is None and model.settings.language_source:
            model.to(torch.bfloat16)  # an accelerator's format for models of billions
        try:
            model.to(device)
        except (RuntimeError, AssertionError) as error:
            raise ModelError(
                f"--model-option device={device}: {' '.join(str(error).split())[:200]}"
            ) from error
        self.use_model(model, processor)

    def use_model(self, model: Any, processor: Any) -> None:
        """Answer with this model, where it is."""
        self._model, self._processor = model, processor
        self._tokenizer = processor.tokenizer
        self._end = self._tokenizer.eos_token_id
        text = model.language_model.config.get_text_config()
        self._context = int(getattr(text, "max_position_embeddings", 0) or 2**20)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Greedy, or sampled where a temperature is given. All requests share their decoding."""
        questions = [self._prepare(request) for request in requests]
        fitting = [index for index, question in enumerate(questions) if not isinstance(question, Reply)]
        replies = iter(self._generate([requests[i] for i in fitting], [questions[i] for i in fitting]))
        return [question if isinstance(question, Reply) else next(replies) for question in questions]

    def _prepare(self, request: Request) -> Any:
        """A request as the model takes it, or the reply to one that it cannot take."""
        question = self._tokenize(request)
        return refuse_long_prompt(question.length, self._context) or question

    def _generate(self, requests: Sequence[Request], questions: Sequence[Any]) -> list[Reply]:
        if not requests:
            return []
        decoding = requests[0].decoding
        arguments = generation_arguments(decoding)
        longest = max(question.length for question in questions)
        arguments["max_new_tokens"] = min(arguments["max_new_tokens"], self._context - longest)
        if arguments["do_sample"]:
            arguments["logits_processor"] = [RowSampler(requests)]
        batch = self._move(self._processor.make_batch(questions))
        rows = self._model.generate(**batch, **self._generation_arguments(**arguments)).tolist()
        counts = batch["attention_mask"].sum(dim=1).tolist()
        return [
            make_reply(row, self._end, self._detokenize, count, decoding, arguments["max_new_tokens"])
            for row, count in zip(rows, counts, strict=True)
        ]

    def _generation_arguments(self, **named: Any) -> dict[str, Any]:
        return {**named, "eos_token_id": self._end, "pad_token_id": self._tokenizer.pad_token_id}

    def _detokenize(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True)
        return text

    def loglikelihood(self, requests: Sequence[Request], answers: Sequence[tuple[str, ...]]) -> list[Reply]:
        """The sum of the likelihoods of an answer's tokens, after the prompt; one pass for each request."""
        return [self._score_answers(request, texts) for request, texts in zip(requests, answers, strict=True)]

    def _score_answers(self, request: Request, texts: tuple[str, ...]) -> Reply:
        import msgspec

        prompt = self._tokenize(request)
        answers = [tuple(self._tokenizer.encode(text, add_special_tokens=False)) for text in texts]
        rows = [msgspec.structs.replace(prompt, answer=answer) for answer in answers]
        batch = self._move(self._processor.make_batch(rows))
        position_ids = (batch["attention_mask"].cumsum(1) - 1).clamp(min=0)
        with self._torch.inference_mode():
            logits = self._model(**batch, position_ids=position_ids).logits.float().log_softmax(-1)
        likelihoods = []
        for row, answer in enumerate(answers):
            tail = logits[row, -len(answer) - 1 : -1]
            likelihoods.append(sum(float(tail[index, token]) for index, token in enumerate(answer)))
        return Reply(tokens_in=len(prompt.ids), likelihoods=tuple(likelihoods))

    def _move(self, batch: dict[str, Any]) -> dict[str, Any]:
        device = self._device
        return {n: v.to(device) if isinstance(v, self._torch.Tensor) else v for n, v in batch.items()}

    @property
    def _device(self) -> Any:
        return self._model.device

    def _tokenize(self, request: Request) -> Any:
        from vivant_train.model.processing import ModelInput

        pictures, text = split_request(request)
        ids = self._processor.encode_prompt(text, video=bool(pictures))
        frames = self._processor.encode_frames(pictures) if pictures else None
        return ModelInput(ids, (), frames, video=request.key)
