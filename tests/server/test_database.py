"""A lab that cannot be used is refused in one sentence and left as it is."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from perflab.server.errors import LabRefused
from perflab.server.lab import LocalLab
from perflab.server.migrations import HEAD
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings
from perflab.server.store import Store

from .conftest import BASE, Files


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a lab that is not made yet."""
    return Settings(tmp_path / "lab")


def refusal(settings: Settings, *, create: bool = True) -> str:
    with pytest.raises(LabRefused) as caught:
        Store.open(settings, create=create)
    return str(caught.value)


def test_a_lab_is_made_once_and_opened_again(settings: Settings) -> None:
    for create in (True, True, False):
        store = Store.open(settings, create=create)
        assert store.projects() == []
        store.close()
    with closing(sqlite3.connect(settings.database)) as connection:
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
        assert connection.execute("select version_num from perflab_version").fetchall() == [(HEAD,)]


def test_no_lab_is_made_to_read_from_it(settings: Settings) -> None:
    assert refusal(settings, create=False) == (
        f"there is no lab in {settings.lab}; upload a file to make one, or name another with --lab"
    )
    assert not settings.lab.exists()


def test_a_file_is_no_lab(tmp_path: Path) -> None:
    path = tmp_path / "lab"
    path.write_text("hello")
    for create in (True, False):
        assert (
            refusal(Settings(path), create=create)
            == f"{path} is a file, and a lab is a folder; name another with --lab"
        )
    assert path.read_text() == "hello"


def test_a_folder_inside_a_file_is_no_lab(tmp_path: Path) -> None:
    path = tmp_path / "file" / "lab"
    path.parent.write_text("hello")
    assert (
        refusal(Settings(path)) == f"the lab cannot make its folder {path} (Not a directory); name another with --lab"
    )


def test_a_lab_from_before_its_first_release_is_refused(settings: Settings) -> None:
    settings.lab.mkdir()
    with closing(sqlite3.connect(settings.database)) as connection, connection:
        connection.execute("create table lab (schema_version integer)")
        connection.execute("insert into lab values (1)")
    before = settings.database.read_bytes()
    assert refusal(settings) == f"the database in {settings.lab} is not a perflab lab; name another with --lab"
    assert settings.database.read_bytes() == before


def test_what_is_no_database_is_refused(settings: Settings) -> None:
    settings.lab.mkdir()
    settings.database.write_text("hello" * 100)
    assert refusal(settings) == (
        f"the database in {settings.lab} cannot be used (file is not a database); name another lab with --lab"
    )
    assert settings.database.read_text() == "hello" * 100


def test_a_database_of_something_else_is_refused(settings: Settings) -> None:
    settings.lab.mkdir()
    with closing(sqlite3.connect(settings.database)) as connection, connection:
        connection.execute("create table other (id integer)")
    before = settings.database.read_bytes()
    assert refusal(settings) == f"the database in {settings.lab} is not a perflab lab; name another with --lab"
    assert settings.database.read_bytes() == before


@pytest.mark.parametrize("url", ["nonsense", "nonsense://host/lab"])
def test_a_database_url_that_cannot_be_used_is_refused(tmp_path: Path, url: str) -> None:
    settings = Settings.from_environment(tmp_path / "lab", environ={"PERFLAB_DATABASE_URL": url})
    assert refusal(settings).startswith("PERFLAB_DATABASE_URL names a database that cannot be used (")


def test_a_database_url_is_used(tmp_path: Path, files: Files) -> None:
    settings = Settings.from_environment(
        tmp_path / "lab", environ={"PERFLAB_DATABASE_URL": f"sqlite:///{tmp_path}/elsewhere.sqlite"}
    )
    lab = LocalLab.open(settings, create=True)
    run = files.run("run.json", 1.0)
    assert lab.upload(run, Label(name="run.json", said=Origin(commit=BASE))).new
    lab.close()
    assert (tmp_path / "elsewhere.sqlite").exists()
    assert not settings.database.exists()
    assert settings.blobs.is_dir()
