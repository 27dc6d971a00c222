import asyncio
import json
import shutil
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import EntryPoint
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from sqlalchemy import Engine, event

from perflab.benchmarks.machine import Machine
from perflab.benchmarks.postgres import postgresql
from perflab.benchmarks.result import Benchmark, Result, Run
from perflab.profiler import cli
from perflab.server.app import create_app
from perflab.server.blobs import Blobs, open_blobs
from perflab.server.client import Client
from perflab.server.lab import Lab, LocalLab
from perflab.server.settings import Settings
from perflab.server.store import Store

from .repository import SLOWER, STEADY, Repository
from .team import s3

BASE = "ba5e" * 10
HEAD = "4ead" * 10
MACHINE = Machine.of(name="ada", cpu="A CPU", cores=2, os="Linux x86_64", python="CPython 3.11")
NAMELESS = replace(MACHINE, name="")  # as a lab shows it
Perflab = Callable[..., tuple[int, str, str]]
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Files:
    """Makes uploadable files in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run(
        self,
        name: str,
        *samples: float,
        benchmark: str = "step",
        n: int = 1,
        minutes: int = 0,
        machine: Machine = MACHINE,
        commit: str | None = None,
    ) -> Path:
        """A run of one benchmark."""
        measured = Run(
            project="demo",
            commit=commit,
            branch=None,
            machine=machine,
            created=NOON + timedelta(minutes=minutes),
            tool="a test",
            results=(Result(Benchmark(benchmark, {"n": f"{n}"}), samples),),
        )
        return self.write(name, measured.to_json())

    def trace(self, name: str, matmul_us: int, steps: int = 3) -> Path:
        """A trace of some steps with two ops each; a step lasts `matmul_us` + 20."""
        events = []
        for step in range(steps):
            at = step * (matmul_us + 30)
            for category, op, start, duration in (
                ("user_annotation", f"ProfilerStep#{step}", at, matmul_us + 20),
                ("cpu_op", "matmul", at + 1, matmul_us),
                ("cpu_op", "relu", at + matmul_us + 2, 10),
            ):
                events.append(
                    {"ph": "X", "cat": category, "name": op, "pid": 1, "tid": 1, "ts": start, "dur": duration}
                )
        return self.write(name, json.dumps({"traceEvents": events}))


class InProcess(httpx.BaseTransport):
    """Sends requests to an application without a network."""

    def __init__(self, app: FastAPI) -> None:
        self._app = httpx.ASGITransport(app, raise_app_exceptions=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def answer() -> httpx.Response:
            sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
            response = await self._app.handle_async_request(sent)
            content = b"".join([piece async for piece in response.aiter_raw()])  # as sent: what is packed stays so
            return httpx.Response(response.status_code, headers=response.headers, content=content)

        return asyncio.run(answer())


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "files")


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """A PostgreSQL for all tests: each has a schema of its own in it."""
    with postgresql(durable=False) as url:
        yield url


@pytest.fixture(scope="session")
def bucket() -> Iterator[str]:
    """A bucket for all tests: each has a prefix of its own in it."""
    with s3() as url:
        yield url


# Migrations take longer than most tests, so they are run once; every lab begins with what they came to.


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of a lab in a folder to which nothing was uploaded."""
    settings = Settings(tmp_path_factory.mktemp("empty") / "lab")
    Store.open(settings, create=True).close()
    return settings.database


@pytest.fixture(scope="session")
def empty_postgresql(database: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The statements that make the tables of a lab in PostgreSQL."""
    url = in_schema(database, "migrated", "create schema migrated")
    said: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        if not statement.lstrip().lower().startswith("select"):
            said.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        Store.open(Settings(tmp_path_factory.mktemp("migrated"), database_url=url), create=True).close()
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    return ";".join(said)


def in_schema(database: str, name: str, statements: str) -> str:
    """The address of a schema of the database, in which these statements were run."""
    with psycopg.connect(database.replace("+psycopg", "")) as connection:
        connection.execute(f"set search_path to {name};{statements}".encode())
    return f"{database}&options=-csearch_path={name}"


@pytest.fixture
def embedded(tmp_path: Path, empty_sqlite: Path) -> Settings:
    """A lab in a folder."""
    settings = Settings(tmp_path / "lab")
    settings.lab.mkdir()
    shutil.copy(empty_sqlite, settings.database)
    return settings


@pytest.fixture
def team(tmp_path: Path, database: str, empty_postgresql: str, bucket: str) -> Settings:
    """A lab in PostgreSQL and S3."""
    name = f"test_{uuid4().hex}"
    url = in_schema(database, name, f"create schema {name};{empty_postgresql}")
    return Settings(tmp_path / "lab", database_url=url, blobs_url=f"{bucket}/{name}")


@pytest.fixture(params=["embedded", "team"])
def settings(request: pytest.FixtureRequest) -> Settings:
    """Both kinds of lab."""
    settings: Settings = request.getfixturevalue(request.param)
    return settings


# For tests that look into the files of a lab.
EMBEDDED = pytest.mark.parametrize("settings", ["embedded"], indirect=True)


@pytest.fixture
def blobs(settings: Settings) -> Blobs:
    return open_blobs(settings)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    store = Store.open(settings, create=True)
    yield store
    store.close()


@pytest.fixture
def app(settings: Settings, store: Store, blobs: Blobs) -> FastAPI:
    return create_app(settings, store, blobs)


@pytest.fixture
def client(app: FastAPI) -> Iterator[httpx.Client]:
    with httpx.Client(transport=InProcess(app), base_url="http://localhost") as client:
        yield client


@pytest.fixture
def local(store: Store, blobs: Blobs) -> LocalLab:
    return LocalLab(store, blobs)


@pytest.fixture(params=["local", "remote"])
def lab(request: pytest.FixtureRequest, local: LocalLab, app: FastAPI) -> Iterator[Lab]:
    """The same lab, in this process and behind a server."""
    if request.param == "local":
        yield local
        return
    remote = Client("http://localhost", transport=InProcess(app))
    yield remote
    remote.close()


@pytest.fixture
def perflab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: Path, tmp_path: Path) -> Perflab:
    """Runs `perflab` in an empty folder; gives its exit code, output and errors."""
    declared = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"][cli.GROUP]
    points = [EntryPoint(name, value, cli.GROUP) for name, value in declared.items()]
    monkeypatch.setattr(cli, "entry_points", lambda group: points)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)

    def perflab(*arguments: str | Path) -> tuple[int, str, str]:
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as ended:
            assert isinstance(ended.code, int)
            code = ended.code
        return code, *capsys.readouterr()

    return perflab


@pytest.fixture
def repository(perflab: Perflab, files: Files) -> Iterator[Repository]:
    """A git repository in the empty folder; its lab comes with the first run."""
    repository = Repository(Path.cwd(), perflab, files)
    yield repository
    repository.close()


@pytest.fixture
def slower(repository: Repository) -> Repository:
    """The same, with a base and a head that is a fifth slower."""
    repository.measure(repository.commit(), *STEADY)
    repository.measure(repository.commit(), *SLOWER)
    return repository
