"""speedscope, pyinstrument and Nsight Systems, in small files made here; and what is masked."""

import io
import json
import sqlite3
import zipfile
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from perflab.profiler import Trace, TraceBuilder, TraceFormatError, importers, perfetto
from perflab.profiler.importers import Import

SPEEDSCOPE = {
    "$schema": "https://www.speedscope.app/file-format-schema.json",
    "shared": {"frames": [{"name": "main", "file": "a.py", "line": 3}, {"name": "f"}]},
    "profiles": [],
}


def load(document: Any, *, mask: bool = False) -> Import:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    found = importers.read(io.BytesIO(data), mask=mask)
    found.trace.check()
    return found


def slices(trace: Trace) -> list[tuple[str, int, int, int]]:
    """Name, start, duration and depth."""
    columns = trace.slices
    numbers = zip(columns.start.tolist(), columns.duration.tolist(), columns.depth.tolist(), strict=True)
    return [(name, *rest) for name, rest in zip(trace.name_of(range(len(columns))), numbers, strict=True)]


def kinds(found: Import) -> dict[str, int]:
    return {finding.kind: finding.count for finding in found.findings}


def test_speedscope_begins_and_ends() -> None:
    events = [("O", 0, 0.1), ("O", 1, 0.25), ("C", 1, 0.5), ("C", 1, 0.6), ("O", 1, 0.7)]
    profile = {
        "type": "evented", "name": "thread 1", "unit": "milliseconds", "startValue": 0, "endValue": 1,
        "events": [{"type": kind, "frame": frame, "at": at} for kind, frame, at in events],
    }  # fmt: skip
    found = load(SPEEDSCOPE | {"profiles": [profile]})
    assert found.format == "speedscope"
    assert slices(found.trace) == [
        ("main", 100_000, 900_000, 0),
        ("f", 250_000, 250_000, 1),
        ("f", 700_000, 300_000, 1),
    ]
    assert found.trace.args_of(0) == {"file": "a.py", "line": 3, "unfinished": True}
    assert found.trace.tracks[0].name == "thread 1"
    assert kinds(found) == {"unfinished": 2, "stray-end": 1}


def test_speedscope_samples() -> None:
    profile = {
        "type": "sampled", "unit": "seconds", "startValue": 2,
        "samples": [[0], [0, 1], [0, 1], [], [0]], "weights": [0.5, 0.25, 0.25, 1, 0.125],
    }  # fmt: skip
    found = load(SPEEDSCOPE | {"profiles": [profile]})
    ms = 1_000_000
    assert slices(found.trace) == [
        ("main", 2000 * ms, 1000 * ms, 0),
        ("f", 2500 * ms, 500 * ms, 1),
        ("main", 4000 * ms, 125 * ms, 0),
    ]
    assert kinds(found) == {}


def test_speedscope_without_a_unit_of_time() -> None:
    profile = {"type": "sampled", "unit": "bytes", "samples": [[0]], "weights": [64]}
    found = load(SPEEDSCOPE | {"profiles": [profile]})
    assert slices(found.trace) == [("main", 0, 64, 0)]
    assert found.findings[0].what == "The unit of the profile is 'bytes', which is no time."


def test_a_pyinstrument_session() -> None:
    main, other = "MainThread\0<thread>\x001407", "worker\0<thread>\x001408"
    run, work = "run\0/home/lovelace/train.py\x0012\1l13", "work\0/home/lovelace/train.py\x0030\1l31"
    document = {
        "start_time": 1700000000.5, "duration": 0.3, "sample_count": 3, "target_description": "Program: train.py",
        "frame_records": [
            [[main, run], 0.1], [[main, run, work], 0.05], [[other, work], 0.2],
            [[main, run.replace("l13", "l14"), work], 0.05],
        ],
    }  # fmt: skip
    found = load(document)
    assert found.format == "pyinstrument"
    ms = 1_000_000
    assert slices(found.trace) == [
        ("run", 0, 200 * ms, 0),
        ("work", 0, 200 * ms, 0),
        ("work", 100 * ms, 100 * ms, 1),
    ]
    assert [(track.name, track.tid) for track in found.trace.tracks] == [("MainThread", 1407), ("worker", 1408)]
    assert found.trace.args_of(0) == {"file": "/home/lovelace/train.py", "line": 12}
    assert found.trace.metadata == {"tool": "pyinstrument", "baseTimeNanoseconds": 1700000000500000000}


