"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _id() -> sa.Column[int]:
    return sa.Column("id", Id, primary_key=True)


def _reference(table: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(f"{table}_id", Id, sa.ForeignKey(f"{table}.id"), nullable=nullable)


def upgrade() -> None:
    op.create_table("lab", sa.Column("schema_version", sa.Integer, primary_key=True, autoincrement=False))
    op.create_table("project", _id(), sa.Column("name", sa.String(200), nullable=False), sa.UniqueConstraint("name"))
    op.create_table(
        "commit",
        _id(),
        _reference("project"),
        sa.Column("sha", sa.String(64), nullable=False),
        sa.UniqueConstraint("project_id", "sha"),
    )
    op.create_table(
        "branch",
        _id(),
        _reference("project"),
        sa.Column("name", sa.String(500), nullable=False),
        sa.UniqueConstraint("project_id", "name"),
    )
    op.create_table(
        "machine",
        _id(),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("cpu", sa.Text, nullable=False),
        sa.Column("cores", sa.Integer, nullable=False),
        sa.Column("os", sa.Text, nullable=False),
        sa.Column("python", sa.Text, nullable=False),
        sa.UniqueConstraint("fingerprint"),
    )
    op.create_table(
        "run",
        _id(),
        _reference("commit"),
        _reference("machine"),
        _reference("branch", nullable=True),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("uploaded", sa.DateTime, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("dirty", sa.Boolean, nullable=False),
        sa.UniqueConstraint("commit_id", "machine_id", "key"),
    )
    op.create_table(
        "upload",
        _id(),
        _reference("run"),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("run_id", "sha256"),
    )
    op.create_table(
        "trace",
        _id(),
        _reference("upload"),
        sa.Column("summary", sa.JSON, nullable=False),
        sa.UniqueConstraint("upload_id"),
    )
    op.create_table(
        "benchmark",
        _id(),
        _reference("project"),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("params", sa.Text, nullable=False),
        sa.Column("unit", sa.String(50), nullable=False),
        sa.Column("direction", sa.String(10), nullable=False),
        sa.UniqueConstraint("project_id", "name", "params", "unit", "direction"),
    )
    op.create_table(
        "result",
        _id(),
        _reference("upload"),
        _reference("benchmark"),
        sa.Column("samples", sa.JSON, nullable=False),
        sa.Column("sample_count", sa.Integer, nullable=False),
        sa.Column("minimum", sa.Float(53), nullable=False),
        sa.Column("median", sa.Float(53), nullable=False),
        sa.UniqueConstraint("upload_id", "benchmark_id"),
    )
    op.create_table(
        "judgement",
        _id(),
        _reference("project"),
        sa.Column("base", sa.Text, nullable=False),
        sa.Column("head", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("exit_code", sa.Integer, nullable=False),
        sa.Column("headline", sa.Text, nullable=False),
        sa.Column("report", sa.JSON, nullable=False),
    )
    for table, column in (
        ("commit", "sha"),
        ("run", "machine_id"),
        ("run", "branch_id"),
        ("run", "created"),
        ("upload", "sha256"),
        ("result", "benchmark_id"),
        ("judgement", "project_id"),
    ):
        op.create_index(f"ix_{table}_{column}", table, [column])
    op.execute("insert into lab (schema_version) values (2)")


def downgrade() -> None:
    for table in (
        "judgement",
        "result",
        "benchmark",
        "trace",
        "upload",
        "run",
        "machine",
        "branch",
        "commit",
        "project",
        "lab",
    ):
        op.drop_table(table)
