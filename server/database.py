"""Opening the lab's database: its engine, its transactions, its schema."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Executable, create_engine, event, func, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from . import migrations
from .errors import LabRefused
from .settings import Settings


def open_engine(settings: Settings, *, create: bool) -> Engine:
    """The engine of the lab's database, with the tables made where it is empty and `create` is true, and brought up to
    date where an earlier perflab made them.

    A connection with the execution option `writes` takes SQLite's write lock when its transaction begins.
    Raises LabRefused when there is no lab, when the folder is a file or cannot be written, when the database is not one
    of ours or when a later perflab made it. Nothing is changed then.
    """
    if settings.database_url is None:
        _find_folder(settings, create)
        lab, another = str(settings.lab), "--lab"
    else:
        lab, another = _shown(settings.database_url), "PERFLAB_DATABASE_URL"
        if create and settings.blobs_url is None:
            _make_folder(settings.lab)
    engine = _engine(settings)
    try:
        _bring_up_to_date(engine, create)
    except DBAPIError as error:
        engine.dispose()
        reason = str(error.orig).strip().replace("\n", "; ")
        raise LabRefused(f"the database in {lab} cannot be used ({reason}); name another lab with {another}") from error
    except _NotOurs:
        engine.dispose()
        raise LabRefused(f"the database in {lab} is not a perflab lab; name another with {another}") from None
    except _Later as error:
        engine.dispose()
        raise LabRefused(
            f"the lab in {lab} is of schema {error} and this perflab knows up to {migrations.HEAD}; upgrade perflab"
        ) from None
    return engine


class _NotOurs(Exception):
    """The database has tables, and they are not those of a lab."""


class _Later(Exception):
    """The database is of a schema that this perflab does not know, which the error tells."""


def _find_folder(settings: Settings, create: bool) -> None:
    lab = settings.lab
    if lab.exists() and not lab.is_dir():
        raise LabRefused(f"{lab} is a file, and a lab is a folder; name another with --lab")
    if not settings.database.exists() and not create:
        raise LabRefused(f"there is no lab in {lab}; upload a file to make one, or name another with --lab")
    if create:
        _make_folder(lab)


def _make_folder(lab: Path) -> None:
    try:
        lab.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabRefused(f"the lab cannot make its folder {lab} ({error.strerror}); name another with --lab") from error


def _shown(url: str) -> str:
    """A database's address without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return url


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that reads."""
    with _connect(engine, autocommit=True) as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes; raises LabRefused."""
    with _written(engine) as connection:
        yield connection


def write_one(engine: Engine, statement: Executable) -> None:
    """A statement that is a transaction of its own; raises LabRefused."""
    with _written(engine, autocommit=True) as connection:
        connection.execute(statement)


@contextmanager
def _written(engine: Engine, *, autocommit: bool = False) -> Iterator[Connection]:
    try:
        with _connect(engine, autocommit=autocommit, writes=True) as connection, connection.begin():
            yield connection
    except OperationalError as error:
        raise LabRefused(
            f"the lab's database cannot be written ({error.orig}); look at its disk and rights, then try again"
        ) from error


def _connect(engine: Engine, *, autocommit: bool, **options: bool) -> Connection:
    """Where each statement sees what was committed before it, a transaction around what reads, or around one statement,
    is two questions more and nothing else: PostgreSQL is asked without. SQLite gets its BEGIN all the same."""
    connection = engine.connect().execution_options(**options)
    if autocommit and engine.dialect.name == "postgresql":
        connection.execution_options(isolation_level="AUTOCOMMIT")
    return connection


def share_files(connection: Connection) -> None:
    """Hold, to the end of a transaction that writes, what files the lab has; several may at once."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer
        connection.execute(_SHARE_FILES)


def own_files(connection: Connection) -> None:
    """Wait until no other transaction holds the files, and keep others from them to the end of this one."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_FILES)))


def _engine(settings: Settings) -> Engine:
    if settings.database_url is None:
        engine = create_engine(f"sqlite:///{settings.database}", connect_args={"timeout": 30})
    else:
        try:
            engine = create_engine(settings.database_url)
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise LabRefused(
                f"PERFLAB_DATABASE_URL names a database that cannot be used ({error}); install its driver, or unset it"
            ) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, record: object) -> None:
    # SQLAlchemy sends BEGIN itself: the driver's own would leave reads and DDL outside the transaction.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: two readers that both turn writer would fail with "database is locked".
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


# Any number that other programs in a PostgreSQL database are not likely to lock.
_MIGRATING = 0x7065_7266_6C61_62
_FILES = _MIGRATING + 1
_SHARE_FILES = select(func.pg_advisory_xact_lock_shared(_FILES))


def _bring_up_to_date(engine: Engine, create: bool) -> None:
    with engine.connect() as connection:
        if _is_current(connection, create):
            return
    with engine.connect().execution_options(writes=True) as connection:
        if engine.dialect.name == "sqlite":
            _migrate_sqlite(connection, create)
        else:
            with connection.begin():
                connection.execute(select(func.pg_advisory_xact_lock(_MIGRATING)))
                _upgrade(connection, create)


def _migrate_sqlite(connection: Connection, create: bool) -> None:
    # Neither can be set inside a transaction, so they go past SQLAlchemy. The first stays with the file; the second,
    # since a table that a migration copies and drops would take along what refers to it.
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA foreign_keys = OFF")
    try:
        with connection.begin():
            _upgrade(connection, create)
    finally:
        cursor.execute("PRAGMA foreign_keys = ON")


def _upgrade(connection: Connection, create: bool) -> None:
    if not _is_current(connection, create):  # another process may have been faster
        migrations.upgrade(connection)


def _is_current(connection: Connection, create: bool) -> bool:
    """False where there is something to do; raises _NotOurs, _Later."""
    version = migrations.version_of(connection)
    if version is None:
        if create and not inspect(connection).get_table_names():
            return False
        raise _NotOurs
    if version not in migrations.KNOWN:
        raise _Later(version)
    return version == migrations.HEAD
