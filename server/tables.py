"""The lab's tables, one schema for every database that SQLAlchemy speaks. A change here is a migration, too.

project 1-n commit, branch, benchmark;  run = one execution at a commit on a machine, perhaps of a branch;
run 1-n upload = a file as it came;  upload 1-1 trace, or 1-n result.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)


class Utc(TypeDecorator[datetime]):
    """A time in UTC, stored without its zone, since not every database keeps one."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


# SQLite counts up by itself only in a column of type INTEGER.
Id = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id() -> Column[int]:
    return Column("id", Id, primary_key=True)


def _reference(table: str, *, nullable: bool = False, index: bool = False) -> Column[Any]:
    return Column(f"{table}_id", Id, ForeignKey(f"{table}.id"), nullable=nullable, index=index)


project = Table("project", metadata, _id(), Column("name", String(200), nullable=False, unique=True))

commit = Table(
    "commit",
    metadata,
    _id(),
    _reference("project"),
    Column("sha", String(64), nullable=False, index=True),
    # What git said of it, if anyone asked: schema.CommitFacts.
    Column("subject", Text),
    Column("authored", Utc),
    Column("behind", Integer),
    Column("release", Text),
    Column("released", Integer),
    UniqueConstraint("project_id", "sha"),
)

branch = Table(
    "branch",
    metadata,
    _id(),
    _reference("project"),
    Column("name", String(500), nullable=False),
    UniqueConstraint("project_id", "name"),
)

machine = Table(
    "machine",
    metadata,
    _id(),
    Column("fingerprint", String(64), nullable=False, unique=True),
    Column("cpu", Text, nullable=False),
    Column("cores", Integer, nullable=False),
    Column("os", Text, nullable=False),
    Column("python", Text, nullable=False),
)

run = Table(
    "run",
    metadata,
    _id(),
    _reference("commit"),
    _reference("machine", index=True),
    _reference("branch", nullable=True, index=True),
    # Names the execution: uploads of one key, commit and machine are one run.
    Column("key", String(200), nullable=False),
    Column("host", Text, nullable=False),
    Column("created", Utc, nullable=False, index=True),
    Column("uploaded", Utc, nullable=False),
    Column("tool", Text, nullable=False),
    Column("dirty", Boolean, nullable=False),
    # Versions and variables by name; empty where the upload did not say.
    Column("environment", JSON, nullable=False),
    UniqueConstraint("commit_id", "machine_id", "key"),
)

upload = Table(
    "upload",
    metadata,
    _id(),
    _reference("run"),
    Column("sha256", String(64), nullable=False, index=True),
    Column("kind", String(20), nullable=False),
    Column("name", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    # Whether what was derived of it is masked, and the names in these rows are.
    Column("masked", Boolean, nullable=False),
    UniqueConstraint("run_id", "sha256"),
)

trace = Table(
    "trace",
    metadata,
    _id(),
    Column("upload_id", Id, ForeignKey("upload.id"), nullable=False, unique=True),
    Column("summary", JSON, nullable=False),
)

benchmark = Table(
    "benchmark",
    metadata,
    _id(),
    _reference("project"),
    Column("name", Text, nullable=False),
    # A JSON object with sorted keys, so that equal parameters are equal text.
    Column("params", Text, nullable=False),
    Column("unit", String(50), nullable=False),
    Column("direction", String(10), nullable=False),
    UniqueConstraint("project_id", "name", "params", "unit", "direction"),
)

result = Table(
    "result",
    metadata,
    _id(),
    _reference("upload"),
    _reference("benchmark"),
    Column("samples", JSON, nullable=False),
    # What a series shows of a result, so that it need not read the samples.
    Column("sample_count", Integer, nullable=False),
    Column("minimum", Float(53), nullable=False),
    Column("median", Float(53), nullable=False),
    UniqueConstraint("upload_id", "benchmark_id"),
    Index(None, "benchmark_id"),
)

# A trace that waits for a worker; `taken_until` is when the worker that has taken it counts as dead.
job = Table(
    "job",
    metadata,
    _id(),
    Column("sha256", String(64), nullable=False),
    # JSON with its keys in order, so that equal labels are equal text.
    Column("label", Text, nullable=False),
    Column("created", Utc, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("taken_until", Utc),
    Column("finished", Utc, index=True),
    Column("upload", JSON(none_as_null=True)),
    Column("error", Text),
    UniqueConstraint("sha256", "label"),
)

judgement = Table(
    "judgement",
    metadata,
    _id(),
    _reference("project", index=True),
    # As the report names its sides: a SHA, or words where a side has several commits or none.
    Column("base", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("created", Utc, nullable=False),
    Column("exit_code", Integer, nullable=False),
    Column("headline", Text, nullable=False),
    Column("report", JSON, nullable=False),
)

# Projects stand here by name: a token or a rule may come before a project's first upload.
token = Table(
    "token",
    metadata,
    _id(),
    Column("name", String(200), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scope", String(10), nullable=False),
    Column("project", String(200)),
    Column("created", Utc, nullable=False),
    Column("expires", Utc),
    Column("used", Utc),
    Column("revoked", Utc),
)

share = Table(
    "share",
    metadata,
    _id(),
    Column("digest", String(64), nullable=False, unique=True),
    Column("project", String(200), nullable=False),
    Column("address", Text, nullable=False),
    # The ids of the traces whose data the page asks for.
    Column("traces", JSON, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("created", Utc, nullable=False),
    Column("expires", Utc, nullable=False),
    Column("revoked", Utc),
)

audit = Table(
    "audit",
    metadata,
    _id(),
    Column("at", Utc, nullable=False, index=True),
    Column("who", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("action", String(100), nullable=False),
    Column("detail", Text, nullable=False),
)

# Whether what comes is masked: by project; "" for those that have no row.
masking = Table(
    "masking",
    metadata,
    Column("project", String(200), primary_key=True),
    Column("masked", Boolean, nullable=False),
)

# Which traces stay: by project; "" for those that have no row.
retention = Table(
    "retention",
    metadata,
    Column("project", String(200), primary_key=True),
    Column("newest", BigInteger, nullable=False),
    Column("thin", BigInteger, nullable=False),
    Column("quota", BigInteger),
)
