"""From requests to tensors: text to ids, pictures to frames, several questions to a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from msgspec import Struct

from vivant.core.types import Picture
from vivant.models.mimic_chat_format import build_prompt_ids, resize_picture
from vivant_train.model.config import ModelSettings

PAD, END = "<pad>", "<end>"
_SENTINEL = "\u2983task\u2984"
_MIN_LINE_LENGTH = 12
"""Shorter lines are not worth a token of their own."""


class ModelInput(Struct, frozen=True, eq=False):
    """A question as ids, perhaps with its answer; `frames` are bytes, [frames, side, side, 3]."""

    ids: tuple[int, ...]
    answer: tuple[int, ...] = ()
    frames: Any = None
    video: str = ""
    """Identifies the video: questions of a batch about the same one share its frames."""
    features: Any = None
    """What frozen encoders made of the video, instead of its frames."""

    @property
    def length(self) -> int:
        """Tokens in all."""
        return len(self.ids) + len(self.answer)

    @property
    def has_video(self) -> bool:
        """Whether there is anything to be seen."""
        return self.frames is not None or self.features is not None


class Processor:
    """A tokenizer and a size of pictures, bound to the settings of one model."""

    def __init__(self, settings: ModelSettings, tokenizer: Any, vocabulary: int) -> None:
        self.settings = settings
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary
        self.chat_template: tuple[list[int], list[int]] | None = None
        if settings.language.chat:
            self.chat_template = self._split_chat_template()

    def _split_chat_template(self) -> tuple[list[int], list[int]]:
        """What the chat template writes before and after a user's task."""
        text = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": _SENTINEL}], add_generation_prompt=True, tokenize=False
        )
        before, _, after = text.partition(_SENTINEL)
        return self._tokenize(before), self._tokenize(after)

    def _tokenize(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids

    def encode_prompt(self, text: str, *, video: bool) -> tuple[int, ...]:
        """`[VID] video [SEP] task`, and the mark after which the answer begins."""
        patches = self.settings.visual_tokens if video else None
        return tuple(build_prompt_ids(self._tokenize(text), self.vocabulary, patches, self.chat_template))

    def encode_answer(self, text: str) -> tuple[int, ...]:
        """An answer and the mark of its end."""
        return (*self._tokenize(text), self.tokenizer.eos_token_id)

    def encode_frames(self, pictures: Sequence[Picture]) -> Any:
        """Pictures as bytes of one size, [frames, side, side, 3]."""
        return np.stack([resize_picture(picture, self.settings.vision.image_size) for picture in pictures])

    def make_batch(self, questions: Sequence[ModelInput]) -> dict[str, Any]:
        """Questions a row each, padded on the left, for writing answers."""
        width = max(question.length for question in questions)
        ids = torch.full((len(questions), width), self.tokenizer.pad_token_id, dtype=torch.long)
        mask = torch.zeros((len(questions), width), dtype=torch.long)
        video_index = torch.full((len(questions), width), -1, dtype=torch.long)
        prompt_mask = torch.zeros((len(questions), width), dtype=torch.bool)
        videos, question_videos = index_videos(questions)
        for row, question in enumerate(questions):
            start = width - question.length
            ids[row, start:] = torch.tensor([*question.ids, *question.answer])
            mask[row, start:] = 1
            prompt_mask[row, start : start + len(question.ids)] = True
            if question.has_video:
                video_index[row, start:] = videos[question.video]
        tensors = {
            "input_ids": ids,
            "attention_mask": mask,
            "video_index": video_index,
            "prompt_mask": prompt_mask,
        }
        return {**tensors, **stack_frames(questions, videos, question_videos)}


def index_videos(questions: Sequence[ModelInput]) -> tuple[dict[str, int], list[int]]:
    """The videos of some questions by number, and the number of each question's that has one."""
    videos: dict[str, int] = {}
    question_videos = [
        videos.setdefault(question.video, len(videos)) for question in questions if question.has_video
    ]
    return videos, question_videos


def stack_frames(
    questions: Sequence[ModelInput], videos: dict[str, int], question_videos: Sequence[int]
) -> dict[str, Any]:
    """The frames of each video once, one after the other."""
    if not videos:
        return {"frames": None, "frame_counts": [], "question_videos": []}
    cached = {question.video: question.features for question in questions if question.features is not None}
    if cached:  # of all videos, or of none
        features = [cached[video] for video in videos]
        return {"features": features, "question_videos": list(question_videos)}
    content = {question.video: question.frames for question in questions if question.frames is not None}
    stacked = np.concatenate([content[video] for video in videos])
    frame_counts = [len(content[video]) for video in videos]
    return {
        "frames": torch.from_numpy(stacked),
        "frame_counts": frame_counts,
        "question_videos": list(question_videos),
    }


# ── tokenizers ──


def train_tokenizer(texts: Iterable[str], size: int, lines: Sequence[str] = ()) -> Any:
    """A byte-level BPE of `size` tokens; each of `lines`, which many prompts share, becomes one token."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(lines),
        special_tokens=[PAD, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(line, normalized=False) for line in lines])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=PAD)


def find_shared_lines(prompts: Iterable[tuple[str, Sequence[str]]], limit: int = 64) -> list[str]:
    """Lines that recur in prompts, (text, options), the commonest first: their wording, never an option."""
    counts: Counter[str] = Counter()
    total = 0
    for text, options in prompts:
        total += 1
        lines = {line for line in text.split("\n") if len(line) >= _MIN_LINE_LENGTH}
        counts.update(line for line in lines if not any(option in line for option in options))
    min_count = max(2, total // 200)
    # Lines of one count in alphabetical order: a set's order is another in every process.
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [line for line, count in ordered[:limit] if count >= min_count]


def find_line_breaks(tokenizer: Any) -> tuple[int, ...]:
    """The tokens of a tokenizer of ours that end a line."""
    return tuple(token for token in range(len(tokenizer)) if "\n" in tokenizer.decode([token]))
