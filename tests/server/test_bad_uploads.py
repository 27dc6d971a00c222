"""A bad file is refused in one sentence, alike in this process and over HTTP, and leaves nothing behind."""

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from sqlalchemy import create_engine, func, select

from perflab.server.blobs import FolderBlobs, Staged, open_blobs
from perflab.server.errors import LabRefused, Refused
from perflab.server.lab import Lab, LocalLab
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings
from perflab.server.store import Store
from perflab.server.tables import metadata

from .conftest import BASE, EMBEDDED, Files

SAID = Origin(project="demo", commit=BASE)
TRACE = '{"traceEvents": [{"ph": "X", "name": "add", "pid": 1, "tid": 1, "ts": 0, "dur": 5}]}'


def pytest_benchmark(samples: list[object], **more: object) -> str:
    entry = {"fullname": "test_a", "name": "test_a", "params": None, "stats": {"data": samples, "median": samples[0]}}
    return json.dumps(
        {"machine_info": {}, "commit_info": {}, "benchmarks": [entry], "datetime": "2026-01-31T12:00:00", **more}
    )


BAD = {
    "text": ("hello", "this is not JSON"),
    "nothing": ("", "is empty"),
    "html": ("<!doctype html><html><body>Sign in</body></html>", "this is HTML"),
    "trace cut short": (TRACE[:-20], "in the middle of the data"),
    "gzip cut short": (gzip.compress(TRACE.encode())[:-12], "in the middle of the data"),
    "gzip damaged": (b"\x1f\x8b" + b"\x00" * 50, "the gzip data is damaged"),
    "no trace": ('{"a": 1}', "JSON, but not a Chrome trace"),
    "trace without events": ('{"traceEvents": []}', "a trace without events"),
    "NaN": (pytest_benchmark([float("nan")]), "a sample is nan"),
    "infinity": (pytest_benchmark([1.0, float("inf")]), "a sample is inf"),
    "no benchmarks": (pytest_benchmark([1.0], benchmarks=[]), "there are no benchmarks in it"),
    "benchmarks cut short": (pytest_benchmark([1.0])[:-5], "the JSON is cut short"),
    "google-benchmark": ('{"context": {}, "benchmarks": [{"name": "a"}]}', "a: a sample is None, not a number"),
    "hyperfine": ('{"results": [{"command": "sleep 1", "times": [-1.0]}]}', "sleep 1: a sample is -1.0"),
    "asv": ('{"commit_hash": "abc", "results": {}}', "no benchmark in it has a result"),
    "a run of a later version": ('{"format": "perflab.run", "version": 9}', "upgrade perflab"),
}


def assert_untouched(settings: Settings) -> None:
    """No row in any table, no blob, no temporary file."""
    engine = create_engine(settings.database_url or f"sqlite:///{settings.database}")
    with engine.connect() as connection:
        rows = {
            table.name: connection.scalar(select(func.count()).select_from(table)) for table in metadata.sorted_tables
        }
    engine.dispose()
    assert len(rows) >= 10
    assert set(rows.values()) == {0}
    assert open_blobs(settings).sizes() == {}
    assert [path for path in settings.blobs.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_refused(lab: Lab, files: Files, settings: Settings, kind: str) -> None:
    content, reason = BAD[kind]
    path = files.write("upload.json", content)
    with pytest.raises(Refused) as caught:
        lab.upload(path, Label(name="upload.json", said=SAID))
    sentence = str(caught.value)
    assert sentence.startswith("upload.json")
    assert reason in sentence
    assert str(settings.lab) not in sentence
    assert_untouched(settings)


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_answered_with_json(client: httpx.Client, settings: Settings, kind: str) -> None:
    content, reason = BAD[kind]
    data = content.encode() if isinstance(content, str) else content
    said = {"project": "p", "commit": BASE}
    response = client.post("/api/v1/uploads", files={"file": ("upload.json", data)}, data=said)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/json"
    assert list(response.json()) == ["error"]
    assert reason in response.json()["error"]
    assert_untouched(settings)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (Origin(commit=BASE), "upload.json does not say its project; name it with --project"),
        (Origin(project="demo"), "upload.json does not say its commit; give the whole SHA with --commit"),
        (
            Origin(project="demo", commit="main"),
            "commit 'main' is no whole SHA; give the 40 hex digits that `git rev-parse` prints",
        ),
        (
            Origin(project="demo", commit=BASE[:7]),
            "commit 'ba5eba5' is no whole SHA; give the 40 hex digits that `git rev-parse` prints",
        ),
        (Origin(project=" ", commit=BASE), "project ' ' is no name; give up to 200 printable characters"),
        (Origin(project="a\nb", commit=BASE), r"project 'a\nb' is no name; give up to 200 printable characters"),
        (
            Origin(project="demo", commit=BASE, branch="b" * 501),
            f"branch '{'b' * 60}' is no name; give up to 500 printable characters",
        ),
    ],
)
def test_a_bad_origin_is_refused(lab: Lab, files: Files, settings: Settings, said: Origin, sentence: str) -> None:
    path = files.write("upload.json", TRACE)
    with pytest.raises(Refused) as caught:
        lab.upload(path, Label(name="upload.json", said=said))
    assert str(caught.value) == sentence
    assert_untouched(settings)


