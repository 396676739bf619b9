"""What tests of training share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def short_replies() -> Iterator[None]:
    """Replies of a few tokens: models that have learnt nothing fill whatever they are given."""
    from vivant.benchmarks.mime import prompts as mime
    from vivant.benchmarks.mimic import prompts as mimic

    with pytest.MonkeyPatch.context() as patch:  # not the tests' own, which they may undo
        patch.setattr(mime, "_MAX_TOKENS", 4)
        patch.setitem(mimic.MAX_TOKENS, "zero-shot", 4)
        yield


@pytest.fixture
def engine_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Local models answer in this process: another one would spend seconds on importing torch again."""
    from vivant.models import local_model, local_worker

    class Worker:
        def __init__(self, setup: local_model.LoadEngine) -> None:
            self._engine: Any = local_worker.load_engine(setup)
            self.accelerators = self._engine.accelerators
            self.takes_video = bool(getattr(self._engine, "takes_video", False))
            self.note = str(getattr(self._engine, "note", ""))

        async def start(self, name: str) -> None:
            assert name

        async def send(self, batch: local_model.BatchRequest) -> local_model.BatchReplies:
            replies = local_worker.run_batch(self._engine, batch.requests, batch.answers)
            return local_model.BatchReplies(tuple(replies))

        async def stop(self) -> None:
            self._engine = None

    monkeypatch.setattr(local_model, "EngineWorker", Worker)
