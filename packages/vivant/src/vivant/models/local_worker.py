"""The worker process of a local model: loads it, answers batches, and dies with the process that started it."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, BinaryIO, Protocol

import msgspec

from vivant.core.errors import VivantError
from vivant.core.types import Reply, Request
from vivant.media.worker_protocol import receive, send
from vivant.models.local_model import BatchReplies, BatchRequest, EngineLoaded, LoadEngine
from vivant.models.server_errors import find_kind


class InferenceEngine(Protocol):
    """What `Begin.engine` names."""

    accelerators: int

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """A reply to each request of a batch. May raise: halves of the batch are then tried alone."""
        ...

    def loglikelihood(self, requests: Sequence[Request], answers: Sequence[tuple[str, ...]]) -> list[Reply]:
        """Likelihoods of each request's answers."""
        ...


def main() -> None:
    """Read batches from standard input and answer on what was standard output."""
    # Whatever a library prints must not get between the answers.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive_batches, args=(sys.stdin.buffer, messages), daemon=True).start()
    setup = msgspec.msgpack.decode(messages.get(), type=LoadEngine)
    try:
        engine = load_engine(setup)
    except VivantError as error:
        send(out, EngineLoaded(error=str(error)))
        return
    takes_video = bool(getattr(engine, "takes_video", False))
    note = str(getattr(engine, "note", ""))
    send(out, EngineLoaded(accelerators=engine.accelerators, takes_video=takes_video, note=note))
    decoder = msgspec.msgpack.Decoder(BatchRequest)
    while True:
        ask = decoder.decode(messages.get())
        send(out, BatchReplies(tuple(run_batch(engine, ask.requests, ask.answers))))


def _receive_batches(stream: BinaryIO, messages: queue.SimpleQueue[bytes]) -> None:
    """Queue batches; end the process at once when nobody is left to hear the answers, even amid a batch."""
    while (message := receive(stream)) is not None:
        messages.put(message)
    if os.getpgid(0) == os.getpid():  # with the processes that an engine has started
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def load_engine(setup: LoadEngine) -> InferenceEngine:
    """The engine that a message names. What it raises that is not ours ends the process, with its words."""
    module, _, attribute = setup.engine.partition(":")
    engine_class: Callable[..., Any] = getattr(import_module(module), attribute)
    engine: InferenceEngine = engine_class(setup.settings, setup.accelerator)
    return engine


def run_batch(
    engine: InferenceEngine, requests: Sequence[Request], answers: Sequence[tuple[str, ...]] = ()
) -> list[Reply]:
    """Replies to a batch. One that fails is halved until only the request at fault has failed: a picture that
    cannot be read, or a batch too large for the memory."""
    try:
        return engine.loglikelihood(requests, answers) if answers else engine.generate(requests)
    except Exception as error:  # a model's own code may raise anything; it costs the request, not the run
        if len(requests) == 1:
            return [make_failed_reply(error)]
    middle = len(requests) // 2
    return [
        *run_batch(engine, requests[:middle], answers[:middle]),
        *run_batch(engine, requests[middle:], answers[middle:]),
    ]


def make_failed_reply(error: Exception) -> Reply:
    """The reply to a request on which a model raised this."""
    failed = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    is_too_long = find_kind(failed.encode()) == "too_long"
    return Reply(status="too_long" if is_too_long else "error", error=failed)


if __name__ == "__main__":
    main()
