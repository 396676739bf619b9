"""How each visit ended, and how many attention checks were failed."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns; whoever has finished before has completed the study."""
    op.add_column("participants", sa.Column("outcome", sa.String(20), nullable=False, server_default=""))
    op.add_column("participants", sa.Column("failures", sa.Integer, nullable=False, server_default="0"))
    op.execute("UPDATE participants SET outcome = 'completed' WHERE state = 'finished'")
    op.execute("UPDATE participants SET outcome = 'withdrawn' WHERE state = 'withdrawn'")
