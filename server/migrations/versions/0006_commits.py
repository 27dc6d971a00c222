"""What git says of a commit stands with it."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

COLUMNS = {
    "subject": sa.Text,
    "authored": sa.DateTime,
    "behind": sa.Integer,
    "release": sa.Text,
    "released": sa.Integer,
}


def upgrade() -> None:
    for name, kind in COLUMNS.items():
        op.add_column("commit", sa.Column(name, kind, nullable=True))


def downgrade() -> None:
    for name in reversed(COLUMNS):
        op.drop_column("commit", name)