def test_a_sha_is_kept_in_lower_case(lab: Lab, files: Files) -> None:
    path = files.write("upload.json", TRACE)
    label = Label(name="upload.json", said=Origin(project="demo", commit=BASE.upper()))
    assert lab.upload(path, label).commit == BASE


def test_a_file_that_is_not_there_is_refused(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"gone.json cannot be read \(No such file or directory\); name a trace or a"):
        lab.upload(tmp_path / "gone.json", Label(name="gone.json", said=SAID))


@pytest.mark.parametrize(
    "machine",
    ["", "[]", "{}", '{"name": "a", "cpu": "b", "cores": "2", "os": "c", "python": "d"}', "[" * 100_000, "9" * 5_000],
    ids=["nothing", "a list", "no field", "a wrong type", "nested too deeply", "a number too long"],
)
def test_a_bad_machine_is_refused(client: httpx.Client, settings: Settings, machine: str) -> None:
    fields = {"project": "p", "commit": BASE, "machine": machine}
    response = client.post("/api/v1/uploads", files={"file": ("upload.json", TRACE)}, data=fields)
    if machine == "":
        assert response.status_code == 200
        return
    assert response.status_code == 422
    assert "machine is not a JSON object" in response.json()["error"]
    assert_untouched(settings)


class FullDisk(FolderBlobs):
    def keep(self, staged: Staged) -> None:
        raise OSError(28, "No space left on device")


@EMBEDDED
def test_a_disk_that_fails_leaves_nothing(settings: Settings, store: Store, files: Files) -> None:
    lab = LocalLab(store, FullDisk(settings.blobs))
    with pytest.raises(LabRefused) as caught:
        lab.upload(files.write("upload.json", TRACE), Label(name="upload.json", said=SAID))
    assert str(caught.value) == (
        "the lab cannot keep upload.json (No space left on device); look at its disk and rights, then try again"
    )
    assert_untouched(settings)
    assert lab.runs() == []


@EMBEDDED
def test_a_database_that_cannot_be_written_is_said(settings: Settings, local: LocalLab, files: Files) -> None:
    with closing(sqlite3.connect(settings.database)) as connection, connection:
        connection.execute("alter table trace rename to gone")
    with pytest.raises(LabRefused) as caught:
        local.upload(files.write("upload.json", TRACE), Label(name="upload.json", said=SAID))
    assert str(caught.value).startswith("the lab's database cannot be written (")
    with closing(sqlite3.connect(settings.database)) as connection, connection:
        connection.execute("alter table gone rename to trace")
    assert_untouched(settings)


@EMBEDDED
def test_a_lab_that_was_removed_takes_nothing(settings: Settings, local: LocalLab, files: Files) -> None:
    path = files.write("upload.json", TRACE)
    shutil.rmtree(settings.lab)
    with pytest.raises(LabRefused, match="is gone; put it back"):
        local.upload(path, Label(name="upload.json", said=SAID))
    assert not settings.lab.exists()
