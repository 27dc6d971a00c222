"""Opening the lab's database: its engine, its transactions, its version."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, insert, inspect, select
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from . import tables as t
from .errors import LabRefused
from .settings import Settings


def open_engine(settings: Settings, *, create: bool) -> Engine:
    """The engine of the lab's database, with the tables made where it is empty and `create` is true.

    A connection with the execution option `writes` takes SQLite's write lock when its transaction begins.
    Raises LabRefused when there is no lab, when the folder is a file or cannot be written, when the database is not one
    of ours or when it is of another version. Nothing is changed then.
    """
    lab = settings.lab
    if lab.exists() and not lab.is_dir():
        raise LabRefused(f"{lab} is a file, and a lab is a folder; name another with --lab")
    if settings.database_url is None and not settings.database.exists() and not create:
        raise LabRefused(f"there is no lab in {lab}; upload a file to make one, or name another with --lab")
    if create:
        try:
            lab.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LabRefused(
                f"the lab cannot make its folder {lab} ({error.strerror}); name another with --lab"
            ) from error
    engine = _engine(settings)
    try:
        if create:
            _make_tables(engine)
        _check_version(engine, lab)
    except DBAPIError as error:
        engine.dispose()
        raise LabRefused(f"the database in {lab} cannot be used ({error.orig}); name another lab with --lab") from error
    except LabRefused:
        engine.dispose()
        raise
    return engine


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


def _make_tables(engine: Engine) -> None:
    with engine.connect() as connection:
        if inspect(connection).get_table_names():
            return
        connection.rollback()
        if engine.dialect.name == "sqlite":
            # Stays with the file. It cannot be set inside a transaction, so it goes past SQLAlchemy.
            connection.connection.cursor().execute("PRAGMA journal_mode = WAL")
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        t.metadata.create_all(connection)
        if not connection.scalar(select(func.count()).select_from(t.lab)):
            connection.execute(insert(t.lab).values(schema_version=t.SCHEMA_VERSION))


def _check_version(engine: Engine, lab: Path) -> None:
    with engine.connect() as connection:
        ours = inspect(connection).has_table(t.lab.name)
        version = connection.scalar(select(t.lab.c.schema_version)) if ours else None
    if version is None:
        raise LabRefused(f"the database in {lab} is not a perflab lab; name another folder with --lab")
    if version != t.SCHEMA_VERSION:
        advice = "upgrade perflab" if version > t.SCHEMA_VERSION else "upload its files to a new lab"
        raise LabRefused(
            f"the lab in {lab} is of version {version} and this perflab reads version {t.SCHEMA_VERSION}; {advice}"
        )
