"""The batches of a training in order: a sampler plans them, a loader turns them into tensors.

A batch is fixed by (seed, epoch, index): not by how many processes share it, nor by how often training was resumed.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from msgspec import Struct

from vivant.core.errors import DataError, MediaError
from vivant.core.randomness import derive_generator, shuffled_indices
from vivant_train.data.example_set import ExampleSet
from vivant_train.data.frame_loader import FrameLoader
from vivant_train.data.packing import collate, pack_rows
from vivant_train.data.sources import Example, draw_form, phrase_example
from vivant_train.model.processing import ModelInput, Processor


class TrainingPosition(Struct, frozen=True):
    """Where a training is: the next step to take, the epoch it belongs to and its index there."""

    step: int = 0
    epoch: int = 0
    index: int = 0


class TokenizedExample(Struct, frozen=True, eq=False):
    """An example as ids, without its frames."""

    example: Example
    ids: tuple[int, ...]
    answer: tuple[int, ...]
    has_media: bool

    @property
    def length(self) -> int:
        """Tokens in all."""
        return len(self.ids) + len(self.answer)


class BatchPlan(Struct, frozen=True, eq=False):
    """One update: rows of examples, for all processes together."""

    position: TrainingPosition
    rows: tuple[tuple[TokenizedExample, ...], ...]

    @property
    def answer_tokens(self) -> int:
        """Tokens that the loss is a mean over."""
        return sum(len(example.answer) for row in self.rows for example in row)

    @property
    def answer_count(self) -> int:
        """Answers that the loss may be a mean over instead."""
        return sum(len(row) for row in self.rows)

    @property
    def sample_names(self) -> list[str]:
        """Names of the samples in the batch, row by row; a sample may stand several times."""
        return [example.example.name for row in self.rows for example in row]


class BatchSampler:
    """Plans all batches from a position on, without end."""

    def __init__(
        self,
        examples: ExampleSet,
        processor: Processor,
        *,
        seed: int,
        steps: int,
        batch_tokens: int,
        row_tokens: int,
        per_video: int,
        packed: bool = True,
    ) -> None:
        self._examples = examples
        self._processor = processor
        self._seed = seed
        self._total_steps = steps
        self._batch_tokens = batch_tokens
        self._row_tokens = row_tokens
        self._per_video = per_video
        self._packed = packed
        self.seen: set[str] = set()
        """Samples that were planned so far."""
        self.too_long: set[str] = set()
        """Samples that were left out because they do not fit into a row."""

    def plan_batches(self, start: TrainingPosition) -> Iterator[BatchPlan]:
        """From `start` on. What was done of its epoch is planned again, but no frame of it is read."""
        step, epoch, skipped = start.step, start.epoch, start.index
        while True:
            index = 0
            for examples in self._split_epoch(epoch, step - skipped):
                if index >= skipped:
                    yield BatchPlan(TrainingPosition(step, epoch, index), self._make_rows(examples))
                    step += 1
                index += 1
            if not index:
                raise DataError(
                    f"None of the {len(self.seen)} examples fits into a row of {self._row_tokens} tokens; "
                    "raise train.row_tokens"
                )
            epoch, skipped = epoch + 1, 0

    def _split_epoch(self, epoch: int, first: int) -> Iterator[list[TokenizedExample]]:
        """The examples of each batch. Several about one video stay together: it is then encoded once."""
        pending: list[TokenizedExample] = []
        size = index = 0
        for example in self._order_examples(epoch):
            tokenized = self._tokenize(example, epoch, (first + index) / self._total_steps)
            if tokenized is None:
                continue
            if pending and size + tokenized.length > self._batch_tokens:
                yield pending
                pending, size, index = [], 0, index + 1
            pending.append(tokenized)
            size += tokenized.length
        if pending:  # also fewer than there are processes: those without any keep in step
            yield pending

    def _order_examples(self, epoch: int) -> Iterator[Example]:
        for window, examples in enumerate(self._examples.iter_windows(epoch)):
            yield from self._order_window(examples, epoch, window)

    def _order_window(self, examples: Sequence[Example], epoch: int, window: int) -> Iterator[Example]:
        groups: dict[str, list[Example]] = {}
        for example in examples:
            for copy in range(_count_repeats(example, epoch, self._seed)):
                groups.setdefault(f"{copy}|{example.video or example.name}", []).append(example)
        pieces: list[list[Example]] = []
        for name, members in groups.items():
            # The seed depends on the media, not on their folder: moved data come in the same order.
            turn, first = name.partition("|")[0], members[0]
            content = repr(first.media) if first.media else first.name
            order = shuffled_indices(len(members), self._seed, "order", str(epoch), turn, content)
            shuffled = [members[index] for index in order]
            pieces += [shuffled[i : i + self._per_video] for i in range(0, len(shuffled), self._per_video)]
        turn_of_window = (str(window),) if window else ()
        for index in shuffled_indices(len(pieces), self._seed, "order", str(epoch), *turn_of_window):
            yield from pieces[index]

    def _tokenize(self, example: Example, epoch: int, progress: float) -> TokenizedExample | None:
        self.seen.add(example.name)
        form = draw_form(example, epoch, self._seed, progress)
        phrased = phrase_example(example, epoch, self._seed, form)
        ids = self._processor.encode_prompt(phrased.text, video=bool(phrased.media))
        answer = self._processor.encode_answer(phrased.answer)
        if len(ids) + len(answer) > self._row_tokens:
            self.too_long.add(example.name)
            return None
        return TokenizedExample(example, ids, answer, bool(phrased.media))

    def _make_rows(self, examples: Sequence[TokenizedExample]) -> tuple[tuple[TokenizedExample, ...], ...]:
        if not self._packed:
            return tuple((example,) for example in examples)
        groups = self._group_by_video(examples)
        rows = pack_rows([sum(each.length for each in group) for group in groups], self._row_tokens)
        return tuple(tuple(each for index in row for each in groups[index]) for row in rows)

    def _group_by_video(self, examples: Sequence[TokenizedExample]) -> list[list[TokenizedExample]]:
        """Questions about one video stay in one row while they fit, so that the video is encoded once an update."""
        groups: dict[str, list[list[TokenizedExample]]] = {}
        for number, example in enumerate(examples):
            key = example.example.video if example.has_media else f"#{number}"
            pieces = groups.setdefault(key, [[]])
            if sum(each.length for each in pieces[-1]) + example.length > self._row_tokens:
                pieces.append([])
            pieces[-1].append(example)
        return [piece for pieces in groups.values() for piece in pieces]


def _count_repeats(example: Example, epoch: int, seed: int) -> int:
    """How often an example comes up in an epoch: whole weights alike each time, the rest by turns."""
    weight = example.source.weight
    turn = 0.0 if weight.is_integer() else derive_generator(seed, "turn", example.name).random()
    return int(weight * (epoch + 1) + turn) - int(weight * epoch + turn)


class Batch(Struct, frozen=True, eq=False):
    """This process's part of a batch, as tensors."""

    plan: BatchPlan
    micro_batches: tuple[dict[str, Any], ...]
    """One for each forward pass."""


