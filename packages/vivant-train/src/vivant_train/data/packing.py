"""Questions of unequal length packed into rows of one length, so that no time goes into padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from vivant_train.model.processing import ModelInput, index_videos, stack_frames

IGNORE_INDEX = -100


def pack_rows(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Rows of at most `size` tokens: the longest first, each into the fullest row that has room for it."""
    rows: list[list[int]] = []
    room: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        length = lengths[index]
        fitting = [row for row, free in enumerate(room) if free >= length]
        if fitting:
            row = min(fitting, key=lambda r: room[r])
        else:
            rows.append([])
            room.append(size)
            row = len(rows) - 1
        rows[row].append(index)
        room[row] -= length
    return rows


def collate(
    rows: Sequence[Sequence[ModelInput]],
    pad_token_id: int,
    size: int | None = None,
    *,
    answers_alike: bool = False,
) -> dict[str, Any]:
    """Rows of questions as tensors. Positions begin anew with each question, so that it attends to itself alone.

    The end of a row that is not full is one more sequence of its own, of padding.

    Args:
        rows: the questions of each row.
        pad_token_id: the id that fills rows.
        size: tokens of a row; without it, as many as the longest needs.
        answers_alike: weigh tokens by their share of their answer, so that a letter counts as much as a sentence.
    """
    width = size or max(sum(question.length for question in row) for row in rows)
    shape = (len(rows), width)
    ids = torch.full(shape, pad_token_id, dtype=torch.long)
    labels = torch.full(shape, IGNORE_INDEX, dtype=torch.long)
    position_ids = torch.zeros(shape, dtype=torch.long)
    video_index = torch.full(shape, -1, dtype=torch.long)
    prompt_mask = torch.zeros(shape, dtype=torch.bool)
    token_weights = torch.zeros(shape)
    questions = [question for row in rows for question in row]
    videos, question_videos = index_videos(questions)
    for number, row in enumerate(rows):
        start = 0
        for question in row:
            end = start + question.length
            ids[number, start:end] = torch.tensor([*question.ids, *question.answer])
            begin = start + len(question.ids)
            labels[number, begin:end] = torch.tensor(question.answer)
            prompt_mask[number, start:begin] = True
            token_weights[number, begin:end] = 1 / max(1, len(question.answer))
            position_ids[number, start:end] = torch.arange(question.length)
            if question.has_video:
                video_index[number, start:end] = videos[question.video]
            start = end
        position_ids[number, start:] = torch.arange(width - start)
    return {
        "input_ids": ids,
        "labels": labels,
        "position_ids": position_ids,
        "video_index": video_index,
        "prompt_mask": prompt_mask,
        **({"token_weights": token_weights} if answers_alike else {}),
        **stack_frames(questions, videos, question_videos),
    }