def test_a_pyinstrument_tree() -> None:
    inner = [
        {"function": name, "time": time, "file_path": "", "line_no": 1} for name, time in (("a", 0.5), ("b", 0.25))
    ]
    root = {"function": "main", "time": 1.0, "file_path": "x.py", "line_no": 4, "children": inner}
    found = load({"start_time": 1.0, "sample_count": 9, "root_frame": root})
    ms = 1_000_000
    assert slices(found.trace) == [("main", 0, 1000 * ms, 0), ("a", 0, 500 * ms, 1), ("b", 500 * ms, 250 * ms, 1)]
    assert kinds(found) == {"sums": 1}


def test_a_pyinstrument_tree_as_deep_as_recursive_programs_are() -> None:
    frame: dict[str, Any] = {"function": "leaf", "time": 0.001}
    for depth in range(300):
        frame = {"function": f"f {depth}", "time": 0.001, "children": [frame]}
    trace = load({"sample_count": 1, "root_frame": frame}).trace
    assert len(trace.slices) == 301
    assert trace.slices.depth.max() == 300


@pytest.mark.parametrize("value", [10**400, -(10**400), 1e300])
def test_times_of_profiles_that_are_out_of_reach(value: float) -> None:
    evented = {"type": "evented", "unit": "seconds", "startValue": value,
               "events": [{"type": "O", "frame": 0, "at": value}]}  # fmt: skip
    sampled = {"type": "sampled", "unit": "seconds", "samples": [[0]], "weights": [value]}
    assert kinds(load(SPEEDSCOPE | {"profiles": [evented, sampled]})) == {"no-time": 2}
    assert kinds(load({"start_time": value, "frame_records": [[["f"], value]]})) == {"no-time": 1}


def test_odd_pyinstrument_files() -> None:
    assert slices(load({"sample_count": 1, "root_frame": {"function": "f", "time": 1e-9}}).trace) == [("f", 0, 1, 0)]
    thread = "worker\0<thread>\x00x\0y"
    found = load({"start_time": None, "frame_records": [[[thread, "f"], 0.5], [["f"], "soon"], 7]})
    assert slices(found.trace) == [("f", 0, 500_000_000, 0)]
    assert kinds(found) == {"no-time": 2}


@cache
def nsys_export() -> bytes:
    """What nsys export --type sqlite writes of a launch, a kernel, a copy, a range and a mark."""
    connection = sqlite3.connect(":memory:")
    pid = 99 << 24
    tid = pid + 7
    connection.executescript(
        f"""
        CREATE TABLE StringIds (id INTEGER, value TEXT);
        INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'gemm'), (3, 'step'), (4, 'main thread');
        CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
        INSERT INTO ThreadNames VALUES (4, 0, {tid});
        CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
        INSERT INTO PROCESSES VALUES ({pid}, 99, 'python');
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
        INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '');
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME
            (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, {tid}, 5, 1), (22, 21, {tid}, 6, 1);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
            correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (30, 90, 0, 7, 5, {pid}, 2, 2, 128);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
            correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (95, 99, 0, 7, 11, {pid}, 4096, 1);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, text TEXT, textId INTEGER);
        INSERT INTO NVTX_EVENTS VALUES (5, 40, {tid}, NULL, 3), (12, NULL, {tid}, 'mark', NULL);
        """
    )
    with closing(connection):
        return connection.serialize()


def test_an_export_of_nsight_systems() -> None:
    found = load(nsys_export())
    trace = found.trace
    assert found.format == "Nsight Systems"
    assert slices(trace) == [
        ("step", 5, 35, 0),
        ("cudaLaunchKernel", 10, 10, 1),
        ("cudaLaunchKernel", 22, 0, 1),
        ("gemm", 30, 60, 0),
        ("Memcpy HtoD", 95, 4, 0),
    ]
    assert (trace.flows.source.tolist(), trace.flows.target.tolist()) == ([1], [3])
    assert trace.args_of(3) == {"correlation": 5, "gridX": 128}
    assert trace.args_of(4) == {"correlation": 11, "bytes": 4096, "copyKind": 1}
    assert [trace.strings[name] for name in trace.instants.name] == ["mark"]
    host, stream = (trace.tracks[trace.slices.track[row]] for row in (0, 3))
    assert (host.pid, host.tid, host.name, host.process) == (99, 7, "main thread", "python")
    assert (stream.pid, stream.tid) == ("GPU 0", "stream 7")
    assert trace.metadata["baseTimeNanoseconds"] == 1700000000000000000
    assert kinds(found) == {"negative-duration": 1}


