"""The steps of a training in order: which questions, how they are asked, in which rows.

A step is fixed by (seed, epoch, place): not by how many processes share it, nor by how often it was resumed.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from vivant.core.errors import DataError
from vivant.core.randomness import derive_generator, shuffled_indices
from vivant.train.data.frames import FrameBank
from vivant.train.data.packing import collate, pack
from vivant.train.data.sources import Example, draw_form, phrase
from vivant.train.model.processing import Processor, Question


class Place(Struct, frozen=True):
    """Where a training is: the next step to take, the epoch it belongs to and its place there."""

    step: int = 0
    epoch: int = 0
    index: int = 0


class Asked(Struct, frozen=True, eq=False):
    """An example as ids, without its frames."""

    example: Example
    ids: tuple[int, ...]
    answer: tuple[int, ...]
    seen: bool
    """Whether its media are shown."""

    @property
    def length(self) -> int:
        """Tokens in all."""
        return len(self.ids) + len(self.answer)


class Step(Struct, frozen=True, eq=False):
    """One update: rows of questions, for all processes together."""

    place: Place
    rows: tuple[tuple[Asked, ...], ...]

    @property
    def answer_tokens(self) -> int:
        """Tokens that the loss is a mean over."""
        return sum(len(asked.answer) for row in self.rows for asked in row)

    @property
    def answers(self) -> int:
        """Answers that are learnt from."""
        return sum(len(row) for row in self.rows)

    @property
    def names(self) -> list[str]:
        """The samples in it."""
        return [asked.example.name for row in self.rows for asked in row]


class Stream:
    """All steps from a place on, without end."""

    def __init__(
        self,
        examples: Sequence[Example],
        processor: Processor,
        *,
        seed: int,
        steps: int,
        batch_tokens: int,
        row_tokens: int,
        per_video: int,
        shares: int,
        packed: bool = True,
    ) -> None:
        self._examples = examples
        self._processor = processor
        self._seed = seed
        self._steps = steps
        self._batch = batch_tokens
        self._row = row_tokens
        self._per_video = per_video
        self._shares = shares
        self._packed = packed
        self.too_long: set[str] = set()
        """Samples that were left out because they do not fit into a row."""

    def steps(self, start: Place) -> Iterator[Step]:
        """From `start` on. What was done of its epoch is planned again, but no frame of it is read."""
        step, epoch, skipped = start.step, start.epoch, start.index
        while True:
            index = 0
            for questions in self._epoch(epoch, step - skipped):
                if index >= skipped:
                    rows = self._rows(questions)
                    yield Step(Place(step, epoch, index), rows)
                    step += 1
                index += 1
            if not index:
                raise DataError(
                    f"None of the {len(self._examples)} examples fits into a row of {self._row} tokens; "
                    "raise train.row_tokens"
                )
            epoch, skipped = epoch + 1, 0

    def _epoch(self, epoch: int, first: int) -> Iterator[list[Asked]]:
        """The questions of each step. Several about one video stay together: it is then looked at once."""
        held: list[Asked] = []
        size = index = 0
        for example in self._order(epoch):
            asked = self._ask(example, epoch, (first + index) / self._steps)
            if asked is None:
                continue
            if held and size + asked.length > self._batch:
                yield held
                held, size, index = [], 0, index + 1
            held.append(asked)
            size += asked.length
        if held and (not index or len(held) >= self._shares):
            yield held

    def _order(self, epoch: int) -> Iterator[Example]:
        groups: dict[str, list[Example]] = {}
        for example in self._examples:
            for copy in range(_times(example, epoch, self._seed)):
                groups.setdefault(f"{copy}|{example.video or example.name}", []).append(example)
        pieces: list[list[Example]] = []
        for name, members in groups.items():
            # By what is shown, not where it lies: the same data in another folder come in the same order.
            turn, first = name.partition("|")[0], members[0]
            shown = repr(first.media) if first.media else first.name
            order = shuffled_indices(len(members), self._seed, "order", str(epoch), turn, shown)
            mixed = [members[place] for place in order]
            pieces += [mixed[i : i + self._per_video] for i in range(0, len(mixed), self._per_video)]
        for place in shuffled_indices(len(pieces), self._seed, "order", str(epoch)):
            yield from pieces[place]

    def _ask(self, example: Example, epoch: int, progress: float) -> Asked | None:
        form = draw_form(example, epoch, self._seed, progress)
        said = phrase(example, epoch, self._seed, form)
        ids = self._processor.prompt(said.text, video=bool(said.media))
        answer = self._processor.answer(said.answer)
        if len(ids) + len(answer) > self._row:
            self.too_long.add(example.name)
            return None
        return Asked(example, ids, answer, bool(said.media))

    def _rows(self, questions: Sequence[Asked]) -> tuple[tuple[Asked, ...], ...]:
        if not self._packed:
            return tuple((asked,) for asked in questions)
        rows = pack([asked.length for asked in questions], self._row)
        if len(rows) < self._shares:  # every process needs something to do
            rows = [list(range(n, len(questions), self._shares)) for n in range(self._shares)]
        return tuple(tuple(questions[place] for place in row) for row in rows)


def _times(example: Example, epoch: int, seed: int) -> int:
    """How often an example comes up in an epoch: whole weights alike each time, the rest by turns."""
    weight = example.source.weight
    turn = 0.0 if weight.is_integer() else derive_generator(seed, "turn", example.name).random()
    return int(weight * (epoch + 1) + turn) - int(weight * epoch + turn)


class Batch(Struct, frozen=True, eq=False):
    """This process's part of a step, as tensors."""

    step: Step
    parts: tuple[dict[str, Any], ...]
    """One for each forward pass."""