class DataLoader:
    """Prepares batches ahead in a thread, so that training waits for nothing but the first."""

    def __init__(
        self,
        sampler: BatchSampler,
        frame_loader: FrameLoader,
        start: TrainingPosition,
        *,
        last_step: int,
        pad_token_id: int,
        rank: int = 0,
        world_size: int = 1,
        micro_rows: int = 0,
        row_tokens: int | None = None,
        answers_alike: bool = False,
        prefetch: int = 4,
    ) -> None:
        self._sampler, self._frame_loader, self._start, self._last_step = (
            sampler,
            frame_loader,
            start,
            last_step,
        )
        self._pad_token_id, self._rank, self._world_size = pad_token_id, rank, world_size
        self._micro_rows, self._row_tokens, self._answers_alike = micro_rows, row_tokens, answers_alike
        self._queue: queue.Queue[Batch | BaseException | None] = queue.Queue(prefetch)
        self._stopped = threading.Event()
        self._lookahead = prefetch
        self._filler = ModelInput((pad_token_id, pad_token_id))
        self.waited = 0.0
        """Seconds that the trainer waited, the first batch left out."""
        self._thread = threading.Thread(target=self._prefetch, daemon=True, name="vivant-loader")

    def __iter__(self) -> Generator[Batch]:
        self._thread.start()
        first = True
        try:
            while True:
                began = time.perf_counter()
                item = self._queue.get()
                if not first:
                    self.waited += time.perf_counter() - began
                first = False
                if item is None:
                    return
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self._stopped.set()

    def _prefetch(self) -> None:
        try:
            ahead: deque[BatchPlan] = deque()
            for plan in self._sampler.plan_batches(self._start):
                if plan.position.step >= self._last_step or self._stopped.is_set():
                    break
                self._frame_loader.request(
                    each.example
                    for row in plan.rows[self._rank :: self._world_size]
                    for each in row
                    if each.has_media
                )
                ahead.append(plan)
                if len(ahead) > self._lookahead:
                    self._put(self._collate(ahead.popleft()))
            while ahead and not self._stopped.is_set():
                self._put(self._collate(ahead.popleft()))
            self._put(None)
        except Exception as error:  # is raised again where the batches are used
            self._put(error)

    def _put(self, item: Batch | BaseException | None) -> None:
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=0.2)
                return
            except queue.Full:
                continue

    def _collate(self, plan: BatchPlan) -> Batch:
        rows = plan.rows[self._rank :: self._world_size]
        most = -(-len(plan.rows) // self._world_size)
        size = self._micro_rows or most
        micro_batches = [
            collate(
                self._load_rows(rows[i : i + size]),
                self._pad_token_id,
                self._row_tokens,
                answers_alike=self._answers_alike,
            )
            for i in range(0, len(rows), size)
        ]
        # Every process takes as many passes as the others: they wait for each other in each.
        missing = -(-most // size) - len(micro_batches)
        fillers = [
            collate([[self._filler]], self._pad_token_id, answers_alike=self._answers_alike)
            for _ in range(missing)
        ]
        return Batch(plan, (*micro_batches, *fillers))

    def _load_rows(self, rows: Sequence[Sequence[TokenizedExample]]) -> list[list[ModelInput]]:
        """Rows with their videos; questions about a video that cannot be used are left out."""
        examples = [each.example for row in rows for each in row if each.has_media]
        cached = bool(examples) and all(map(self._frame_loader.has_features, examples))
        loaded = [
            [question for each in row if (question := self._load_question(each, cached)) is not None]
            for row in rows
        ]
        return [row for row in loaded if row] or [[self._filler]]

    def _load_question(self, tokenized: TokenizedExample, cached: bool) -> ModelInput | None:
        example = tokenized.example
        if not tokenized.has_media:
            return ModelInput(tokenized.ids, tokenized.answer)
        if cached:
            features = self._frame_loader.load_features(example)
            return ModelInput(tokenized.ids, tokenized.answer, features=features, video=example.video)
        try:
            frames = self._frame_loader.load_frames(example)
        except MediaError:  # counted by the frame loader; too many end the training
            return None
        return ModelInput(tokenized.ids, tokenized.answer, frames, video=example.video)