def test_another_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (name TEXT)")
    connection.close()
    with pytest.raises(TraceFormatError, match=r"no export of Nsight Systems \(its tables: people\)"):
        importers.read(path)


def test_homes_users_hosts_and_secrets_are_masked() -> None:
    token = "hf_" + "a1B2c3D4e5F6g7H8i9J0"
    document = {
        "hostname": "gpu-17.cluster", "job_name": "lovelace's secret plan", "user": "lovelace",
        "api_key": "12345", "rank": 3,
        "note": f"see /Users/lovelace/x and https://lovelace:pa55@host/x with {token}",
        "traceEvents": [
            {"ph": "X", "name": "/home/lovelace/lib/x.py(3): f", "ts": 1, "dur": 1, "pid": 1, "tid": 1,
             "args": {"file": r"C:\Users\lovelace\x.py", "Host": "gpu-17", "argv": ["x.py", "/rooted"], "n": 7}},
            {"ph": "X", "name": "/home/lovelace/y.py(9): g", "ts": 0, "pid": 1, "tid": 1},
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python /home/lovelace/train.py"}},
        ],
    }  # fmt: skip
    found = load(document, mask=True)
    trace = found.trace
    assert trace.metadata == {
        "hostname": "***", "job_name": "***", "user": "***", "api_key": "***", "rank": 3,
        "note": "see ~/x and https://***@host/x with ***",
    }  # fmt: skip
    assert trace.name_of([0, 1]) == ["~/y.py(9): g", "~/lib/x.py(3): f"]
    assert trace.args_of(1) == {"file": r"~\x.py", "Host": "***", "argv": ["***", "***"], "n": 7}
    assert trace.tracks[0].process == "python ~/train.py"
    everything = str(found.findings) + str(trace)
    assert "lovelace" not in everything and "gpu-17" not in everything
    assert kinds(found)["masked"] == 12
    plain = load(document).trace
    assert plain.metadata["hostname"] == "gpu-17.cluster"


def test_nothing_to_mask_is_no_finding() -> None:
    assert kinds(load([{"ph": "X", "name": "a", "ts": 1, "dur": 1}], mask=True)) == {}


def test_the_page_of_formats_lists_what_is_read() -> None:
    def chrome(category: str = "", process: str = "", **more: Any) -> dict[str, Any]:
        named = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": process}}
        return {"traceEvents": [{"ph": "X", "name": "a", "cat": category, "ts": 1, "dur": 1, "pid": 1}, named], **more}

    documents: dict[str, Any] = {
        "torch.profiler (Kineto)": chrome("cpu_op"),
        "Chrome and Perfetto JSON": chrome(),
        "VizTracer": chrome(viztracer_metadata={"version": "1"}),
        "JAX / XProf": chrome(process="/host:CPU"),
        "Perfetto": b"".join(perfetto.encode(TraceBuilder().build())),
        "Nsight Systems": nsys_export(),
        "speedscope": SPEEDSCOPE,
        "pyinstrument": {"start_time": 1.0, "frame_records": [[["f"], 0.5]]},
        "perflab": chrome(versions={"perflab": "0.1.0"}),
    }
    page = (Path(__file__).parents[3] / "docs" / "importers.md").read_text(encoding="utf-8")
    table = page.split("|---|---|---|\n", 1)[1].split("\n\n")[0].splitlines()
    names = [row.strip("|").split(" | ")[0].strip() for row in table]
    assert names == list(documents)
    for name, document in documents.items():
        told = {"Chrome and Perfetto JSON": "Chrome JSON", "torch.profiler (Kineto)": "torch.profiler"}
        assert load(document).format == told.get(name, name)


def test_all_that_an_archive_unpacks_to_is_counted_together() -> None:
    packed = io.BytesIO()
    document = json.dumps({"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1}]}) + " " * 600_000
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a.json", "b.json", "c.json"):
            archive.writestr(name, document)
    assert len(importers.read(io.BytesIO(packed.getvalue())).trace.slices) == 3
    with pytest.raises(TraceFormatError, match="unpacks to more than 1 MiB; record fewer steps a file"):
        importers.read(io.BytesIO(packed.getvalue()), 1 << 20)
