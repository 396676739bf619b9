"""Participants up to the items: a link, consent, questions, instructions; and out again."""

from __future__ import annotations

import hmac
import secrets
from functools import cache
from hashlib import sha256
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Row, bindparam, delete, insert, or_, select, update

from vivant.study.store.database import Job
from vivant.study.store.statements import Statement
from vivant.study.store.store import StudyStore, lock_study, log_event
from vivant.study.store.tables import assignments, participants

SIGN_OF_LIFE = 20.0
"""Seconds between two notes that somebody is still there."""
_PARTICIPANT = Statement(
    select(*(participants.c[name] for name in ("id", "state", "step", "language", "seen"))).where(
        participants.c.id == bindparam("participant_id")
    )
)
_LINKED = Statement(select(participants.c.id).where(participants.c.token == bindparam("link_digest")))
_CONSENT = Statement(
    update(participants)
    .where(participants.c.id == bindparam("participant_id"), participants.c.state == "invited")
    .values(state="consented", step="about", consented=bindparam("now"), seen=bindparam("now"))
)
_ALIVE = Statement(
    update(participants).where(participants.c.id == bindparam("participant_id")).values(seen=bindparam("now"))
)


class Participant(Struct, frozen=True):
    """What every request must know of its participant."""

    id: int
    state: str
    step: str
    language: str
    seen: float


def digest(secret: bytes, *names: str) -> str:
    """A hash of names with the study's secret: nobody without it can make or undo one."""
    return hmac.new(secret, "\x1f".join(names).encode(), sha256).hexdigest()


def annotator_name(secret: bytes, purpose: str, value: str) -> str:
    """How exports name a person."""
    return digest(secret, "annotator", purpose, value)[:16]


def recruited_name(secret: bytes, platform_id: str) -> str:
    """How exports name the recruiting platform's identifier."""
    return digest(secret, "recruited", platform_id)[:32]


def invite(store: StudyStore, count: int) -> list[str]:
    """Tokens for that many personal links. They are told here once: the store keeps only their hashes."""
    now = store.clock()
    tokens = [secrets.token_urlsafe(32) for _ in range(count)]
    rows = [
        _new_row(annotator_name(store.secret, "link", token), now, token=digest(store.secret, "link", token))
        for token in tokens
    ]
    if rows:
        store.database.write(lambda connection: connection.execute(insert(participants), rows))
    return tokens


def find_by_token(connection: Connection, secret: bytes, token: str) -> int | None:
    """Whose personal link that is."""
    row = _LINKED.first(connection, link_digest=digest(secret, "link", token))
    return None if row is None else int(row[0])


class OtherSessionError(Exception):
    """The platform's participant is known, but began in another session of the platform."""


def find_by_platform(store: StudyStore, platform_id: str, study: str, session: str) -> int | None:
    """Who came from a platform with these identifiers. Raises where the participant fits but the session does not."""
    with store.database.read() as connection:
        row = connection.execute(
            select(participants.c.id, participants.c.session).where(
                participants.c.recruited == recruited_name(store.secret, platform_id)
            )
        ).one_or_none()
    if row is None:
        return None
    if not hmac.compare_digest(row.session or "", digest(store.secret, "session", study, session)):
        raise OtherSessionError
    return int(row.id)


def add_participant(store: StudyStore, platform_id: str = "", study: str = "", session: str = "") -> int:
    """A new participant, with the platform's identifiers or without any. The same identifiers at once make one."""
    now = store.clock()
    name = platform_id or secrets.token_urlsafe(32)
    row = _new_row(
        annotator_name(store.secret, "platform" if platform_id else "open", name),
        now,
        recruited=recruited_name(store.secret, platform_id) if platform_id else None,
        session=digest(store.secret, "session", study, session) if platform_id else None,
    )

    def job(connection: Connection) -> int:
        lock_study(connection)
        query = select(participants.c.id).where(participants.c.annotator == row["annotator"])
        number = connection.scalar(query)
        if number is None:
            number = connection.execute(
                insert(participants).values(row).returning(participants.c.id)
            ).scalar_one()
        return int(number)

    number = store.database.write(job)
    return find_by_platform(store, platform_id, study, session) or number if platform_id else number


def find_participant(store: StudyStore, name: str) -> Row[Any] | None:
    """The participant whom a platform's identifier or a personal link's token stands for."""
    condition = or_(
        participants.c.recruited == recruited_name(store.secret, name),
        participants.c.token == digest(store.secret, "link", name),
    )
    with store.database.read() as connection:
        return connection.execute(select(participants).where(condition)).one_or_none()


def _new_row(annotator: str, now: float, **columns: Any) -> dict[str, Any]:
    return {
        "annotator": annotator,
        "token": None,
        "recruited": None,
        "session": None,
        "state": "invited",
        "answers": {},
        "created": now,
        "seen": now,
        **columns,
    }


def load_row(connection: Connection, participant: int) -> Row[Any] | None:
    """A participant's line."""
    return connection.execute(select(participants).where(participants.c.id == participant)).one_or_none()


def update_participant(store: StudyStore, participant: int, **values: Any) -> Job[None]:
    """Write some of a participant's columns, with a sign of life."""
    values["seen"] = store.clock()
    statement = _update_statement(tuple(sorted(values)))

    def job(connection: Connection) -> None:
        statement.change(
            connection, participant_id=participant, **{f"new_{name}": value for name, value in values.items()}
        )

    return job


@cache
def _update_statement(names: tuple[str, ...]) -> Statement:
    conditions = (participants.c.id == bindparam("participant_id"), participants.c.state != "withdrawn")
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return Statement(update(participants).where(*conditions).values(values))


def load_participant(connection: Connection, participant: int) -> Participant | None:
    """A participant by number; None for nobody."""
    row = _PARTICIPANT.first(connection, participant_id=participant)
    return None if row is None else Participant(*row)


def record_consent(connection: Connection, participant: int, now: float) -> None:
    """Note the consent, once."""
    _CONSENT.change(connection, participant_id=participant, now=now)


def withdraw(store: StudyStore, participant: int) -> Job[None]:
    """Remove all that a person gave. Their link stays known, so that it opens nothing any more."""

    def job(connection: Connection) -> None:
        lock_study(connection)
        row = load_row(connection, participant)
        if row is None or row.state == "withdrawn":
            return
        connection.execute(delete(assignments).where(assignments.c.participant == participant))
        connection.execute(
            update(participants)
            .where(participants.c.id == participant)
            .values(state="withdrawn", step="", answers={}, consented=None, finished=None, language="")
        )
        log_event(connection, store.clock(), "withdrawn", row.annotator)

    return job


def keep_alive(connection: Connection, participant: int, now: float) -> None:
    """A sign of life within a transaction."""
    _ALIVE.change(connection, participant_id=participant, now=now)
