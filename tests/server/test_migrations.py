"""The tables of a lab from one version to the next, and back."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from perflab.server import migrations, tables
from perflab.server.errors import LabRefused
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings
from perflab.server.store import Store

from .conftest import BASE, Files, in_schema

Schema = dict[str, Any]


@pytest.fixture
def embedded(tmp_path: Path) -> Settings:
    """Of a lab in a folder that is not made yet."""
    return Settings(tmp_path / "lab")


@pytest.fixture
def team(tmp_path: Path, database: str) -> Settings:
    """Of a lab in PostgreSQL that has no tables yet."""
    name = f"test_{uuid4().hex}"
    return Settings(tmp_path / "lab", database_url=in_schema(database, name, f"create schema {name}"))


@pytest.fixture
def engine(settings: Settings) -> Iterator[sa.Engine]:
    """The database of a lab that is not made yet."""
    settings.lab.mkdir()
    engine = sa.create_engine(settings.database_url or f"sqlite:///{settings.database}")
    yield engine
    engine.dispose()


def migrate(engine: sa.Engine, version: str) -> None:
    """Go up or down to a version."""
    with engine.begin() as connection:
        now = migrations.version_of(connection)
        up = version != "base" and (now is None or version > now)
        (command.upgrade if up else command.downgrade)(migrations.alembic(connection), version)


def schema(engine: sa.Engine) -> Schema:
    """What the tables are made of, but for Alembic's own."""
    found = sa.inspect(engine)
    return {
        name: (
            [(column["name"], str(column["type"]), column["nullable"]) for column in found.get_columns(name)],
            found.get_pk_constraint(name),
            sorted(found.get_foreign_keys(name), key=str),
            sorted(found.get_unique_constraints(name), key=str),
            sorted(found.get_indexes(name), key=str),
        )
        for name in sorted(found.get_table_names())
        if name != migrations.VERSION_TABLE
    }


def test_migrations_are_numbered_in_one_row(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        scripts = ScriptDirectory.from_config(migrations.alembic(connection))
    assert [script.revision for script in scripts.walk_revisions()] == migrations.KNOWN[::-1]
    assert scripts.get_heads() == [migrations.HEAD]


def test_migrations_make_the_tables_of_the_program(engine: sa.Engine) -> None:
    migrate(engine, migrations.HEAD)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": migrations.VERSION_TABLE})
        assert compare_metadata(context, tables.metadata) == []


@pytest.mark.parametrize("version", migrations.KNOWN)
def test_each_goes_up_down_and_up_again(engine: sa.Engine, version: str) -> None:
    before = ["base", *migrations.KNOWN][migrations.KNOWN.index(version)]
    if before != "base":
        migrate(engine, before)
    down = schema(engine)
    migrate(engine, version)
    up = schema(engine)
    migrate(engine, before)
    assert schema(engine) == down
    migrate(engine, version)
    assert schema(engine) == up


def test_a_lab_from_before_there_were_migrations_goes_on(settings: Settings, engine: sa.Engine, files: Files) -> None:
    migrate(engine, "0001")
    with engine.begin() as connection:
        connection.execute(sa.text(f"drop table {migrations.VERSION_TABLE}"))
        connection.execute(sa.insert(tables.project).values(name="demo"))
        connection.execute(sa.insert(tables.commit).values(project_id=1, sha=BASE))
    lab = LocalLab.open(settings, create=False)
    taken = lab.upload(files.run("run.json", 1.0), Label(name="run.json", said=Origin(commit=BASE)))
    assert [project.name for project in lab.projects()] == ["demo"]
    lab.close()
    with engine.connect() as connection:
        assert migrations.version_of(connection) == migrations.HEAD
        assert connection.execute(sa.select(tables.commit.c.id, tables.commit.c.sha)).all() == [(1, BASE)]
        assert connection.execute(sa.select(tables.run.c.id, tables.run.c.commit_id)).all() == [(taken.run, 1)]


def test_a_lab_of_a_later_perflab_is_refused_and_left_alone(settings: Settings, engine: sa.Engine) -> None:
    Store.open(settings, create=True).close()
    with engine.begin() as connection:
        connection.execute(sa.text(f"update {migrations.VERSION_TABLE} set version_num = '9999'"))
    before = schema(engine)
    for create in (True, False):
        with pytest.raises(LabRefused) as caught:
            Store.open(settings, create=create)
        assert str(caught.value).endswith(
            f" is of schema 9999 and this perflab knows up to {migrations.HEAD}; upgrade perflab"
        )
    with engine.connect() as connection:
        assert migrations.version_of(connection) == "9999"
    assert schema(engine) == before


def test_a_migration_that_fails_changes_nothing(settings: Settings, engine: sa.Engine) -> None:
    migrate(engine, "0001")
    with engine.begin() as connection:
        connection.execute(sa.text("drop table lab"))  # which 0002 drops
    before = schema(engine)
    with pytest.raises(LabRefused, match="lab"):
        Store.open(settings, create=True)
    with engine.connect() as connection:
        assert migrations.version_of(connection) == "0001"
    assert schema(engine) == before


def test_many_who_open_a_lab_at_once_make_it_once(settings: Settings) -> None:
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: Store.open(settings, create=True), range(6)))
    for store in stores:
        assert store.projects() == []
        store.close()


def test_a_folder_with_a_percent_sign_does(tmp_path: Path) -> None:
    Store.open(Settings(tmp_path / "50%s"), create=True).close()
