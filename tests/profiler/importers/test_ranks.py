"""Launches tied by correlation, and the files of several ranks as one trace."""

import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from perflab.profiler import TraceFormatError, chrome, importers
from perflab.profiler.chrome_write import encode
from perflab.profiler.importers import Import


def call(name: str, category: str, ts: int, correlation: int, tid: Any = 1) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": 2, "pid": 1, "tid": tid,
            "args": {"correlation": correlation}}  # fmt: skip


EVENTS = [
    call("launch 1", "cuda_runtime", 0, 11),
    call("launch 2", "cuda_runtime", 10, 12),
    call("k1", "kernel", 20, 11, "stream 7"),
    call("k2", "kernel", 30, 12, "stream 7"),
    call("k3", "kernel", 40, 13, "stream 7"),
]


def arrows(trace: Any) -> list[tuple[str, str]]:
    return list(zip(trace.name_of(trace.flows.source), trace.name_of(trace.flows.target), strict=True))


def read(data: bytes) -> Import:
    found = importers.read(io.BytesIO(data))
    found.trace.check()
    return found


def test_kernels_are_tied_to_their_launch_by_correlation() -> None:
    trace = read(json.dumps(EVENTS).encode()).trace
    assert arrows(trace) == [("launch 1", "k1"), ("launch 2", "k2")]


def test_correlation_goes_before_what_flows_say() -> None:
    ends = [("s", 0, 1, 5), ("f", 30, "stream 7", 5), ("s", 10, 1, 6), ("f", 40, "stream 7", 6)]
    flows = [
        {"ph": phase, "ts": ts, "pid": 1, "tid": tid, "id": id, "name": "ac2g", "cat": "ac2g", "bp": "e"}
        for phase, ts, tid, id in ends
    ]
    trace = read(json.dumps(EVENTS + flows).encode()).trace
    # k2 is not of launch 1, whatever its flow says; k3 has no launch of its own number, so its flow counts
    assert arrows(trace) == [("launch 1", "k1"), ("launch 2", "k2"), ("launch 2", "k3")]


def rank(number: int, base: int) -> bytes:
    document = {"distributedInfo": {"rank": number}, "baseTimeNanoseconds": base, "traceEvents": EVENTS}
    return json.dumps(document).encode()


def archive(kind: str, files: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as made:
            for name, data in files.items():
                made.writestr(name, data)
    else:
        with tarfile.open(fileobj=file, mode=f"w:{kind}") as tar:
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    return file.getvalue()


BASE = 1_700_000_000_000_000_000


@pytest.mark.parametrize("kind", ["zip", "gz", ""])
def test_ranks_become_one_trace_on_one_clock(kind: str) -> None:
    files = {"b.json": rank(1, BASE + 3_000), "a.json": rank(0, BASE), "README": b"two ranks"}
    found = read(archive(kind, files))
    trace = found.trace
    clocks = {"method": "unknown", "collectives": 0, "uncertainty_ns": 0, "moved_ns": {"0": 0, "1": 0}}
    assert trace.metadata == {"ranks": 2, "baseTimeNanoseconds": BASE, "rankClocks": clocks}
    assert {track.process for track in trace.tracks} == {"rank 0", "rank 1"}
    assert {track.pid for track in trace.tracks} == {"rank 0: 1", "rank 1: 1"}
    first = [row for row, name in enumerate(trace.name_of(range(len(trace.slices)))) if name == "launch 1"]
    assert [int(trace.slices.start[row]) for row in first] == [0, 3_000]
    assert sorted(arrows(trace)) == [("launch 1", "k1")] * 2 + [("launch 2", "k2")] * 2
    for source, target in zip(trace.flows.source, trace.flows.target, strict=True):
        assert trace.tracks[trace.slices.track[source]].pid == trace.tracks[trace.slices.track[target]].pid
    told = {finding.kind: finding for finding in found.findings}
    assert told["joined"].what == "2 files of one run were joined; they begin within 0.003 ms of each other."
    assert told["joined"].examples == ("rank 0: a.json", "rank 1: b.json")
    assert told["skipped"].examples == ("README",)


def test_a_joined_trace_comes_back_as_it_was() -> None:
    trace = read(archive("zip", {"a": rank(0, BASE), "b": rank(1, BASE)})).trace
    again = chrome.read(io.BytesIO(b"".join(encode(trace))))
    assert (again.flows.source == trace.flows.source).all()
    assert (again.flows.target == trace.flows.target).all()


def test_a_folder_is_read_as_an_archive_is(tmp_path: Path) -> None:
    files = {"b.json": rank(1, BASE + 3_000), "a.json": rank(0, BASE), "README": b"two ranks"}
    (tmp_path / "run").mkdir()
    for name, data in files.items():
        (tmp_path / "run" / name).write_bytes(data)
    (tmp_path / "run" / "broken.json.gz").write_bytes(b"\x1f\x8b\x00")
    folder, archived = importers.read(tmp_path / "run"), read(archive("zip", files))
    assert folder.trace.metadata == archived.trace.metadata
    assert arrows(folder.trace) == arrows(archived.trace)
    told = {finding.kind: finding for finding in folder.findings}
    assert told["skipped"].examples == ("README", "broken.json.gz")
    with pytest.raises(TraceFormatError, match="run: this is not JSON"):
        for name in ("a.json", "b.json"):
            (tmp_path / "run" / name).unlink()
        importers.read(tmp_path / "run")


def test_archives_without_a_trace_are_refused() -> None:
    with pytest.raises(TraceFormatError, match="nothing is in it"):
        read(archive("zip", {}))
    with pytest.raises(TraceFormatError, match="this is not JSON"):
        read(archive("gz", {"README": b"nothing here"}))


def test_a_broken_rank_costs_that_rank_alone() -> None:
    files = {"a.json": rank(0, BASE), "b.json": b"\x00 no trace", "c.json": rank(2, BASE)[:-30]}
    found = read(archive("gz", files))
    assert {track.process for track in found.trace.tracks} == {"rank 0", "rank 2"}
    told = {finding.kind: finding for finding in found.findings}
    assert told["skipped"].examples == ("b.json",)
    assert told["cut"].count == 1
    assert len(found.trace.slices) == len(EVENTS) * 2 - 1


def test_files_that_say_they_are_of_one_rank_are_told() -> None:
    found = read(archive("", {"a.json": rank(3, BASE), "b.json": rank(3, BASE), "c.json": rank(0, BASE)}))
    assert {track.process for track in found.trace.tracks} == {"rank 0", "rank 1", "rank 2"}
    assert {finding.kind: finding.count for finding in found.findings}["same-rank"] == 2
