"""Participants up to the items: a link, consent, questions, instructions; and out again."""

from __future__ import annotations

import hmac
import secrets
from functools import cache
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, Row, bindparam, delete, insert, or_, select, update

from vivant_study.platforms import Outcome
from vivant_study.store.database import Job
from vivant_study.store.statements import Statement
from vivant_study.store.store import StudyStore, log_event
from vivant_study.store.study_settings import lock_places, lock_study
from vivant_study.store.tables import assignments, participants

_SHORTEST_NAME = 6
"""Characters of an export's name that stand for a person."""
SIGN_OF_LIFE = 20.0
"""Seconds between two notes that somebody is still there."""
_PARTICIPANT = Statement(
    select(
        *(
            participants.c[name]
            for name in ("id", "state", "step", "language", "seen", "outcome", "consented")
        )
    ).where(participants.c.id == bindparam("participant_id"))
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
    outcome: str = ""
    consented: float | None = None


def digest(secret: bytes, *names: str) -> str:
    """A hash of names with the study's secret: nobody without it can make or undo one."""
    return hmac.digest(secret, "\x1f".join(names).encode(), "sha256").hex()


def make_annotator_name(secret: bytes, purpose: str, value: str) -> str:
    """How exports name a person."""
    return digest(secret, "annotator", purpose, value)[:16]


def make_recruited_name(secret: bytes, platform_id: str) -> str:
    """How exports name the recruiting platform's identifier."""
    return digest(secret, "recruited", platform_id)[:32]


def invite(store: StudyStore, count: int) -> list[str]:
    """Tokens for that many personal links. They are told here once: the store keeps only their hashes."""
    now = store.clock()
    tokens = [secrets.token_urlsafe(32) for _ in range(count)]
    rows = [
        _new_row(
            make_annotator_name(store.secret, "link", token), now, token=digest(store.secret, "link", token)
        )
        for token in tokens
    ]
    if rows:
        store.database.write(lambda connection: connection.execute(insert(participants), rows))
    return tokens


def first_link_token(secret: bytes) -> str:
    """The token of one personal link that can be told again, because it follows from the secret."""
    return digest(secret, "first link")[:43]


def is_first_link_open(store: StudyStore) -> bool:
    """Whether nobody has begun with that link."""
    name = make_annotator_name(store.secret, "link", first_link_token(store.secret))
    with store.database.read() as connection:
        state = connection.scalar(select(participants.c.state).where(participants.c.annotator == name))
    return state in (None, "invited")


def add_first_link(store: StudyStore) -> int | None:
    """The person who opens that link; None where it was deleted."""
    token = first_link_token(store.secret)
    link = digest(store.secret, "link", token)
    row = _new_row(make_annotator_name(store.secret, "link", token), store.clock(), token=link)

    def job(connection: Connection) -> int | None:
        lock_study(connection)
        query = select(participants.c.id, participants.c.token).where(
            participants.c.annotator == row["annotator"]
        )
        known = connection.execute(query).one_or_none()
        if known is not None:
            return int(known.id) if known.token == link else None
        return int(
            connection.execute(insert(participants).values(row).returning(participants.c.id)).scalar_one()
        )

    return store.database.write(job)


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
            select(participants.c.id, participants.c.session, participants.c.state).where(
                participants.c.recruited == make_recruited_name(store.secret, platform_id)
            )
        ).one_or_none()
    if row is None:
        return None
    # Of who withdrew, no session is kept; nothing opens for them either.
    if row.state != "withdrawn" and not hmac.compare_digest(
        row.session or "", digest(store.secret, "session", study, session)
    ):
        raise OtherSessionError
    return int(row.id)


def add_participant(store: StudyStore, platform_id: str = "", study: str = "", session: str = "") -> int:
    """A new participant, with the platform's identifiers or without any. The same identifiers at once make one."""
    now = store.clock()
    name = platform_id or secrets.token_urlsafe(32)
    row = _new_row(
        make_annotator_name(store.secret, "platform" if platform_id else "open", name),
        now,
        recruited=make_recruited_name(store.secret, platform_id) if platform_id else None,
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
    """The participant whom a platform's identifier, a personal link or its token, or an export's name stands for.

    The first characters of an export's name do, where they are one person's.
    """
    bare = name.strip().rpartition("/join/")[2]
    condition = or_(
        participants.c.recruited == make_recruited_name(store.secret, bare),
        participants.c.token == digest(store.secret, "link", bare),
    )
    with store.database.read() as connection:
        row = connection.execute(select(participants).where(condition)).one_or_none()
        if row is None and len(bare) >= _SHORTEST_NAME:
            query = select(participants).where(participants.c.annotator.startswith(bare, autoescape=True))
            rows = connection.execute(query.limit(2)).all()
            row = rows[0] if len(rows) == 1 else None
        return row


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
        row = load_row(connection, participant)
        if row is not None:
            withdraw_annotator(connection, store.clock(), row.annotator)

    return job


def withdraw_annotator(connection: Connection, now: float, annotator: str, kind: str = "withdrawn") -> None:
    """The same for whom exports name so; `kind` says in the study's record why."""
    lock_places(connection)
    row = connection.execute(
        select(participants.c.id, participants.c.state).where(participants.c.annotator == annotator)
    ).one_or_none()
    if row is None or row.state == "withdrawn":
        return
    connection.execute(delete(assignments).where(assignments.c.participant == row.id))
    connection.execute(
        update(participants)
        .where(participants.c.id == row.id)
        .values(
            state="withdrawn", step="", answers={}, consented=None, finished=None, language="",
            outcome="withdrawn", failures=0, session=None, created=now, seen=now,
        )
    )  # fmt: skip
    log_event(connection, now, kind, annotator)


def end_session(store: StudyStore, participant: int, outcome: Outcome, exclude: str = "") -> Job[None]:
    """Let a person's visit end before it is finished. Their open places go to others.

    Args:
        store: the study's store.
        participant: who.
        outcome: how it ends.
        exclude: why their judgements do not count; empty: what they finished counts.
    """

    def job(connection: Connection) -> None:
        lock_places(connection)
        row = load_row(connection, participant)
        # A check may be the last item: then the study was just finished.
        if row is None or row.state not in ("invited", "consented", *(("finished",) if exclude else ())):
            return
        now = store.clock()
        lost = [assignments.c.participant == participant]
        if not exclude:
            lost.append(assignments.c.finished.is_(None))
        connection.execute(update(assignments).where(*lost).values(holds=False))
        values = {"state": "ended", "outcome": outcome, "finished": now, "seen": now}
        if exclude:
            values["excluded"] = exclude
        connection.execute(update(participants).where(participants.c.id == participant).values(**values))
        log_event(connection, now, outcome, row.annotator, exclude)

    return job


def release(store: StudyStore, annotator: str, reason: str) -> int:
    """Give a person's unfinished places to others, because the recruiting platform says that they have left."""

    def job(connection: Connection) -> int:
        lock_places(connection)
        number = connection.scalar(select(participants.c.id).where(participants.c.annotator == annotator))
        count = connection.execute(
            update(assignments)
            .where(assignments.c.participant == number, assignments.c.holds, assignments.c.finished.is_(None))
            .values(holds=False)
        ).rowcount
        if count:
            log_event(connection, store.clock(), "released", annotator, f"{count} unfinished, {reason}")
        return int(count)

    return store.database.write(job)


def keep_alive(connection: Connection, participant: int, now: float) -> None:
    """A sign of life within a transaction."""
    _ALIVE.change(connection, participant_id=participant, now=now)
