"""The schema's number in the table `lab` makes way for Alembic's."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.drop_table("lab")


def downgrade() -> None:
    op.create_table("lab", sa.Column("schema_version", sa.Integer, primary_key=True, autoincrement=False))
    op.execute("insert into lab (schema_version) values (2)")
