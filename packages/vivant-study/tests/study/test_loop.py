"""What keeps the server quick under load, and what it may not cost: the event loop's way to the store, and media."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, insert, select, update
from starlette.testclient import TestClient

from vivant_study.server.media import MediaResponse, parse_range
from vivant_study.store import StoreUnavailableError, open_store
from vivant_study.store.statements import Statement
from vivant_study.store.study_settings import get_setting, set_setting
from vivant_study.store.tables import assignments, judgements, participants

PATIENCE = 600
"""Seconds after which something hangs."""


def test_answers_are_flushed_and_notes_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is acknowledged is in the files as they were at a flush; a note waits for the next."""
    flushed = tmp_path / "flushed"

    def record(file: int) -> None:
        shutil.rmtree(flushed, ignore_errors=True)
        shutil.copytree(folder, flushed)
        os.fsync(file)

    def read_flushed() -> str | None:
        if not flushed.exists():
            return None
        with open_store(flushed) as copy, copy.database.read() as connection:
            return get_setting(connection, "n")

    async def write() -> list[str | None]:
        seen = []
        for number, note in enumerate((True, False, True, False)):
            job = partial(set_setting, name="n", value=str(number))
            await store.database.write_async(job, note=note)
            seen.append(read_flushed())
        return seen

    folder = tmp_path / "study"
    folder.mkdir()
    with open_store(folder) as store:
        monkeypatch.setattr("vivant_study.store.journal._flush_file", record)
        assert asyncio.run(write()) == [None, "1", "1", "3"]
        store.database.write(lambda connection: set_setting(connection, "n", "4"))
        assert read_flushed() == "4"


def test_a_flush_that_fails_is_no_acknowledgement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with open_store(tmp_path) as store:
        job = partial(set_setting, name="n", value="1")
        with monkeypatch.context() as patched:
            patched.setattr("vivant_study.store.journal._flush_file", fail)
            with pytest.raises(StoreUnavailableError, match="make room on the disk"):
                asyncio.run(store.database.write_async(job))
            with pytest.raises(StoreUnavailableError, match="make room on the disk"):
                store.database.write(job)
        asyncio.run(store.database.write_async(job))


def test_flushes_are_shared_and_the_journal_stays_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushes = []

    def record(file: int) -> None:
        flushes.append(file)
        time.sleep(0.02)

    async def write() -> None:
        await asyncio.gather(
            *(
                store.database.write_async(partial(set_setting, name=f"n{n % 7}", value="x" * 3000))
                for n in range(100)
            )
        )

    monkeypatch.setattr("vivant_study.store.journal._flush_file", record)
    monkeypatch.setattr("vivant_study.store.database._JOURNAL_WRITES", 50)
    with open_store(tmp_path) as store:
        flushes.clear()
        asyncio.run(write())
        assert len(flushes) < 50
        for _ in range(9):
            asyncio.run(write())
        # Three megabytes were written.
        assert (tmp_path / "study.db-wal").stat().st_size < 1_500_000


NOTER = """
import asyncio, os, sys
from vivant_study.store import open_store
from vivant_study.store.study_settings import set_setting
store = open_store(sys.argv[1])
asyncio.run(store.database.write_async(lambda connection: set_setting(connection, "noted", "yes"), note=True))
os.kill(os.getpid(), 9)
"""


