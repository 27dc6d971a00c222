"""A lab keeps the columns of a trace beside its bytes: reading it again is quick, and losing them costs time alone."""

from typing import Any

import pytest

from perflab.profiler.trace import Trace
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings

from .conftest import BASE, Files


@pytest.fixture
def settings(embedded: Settings) -> Settings:
    return embedded


def told(trace: Trace) -> list[Any]:
    columns = trace.slices
    return [trace.strings, trace.tracks, columns.start.tolist(), columns.name.tolist(), columns.parent.tolist()]


def test_a_trace_is_read_again_from_its_columns(settings: Settings, files: Files) -> None:
    lab = LocalLab.open(settings, create=True)
    said = Origin(project="demo", commit=BASE)
    taken = lab.upload(files.trace("trace.json", 100), Label(name="trace.json", said=said))
    assert taken.trace is not None
    lab.close()
    kept = settings.blobs / taken.sha256[:2] / taken.sha256
    columns = settings.blobs / "derived" / taken.sha256[:2] / taken.sha256
    away = columns.rename(settings.blobs / "away")
    lab = LocalLab.open(settings, create=False)
    from_bytes = told(lab.read_trace(taken.trace))  # which keeps its columns anew
    lab.close()
    assert columns.read_bytes() == away.read_bytes()

    kept.rename(away)
    lab = LocalLab.open(settings, create=False)
    assert told(lab.read_trace(taken.trace)) == from_bytes
    lab.close()


def test_columns_of_another_version_are_made_again(settings: Settings, files: Files) -> None:
    lab = LocalLab.open(settings, create=True)
    taken = lab.upload(files.trace("trace.json", 100), Label(name="t.json", said=Origin(project="demo", commit=BASE)))
    assert taken.trace is not None
    columns = settings.blobs / "derived" / taken.sha256[:2] / taken.sha256
    ours = columns.read_bytes()
    columns.write_bytes(ours.replace(b'"version":1', b'"version":9'))
    assert len(lab.read_trace(taken.trace).slices) == 9
    assert columns.read_bytes() == ours
    lab.close()
