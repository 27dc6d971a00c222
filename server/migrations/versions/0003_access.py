"""Tokens and the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "token",
        sa.Column("id", Id, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("scope", sa.String(10), nullable=False),
        sa.Column("project", sa.String(200)),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("expires", sa.DateTime),
        sa.Column("used", sa.DateTime),
        sa.Column("revoked", sa.DateTime),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "audit",
        sa.Column("id", Id, primary_key=True),
        sa.Column("at", sa.DateTime, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("action", sa.String(100), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_index("ix_audit_at", "audit", ["at"])


def downgrade() -> None:
    for table in ("audit", "token"):
        op.drop_table(table)
