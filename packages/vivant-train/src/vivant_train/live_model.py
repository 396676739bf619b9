"""The model that learns, as it is in memory, answers questions: every process its share, in rounds.

The main process's run (`vivant.engine`) is in a thread of its own. In a round the main thread hands each process its
share of a batch, all answer at once, and the replies come back. Weights that are shared out (FSDP2) are gathered by all
processes together, so that in every round each makes as many passes as the others, also one without a question.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any, TypeVar

import msgspec
import torch

from vivant.core.types import Reply, Request
from vivant.models.base import Model, ModelError
from vivant.models.local_model import BatchReplies, BatchRequest, EngineWorker, LoadEngine, LocalModel
from vivant.models.local_worker import make_failed_reply, run_batch
from vivant_train.model.processing import ModelInput
from vivant_train.torch_backend import TorchMimicChatEngine

_T = TypeVar("_T")
_Question = tuple[BatchRequest, Future[BatchReplies | None]]


class LiveEngine(TorchMimicChatEngine):
    """Inference with the model that learns.

    Args:
        model: it, not wrapped.
        processor: its processor.
        accelerator: of accelerate.
        sharded: whether processes gather its weights together.
    """

    def __init__(self, model: Any, processor: Any, accelerator: Any, *, sharded: bool) -> None:
        self._torch = torch
        self._accelerator, self._sharded = accelerator, sharded
        self.use_model(model, processor)

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """A reply to each request; without one, the passes that the other processes wait for."""
        with torch.no_grad(), self._accelerator.autocast():
            if not self._sharded:  # a batch that fails is halved, which other processes do not notice
                return run_batch(self, requests) if requests else []
            try:
                return self.generate(requests)
            except Exception as error:  # the passes of all: they cannot be taken again by one alone
                index = self._accelerator.process_index
                raise ModelError(
                    f"The evaluation failed in process {index}: {_describe(error)}. Where that is a lost connection, "
                    "another process ended first and says why. Training goes on from its last checkpoint with --resume"
                ) from error

    def _prepare(self, request: Request) -> Any:
        try:
            return super()._prepare(request)
        except Exception as error:  # it costs the question: the other processes are about to pass
            if not self._sharded:
                raise
            return make_failed_reply(error)

    def _generate(self, requests: Sequence[Request], questions: Sequence[Any]) -> list[Reply]:
        if requests or not self._sharded:
            return super()._generate(requests, questions)
        prompt = ModelInput(self._processor.encode_prompt("", video=False), (), None, video="")
        self._model.generate(
            **self._move(self._processor.make_batch([prompt])),
            **self._generation_arguments(max_new_tokens=1, do_sample=False),
        )
        return []

    def _generation_arguments(self, **named: Any) -> dict[str, Any]:
        return super()._generation_arguments(**named, synced_gpus=self._sharded)

    @property
    def _device(self) -> Any:
        return self._accelerator.device


class LiveModel(LocalModel):
    """The model that learns, for a run in this process; its name and identity are those of its saved weights."""

    def __init__(self, saved: Model, rounds: AnswerRounds, batch_size: int) -> None:
        super().__init__(saved.name, "", {}, batch_size=batch_size, workers=1)
        self.capabilities, self._saved, self._rounds = saved.capabilities, saved, rounds

    @property
    def identity(self) -> Any:
        return self._saved.identity

    async def _start(self, number: int) -> EngineWorker:
        worker = _RoundWorker(self._rounds, number)
        self._workers.append(worker)
        return worker


class _RoundWorker(EngineWorker):
    """In place of a worker process: all processes of the training."""

    def __init__(self, rounds: AnswerRounds, number: int) -> None:
        super().__init__(LoadEngine(engine="", settings={}, accelerator=number))
        self._rounds = rounds

    async def start(self, name: str) -> None:
        """Called again only after a round failed, which ends the evaluation."""
        raise ModelError(f"{name}: {await self.exit_reason()}")

    async def send(self, batch: BatchRequest) -> BatchReplies | None:
        return await asyncio.wrap_future(self._rounds.submit(batch))

    async def exit_reason(self) -> str:
        return self._rounds.failure

    async def stop(self) -> None:
        """Nothing was started."""


class AnswerRounds:
    """Rounds of questions that all processes of a training answer.

    Args:
        engine: this process's.
        accelerator: of accelerate.
    """

    def __init__(self, engine: LiveEngine, accelerator: Any) -> None:
        self._engine, self._accelerator = engine, accelerator
        self._questions: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self.failure = ""
        """Why a round failed."""
        self._group: Any = None
        if accelerator.num_processes > 1:
            # Requests hold pictures: they travel by way of the processors, whatever gradients travel by.
            self._group = torch.distributed.new_group(backend="gloo", timeout=timedelta(hours=12))

    def submit(self, batch: BatchRequest) -> Future[BatchReplies | None]:
        """Put a batch into the next round; None comes back where rounds have failed."""
        replies: Future[BatchReplies | None] = Future()
        with self._lock:
            if self.failure:
                replies.set_result(None)
            else:
                self._questions.put((batch, replies))
        return replies

    def run(self, evaluate: Callable[[], _T]) -> _T | None:
        """Answer what `evaluate` asks, called by the main process in a thread; its result, None elsewhere.

        All processes must call it.
        """
        if not self._accelerator.is_main_process:
            while not isinstance(end := self._take_part(""), str):
                pass
            if end:
                raise ModelError(end)
            return None
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="evaluation") as pool:
            result = pool.submit(evaluate)
            result.add_done_callback(lambda _: self._questions.put(None))
            try:
                while (question := self._questions.get()) is not None:
                    if question[1].set_running_or_notify_cancel():  # a run that failed asks no more
                        self._answer(*question)
            except BaseException as error:
                self._end_after(error)
                raise
            failed = result.exception()
            self._take_part("" if failed is None else str(failed) or type(failed).__name__)
            return result.result()

    def _answer(self, batch: BatchRequest, replies: Future[BatchReplies | None]) -> None:
        try:
            answered = self._take_part(batch.requests)
        except BaseException:
            replies.set_result(None)
            raise
        assert not isinstance(answered, str)
        replies.set_result(BatchReplies(tuple(answered)))

    def _end_after(self, error: BaseException) -> None:
        """Let the evaluation end too: it waits for replies that will not come."""
        with self._lock:
            self.failure = _describe(error)
            while not self._questions.empty():
                question = self._questions.get()
                if question is not None and question[1].set_running_or_notify_cancel():
                    question[1].set_result(None)

    def _take_part(self, requests: Sequence[Request] | str) -> list[Reply] | str:
        """One round. The main process gives requests, or a text that ends the rounds: why they failed, or nothing."""
        if self._group is None:
            return requests if isinstance(requests, str) else self._engine.answer(requests)
        world_size = self._accelerator.num_processes
        shares = None
        if self._accelerator.is_main_process:
            shares = [
                msgspec.msgpack.encode(requests if isinstance(requests, str) else requests[rank::world_size])
                for rank in range(world_size)
            ]
        received: list[Any] = [None]
        torch.distributed.scatter_object_list(received, shares, src=0, group=self._group)
        share = msgspec.msgpack.decode(received[0], type=list[Request] | str)
        if isinstance(share, str):
            return share
        gathered: list[Any] = [None] * world_size
        replies = msgspec.msgpack.encode(self._engine.answer(share))
        torch.distributed.all_gather_object(gathered, replies, group=self._group)
        by_rank = [msgspec.msgpack.decode(each, type=list[Reply]) for each in gathered]
        total = sum(map(len, by_rank))
        return [by_rank[index % world_size][index // world_size] for index in range(total)]


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