class Loader:
    """Prepares steps ahead in a thread, so that training waits for nothing but the first."""

    def __init__(
        self,
        stream: Stream,
        bank: FrameBank,
        start: Place,
        *,
        last: int,
        pad: int,
        rank: int = 0,
        world: int = 1,
        micro_rows: int = 0,
        row_tokens: int | None = None,
        alike: bool = False,
        ahead: int = 4,
    ) -> None:
        self._stream, self._bank, self._start, self._last = stream, bank, start, last
        self._pad, self._rank, self._world = pad, rank, world
        self._micro, self._width, self._alike = micro_rows, row_tokens, alike
        self._ready: queue.Queue[Batch | BaseException | None] = queue.Queue(ahead)
        self._stopped = threading.Event()
        self.waited = 0.0
        """Seconds that the trainer waited, the first batch left out."""
        self._thread = threading.Thread(target=self._work, daemon=True, name="vivant-loader")

    def __iter__(self) -> Iterator[Batch]:
        self._thread.start()
        first = True
        try:
            while True:
                began = time.perf_counter()
                ready = self._ready.get()
                if not first:
                    self.waited += time.perf_counter() - began
                first = False
                if ready is None:
                    return
                if isinstance(ready, BaseException):
                    raise ready
                yield ready
        finally:
            self._stopped.set()

    def _work(self) -> None:
        try:
            for step in self._stream.steps(self._start):
                if step.place.step >= self._last or self._stopped.is_set():
                    break
                self._put(self._batch(step))
            self._put(None)
        except Exception as error:  # is raised again where the batches are used
            self._put(error)

    def _put(self, ready: Batch | BaseException | None) -> None:
        while not self._stopped.is_set():
            try:
                self._ready.put(ready, timeout=0.2)
                return
            except queue.Full:
                continue

    def _batch(self, step: Step) -> Batch:
        own = step.rows[self._rank :: self._world]
        size = self._micro or len(own)
        parts = [
            collate(
                [[self._question(asked) for asked in row] for row in own[i : i + size]],
                self._pad,
                self._width,
                alike=self._alike,
            )
            for i in range(0, len(own), size)
        ]
        return Batch(step, tuple(parts))

    def _question(self, asked: Asked) -> Question:
        if not asked.seen:
            return Question(asked.ids, asked.answer)
        frames = self._bank.get(asked.example)
        return Question(asked.ids, asked.answer, frames, asked.example.video)
