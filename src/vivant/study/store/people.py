"""The participant's way through a study up to the items: a link, consent, questions, instructions; and out again."""

from __future__ import annotations

import hmac
import secrets
from functools import cache
from hashlib import sha256
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Row, bindparam, delete, insert, or_, select, update

from vivant.study.store.database import Job
from vivant.study.store.statements import Prepared
from vivant.study.store.store import Store, lock_study, note
from vivant.study.store.tables import assignments, participants

SIGN_OF_LIFE = 20.0
"""Seconds between two notes that somebody is still there."""
_WHO = Prepared(
    select(*(participants.c[name] for name in ("id", "state", "step", "language", "seen"))).where(
        participants.c.id == bindparam("who")
    )
)
_LINKED = Prepared(select(participants.c.id).where(participants.c.token == bindparam("link")))
_CONSENT = Prepared(
    update(participants)
    .where(participants.c.id == bindparam("who"), participants.c.state == "invited")
    .values(state="consented", step="about", consented=bindparam("now"), seen=bindparam("now"))
)
_ALIVE = Prepared(
    update(participants).where(participants.c.id == bindparam("who")).values(seen=bindparam("now"))
)


class Who(Struct, frozen=True):
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


def invite(store: Store, count: int) -> list[str]:
    """Tokens for that many personal links. They are told here once: the store keeps only their hashes."""
    now = store.clock()
    tokens = [secrets.token_urlsafe(32) for _ in range(count)]
    lines = [
        _line(annotator_name(store.secret, "link", token), now, token=digest(store.secret, "link", token))
        for token in tokens
    ]
    if lines:
        store.database.write(lambda connection: connection.execute(insert(participants), lines))
    return tokens


def of_token(connection: Connection, secret: bytes, token: str) -> int | None:
    """Whose personal link that is."""
    found = _LINKED.first(connection, link=digest(secret, "link", token))
    return None if found is None else int(found[0])


class OtherSessionError(Exception):
    """The platform's participant is known, but began in another session of the platform."""


def of_platform(store: Store, platform_id: str, study: str, session: str) -> int | None:
    """Who came from a platform with these identifiers. Raises where the participant fits but the session does not."""
    with store.database.read() as connection:
        found = connection.execute(
            select(participants.c.id, participants.c.session).where(
                participants.c.recruited == recruited_name(store.secret, platform_id)
            )
        ).one_or_none()
    if found is None:
        return None
    if not hmac.compare_digest(found.session or "", digest(store.secret, "session", study, session)):
        raise OtherSessionError
    return int(found.id)


def arrive(store: Store, platform_id: str = "", study: str = "", session: str = "") -> int:
    """A new participant, with the platform's identifiers or without any. The same identifiers at once make one."""
    now = store.clock()
    name = platform_id or secrets.token_urlsafe(32)
    line = _line(
        annotator_name(store.secret, "platform" if platform_id else "open", name),
        now,
        recruited=recruited_name(store.secret, platform_id) if platform_id else None,
        session=digest(store.secret, "session", study, session) if platform_id else None,
    )

    def job(connection: Connection) -> int:
        lock_study(connection)
        known = select(participants.c.id).where(participants.c.annotator == line["annotator"])
        found = connection.scalar(known)
        if found is None:
            found = connection.execute(
                insert(participants).values(line).returning(participants.c.id)
            ).scalar_one()
        return int(found)

    made = store.database.write(job)
    return of_platform(store, platform_id, study, session) or made if platform_id else made


def named(store: Store, name: str) -> Row[Any] | None:
    """The participant whom a platform's identifier or a personal link's token stands for."""
    found = or_(
        participants.c.recruited == recruited_name(store.secret, name),
        participants.c.token == digest(store.secret, "link", name),
    )
    with store.database.read() as connection:
        return connection.execute(select(participants).where(found)).one_or_none()


def _line(annotator: str, now: float, **given: Any) -> dict[str, Any]:
    return {
        "annotator": annotator,
        "token": None,
        "recruited": None,
        "session": None,
        "state": "invited",
        "answers": {},
        "created": now,
        "seen": now,
        **given,
    }


def person(connection: Connection, participant: int) -> Row[Any] | None:
    """A participant's line."""
    return connection.execute(select(participants).where(participants.c.id == participant)).one_or_none()


def change(store: Store, participant: int, **values: Any) -> Job[None]:
    """Write some of a participant's columns, with a sign of life."""
    values["seen"] = store.clock()
    line = _changing(tuple(sorted(values)))

    def job(connection: Connection) -> None:
        line.change(connection, who=participant, **{f"new_{name}": value for name, value in values.items()})

    return job


@cache
def _changing(names: tuple[str, ...]) -> Prepared:
    there = (participants.c.id == bindparam("who"), participants.c.state != "withdrawn")
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return Prepared(update(participants).where(*there).values(values))


def who(connection: Connection, participant: int) -> Who | None:
    """A participant by number; None for nobody."""
    found = _WHO.first(connection, who=participant)
    return None if found is None else Who(*found)


def consent(connection: Connection, participant: int, now: float) -> None:
    """Note the consent, once."""
    _CONSENT.change(connection, who=participant, now=now)


def withdraw(store: Store, participant: int) -> Job[None]:
    """Remove all that a person gave. Their link stays known, so that it opens nothing any more."""

    def job(connection: Connection) -> None:
        lock_study(connection)
        row = person(connection, participant)
        if row is None or row.state == "withdrawn":
            return
        connection.execute(delete(assignments).where(assignments.c.participant == participant))
        connection.execute(
            update(participants)
            .where(participants.c.id == participant)
            .values(state="withdrawn", step="", answers={}, consented=None, finished=None, language="")
        )
        note(connection, store.clock(), "withdrawn", row.annotator)

    return job


def keep_alive(connection: Connection, participant: int, now: float) -> None:
    """A sign of life within a transaction."""
    _ALIVE.change(connection, who=participant, now=now)
