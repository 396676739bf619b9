"""Participants, the places they hold, their answers."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "settings",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "participants",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("annotator", sa.String(200), nullable=False, unique=True),
        sa.Column("token", sa.String(64), unique=True),
        sa.Column("recruited", sa.String(64), unique=True),
        sa.Column("session", sa.String(64)),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("step", sa.String(12), nullable=False, server_default=""),
        sa.Column("language", sa.String(20), nullable=False, server_default=""),
        sa.Column("answers", sa.JSON, nullable=False),
        sa.Column("excluded", sa.Text, nullable=False, server_default=""),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("consented", sa.Float),
        sa.Column("finished", sa.Float),
        sa.Column("seen", sa.Float, nullable=False),
    )
    op.create_table(
        "assignments",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column(
            "participant", sa.Integer, sa.ForeignKey("participants.id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("item", sa.String(500), nullable=False),
        sa.Column("slot", sa.Integer),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("shown", sa.JSON, nullable=False),
        sa.Column("is_check", sa.Boolean, nullable=False),
        sa.Column("holds", sa.Boolean, nullable=False),
        sa.Column("finished", sa.Float),
        sa.UniqueConstraint("participant", "item"),
    )
    op.create_index(
        "one_holder",
        "assignments",
        ["item", "slot"],
        unique=True,
        sqlite_where=sa.text("holds"),
        postgresql_where=sa.text("holds"),
    )
    op.create_table(
        "visits",
        sa.Column(
            "assignment", sa.Integer, sa.ForeignKey("assignments.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("page", sa.String(20), primary_key=True),
        sa.Column("shown", sa.Float, nullable=False),
        sa.Column("finished", sa.Float),
    )
    op.create_table(
        "watches",
        sa.Column(
            "assignment", sa.Integer, sa.ForeignKey("assignments.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("media", sa.Integer, primary_key=True),
        sa.Column("fetched", sa.Float),
        sa.Column("started", sa.Float),
        sa.Column("ended", sa.Float),
    )
    op.create_table(
        "judgements",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column(
            "assignment", sa.Integer, sa.ForeignKey("assignments.id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("page", sa.String(20), nullable=False),
        sa.Column("part", sa.String(500), nullable=False, server_default=""),
        sa.Column("answer", sa.JSON),
        sa.Column("shown", sa.JSON, nullable=False),
        sa.Column("given", sa.Float),
        sa.Column("seconds", sa.Float),
        sa.Column("revised", sa.Integer, nullable=False, server_default="0"),
        sa.UniqueConstraint("assignment", "page", "part"),
    )
