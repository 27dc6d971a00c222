"""The schema's history: one file in versions/ for each change of tables.py, numbered in their order.

A lab is brought up to date when it is opened. Alembic does it, and is imported only where there is something to do.
"""

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Integer, String, column, inspect, select, table

if TYPE_CHECKING:
    from alembic.config import Config

FOLDER = Path(__file__).parent
KNOWN = sorted(path.name[:4] for path in (FOLDER / "versions").glob("[0-9]*.py"))
HEAD = KNOWN[-1]
VERSION_TABLE = "perflab_version"
# The schema's number in labs that were made before there were migrations, by which they know a lab of theirs.
FIRST = 2

_versions = table(VERSION_TABLE, column("version_num", String))
_before = table("lab", column("schema_version", Integer))
# Alembic keeps what it is doing in globals.
_one_at_a_time = Lock()


def version_of(connection: Connection) -> str | None:
    """The number of the last migration that a database has had; None where it has no tables of a lab."""
    names = inspect(connection)
    if names.has_table(VERSION_TABLE):
        return connection.scalar(select(_versions.c.version_num))
    if names.has_table(_before.name) and connection.scalar(select(_before.c.schema_version)) == FIRST:
        return KNOWN[0]
    return None


def upgrade(connection: Connection) -> None:
    """Bring a database up to date, or make its tables, in the transaction of `connection`, which no other may share."""
    from alembic import command

    with _one_at_a_time:
        if version_of(connection) == KNOWN[0] and not inspect(connection).has_table(VERSION_TABLE):
            command.stamp(alembic(connection), KNOWN[0])
        command.upgrade(alembic(connection), HEAD)


def alembic(connection: Connection) -> "Config":
    """What Alembic's commands take; they work in the transaction of `connection`."""
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    # Configurations read % as the beginning of a name.
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
