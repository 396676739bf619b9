"""One limit for the whole cluster, shared out among its workers: together they never exceed it.

A worker whose share falls keeps what it has under way until it is answered, and says so then. Until that word, what it
may still hold is given to nobody else. Requests that wait at a worker move to one that has nothing left to do.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from vivant.engine.ray_client import WorkerHandle, WorkerLostError


class LimitShares:
    """The shares of the workers that there are."""

    def __init__(self, workers: list[WorkerHandle]) -> None:
        self.limit: int | None = None
        """None: whoever calls the workers keeps the limit."""
        self._workers = workers
        self.cuts = 0
        """So often the limit was cut: requests sent before complain of the same crowd (`AdaptiveLimit`)."""
        self.excluded: set[str] = set()
        """Slots whose node does not see all data: what waits elsewhere is not moved to them."""
        self._lowering: dict[WorkerHandle, asyncio.Task[None]] = {}
        """The last word to each worker whose share fell and that has not answered it."""
        self._moving: asyncio.Task[None] | None = None

    def set_limit(self, limit: int, cuts: int = 0) -> None:
        """Share out another number, after so many cuts."""
        if (limit, cuts) != (self.limit, self.cuts):
            self.limit = limit
            unchanged, self.cuts = self.cuts == cuts, cuts
            self.share_out()
            for worker in self._workers if not unchanged else ():
                worker.send_limit(worker.limit, cuts)

    def admit(self, worker: WorkerHandle) -> None:
        """One more worker: it waits until others have given up some of theirs."""
        if self.limit is not None:
            worker.send_limit(0, self.cuts)
            self.share_out()

    def repeat(self, worker: WorkerHandle) -> None:
        """Tell a worker its share again: after a complaint of the server it sends nothing new before."""
        worker.send_limit(worker.limit, self.cuts)

    def prefer(self, worker: WorkerHandle) -> None:
        """See that a worker has a share where there are more workers than shares."""
        self._workers.remove(worker)
        self._workers.insert(0, worker)
        self.share_out()

    def share_out(self) -> None:
        """Give every worker its part, as far as it is free: after a change of the limit or of the workers."""
        if self.limit is None or not self._workers:
            return
        least, more = divmod(self.limit, len(self._workers))
        targets = {worker: least + (index < more) for index, worker in enumerate(self._workers)}
        for worker, target in targets.items():
            if target < worker.limit:
                worker.limit = target
                if worker in self._lowering:
                    self._lowering[worker].cancel()
                self._lowering[worker] = asyncio.create_task(self._lower(worker))
        free = self.limit - sum(worker.held for worker in self._workers)
        for worker, target in targets.items():
            share = min(target, worker.held + max(0, free))
            if share > worker.limit:
                free -= max(0, share - worker.held)
                worker.limit, worker.held = share, max(share, worker.held)
                worker.send_limit(share, self.cuts)

    def rebalance(self) -> None:
        """Where a worker has nothing left to do, take back half of what another has: it is given out anew."""
        if not self.limit or self._moving is not None:
            return
        able = [worker for worker in self._workers if worker.limit and worker.slot not in self.excluded]
        busiest = max(able, key=lambda worker: worker.busy, default=None)
        if busiest is not None and busiest.busy > 1 and any(not worker.busy for worker in able):
            self._moving = asyncio.create_task(self._take_back(busiest))

    async def _take_back(self, worker: WorkerHandle) -> None:
        with suppress(WorkerLostError):  # then all that it had goes to others
            await worker.take_back(worker.busy // 2)
        self._moving = None

    async def _lower(self, worker: WorkerHandle) -> None:
        """Tell a worker its share as it is by now: it may have risen again since it fell."""
        try:
            await worker.call_limit(worker.limit, self.cuts)
        except WorkerLostError:
            del self._lowering[worker]
            return  # its share goes to the others, with it
        del self._lowering[worker]
        worker.held = worker.limit
        self.share_out()
