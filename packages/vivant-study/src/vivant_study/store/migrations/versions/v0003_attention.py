"""How long and how often a video was played, and how long and how often a page was left."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the times; what was recorded before has none."""
    op.add_column("watches", sa.Column("played", sa.Float))
    op.add_column("watches", sa.Column("plays", sa.Integer, nullable=False, server_default="0"))
    op.add_column("visits", sa.Column("away", sa.Float, nullable=False, server_default="0"))
    op.add_column("visits", sa.Column("leaves", sa.Integer, nullable=False, server_default="0"))
