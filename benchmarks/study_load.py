"""A study under load: two hundred participants at once for a minute, then `kill -9`, then a count.

Each participant is a client of their own: personal link, consent, questions, instructions, then for each item the
page, the video's first bytes, an answer that is saved, a change of mind, and the next page, with a pause of one and a
half to four and a half seconds before each action: ten seconds an item, faster than people are. All come within nine
seconds. The server is killed while answers are under way, started again, and everybody goes on to the end with pauses
of at most half a second, which is more than one process can take: the requests a second of that part are what it can.

Limits: no error; the 95th percentile of a page within 30 ms on a quiet machine and within 150 ms with two busy
processes beside it, where a page is a form sent and the next page shown, two requests; no more than 2.5 times the
processor's time of a plain page of the framework a request, which as many clients ask for with the same pauses, in the
same seconds, of a server beside it; every acknowledged answer there after the kill; every item with exactly its number
of judgements at the end. Told beside: each request by itself, and a small file from the same server, asked by as many
clients with the same pauses at the end of the minute. Where the machine is busy with other things, run it with
`nice -n -20`; the load, and the share of time that somebody waited for a processor, are told too.

    python -m benchmarks.study_load [participants] [seconds] [busy processes]
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import re
import socket
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.study_kit import tiny_study
from tests.support.study_process import StudyProcess
from vivant_study.loading import LoadedStudy
from vivant_study.store import open_store
from vivant_study.store.people import invite, make_annotator_name

LIMIT, LIMIT_BUSY = 0.030, 0.150
MOST_CPU = 2.5
"""Times the processor's time of a plain page."""
REST = (0.0, 0.5)
"""Pauses of those who go on after the kill."""
THINK = (1.5, 4.5)
PER_PERSON = 12
PER_ITEM = 10
_FIELD = re.compile(r'name="(form|page)" value="([^"]+)"')
_MEDIA = re.compile(r'src="(/m/[^"]+)"')


class Client:
    """One participant."""

    def __init__(self, number: int, address: str, token: str, told: Told) -> None:
        self._chance = random.Random(number)
        self._address, self._token, self._told = address, token, told
        self._fields: dict[str, str] = {}
        self.page = ""
        self.number = 0
        self.finished = False

    async def run(self, session: aiohttp.ClientSession, think: tuple[float, float]) -> None:
        """From the link to the end."""
        self._session, self._think = session, think
        await asyncio.sleep(self._chance.uniform(0, 2 * think[1]))
        await self.ask("GET", f"/join/{self._token}")
        while "/study/consent" in self.page or "/study/about" in self.page or "/study/begin" in self.page:
            step = next(name for name in ("consent", "about", "begin") if f"/study/{name}" in self.page)
            more = {"consent": {"agree": "yes"}, "about": {"about.age": "1"}, "begin": {}}[step]
            await self.act()
            await self.ask("POST", f"/study/{step}", {"form": self._fields["form"], **more})
        while "page" in self._fields:
            await self.item()
        self.finished = "Thank you" in self.page

    async def act(self) -> None:
        """What a person does between two clicks."""
        await asyncio.sleep(self._chance.uniform(*self._think))

    async def item(self) -> None:
        """One item: look, answer, change one's mind, go on."""
        form, page = self._fields["form"], self._fields["page"]
        media = _MEDIA.findall(self.page)
        headers = {"Range": "bytes=0-999"}
        await self._send("media", self._session.get(self._address + media[0], headers=headers))
        for _ in range(2):
            await self.act()
            choice = self._chance.randrange(4)
            under_way = self._told.under_way.setdefault((self._token, self.number), set())
            under_way.add(choice)
            body = {"form": form, "page": page, "fields": {"choice": str(choice)}}
            accept = {"Accept": "application/json"}
            saved = self._session.post(f"{self._address}/study/save", json=body, headers=accept)
            if await self._send("save", saved) is not None:
                under_way.clear()
                self._told.acknowledged[self._token, self.number] = choice
        await self.act()
        await self.ask("POST", "/study/answer", {"form": form, "page": page, "choice": str(choice)})
        self.number += 1

    async def ask(self, method: str, path: str, data: dict[str, str] | None = None) -> None:
        """A form or a link, and the page that it leads to."""
        start = time.perf_counter()
        sent = self._session.request(method, self._address + path, data=data, allow_redirects=False)
        if await self._send("form", sent) is None:
            return
        text = await self._send("show", self._session.get(f"{self._address}/study"))
        self._told.pages.append(time.perf_counter() - start)
        if text is not None:
            self.page = text
            self._fields = dict(_FIELD.findall(text))

    async def _send(self, what: str, request: Any) -> str | None:
        start = time.perf_counter()
        async with request as answer:
            body: bytes = await answer.read()
            self._told.times.setdefault(what, []).append(time.perf_counter() - start)
            if answer.status >= 400 or (answer.status == 303) != (what == "form"):
                self._told.errors[f"{what} {answer.status}"] += 1
                return None
            return body.decode("utf-8", "replace")


