"""Questions of unequal length laid into rows of one length, so that no time goes into padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from vivant.train.model.processing import Question, distinct, pixels

IGNORED = -100


def pack(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Rows of at most `size` tokens: the longest first, each into the fullest row that has room for it."""
    rows: list[list[int]] = []
    room: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        need = lengths[place]
        fitting = [row for row, left in enumerate(room) if left >= need]
        if fitting:
            row = min(fitting, key=lambda r: room[r])
        else:
            rows.append([])
            room.append(size)
            row = len(rows) - 1
        rows[row].append(place)
        room[row] -= need
    return rows


def collate(
    rows: Sequence[Sequence[Question]], pad: int, size: int | None = None, *, alike: bool = False
) -> dict[str, Any]:
    """Rows of questions as tensors. Positions begin anew with each question, so that it attends to itself alone.

    The end of a row that is not full is one more sequence of its own, of padding. `alike`: tokens are told their share
    of their answer, so that a letter counts as much as a sentence.
    """
    width = size or max(sum(question.length for question in row) for row in rows)
    shape = (len(rows), width)
    ids = torch.full(shape, pad, dtype=torch.long)
    labels = torch.full(shape, IGNORED, dtype=torch.long)
    places = torch.zeros(shape, dtype=torch.long)
    owner = torch.full(shape, -1, dtype=torch.long)
    asked = torch.zeros(shape, dtype=torch.bool)
    shares = torch.zeros(shape)
    questions = [question for row in rows for question in row]
    videos, shown = distinct(questions)
    for number, row in enumerate(rows):
        start = 0
        for question in row:
            end = start + question.length
            ids[number, start:end] = torch.tensor([*question.ids, *question.answer])
            begin = start + len(question.ids)
            labels[number, begin:end] = torch.tensor(question.answer)
            asked[number, start:begin] = True
            shares[number, begin:end] = 1 / max(1, len(question.answer))
            places[number, start:end] = torch.arange(question.length)
            if question.frames is not None:
                owner[number, start:end] = videos[question.video]
            start = end
        places[number, start:] = torch.arange(width - start)
    return {
        "input_ids": ids,
        "labels": labels,
        "position_ids": places,
        "owner": owner,
        "asked": asked,
        **({"shares": shares} if alike else {}),
        **pixels(questions, videos, shown),
    }
