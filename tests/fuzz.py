"""Gives every reader files that were damaged at random: each is read, or refused in one sentence.

python -m tests.fuzz [COUNT [SEED]]    COUNT inputs (100,000), in turn of each format; the first that fails is kept in
                                       fuzz-failed.bin and ends the run
"""

import gzip
import io
import json
import random
import sys
import tarfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import zstandard

from perflab.benchmarks import formats
from perflab.benchmarks.errors import BenchmarkFormatError
from perflab.profiler import TraceFormatError, importers, perfetto
from perflab.profiler.doctor import examine

from .profiler.importers.test_formats import nsys_export

DATA = Path(__file__).parent / "data"
FAILED = Path("fuzz-failed.bin")
LARGEST = 1 << 24
# What is put in beside single bytes: what the formats are made of, and what tracers were seen to write.
TOKENS = (
    b"NaN", b"-Infinity", b"null", b"true", b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\\u", b"-1", b"1e999",
    b"99999999999999999999", b"0.5", b'"ph":"B"', b'"ph":"E"', b'"ph":"f"', b'"ph":"C"', b'"ph":"b"', b'"ts":',
    b'"dur":-5', b'"id":', b'"args":{', b"\x00", b"\xff", b"\n", b"\xc3", b"ns/op", b"9" * 400, b"1", b"\x1f\x8b",
    b"PK\x03\x04",
)  # fmt: skip


def survives_as_trace(data: bytes) -> None:
    """Reads, checks and examines."""
    try:
        found = importers.read(io.BytesIO(data), LARGEST)
    except TraceFormatError as error:
        assert str(error).startswith("the trace: ") and "\n" not in str(error), str(error)
        return
    found.trace.check()
    examine(found)


def survives_as_results(data: bytes) -> None:
    """Reads, and writes as a run of ours."""
    try:
        runs = formats.parse_all(data, "bench")
    except BenchmarkFormatError as error:
        assert str(error).startswith("bench") and "\n" not in str(error), str(error)
        return
    for run in runs:
        assert formats.parse(run.to_json().encode(), "again") == run


def _json(document: Any) -> bytes:
    return json.dumps(document).encode()