class Told:
    """What all clients were told."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        """Of each request by itself, by what it asks for."""
        self.pages: list[float] = []
        """Of a form and the next page together."""
        self.errors: Counter[str] = Counter()
        self.acknowledged: dict[tuple[str, int], int] = {}
        """The last answer that was said to be saved, by participant and item's number: a place as shown."""
        self.under_way: dict[tuple[str, int], set[int]] = {}
        """Answers sent since, which may have arrived or not."""


def waited() -> float:
    """Seconds, since the machine began, in which somebody waited for a processor."""
    pressure = Path("/proc/pressure/cpu")
    return (
        int(pressure.read_text().partition("total=")[2].split()[0]) / 1e6
        if pressure.exists()
        else float("nan")
    )


def cpu_of(process: int) -> float:
    """Seconds of processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serve_page(port: int) -> None:
    """A page of fixed words, as plain as the framework makes it."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    from vivant.web.server import bind, run_app

    async def page(_: Request) -> HTMLResponse:
        return HTMLResponse("<!doctype html><title>x</title>" + "<p>Some words.</p>" * 200)

    run_app(Starlette(routes=[Route("/", page)]), bind("127.0.0.1", port))


class PlainServer:
    """A page of fixed words from a process of its own."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        self.address = f"http://127.0.0.1:{port}/"
        self.requests = 0
        context = multiprocessing.get_context("forkserver")
        self._process = context.Process(target=serve_page, args=(port,), daemon=True)

    async def __aenter__(self) -> PlainServer:
        self._process.start()
        async with aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.get(self.address) as answer:
                        await answer.read()
                        break
                except aiohttp.ClientConnectorError:
                    await asyncio.sleep(0.05)
        assert self._process.pid is not None
        self._before = cpu_of(self._process.pid)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._process.pid is not None
        self.cost = (cpu_of(self._process.pid) - self._before) / max(1, self.requests)
        self._process.kill()
        self._process.join()

    async def ask(self, number: int, pauses: tuple[float, float]) -> None:
        """One client, with a session as participants have one, until cancelled."""
        chance = random.Random(number)
        cookies = {"vivant-study": f"{number}." + "0" * 40}
        async with aiohttp.ClientSession(cookies=cookies) as session:
            while True:
                await asyncio.sleep(chance.uniform(*pauses))
                async with session.get(self.address) as answer:
                    await answer.read()
                self.requests += 1


async def crowd_beside_plain(clients: list[Client], pauses: tuple[float, float]) -> float:
    """All to their end, with as many who ask for a plain page; what that costs the processor a request."""
    async with PlainServer() as plain:
        work = [asyncio.create_task(plain.ask(number, pauses)) for number in range(len(clients))]
        try:
            await crowd(clients, pauses, None)
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
    return plain.cost


def burn() -> None:
    """A process that is always busy."""
    while True:
        sum(range(10_000))


async def peer(count: int, seconds: float) -> list[float]:
    """The same clients and pauses against a page of fixed words from the same framework and server."""
    times: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        study = tiny_study(Path(folder) / "peer", watch_whole=False)
        with StudyProcess(study.path) as server:
            until = time.monotonic() + seconds

            async def one(number: int) -> None:
                chance = random.Random(number)
                async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
                    while time.monotonic() < until:
                        await asyncio.sleep(chance.uniform(*THINK))
                        start = time.perf_counter()
                        async with session.get(f"{server.address}/static/icon.svg") as answer:
                            await answer.read()
                        times.append(time.perf_counter() - start)

            await asyncio.gather(*(one(number) for number in range(count)))
    return times


def quantile(times: list[float], share: float) -> float:
    """The time within which so many came."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


async def crowd(
    clients: list[Client],
    think: tuple[float, float],
    seconds: float | None,
    end: Callable[[], None] | None = None,
) -> None:
    """All at once, until done, or until the time is over and `end` has been called in the midst of them."""
    sessions = [aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) for _ in clients]
    work = [asyncio.create_task(c.run(s, think)) for c, s in zip(clients, sessions, strict=True)]
    try:
        done, _ = await asyncio.wait(work, timeout=seconds)
        for task in done:
            task.result()
        if end is not None:
            end()
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        for session in sessions:
            await session.close()


