"""A study's store: versions, streams, imports, and what happens when the database fails."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection, select, text

from tests.support.study_kit import tiny_study
from tests.support.study_web import (
    Walker,
    build_app,
    invite_walker,
    open_served_store,
    recorded_warnings,
)
from vivant.cli.main import main
from vivant.core.errors import DataError, UsageError, VivantError
from vivant_study.design import StudyItem
from vivant_study.judgement import StudyJudgement, StudyPerson
from vivant_study.key import load_fitting_key
from vivant_study.loading import load_study
from vivant_study.results import load_results
from vivant_study.store import StoreError, open_store, schema
from vivant_study.store.database import Database, database_url
from vivant_study.store.met_items import note_items
from vivant_study.store.people import invite
from vivant_study.store.study_settings import get_setting, set_setting
from vivant_study.store.tables import metadata
from vivant_study.writing import write_study


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest) -> str | None:
    """A database without tables."""
    if request.param == "sqlite":
        return None
    new: str = request.getfixturevalue("fresh_postgres")(tables=False)
    return new


def old(folder: Path, url: str | None = None, version: str = "0001") -> None:
    """A database as an earlier version left it."""
    folder.mkdir(parents=True, exist_ok=True)
    database = Database(database_url(folder, url))
    schema.upgrade(database, version)
    database.close()


# ── versions ──


def test_an_older_database_is_named_and_upgraded(
    tmp_path: Path, empty: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = tiny_study(tmp_path / "study", watch_whole=False)
    old(loaded.path, empty)
    with pytest.raises(StoreError, match=r"version 0001, this Vivant needs 0006.*vivant study upgrade"):
        open_store(loaded.path, empty)
    given = ["--database", empty] if empty else []
    monkeypatch.setattr(sys, "argv", ["vivant", "study", "link", str(loaded.path), *given])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    text = capsys.readouterr().err
    assert text.count("\n") == 1 and "vivant study upgrade" in text
    monkeypatch.setattr(sys, "argv", ["vivant", "study", "upgrade", str(loaded.path), *given])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "version 0001 is now 0006" in capsys.readouterr().err
    with open_served_store(loaded, empty) as store:
        invite_walker(build_app(loaded, store), store).walk()
        assert len(list(store.judgements())) == 3


def test_databases_that_are_not_ours(tmp_path: Path) -> None:
    old(tmp_path)
    with sqlite3.connect(tmp_path / "study.db") as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.close()
    with pytest.raises(StoreError, match="newer Vivant"):
        open_store(tmp_path)
    with sqlite3.connect(tmp_path / "other.db") as raw:
        raw.execute("CREATE TABLE recipes (name TEXT)")
    raw.close()
    with pytest.raises(StoreError, match="other tables"):
        open_store(tmp_path, f"sqlite:///{tmp_path}/other.db")
    (tmp_path / "text.db").write_text("this is no database " * 100)
    with pytest.raises(StoreError, match=r"text\.db"):
        open_store(tmp_path, f"sqlite:///{tmp_path}/text.db")
    for bad in ("mysql://host/name", "nonsense"):
        with pytest.raises(UsageError):
            open_store(tmp_path, bad)
    with pytest.raises(StoreError, match="no answers yet"):
        open_store(tmp_path / "elsewhere", create=False)
    assert not (tmp_path / "elsewhere").exists()


def test_migrations_make_the_tables_that_the_program_uses(tmp_path: Path, empty: str | None) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    with open_store(tmp_path, empty) as store, store.database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


# ── what goes in comes out ──


def test_imported_people_and_judgements(tmp_path: Path, url: str | None) -> None:
    people = [
        StudyPerson(
            annotator="ann", state="finished", answers={"age": 1}, created="2024-05-01T10:00:00.000+00:00"
        ),
        StudyPerson(
            annotator="bob", state="finished", excluded="asleep", created="2024-05-01T11:00:00.000+00:00"
        ),
    ]
    given = [
        StudyJudgement(
            annotator=who, item=f"i{n}", page=page, answer=answer, shown=(1, 0), position=n,
            given="2024-05-01T10:00:00.500+00:00", seconds=1.5,
        )
        for who in ("ann", "bob")
        for n in range(3)
        for page, answer in (("free", "digging \N{SNOWMAN}"), ("choose", n))
    ]  # fmt: skip
    with open_store(tmp_path, url) as store:
        assert store.add_imported(people, given) == (2, 12)
        assert list(store.people()) == people
        assert list(store.judgements()) == given
        assert list(store.judgements("bob")) == given[6:]
        assert [(line.finished, line.held) for line in store.progress().items] == [(1, 0)] * 3
        with pytest.raises(DataError, match="ann"):
            store.add_imported(people[:1], [])
        stranger = [StudyJudgement(annotator="eve", item="i", page="choose")]
        with pytest.raises(DataError, match="eve"):
            store.add_imported([], stranger)
        twice = [StudyJudgement(annotator="cy", item="i", page="choose")] * 2
        with pytest.raises(DataError, match="twice"):
            store.add_imported([StudyPerson(annotator="cy", state="finished")], twice)
        assert len(list(store.people())) == 2, "what failed left nothing"
        assert [event.kind for event in store.events()] == ["imported"]


# ── one writer, many writes ──


def test_one_failing_write_does_not_hurt_the_others(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        store.database.write(lambda c: set_setting(c, "n", "0"))
        failures: list[str] = []

        def add(number: int) -> None:
            def job(connection: Connection) -> None:
                before = int(get_setting(connection, "n") or 0)
                set_setting(connection, "n", str(before + 1))
                if number % 5 == 0:
                    raise ValueError(number)

            try:
                store.database.write(job)
            except ValueError as error:
                failures.append(str(error))

        threads = [threading.Thread(target=add, args=(number,)) for number in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with store.database.read() as connection:
            assert get_setting(connection, "n") == "80"
            assert connection.scalar(text("PRAGMA synchronous")) == 2
            assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert len(failures) == 20


# ── trouble ──


def walk_through_trouble(walker: Walker, warnings: list[str], word: str, fields: dict[str, str]) -> None:
    """While the database fails: a clear page, a clear line, nothing lost or half done."""
    page = walker.page
    with pytest.MonkeyPatch.context() as patch:
        # Both requests fall into the time in which a line is not repeated, however slow they are.
        patch.setattr("vivant_study.server.context._QUIET", 1e6)
        saved = walker.script("/study/save", fields=fields)
        answer = walker.send("/study/answer", {"page": page, **fields})
    assert saved.status_code == 503
    assert saved.json() == {"saved": False, "why": "trouble"}
    assert answer.status_code == 503
    assert "cannot save at this moment" in answer.text
    assert answer.headers["retry-after"] == "10"
    assert len(warnings) == 1, "the same line is not repeated"
    assert word in warnings[0] and "\n" not in warnings[0]


def test_a_full_disk(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "study", "free-then-mcq", watch_whole=False, free_text_limit=100_000)
    with open_served_store(loaded) as store, recorded_warnings() as warnings:
        walker = invite_walker(build_app(loaded, store), store)
        walker.next()
        walker.next()

        def limit(connection: Connection, more: int) -> None:
            pages = connection.scalar(text("PRAGMA page_count"))
            connection.execute(text(f"PRAGMA max_page_count = {pages + more}"))

        store.database.write(lambda connection: limit(connection, 0))
        walk_through_trouble(walker, warnings, "full; make room on the disk", {"text": "x" * 60_000})
        store.database.write(lambda connection: limit(connection, 1000))
        walker.get("/study")
        assert walker.walk() == 4
        assert [j.page for j in store.judgements()] == ["free", "choose"] * 3


def test_a_locked_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vivant_study.store.database._WAIT", 0.2)
    loaded = tiny_study(tmp_path / "study", watch_whole=False)
    with open_served_store(loaded) as store, recorded_warnings() as warnings:
        walker = invite_walker(build_app(loaded, store), store)
        other = sqlite3.connect(loaded.path / "study.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        walk_through_trouble(walker, warnings, "locked", {"choice": "2"})
        other.execute("ROLLBACK")
        other.close()
        walker.get("/study")
        assert walker.walk() == 3
        assert len(list(store.judgements())) == 3


def test_a_postgres_that_goes_and_comes_back(tmp_path: Path, fresh_postgres: Callable[..., str]) -> None:
    import psycopg

    loaded = tiny_study(tmp_path / "study", watch_whole=False)
    url = fresh_postgres()
    name = database_url(tmp_path, url).database
    chief_connection = psycopg.connect(fresh_postgres(), autocommit=True)
    with open_served_store(loaded, url) as store, chief_connection as chief, recorded_warnings() as warnings:
        walker = invite_walker(build_app(loaded, store), store)
        chief.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        chief.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        walk_through_trouble(walker, warnings, "see that the server runs", {"choice": "2"})
        chief.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        walker.get("/study")
        assert walker.walk() == 3
        assert len(list(store.judgements())) == 3


def test_a_database_whose_items_are_gone(tmp_path: Path) -> None:
    from vivant_study.server.serve import check_known_items

    loaded = tiny_study(tmp_path / "study", watch_whole=False)
    with open_served_store(loaded) as store:
        app = build_app(loaded, store)
        for _ in range(2):  # three items each, so that every item was given to somebody
            invite_walker(app, store).walk()
        other = tiny_study(tmp_path / "other", count=3)
        shutil.copy(other.path / "items.jsonl", loaded.path / "items.jsonl")
        check_known_items(loaded, store)
        with pytest.raises(UsageError, match=r"which .* lacks"):
            check_known_items(load_study(loaded.path), store)


@pytest.mark.parametrize("change", ["order", "fewer", "words", "unmet"])
def test_items_that_were_changed_after_people_answered_them(tmp_path: Path, change: str) -> None:
    """An answer is an option's index: in another order it would be another answer."""
    loaded = tiny_study(tmp_path / "study", watch_whole=False, count=4, items_per_participant=3)
    with open_served_store(loaded) as store:
        note_items(store, loaded)
        invite_walker(build_app(loaded, store), store).walk()
        met = store.list_assigned_items()

        def alter(item: StudyItem) -> StudyItem:
            if (item.id in met) == (change == "unmet"):
                return item
            options = {
                "fewer": item.options[:-1],
                "words": (item.options[0] + "!", *item.options[1:]),
            }.get(change, (*item.options[1:], item.options[0]))
            return msgspec.structs.replace(item, options=options)

        key = list(load_fitting_key(loaded).values())
        write_study(loaded.path, loaded.study, list(map(alter, loaded.items)), key, loaded.texts)
        changed = load_study(loaded.path)
        if change in ("words", "unmet"):
            note_items(store, changed)
            assert load_results(loaded.path).people
            return
        with pytest.raises(UsageError, match=r"items\.jsonl: the options of .* put them back"):
            note_items(store, changed)
        with pytest.raises(VivantError, match=r"put them back|is no place among its 3 options"):
            load_results(loaded.path)