def _zip(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def _tar(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def _chrome() -> dict[str, Any]:
    """Every phase that puts something on the timeline."""
    common = {"pid": 1, "tid": 2, "cat": "cpu_op"}
    rows = [
        {"ph": "X", "name": "a", "ts": 1.5, "dur": 8, "args": {"n": 1, "s": "x", "l": [1], "Seq": 3}},
        {"ph": "X", "name": "ncclKernel_AllReduce", "ts": 2, "dur": 3, "cat": "kernel", "args": {"correlation": 5}},
        {"ph": "X", "name": "cudaLaunch", "ts": 1, "dur": 1, "cat": "cuda_runtime", "args": {"correlation": 5}},
        {"ph": "X", "name": "ProfilerStep#1", "ts": 0, "dur": 6, "cat": "user_annotation"},
        {"ph": "B", "name": "b", "ts": 3}, {"ph": "E", "name": "b", "ts": 4},
        {"ph": "b", "name": "c", "ts": 3, "id": "1"}, {"ph": "e", "name": "c", "ts": 5, "id": "1"},
        {"ph": "i", "name": "[memory]", "ts": 4, "args": {"Addr": 1, "Bytes": 64}},
        {"ph": "n", "name": "n", "ts": 4, "id": "1"},
        {"ph": "C", "name": "m", "ts": 5, "args": {"used": 1, "free": 2.5}},
        {"ph": "s", "name": "f", "ts": 1, "id": 7}, {"ph": "f", "name": "f", "ts": 4, "id": 7, "bp": "e"},
        {"ph": "M", "name": "process_name", "args": {"name": "python"}},
        {"ph": "M", "name": "thread_name", "args": {"name": "main"}},
    ]  # fmt: skip
    return {"schemaVersion": 1, "baseTimeNanoseconds": 10**18, "traceEvents": [common | row for row in rows]}


@cache
def seeds() -> dict[str, tuple[Callable[[bytes], None], bytes]]:
    """By format: what must survive, and a file of it."""
    chrome = _json(_chrome())
    ranks = {f"{rank}.json": _json(_chrome() | {"distributedInfo": {"rank": rank}}) for rank in range(2)}
    frames = {"shared": {"frames": [{"name": "f", "file": "x.py", "line": 1}, {"name": "g"}]}}
    evented = {
        "type": "evented",
        "unit": "seconds",
        "startValue": 0,
        "endValue": 2,
        "events": [{"type": type, "frame": 0, "at": at} for type, at in (("O", 0), ("C", 1), ("O", 1.5))],
    }
    sampled = {"type": "sampled", "unit": "milliseconds", "samples": [[0], [0, 1]], "weights": [1, 2.5]}
    thread = "MainThread\0<thread>\x001407"
    session = {"start_time": 1.5, "frame_records": [[[thread, "run\0x.py\x0012\1l13"], 0.1], [[thread], 0.2]]}
    tree = {"sample_count": 1, "root_frame": {"function": "f", "time": 1, "children": [{"function": "g", "time": 0.5}]}}
    own = {"format": "perflab.run", "version": 1, "results": [{"name": "a", "samples": [1.5]}]}
    asv = {"commit_hash": "f" * 40, "date": 1, "params": {"num_cpu": "2"}, "python": "3.12",
           "requirements": {"numpy": "2"}, "result_columns": ["result", "params", "version", "started_at", "samples"],
           "results": {"t.time_x": [[1.5, None], [["1", "2"]], "v", 5, [[1.5], None]]}}  # fmt: skip
    criterion = {"a/new/benchmark.json": _json({"full_id": "a"}),
                 "a/new/estimates.json": _json({"median": {"point_estimate": 1}}),
                 "a/new/sample.json": _json({"iters": [1, 2], "times": [3, 4]})}  # fmt: skip
    message = {"reason": "benchmark-complete", "id": "x", "measured_values": [1], "iteration_count": [2], "unit": "ns"}
    go = b"goos: linux\npkg: x\nBenchmarkF/n=1-8\t10\t5 ns/op\t16 B/op\nPASS\n"
    printed = go.decode().splitlines()
    traces = {
        "chrome": chrome,
        "torch": (DATA / "traces" / "torch_step.json").read_bytes()[:6000],
        "gzip": gzip.compress(chrome),
        "gzip members": gzip.compress(chrome[:99]) + gzip.compress(chrome[99:]),
        "zstd": zstandard.compress(chrome),
        "zip": _zip(ranks),
        "tar": _tar(ranks),
        "perfetto": b"".join(perfetto.encode(importers.read(io.BytesIO(chrome), mask=False).trace)),
        "speedscope": _json(frames | {"profiles": [evented, sampled]}),
        "pyinstrument session": _json(session),
        "pyinstrument tree": _json(tree),
        "Nsight Systems": nsys_export(),
    }
    results = {
        "pytest-benchmark": (DATA / "benchmarks" / "pytest_benchmark_531.json").read_bytes(),
        "google-benchmark": _json({"context": {"num_cpus": 2}, "benchmarks": [{"name": "a/n:1", "real_time": 1.5}]}),
        "hyperfine": _json({"results": [{"command": "x", "times": [1.5], "parameters": {"n": "1"}}]}),
        "asv": _json(asv),
        "asv folder": _zip({"benchmarks.json": _json({"t.time_x": {"unit": "seconds"}}), "m/1.json": _json(asv)}),
        "criterion": _zip(criterion),
        "criterion messages": _json(message),
        "go test": go,
        "go test -json": b"\n".join(_json({"Action": "output", "Output": f"{line}\n"}) for line in printed),
        "perflab": _json(own),
    }  # fmt: skip
    return {name: (survives_as_trace, data) for name, data in traces.items()} | {
        name: (survives_as_results, data) for name, data in results.items()
    }


def damaged(data: bytes, chance: random.Random) -> bytes:
    """A file with up to six of: bytes changed, left out, put in, repeated; or the end cut off."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(made) + 1)
        size = min(chance.choice((1, 1, 2, 8, 40)), len(made) - at)
        kind = chance.randrange(6)
        if kind == 0:
            del made[at : at + size]
        elif kind == 1:
            made[at:at] = chance.choice(TOKENS)
        elif kind == 2:
            made[at : at + size] = chance.choice(TOKENS)
        elif kind == 3:
            made[at:at] = made[at : at + size]
        elif kind == 4:
            made[at : at + size] = chance.randbytes(size)
        elif chance.random() < 0.2:
            del made[at:]
    return bytes(made)


def inputs(count: int, seed: int = 0) -> Iterator[tuple[str, Callable[[bytes], None], bytes]]:
    """So many damaged files in turn of each format: its name, what must survive, the bytes. The same for a seed."""
    chance = random.Random(seed)
    listed = list(seeds().items())
    for number in range(count):
        name, (survives, data) = listed[number % len(listed)]
        yield name, survives, damaged(data, chance)


def main(count: int = 100_000, seed: int = 0) -> int:
    began = time.perf_counter()
    for number, (name, survives, data) in enumerate(inputs(count, seed)):
        try:
            survives(data)
        except Exception:
            FAILED.write_bytes(data)
            traceback.print_exc()
            print(f"input {number:,} of seed {seed}, damaged {name}, is in {FAILED}", file=sys.stderr)
            return 1
    print(
        f"{count:,} damaged files of {len(seeds())} formats were read or refused in {time.perf_counter() - began:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
