"""The tables of a study's database. Times are seconds since 1970, UTC. A change here needs a step in migrations/."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

metadata = MetaData()

settings = Table(
    "settings", metadata, Column("name", String(40), primary_key=True), Column("value", Text, nullable=False)
)
"""The study's secret, whether it is paused, how many judgements each item gets."""

participants = Table(
    "participants",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("annotator", String(200), nullable=False, unique=True),
    Column("token", String(64), unique=True),
    # Hashes alone: of the personal link, of the platform's identifier, of the platform's session.
    Column("recruited", String(64), unique=True),
    Column("session", String(64)),
    Column("state", String(12), nullable=False),
    Column("step", String(12), nullable=False, server_default=""),
    Column("language", String(20), nullable=False, server_default=""),
    Column("answers", JSON, nullable=False),
    Column("excluded", Text, nullable=False, server_default=""),
    Column("created", Float, nullable=False),
    Column("consented", Float),
    Column("finished", Float),
    Column("seen", Float, nullable=False),
    # How the visit ended, and how many attention checks were failed on the way.
    Column("outcome", String(20), nullable=False, server_default=""),
    Column("failures", Integer, nullable=False, server_default="0"),
)

assignments = Table(
    "assignments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("participant", ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
    Column("item", String(500), nullable=False),
    # Which of the item's places this is; none for attention checks, of which everybody gets some.
    Column("slot", Integer),
    Column("position", Integer, nullable=False),
    Column("shown", JSON, nullable=False),
    Column("is_check", Boolean, nullable=False),
    Column("holds", Boolean, nullable=False),
    Column("finished", Float),
    UniqueConstraint("participant", "item"),
)
# The database itself refuses to give one place to two people.
Index(
    "one_holder",
    assignments.c.item,
    assignments.c.slot,
    unique=True,
    sqlite_where=text("holds"),
    postgresql_where=text("holds"),
)

visits = Table(
    "visits",
    metadata,
    Column("assignment", ForeignKey("assignments.id", ondelete="CASCADE"), primary_key=True),
    Column("page", String(20), primary_key=True),
    Column("shown", Float, nullable=False),
    Column("finished", Float),
    # Seconds that the page was hidden or another window was in front, and how often.
    Column("away", Float, nullable=False, server_default="0"),
    Column("leaves", Integer, nullable=False, server_default="0"),
    # Closed by the time limit, not by the participant.
    Column("expired", Boolean, nullable=False, server_default=false()),
    # The number of the last report of leaving: one that is sent again counts once.
    Column("report", String(40), nullable=False, server_default=""),
)

watches = Table(
    "watches",
    metadata,
    Column("assignment", ForeignKey("assignments.id", ondelete="CASCADE"), primary_key=True),
    Column("media", Integer, primary_key=True),
    Column("fetched", Float),
    Column("started", Float),
    Column("ended", Float),
    # Seconds played as the page's script reports them, within the server's time; none: no script has reported.
    Column("played", Float),
    Column("plays", Integer, nullable=False, server_default="0"),
    # The number of the last report of playing: one that is sent again counts once.
    Column("report", String(40), nullable=False, server_default=""),
)

judgements = Table(
    "judgements",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("assignment", ForeignKey("assignments.id", ondelete="CASCADE"), nullable=False),
    Column("page", String(20), nullable=False),
    Column("part", String(500), nullable=False, server_default=""),
    Column("answer", JSON),
    Column("shown", JSON, nullable=False),
    Column("given", Float),
    Column("seconds", Float),
    Column("revised", Integer, nullable=False, server_default="0"),
    # Came after the time for the item was up.
    Column("late", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("assignment", "page", "part"),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("kind", String(30), nullable=False),
    Column("annotator", String(200), nullable=False, server_default=""),
    Column("detail", Text, nullable=False, server_default=""),
)
"""What changed the study: paused, more places, excluded, withdrawn, places given on."""
