"""`nearest`: a look-up table instead of a model. It shows how far colour and layout alone carry on the mini-editions.

Four frames are shrunk to 8 × 6 pixels. The training video of `vivant/tiny` that looks most like them is looked up,
and the option that shares most words with what is known about that video is chosen. The videos of the mini-editions
are not in the table. `tools/minis/nearest.py` makes it.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from vivant import mini
from vivant.core.errors import UsageError
from vivant.core.types import Reply, Request, iter_pictures
from vivant.models.base import Model, ModelError, ModelOptions
from vivant.models.baselines import split_words

NAME = "nearest"
WIDTH, HEIGHT, FRAMES = 8, 6, 4
PICTURES, TEXTS = "pictures.png", "texts.json"

Thumbnails = NDArray[np.uint8]


class NearestPicture(Model):
    """Answers with what is known about the training video that looks most alike."""

    name = NAME

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._digest = hashlib.sha256((folder / PICTURES).read_bytes()).hexdigest()[:16]
        self._chosen: dict[bytes, int] = {}

    @property
    def identity(self) -> Mapping[str, Any]:
        # Replies are cached: another table is another model.
        return {"model": self.name, "pixels": f"{FRAMES}x{WIDTH}x{HEIGHT}", "table": self._digest}

    async def open(self) -> None:
        await asyncio.to_thread(_load_table, self._folder)

    async def generate(self, request: Request) -> Reply:
        table = _load_table(self._folder)
        if not request.options:
            return Reply(status="error", error=f"'{self.name}' only chooses among options; this has none")
        pictures = [picture.data for picture in iter_pictures(request.turns)]
        if not pictures:
            return Reply(status="error", error=f"'{self.name}' compares pictures; this question has none")
        query = shrink(pictures)
        key = query.tobytes()
        if key not in self._chosen:  # several questions are about one video
            self._chosen[key] = table.find(query)
        overlaps = table.compare(self._chosen[key], [option.text for option in request.options])
        index = max(range(len(overlaps)), key=overlaps.__getitem__)
        return Reply(text=request.answer_form.format(request.options[index].name))


class PictureTable:
    """Training videos as small pictures, with the texts that are right for each."""

    def __init__(self, thumbnails: Thumbnails, texts: Sequence[Sequence[str]]) -> None:
        self._pixels = thumbnails.reshape(len(texts), -1).astype(np.int32)
        self._texts = texts
        words = Counter(word for group in texts for word in set(split_words(" ".join(group))))
        self._rarity = {word: math.log(1 + len(texts) / count) for word, count in words.items()}

    def find(self, query: Thumbnails) -> int:
        """The index of the video with the smallest squared distance."""
        return int(((self._pixels - query.reshape(-1).astype(np.int32)) ** 2).sum(axis=1).argmin())

    def compare(self, index: int, options: Sequence[str]) -> list[float]:
        """How much each option has in common with a video's texts: rare words count more, equal texts most."""
        best = []
        for option in options:
            words = set(split_words(option))
            weight = sum(self._weigh(word) for word in words) or 1.0
            overlaps = []
            for text in self._texts[index]:
                shared = sum(self._weigh(word) for word in words & set(split_words(text)))
                overlaps.append(shared / weight)
            best.append(max(overlaps, default=0.0))
        return best

    def _weigh(self, word: str) -> float:
        return self._rarity.get(word, 1.0)


def spread(length: int) -> list[int]:
    """Which of so many frames are compared; some twice where there are few."""
    return [round(i * (length - 1) / (FRAMES - 1)) for i in range(FRAMES)]


def shrink(pictures: Sequence[bytes]) -> Thumbnails:
    """Four of the pictures, evenly spread, at 8 × 6 pixels."""
    from PIL import Image

    small = []
    for index in spread(len(pictures)):
        with Image.open(BytesIO(pictures[index])) as picture:
            resized = picture.convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.BOX)
        small.append(np.asarray(resized))
    return np.stack(small)


@cache
def _load_table(folder: Path) -> PictureTable:
    from PIL import Image

    try:
        with Image.open(folder / PICTURES) as picture:
            pixels = np.asarray(picture.convert("RGB"))
        texts = msgspec.json.decode((folder / TEXTS).read_bytes(), type=list[list[str]])
        return PictureTable(pixels.reshape(len(texts), -1), texts)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise ModelError(f"{folder} is damaged; install Vivant again ({error})") from error


def create(argument: str, options: ModelOptions) -> Model:
    """`--model nearest`."""
    options.resolve()
    if argument:
        raise UsageError(f"'{NAME}' takes nothing after its name; got '{NAME}/{argument}'")
    folder = mini.root(NAME)
    if folder is None:
        raise ModelError("This installation comes without the pictures of 'nearest'; install Vivant again")
    return NearestPicture(folder)