def test_a_note_outlives_the_process(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", NOTER, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    with open_store(tmp_path) as store, store.database.read() as connection:
        assert get_setting(connection, "noted") == "yes"


def test_the_loop_reads_what_it_wrote(tmp_path: Path, url: str | None) -> None:
    async def turns() -> list[str | None]:
        result = []
        for number in range(3):
            await store.database.write_async(
                partial(set_setting, name="n", value=str(number)), note=number == 1
            )
            result.append(await store.database.read_async(lambda c: get_setting(c, "n")))
        with pytest.raises(ZeroDivisionError):
            await store.database.write_async(lambda c: (set_setting(c, "n", "half"), 1 // 0))
        result.append(await store.database.read_async(lambda c: get_setting(c, "n")))
        return result

    with open_store(tmp_path, url) as store:
        assert asyncio.run(turns()) == ["0", "1", "2", "2"]


def test_whoever_leaves_does_not_stop_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushing, go_on = threading.Event(), threading.Event()

    def slow(_: int) -> None:
        flushing.set()
        assert go_on.wait(PATIENCE)

    async def leave() -> None:
        job = partial(set_setting, name="slow", value="done")
        task = asyncio.create_task(store.database.write_async(job))
        assert await asyncio.to_thread(flushing.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with open_store(tmp_path) as store:
        monkeypatch.setattr("vivant_study.store.journal._flush_file", slow)
        asyncio.run(leave())
        # The loop has ended before the flush has.
        go_on.set()
        assert store.database.write(lambda connection: get_setting(connection, "slow")) == "done"


@pytest.mark.parametrize("wait", [PATIENCE, 0.1])
def test_a_lock_does_not_stop_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait: float) -> None:
    """A reader waits in a thread, until the lock is gone or for as long as it may."""
    monkeypatch.setattr("vivant_study.store.database._WAIT", wait)

    async def meanwhile() -> str | None:
        reading = asyncio.create_task(
            store.database.read_async(lambda connection: get_setting(connection, "n"))
        )
        if wait == PATIENCE:
            for _ in range(5):
                await asyncio.sleep(0.01)
                assert not reading.done()
            other.close()
        return await reading

    with open_store(tmp_path) as store:
        # Another program can take the file for itself only while nobody else has it open.
        store.close()
        other = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        if wait == PATIENCE:
            assert asyncio.run(meanwhile()) is None
        else:
            with pytest.raises(StoreUnavailableError, match="locked"):
                asyncio.run(meanwhile())
            other.close()


def test_a_prepared_statement_does_what_sqlalchemy_does(tmp_path: Path, url: str | None) -> None:
    """JSON, truth values, nothing at all, and values that stand in the statement."""
    person = {"id": 1, "annotator": "x", "state": "invited", "answers": {"ä": [1]}, "created": 1.5, "seen": 2}
    give = Statement(
        insert(assignments).values(
            id=7, participant=bindparam("who"), item="i", slot=bindparam("which"), position=0,
            shown=bindparam("order"), is_check=False, holds=bindparam("held"),
        )
    )  # fmt: skip
    hold = Statement(
        update(assignments)
        .where(assignments.c.participant == bindparam("who"))
        .values(holds=bindparam("held"))
    )
    text = Statement(
        insert(judgements).values(
            assignment=7, page=bindparam("what"), answer=bindparam("said"), shown=bindparam("order")
        )
    )
    selects = (
        select(participants.c.answers, participants.c.seen, participants.c.token),
        select(assignments.c.shown, assignments.c.holds, assignments.c.is_check, assignments.c.slot),
        select(judgements.c.page, judgements.c.answer, judgements.c.revised).order_by(judgements.c.page),
    )

    def job(connection: Connection) -> list[list[tuple[Any, ...]]]:
        connection.execute(insert(participants), person)
        give.change(connection, who=1, which=None, order=(2, 0, 1), held=False)
        assert [hold.change(connection, who=who, held=True) for who in (1, 2)] == [1, 0]
        for page, answer in (("a", None), ("b", {"help": 3}), ("c", "字"), ("d", 0)):
            text.change(connection, what=page, said=answer, order=())
        for query in selects:
            result = [tuple(row) for row in Statement(query).rows(connection)]
            assert result == [tuple(row) for row in connection.execute(query)]
        return [[tuple(row) for row in Statement(query).rows(connection)] for query in selects]

    with open_store(tmp_path, url) as store:
        people, places, given = store.database.write(job)
    assert people == [({"ä": [1]}, 2, None)]
    assert places == [([2, 0, 1], True, False, None)] and places[0][1] is True
    assert given == [("a", None, 0), ("b", {"help": 3}, 0), ("c", "字", 0), ("d", 0, 0)]


@pytest.mark.parametrize(
    ("wanted", "span"),
    [
        ("", None),
        ("bytes=0-", range(100)),
        ("bytes=0-99", range(100)),
        ("bytes=10-19", range(10, 20)),
        ("bytes=90-500", range(90, 100)),
        ("bytes=-30", range(70, 100)),
        ("bytes=-300", range(100)),
        ("bytes=100-", range(0)),
        ("bytes=-0", range(0)),
        ("bytes=20-10", None),
        ("bytes=-", None),
        ("bytes=0-1,5-6", None),
        ("lines=0-1", None),
    ],
)
def test_ranges(wanted: str, span: range | None) -> None:
    assert parse_range(wanted, 100) == span
    assert parse_range("bytes=0-", 0) == range(0)


def test_a_file_of_several_pieces(tmp_path: Path) -> None:
    whole = bytes(range(256)) * 3000
    (tmp_path / "x.mp4").write_bytes(whole)
    client = TestClient(MediaResponse(lambda: (tmp_path / "x.mp4", "video/mp4"), "opaque"))
    answer = client.get("/")
    assert (answer.status_code, answer.content) == (200, whole)
    assert answer.headers["content-type"] == "video/mp4" and answer.headers["accept-ranges"] == "bytes"
    some = client.get("/", headers={"range": "bytes=5-600004", "if-range": '"opaque"'})
    assert (some.status_code, some.content) == (206, whole[5:600005])
    assert some.headers["content-range"] == f"bytes 5-600004/{len(whole)}"
    every = client.get("/", headers={"range": "bytes=0-"})
    assert (every.status_code, every.content) == (206, whole), "Safari plays nothing else"
    assert client.get("/", headers={"range": "bytes=5-9", "if-range": '"other"'}).content == whole
    bare = client.head("/")
    assert (bare.content, bare.headers["content-length"]) == (b"", str(len(whole)))
    outside = client.get("/", headers={"range": f"bytes={len(whole)}-"})
    assert (outside.status_code, outside.content) == (416, b"")
    assert outside.headers["content-range"] == f"bytes */{len(whole)}"


def test_threads_share_flushes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits in threads, because the connection was in use, does not flush one by one."""
    flushing, go_on = threading.Event(), threading.Event()
    flushes = []

    def record(file: int) -> None:
        flushes.append(file)
        flushing.set()
        assert go_on.wait(PATIENCE)

    with open_store(tmp_path) as store, ThreadPoolExecutor(11) as pool:
        journal = store.database._journal
        monkeypatch.setattr("vivant_study.store.journal._flush_file", record)
        first = pool.submit(journal.flush)
        assert flushing.wait(PATIENCE)
        others = [pool.submit(journal.flush) for _ in range(10)]
        while journal._waiters.qsize() < 10:
            time.sleep(0.01)
        assert not any(one.done() for one in (first, *others))
        go_on.set()
        for one in (first, *others):
            one.result(PATIENCE)
        assert len(flushes) == 2


def test_a_write_that_comes_too_late_is_refused(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.database.write(lambda connection: set_setting(connection, "n", "1"))
        journal = store.database._journal
    with pytest.raises(sqlite3.OperationalError, match="closed"):
        journal.flush()
    with pytest.raises(StoreUnavailableError, match="closed"):
        store.database.write(lambda connection: set_setting(connection, "n", "2"))