# ── kill -9 ──

WRITER = """
import sys, threading
from vivant_study.store import open_store
from vivant_study.store.people import invite
store = open_store(sys.argv[1], sys.argv[2] or None)
lock = threading.Lock()
def work():
    while True:
        token = invite(store, 1)[0]
        with lock:
            sys.stdout.write(token + "\\n")
            sys.stdout.flush()
for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
threading.Event().wait()
"""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path, url: str | None) -> None:
    open_store(tmp_path, url).close()
    from vivant_study.store.people import find_by_token

    for _ in range(2):
        command = [sys.executable, "-c", WRITER, str(tmp_path), url or ""]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(60)]
        process.send_signal(signal.SIGKILL)
        lines += [line.strip() for line in process.stdout if line.endswith("\n")]
        process.stdout.close()
        process.wait()
        with open_store(tmp_path, url) as store, store.database.read() as connection:
            assert all(find_by_token(connection, store.secret, token) is not None for token in lines)
            assert connection.execute(select(metadata.tables["participants"].c.id)).all()


def test_the_database_is_for_its_owner_alone(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        invite(store, 1)
        assert {file.stat().st_mode & 0o777 for file in tmp_path.glob("study.db*")} == {0o600}
    with pytest.raises(StoreError, match="Cannot make the database"):
        open_store(tmp_path / "nowhere")


def test_invitations_are_streams_of_tokens(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        tokens = invite(store, 2000)
        assert len(set(tokens)) == 2000
        assert sum(1 for _ in store.people()) == 2000
        assert invite(store, 0) == []


def test_a_clock_that_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Times go on from the latest entry, within a process and after a restart."""
    loaded = tiny_study(tmp_path / "s")
    wall = [2_000_000_000.0]
    monkeypatch.setattr("vivant_study.store.store.time.time", lambda: wall[0])
    with open_store(loaded.path) as store:
        first = store.clock()
        assert first >= wall[0]
        invite(store, 1)
        wall[0] -= 3600
        assert store.clock() >= first
    with caplog.at_level("WARNING", logger="vivant"), open_store(loaded.path) as store:
        assert store.clock() >= first
    assert "clock is 3600 seconds behind" in caplog.text
