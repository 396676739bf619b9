"""The number of the last report of playing and of leaving, so that one that is sent again counts once."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns."""
    for table in ("visits", "watches"):
        op.add_column(table, sa.Column("report", sa.String(40), nullable=False, server_default=""))
