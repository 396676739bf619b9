"""What keeps the server quick under load, and what it may not cost: the event loop's way to the store, and media."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, insert, select, update
from starlette.testclient import TestClient

from tests.support.study_web import fresh_postgres
from vivant.study.server.media import MediaResponse, parse_range
from vivant.study.store import StoreUnavailableError, open_store
from vivant.study.store.statements import Statement, driver_connection
from vivant.study.store.store import get_setting, set_setting
from vivant.study.store.tables import assignments, judgements, participants

DATABASES = pytest.mark.parametrize("url", [lambda: None, fresh_postgres], ids=["sqlite", "postgresql"])
Url = Callable[[], str | None]


def synchronous(connection: Connection) -> int:
    """SQLite's word for whether a commit is flushed: 2, or 1 for not."""
    return int(driver_connection(connection).execute("PRAGMA synchronous").fetchone()[0])


def test_answers_are_flushed_and_notes_are_not(tmp_path: Path) -> None:
    async def both() -> list[int]:
        do = store.database.write_async
        jobs = [do(synchronous, note=True), do(synchronous), do(synchronous, note=True), do(synchronous)]
        return list(await asyncio.gather(*jobs))

    with open_store(tmp_path) as store:
        assert asyncio.run(both()) == [1, 2, 1, 2]
        assert store.database.write(synchronous) == 2


NOTER = """
import asyncio, os, sys
from vivant.study.store import open_store
from vivant.study.store.store import set_setting
store = open_store(sys.argv[1])
asyncio.run(store.database.write_async(lambda connection: set_setting(connection, "noted", "yes"), note=True))
os.kill(os.getpid(), 9)
"""


def test_a_note_outlives_the_process(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", NOTER, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    with open_store(tmp_path) as store, store.database.read() as connection:
        assert get_setting(connection, "noted") == "yes"


@DATABASES
def test_the_loop_reads_what_it_wrote(tmp_path: Path, url: Url) -> None:
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

    with open_store(tmp_path, url()) as store:
        assert asyncio.run(turns()) == ["0", "1", "2", "2"]


def test_whoever_leaves_does_not_stop_the_writer(tmp_path: Path) -> None:
    def slow(connection: Connection) -> str:
        time.sleep(0.2)
        return set_setting(connection, "slow", "done")

    async def leave() -> None:
        task = asyncio.create_task(store.database.write_async(slow))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with open_store(tmp_path) as store:
        # The loop has ended before the job has.
        asyncio.run(leave())
        assert store.database.write(lambda connection: get_setting(connection, "slow")) == "done"


def test_a_lock_does_not_stop_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vivant.study.store.database._WAIT", 0.5)

    async def meanwhile() -> int:
        turns = 0
        reading = asyncio.create_task(
            store.database.read_async(lambda connection: get_setting(connection, "n"))
        )
        while not reading.done():
            await asyncio.sleep(0.01)
            turns += 1
        with pytest.raises(StoreUnavailableError, match="locked"):
            reading.result()
        return turns

    with open_store(tmp_path) as store:
        # Another program can take the file for itself only while nobody else has it open.
        store.close()
        other = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        assert asyncio.run(meanwhile()) > 5
        other.close()
        assert asyncio.run(store.database.read_async(lambda connection: get_setting(connection, "n"))) is None


@DATABASES
def test_a_prepared_statement_does_what_sqlalchemy_does(tmp_path: Path, url: Url) -> None:
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

    with open_store(tmp_path, url()) as store:
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