def main(count: int, seconds: float, busy: int) -> int:
    """Measure, print, and return 1 where a limit is missed."""
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        items = count * PER_PERSON // PER_ITEM
        study = tiny_study(
            Path(folder) / "study", count=items, items_per_participant=PER_PERSON, judgements_per_item=PER_ITEM,
            balance=("angle", "actor"), watch_whole=False,
        )  # fmt: skip
        with open_store(study.path) as store:
            tokens = invite(store, count)
        told = Told()
        print(f"{count} participants, {items} items of {PER_ITEM} judgements, {os.cpu_count()} cores")
        with StudyProcess(study.path) as server:
            clients = [Client(n, server.address, token, told) for n, token in enumerate(tokens)]
            before, own, start = cpu_of(server.pid), time.process_time(), time.perf_counter()
            pressed = waited()
            used: list[float] = []
            burners = [
                multiprocessing.get_context("forkserver").Process(target=burn, daemon=True)
                for _ in range(busy)
            ]
            for burner in burners:
                burner.start()

            def end() -> None:
                used.append(cpu_of(server.pid) - before)
                server.kill()

            asyncio.run(crowd(clients, THINK, seconds, end))
            for burner in burners:
                burner.kill()
            taken, own = time.perf_counter() - start, time.process_time() - own
            requests = sum(map(len, told.times.values()))
            print(
                f"{taken:.0f} s, pauses {THINK[0]} to {THINK[1]} s, {requests / taken:.0f} requests a second; "
                f"processor a request: server {used[0] / requests * 1000:.1f} ms, "
                f"clients {own / requests * 1000:.1f} ms; load {os.getloadavg()[0]:.1f}, "
                f"waiting for a processor {(waited() - pressed) / taken:.0%}"
            )
            failed |= lost(study.path, told)
            limit = LIMIT_BUSY if busy else LIMIT
            failed |= slow(told, asyncio.run(peer(count, min(seconds, 15))), limit)
            print(f"errors {dict(told.errors) or 'none'} (limit: none)")
            failed |= bool(told.errors)
            server.start()
            more, start, before = Told(), time.perf_counter(), cpu_of(server.pid)
            rest = [Client(n, server.address, token, more) for n, token in enumerate(tokens)]
            plain = asyncio.run(crowd_beside_plain(rest, REST))
            taken, requests = time.perf_counter() - start, sum(map(len, more.times.values()))
            print(
                f"at its most: {requests / taken:.0f} requests a second, "
                f"server {(cpu_of(server.pid) - before) / requests * 1000:.1f} ms a request; "
                f"errors {dict(more.errors) or 'none'}"
            )
            failed |= bool(more.errors)
            cost = (cpu_of(server.pid) - before) / requests
            print(
                f"processor a request: {cost * 1000:.2f} ms, of a plain page {plain * 1000:.2f} ms: "
                f"{cost / plain:.2f} times (limit {MOST_CPU})"
            )
            failed |= cost / plain > MOST_CPU
        failed |= unbalanced(study, all(client.finished for client in rest))
    return int(failed)


def slow(told: Told, fixed: list[float], limit: float) -> bool:
    """Tell the times; whether pages take too long."""
    base = quantile(fixed, 0.95)
    every = [taken for times in told.times.values() for taken in times]
    for what, times in (*sorted(told.times.items()), ("any", every), ("page", told.pages), ("peer", fixed)):
        p95 = quantile(times, 0.95)
        figures = f"median {statistics.median(times) * 1000:6.1f} ms  p95 {p95 * 1000:6.1f} ms"
        print(f"{what:6} n {len(times):6}  {figures}  p95/peer {p95 / base:5.1f}")
    page = quantile(told.pages, 0.95)
    print(
        f"p95 of a page, form and next page together, {page * 1000:.0f} ms (limit {limit * 1000:.0f}); of one request "
        f"{quantile(every, 0.95) * 1000:.0f} ms"
    )
    return page > limit


def lost(folder: Path, told: Told) -> bool:
    """Whether an acknowledged answer is not there after the kill, or one is there twice."""
    with open_store(folder) as store:
        kept = [(j.annotator, j.position, j.shown.index(j.answer)) for j in store.judgements()]
        names = {make_annotator_name(store.secret, "link", token): token for token, _ in told.acknowledged}
    there = {(names.get(annotator, annotator), number): place for annotator, number, place in kept}
    missing = sum(
        there.get(key) not in {place, *told.under_way[key]} for key, place in told.acknowledged.items()
    )
    doubled = len(kept) - len(there)
    print(
        f"kill -9: {len(told.acknowledged)} answers acknowledged, {missing} lost, {doubled} doubled (limit: none)"
    )
    return bool(missing or doubled)


def unbalanced(study: LoadedStudy, finished: bool) -> bool:
    """Whether any item has more or fewer judgements than it should, or any person an uneven share."""
    with open_store(study.path) as store:
        progress = store.progress([item.id for item in study.items])
        shares: dict[str, Counter[str]] = {}
        for judgement in store.judgements():
            angle = study.by_id[judgement.item].facets["angle"]
            shares.setdefault(judgement.annotator, Counter())[angle] += 1
    counts = Counter(line.finished for line in progress.items)
    uneven = sum(share["0"] != share["90"] for share in shares.values())
    print(
        f"judgements per item {dict(counts)} (limit: {PER_ITEM} each); people with an uneven share: {uneven} (limit: 0)"
    )
    return not finished or set(counts) != {PER_ITEM} or bool(uneven)


if __name__ == "__main__":
    sys.exit(
        main(
            int(sys.argv[1]) if len(sys.argv) > 1 else 200,
            float(sys.argv[2]) if len(sys.argv) > 2 else 60,
            int(sys.argv[3]) if len(sys.argv) > 3 else 0,
        )
    )
