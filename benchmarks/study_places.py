"""Giving places: the processor's time for one participant at 4,000 items, and 500 people who arrive within ten seconds.

Limits: 5 ms of the processor (median) to give one participant their places at 4,000 items with two balanced facets,
with and without groups, from the first participant to the last; the 95th percentile of consent, the form sent and the
next page shown, within a second when 500 people come at once. Peer: sorting the same 4,000 candidates in Python,
once, in the same run, so that a busy machine shows in both.

    python -m benchmarks.study_places [items] [people]
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import aiohttp

from tests.support.study_kit import tiny_study
from tests.support.study_process import StudyProcess
from vivant_study.store import open_store
from vivant_study.store.assign import assign_items
from vivant_study.store.people import find_by_token, invite

LIMIT_PLACES, LIMIT_CONSENT = 0.005, 1.0
PER_PERSON, PER_ITEM = 20, 3
_FORM = re.compile(r'name="form" value="([^"]+)"')


def measure_peer(items: int) -> float:
    """Seconds of the processor to sort so many candidates by three keys."""
    rng = random.Random(0)
    rows = [(rng.random(), rng.randrange(3), rng.random()) for _ in range(items)]
    costs = []
    for _ in range(20):
        start = time.thread_time()
        sorted(rows, key=lambda row: (-row[1], row[0], row[2]))
        costs.append(time.thread_time() - start)
    return median(costs)


def measure_places(items: int, groups: int) -> list[float]:
    """Seconds of the processor for each participant, until no place is left."""
    costs: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        study = tiny_study(
            Path(folder) / "study", count=items, groups=groups, items_per_participant=PER_PERSON,
            judgements_per_item=PER_ITEM, balance=("angle", "actor"), watch_whole=False,
        )  # fmt: skip
        with open_store(study.path) as store:
            store.raise_target(PER_ITEM)
            tokens = invite(store, items * PER_ITEM // PER_PERSON)
            for token in tokens:
                with store.database.read() as connection:
                    person = find_by_token(connection, store.secret, token)
                assert person is not None

                def job(connection: object, person: int = person) -> None:
                    start = time.thread_time()
                    count = assign_items(connection, store.clock(), person, study.study, study.items)  # type: ignore[arg-type]
                    costs.append(time.thread_time() - start)
                    assert count == PER_PERSON

                store.database.write(job)
    return costs


async def arrive(address: str, tokens: list[str], within: float) -> list[float]:
    """Everybody opens their link within so many seconds and agrees; the times from the form to the next page."""
    times: list[float] = []

    async def one(number: int, token: str) -> None:
        rng = random.Random(number)
        await asyncio.sleep(rng.uniform(0, within))
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            async with session.get(f"{address}/join/{token}") as answer:
                form = _FORM.findall(await answer.text())[0]
            await asyncio.sleep(rng.uniform(0.5, 1.5))
            start = time.perf_counter()
            async with session.post(
                f"{address}/study/consent", data={"form": form, "agree": "yes"}
            ) as answer:
                text = await answer.text()
            times.append(time.perf_counter() - start)
            assert "/study/about" in text, text[:300]

    await asyncio.gather(*(one(number, token) for number, token in enumerate(tokens)))
    return times


def quantile(values: list[float], share: float) -> float:
    """The value below which so many lie."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main(items: int, people: int) -> int:
    """Measure, print, and return 1 where a limit is missed."""
    failed = False
    peer = measure_peer(items)
    print(f"peer: sorting {items} candidates {peer * 1000:.2f} ms")
    for groups in (0, items // 10):
        costs = measure_places(items, groups)
        middle = median(costs)
        print(
            f"giving places, {items} items, {groups or items} groups: median {middle * 1000:.2f} ms, p95 "
            f"{quantile(costs, 0.95) * 1000:.2f} ms, {middle / peer:.1f} x peer, {len(costs)} participants "
            f"(limit {LIMIT_PLACES * 1000:.0f} ms)"
        )
        failed |= middle > LIMIT_PLACES
    with tempfile.TemporaryDirectory() as folder:
        study = tiny_study(
            Path(folder) / "study", count=items, items_per_participant=PER_PERSON, judgements_per_item=PER_ITEM,
            balance=("angle", "actor"), watch_whole=False,
        )  # fmt: skip
        with open_store(study.path) as store:
            tokens = invite(store, people)
        with StudyProcess(study.path) as server:
            times = asyncio.run(arrive(server.address, tokens, 10))
    p95 = quantile(times, 0.95)
    print(
        f"{people} people within 10 s: consent median {median(times) * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms "
        f"(limit {LIMIT_CONSENT * 1000:.0f})"
    )
    return int(failed or p95 > LIMIT_CONSENT)


if __name__ == "__main__":
    sys.exit(main(*(int(value) for value in (sys.argv[1:] + ["4000", "500"][len(sys.argv) - 1 :]))))
