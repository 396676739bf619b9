"""What a person may ask for: their data, and that it is gone from every file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.study_kit import tiny_study
from tests.support.study_web import (
    Clock,
    Walker,
    build_app,
    invite_walker,
    open_served_store,
    recorded_warnings,
)
from vivant.cli.main import app as cli
from vivant_study.loading import LoadedStudy
from vivant_study.server.tokens import Tokens
from vivant_study.store import StudyStore, database, open_store, removal
from vivant_study.store import store as store_module
from vivant_study.store.database import StoreUnavailableError
from vivant_study.store.people import invite
from vivant_study.store.removal import delete_expired, list_backups, make_backup

SECRET = "an answer that nobody else would give"
LONG = SECRET * 200
"""Fills pages of its own in the database."""


def write_text(walker: Walker, text: str = SECRET) -> None:
    """Save a text, change it, and go on."""
    walker.script("/study/save", fields={"text": text[: len(text) // 2]})
    walker.send("/study/answer", {"page": walker.page, "text": text})


def is_stored(folder: Path) -> list[str]:
    """Files that hold the text."""
    files = [path for path in folder.rglob("*") if path.is_file() and "media" not in path.parts]
    return [str(path.relative_to(folder)) for path in files if SECRET[:18].encode() in path.read_bytes()]


@pytest.fixture
def study(tmp_path: Path) -> LoadedStudy:
    return tiny_study(tmp_path / "study", "free-then-mcq", watch_whole=False, free_text_limit=100_000)


@pytest.mark.parametrize("text", [SECRET, LONG], ids=["short", "long"])
def test_withdrawing_leaves_no_byte(study: LoadedStudy, text: str) -> None:
    """Searched in the database, its journal and a backup, while the server goes on."""
    with open_served_store(study) as store:
        app = build_app(study, store)
        walker = invite_walker(app, store)
        write_text(walker, text)
        backup = make_backup(store, study.path / "backups" / "one.db")
        assert set(is_stored(study.path)) >= {"backups/one.db"}
        walker.post("/study/withdraw")
        assert "You have withdrawn" in walker.text
        assert is_stored(study.path) == []
        other = invite_walker(app, store)
        assert other.page, "the others go on"
    with open_store(study.path, f"sqlite:///{backup.path}") as copy:
        assert [person.state for person in copy.people()] == ["withdrawn"]


def test_the_organiser_hands_over_and_deletes(study: LoadedStudy, tmp_path: Path) -> None:
    with open_served_store(study) as store:
        walker = Walker(build_app(study, store))
        query = {"PROLIFIC_PID": "p-1", "STUDY_ID": "s", "SESSION_ID": "v"}
        walker.get(f"/start/{Tokens(store.secret).door()}", params=query)
        write_text(walker.agree())
        make_backup(store, tmp_path / "copy.db")
    out = tmp_path / "theirs.json"
    run = CliRunner()
    result = run.invoke(cli, ["study", "person", str(study.path), "p-1", "--export", str(out)])
    assert result.exit_code == 0, result.output
    handed = json.loads(out.read_text())
    assert handed["participant"]["answers"] == {"age": 1}
    assert [answer["answer"] for answer in handed["answers"]] == [SECRET]
    assert handed["pages"]
    out.unlink()
    result = run.invoke(cli, ["study", "person", str(study.path), "p-1", "--delete"])
    assert result.exit_code == 0, result.output
    assert is_stored(study.path) == is_stored(tmp_path) == []
    with open_store(study.path) as store:
        (person,) = store.people()
        assert (person.state, person.answers) == ("withdrawn", {})
        assert [event.kind for event in store.events()][-1] == "deleted"
    result = run.invoke(cli, ["study", "person", str(study.path), "p-1", "--export", str(out)])
    assert result.exit_code == 0, result.output
    rest = json.loads(out.read_text())
    (deleted,) = [event["at"] for event in rest["events"] if event["kind"] == "deleted"]
    person_line = rest["participant"]
    assert person_line["session"] is None
    assert person_line["created"] == person_line["seen"] == deleted > handed["participant"]["created"]
    assert not any(rest[name] for name in ("places", "pages", "videos", "answers"))
    with open_served_store(study) as store:
        walker = Walker(build_app(study, store))
        walker.get(f"/start/{Tokens(store.secret).door()}", params={**query, "SESSION_ID": "w"})
        assert "You have withdrawn" in walker.text, "the identifier opens nothing any more"


def test_nobody_of_that_name(study: LoadedStudy) -> None:
    with open_served_store(study):
        pass
    result = CliRunner().invoke(cli, ["study", "person", str(study.path), "nobody", "--delete"])
    assert result.exit_code != 0
    assert "Nobody in" in str(result.exception)


def test_a_person_is_found_by_link_and_by_the_name_in_exports(study: LoadedStudy) -> None:
    with open_served_store(study) as store:
        token = invite(store, 2)[0]
        name = next(store.people()).annotator
    for known_as in (f"http://x/join/{token}", token, name, name[:8]):
        result = CliRunner().invoke(cli, ["study", "person", str(study.path), known_as])
        assert result.exit_code == 0
        assert name in result.output


def test_retention(study: LoadedStudy) -> None:
    clock = Clock()
    with open_served_store(study, clock=clock) as store:
        app = build_app(study, store)
        token = invite(store, 1)[0]
        write_text(Walker(app).begin(token))
        make_backup(store, study.path / "one.db")
        clock.now += 20 * 86400
        recent = invite_walker(app, store)
        recent.next()
        assert delete_expired(store, 30) == []
        clock.now += 15 * 86400
        assert len(delete_expired(store, 30)) == 1
        assert is_stored(study.path) == []
        assert sorted(person.state for person in store.people()) == ["consented", "withdrawn"]
        stranger = Walker(app)
        assert stranger.get(f"/join/{token}").status_code == 404, "not even the hash of the link is left"
        assert delete_expired(store, 30) == []


def test_a_backup_that_cannot_be_changed_is_named(study: LoadedStudy) -> None:
    with open_served_store(study) as store:
        walker = invite_walker(build_app(study, store), store)
        write_text(walker)
        backup = Path(make_backup(store, study.path / "one.db").path)
        backup.write_bytes(b"no database any more")
        name = next(store.people()).annotator
    result = CliRunner().invoke(cli, ["study", "person", str(study.path), name, "--delete"])
    assert result.exit_code != 0
    assert "1 backups still hold this person" in str(result.exception)
    backup.unlink()
    with open_store(study.path) as store:
        assert list_backups(store) == []


def test_retention_names_a_backup_that_cannot_be_changed(study: LoadedStudy) -> None:
    clock = Clock()
    with open_served_store(study, clock=clock) as store, recorded_warnings() as lines:
        write_text(invite_walker(build_app(study, store), store))
        backup = Path(make_backup(store, study.path / "one.db").path)
        backup.write_bytes(b"no database any more")
        clock.now += 40 * 86400
        delete_expired(store, 30)
        assert any(f"still in the backup {backup}" in line for line in lines)
        assert any(event.kind == "backup" and str(backup) in event.detail for event in store.events())


def test_retention_deletes_links_in_backups_too(study: LoadedStudy) -> None:
    clock = Clock()
    with open_served_store(study, clock=clock) as store:
        write_text(invite_walker(build_app(study, store), store))
        backup = make_backup(store, study.path / "one.db")
        clock.now += 40 * 86400
        assert len(delete_expired(store, 30)) == 1
    with closing(sqlite3.connect(backup.path)) as copy:
        assert copy.execute("SELECT state, token FROM participants").fetchall() == [("withdrawn", None)]


def test_backups_are_cleaned_although_somebody_reads_the_database(
    study: LoadedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_WAIT", 1)
    with open_served_store(study) as store, recorded_warnings() as lines:
        walker = invite_walker(build_app(study, store), store)
        write_text(walker)
        backup = Path(make_backup(store, study.path / "one.db").path)
        with closing(sqlite3.connect(study.path / "study.db")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM participants").fetchall()
            walker.post("/study/withdraw")
        assert any("journal" in line for line in lines)
        assert SECRET.encode() not in backup.read_bytes()


def test_who_withdraws_while_a_backup_is_made_is_not_in_it(
    study: LoadedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_served_store(study) as store:
        walker = invite_walker(build_app(study, store), store)
        write_text(walker)
        format_time = store_module.format_time

        def withdraw_first(at: float | None) -> str:
            monkeypatch.undo()
            walker.post("/study/withdraw")
            return format_time(at)

        monkeypatch.setattr(removal, "format_time", withdraw_first)
        backup = Path(make_backup(store, study.path / "one.db").path)
        assert "You have withdrawn" in walker.text
        assert is_stored(study.path) == []
        assert list_backups(store)[0].path == str(backup)


def test_a_backup_that_fails_leaves_no_copy(study: LoadedStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_served_store(study) as store:
        write_text(invite_walker(build_app(study, store), store))

        def fail(_: object) -> None:
            raise StoreUnavailableError("The disk is full")

        monkeypatch.setattr(store.database, "write", fail)
        with pytest.raises(StoreUnavailableError):
            make_backup(store, study.path / "backups" / "one.db")
        assert list((study.path / "backups").iterdir()) == []


def test_postgres_rewrites_its_tables(study: LoadedStudy, fresh_postgres: Callable[..., str]) -> None:
    import psycopg

    url = fresh_postgres()
    with open_served_store(study, url) as store:
        walker = invite_walker(build_app(study, store), store)
        write_text(walker)
        with psycopg.connect(url) as connection:
            query = "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('judgements')"
            before = Path(connection.execute(query).fetchone()[0])  # type: ignore[index]
        walker.post("/study/withdraw")
        assert "You have withdrawn" in walker.text
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            after = Path(connection.execute(query).fetchone()[0])  # type: ignore[index]
        assert after != before
        assert SECRET.encode() not in after.read_bytes()


def test_a_backup_is_whole_while_people_answer(study: LoadedStudy) -> None:
    with open_served_store(study) as store:
        app = build_app(study, store)
        first = invite_walker(app, store)
        write_text(first)
        backup = make_backup(store, study.path / "one.db")
        write_text(invite_walker(app, store), "later")
    copy: StudyStore
    with open_store(study.path, f"sqlite:///{backup.path}") as copy:
        assert [judgement.answer for judgement in copy.judgements()] == [SECRET]
