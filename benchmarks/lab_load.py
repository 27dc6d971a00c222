"""A lab under load, on loopback, with what it needs started and ended here: prints each figure beside its goal.

    python -m perflab.benchmarks.lab_load [uploads] [series] [trace] [--large]

Without a word, all three. They need the extras postgres and test, and some minutes on 2 cores that do nothing else.
"""

import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPConnection, HTTPException
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any

import httpx

from .machine import Machine
from .postgres import postgresql
from .result import Benchmark, Result, Run

PERFLAB = [sys.executable, "-c", "import sys; from perflab.profiler.cli import main; sys.exit(main(sys.argv[1:]))"]
if TYPE_CHECKING:
    from perflab.server.store import Store

Figure = tuple[str, float, str, float]
UPLOAD_S = 20.0
KILL_EVERY_S = 3.0
CLIENTS = 8
MOST_UPLOADS = 2_000  # of a client; they are made before the clock runs
COMMITS, BENCHMARKS, TRACES = 2_000, 50, 5_000
SLICES = 1_000_000
ANSWER_S = 120.0  # the longest that an answer is waited for
MACHINE = Machine.of(name="load", cpu="A CPU", cores=2, os="Linux x86_64", python="CPython 3.11")
START = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["uploads", "series", "trace"])
    parser.add_argument("--large", action="store_true", help="also a trace of ten million events")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[Path], Iterator[Figure]]] = {
        "uploads": uploads,
        "series": series,
        "trace": partial(trace, large=arguments.large),
    }
    if strange := set(arguments.what) - set(parts):
        parser.error(f"there is no {', '.join(sorted(strange))}; name some of {', '.join(parts)}")
    with TemporaryDirectory() as folder:
        for name in arguments.what:
            for what, value, unit, goal in parts[name](Path(folder)):
                print(f"{what:70} {value:10.1f} {unit:5} goal {goal:g}", flush=True)


def uploads(folder: Path) -> Iterator[Figure]:
    """Small uploads to two processes on PostgreSQL, while one of them or the worker is killed every few seconds."""
    files = [list(islice(made, MOST_UPLOADS)) for made in (*map(_results, range(CLIENTS)), _traces())]
    with postgresql(durable=True) as database, _served(folder / "team", database, workers=2, queue=True) as served:
        retried: list[str] = []
        sent: list[list[str]] = [[] for _ in files]
        end = time.monotonic() + UPLOAD_S
        threads = [
            Thread(target=_send, args=(served.url, *each, end, retried)) for each in zip(files, sent, strict=True)
        ]
        for thread in threads:
            thread.start()
        kills = 0
        chance = random.Random(0)
        while (now := time.monotonic()) < end - 1:
            time.sleep(min(KILL_EVERY_S, end - 1 - now))
            kills += served.kill_one(chance)
        for thread in threads:
            thread.join()
        results, traces = sum(map(len, sent[:-1])), len(sent[-1])
        kept, runs = _asked(served.url, "select count(*), count(distinct run) from results")
        (kept_traces,) = _asked(served.url, "select count(*) from traces")
        print(
            f"{results} results and {traces} traces uploaded, {len(retried)} sent again, {kills} processes "
            f"killed; the lab has {runs} runs with results and {kept_traces} traces"
        )
        yield "small uploads, 2 processes on PostgreSQL, killed at random", results / UPLOAD_S, "/s", 200
        yield "  lost or doubled", abs(kept - results) + abs(kept_traces - traces), "", 0


def _asked(url: str, query: str) -> list[Any]:
    answer = httpx.post(f"{url}/api/v1/sql", json={"query": query}, timeout=ANSWER_S)
    row: list[Any] = answer.raise_for_status().json()["rows"][0]
    return row


def _results(client: int) -> Iterator[tuple[str, bytes]]:
    """Runs of one result, without end: the name of the file, and the request's body."""
    for number in count():
        run = Run(
            project="load",
            commit=f"{number % COMMITS + 1:040x}",
            branch="main",
            machine=MACHINE,
            created=START + timedelta(seconds=number),
            tool="load",
            results=(Result(Benchmark("step"), (client + number / 1e6 + 1e-9,)),),
        )
        name = f"{client}-{number}.json"
        yield name, _body(name, run.to_json())


def _traces() -> Iterator[tuple[str, bytes]]:
    """Traces of one slice, likewise."""
    for number in count():
        event = {"ph": "X", "cat": "cpu_op", "name": f"op {number}", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
        name = f"trace-{number}.json"
        commit = f"{number % COMMITS + 1:040x}"
        yield name, _body(name, json.dumps({"traceEvents": [event]}), project="load", commit=commit)


BOUNDARY = "a-boundary-of-parts"


def _body(name: str, content: str, **said: str) -> bytes:
    """The body of an upload, as a form's."""
    heads = {f'name="{key}"': value for key, value in said.items()}
    heads[f'name="file"; filename="{name}"'] = content
    parts = [
        f"--{BOUNDARY}\r\ncontent-disposition: form-data; {head}\r\n\r\n{text}\r\n" for head, text in heads.items()
    ]
    return f"{''.join(parts)}--{BOUNDARY}--\r\n".encode()


def _send(url: str, files: list[tuple[str, bytes]], sent: list[str], end: float, retried: list[str]) -> None:
    """Upload one file after the other, each in a connection of its own, as jobs of CI do, until it is answered.

    With the standard library's client, which takes a fifth of the time of httpx: the server has the cores.
    """
    headers = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}
    for name, body in files:
        if time.monotonic() > end:
            return
        while True:
            connection = HTTPConnection(url.removeprefix("http://"), timeout=ANSWER_S / 2)
            try:
                connection.request("POST", "/api/v1/uploads", body, headers)
                answer = connection.getresponse()
                said = answer.read()
            except (OSError, HTTPException):  # its process was killed
                retried.append(name)
                continue
            finally:
                connection.close()
            if answer.status != 503:
                assert answer.status == 200, said
                break
        sent.append(name)
    raise ValueError(f"a client sent all its {MOST_UPLOADS} uploads before the time was over; give it more")


@dataclass(frozen=True, slots=True)
class Served:
    """A server's address and process, and the workers that were started, of which the last one lives."""

    url: str
    process: "subprocess.Popen[str]"
    start_worker: Callable[[], "subprocess.Popen[str]"]
    workers: "list[subprocess.Popen[str]]" = field(default_factory=list)

    def kill_one(self, chance: random.Random) -> int:
        """Kill a process that serves, which is then replaced, or the worker; how many were killed."""
        if chance.random() < 0.3:
            self.workers[-1].kill()
            self.workers[-1].wait()
            self.workers.append(self.start_worker())
            return 1
        forks = [
            pid for pid in _children(self.process.pid) if b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        serving = [child for pid in forks for child in _children(pid)]
        if len(serving) < 2:  # the last one that was killed is not replaced yet
            return 0
        with suppress(ProcessLookupError):
            os.kill(chance.choice(serving), signal.SIGKILL)
        return 1


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def _served(lab: Path, database: str | None, *, workers: int, queue: bool) -> Iterator[Served]:
    environment = os.environ | ({} if database is None else {"PERFLAB_DATABASE_URL": database})

    def start(*arguments: str) -> "subprocess.Popen[str]":
        command = [*PERFLAB, *arguments, "--lab", str(lab)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    server = start("serve", "--port", "0", "--workers", str(workers), *(["--queue"] * queue))
    readers: list[subprocess.Popen[str]] = []
    try:
        assert server.stdout is not None
        url = re.findall("http://[^ ]+", server.stdout.readline())[0]
        httpx.get(f"{url}/api/v1/projects", timeout=ANSWER_S)  # answered once a process is up
        if queue:
            readers.append(start("worker"))
        yield Served(url, server, partial(start, "worker"), readers)
    finally:
        for process in (server, *readers[-1:]):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(ANSWER_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def series(folder: Path) -> Iterator[Figure]:
    """The data of a series' page in a lab of 100,000 results and 5,000 traces."""
    yield "series of 2,000 commits, SQLite, p95", _series(folder / "series", None), "ms", 100
    with postgresql(durable=False) as database:
        yield "series of 2,000 commits, PostgreSQL, p95", _series(folder / "pg", database), "ms", 100


def _series(lab: Path, database: str | None) -> float:
    from perflab.server.settings import Settings
    from perflab.server.store import Store

    store = Store.open(Settings(lab, database_url=database), create=True)
    _fill(store)
    store.close()
    with _served(lab, database, workers=1, queue=False) as served, httpx.Client(timeout=ANSWER_S) as client:

        def ask(name: str) -> None:
            query = {"project": "load", "benchmark": name}
            client.get(f"{served.url}/api/v1/series", params=query).raise_for_status()

        return _p95([partial(ask, f"bench_{number % BENCHMARKS}") for number in range(100)])


def _fill(store: "Store") -> None:
    """Rows alone: what is measured is reading."""
    from perflab.server.arrival import Arrival

    chance = random.Random(0)
    facts: dict[str, Any] = {
        "project": "load",
        "branch": "main",
        "machine": MACHINE,
        "tool": "load",
        "dirty": False,
        "masked": True,
    }
    summary = {"step_ns": 1, "health": {"verdict": "healthy", "sentence": "healthy", "findings": []}}
    for number in range(max(COMMITS, TRACES)):
        commit, created = f"{number % COMMITS + 1:040x}", START + timedelta(minutes=number)
        each = {**facts, "commit": commit, "created": created}
        if number < COMMITS:
            results = tuple(
                Result(Benchmark(f"bench_{at}"), tuple(1 + chance.random() for _ in range(5)))
                for at in range(BENCHMARKS)
            )
            name: dict[str, Any] = {
                "key": f"r{number}",
                "kind": "benchmarks",
                "name": "r",
                "sha256": f"{number:064x}",
                "bytes": 1,
            }
            store.add(Arrival(**each, **name, results=results), lambda: None)
        name = {"key": f"t{number}", "kind": "trace", "name": "t", "sha256": f"{number + 10**6:064x}", "bytes": 1}
        store.add(Arrival(**each, **name, summary=summary), lambda: None)


def trace(folder: Path, *, large: bool) -> Iterator[Figure]:
    """A trace of a million events, from its file to what the pages ask."""
    file = folder / "trace.json"
    write_trace(file, SLICES)
    lab = folder / "traces"
    seconds, megabytes = _ingest(lab, file)
    yield f"from file to queryable, {SLICES:,} events, {file.stat().st_size >> 20} MB", seconds, "s", 6
    yield "  memory of the worker", megabytes, "MB", 600
    yield from _timeline(lab, SLICES)
    if large:
        file.unlink()
        write_trace(file, 10 * SLICES)
        seconds, megabytes = _ingest(folder / "large", file)
        yield f"from file to queryable, {10 * SLICES:,} events", seconds, "s", 60
        yield "  memory of the worker", megabytes, "MB", 1024
        yield from _timeline(folder / "large", 10 * SLICES)


def _timeline(lab: Path, slices: int) -> Iterator[Figure]:
    """What the pages of a lab's only trace ask."""
    with _served(lab, None, workers=1, queue=False) as served, httpx.Client(timeout=ANSWER_S) as client:
        address = f"{served.url}/api/v1/traces/1"
        end = slices * 1_000
        chance = random.Random(0)

        def stretch(most: float) -> dict[str, int]:
            width = int(end * 10 ** -chance.uniform(0, most))
            start = chance.randrange(end - width + 1)
            return {"start": start, "end": start + width}

        def table() -> None:
            client.get(f"{address}/ops").raise_for_status()

        def tile(most: float) -> None:
            client.get(f"{address}/timeline", params=stretch(most) | {"width": 1_500}).raise_for_status()

        def sums() -> None:
            client.get(f"{address}/timeline/totals", params=stretch(4)).raise_for_status()

        yield "op table, cold", 1e3 * _time(table), "ms", 300
        yield "op table, warm, p95", _p95([table] * 20), "ms", 50
        yield "timeline of a range, p95", _p95([partial(tile, 4)] * 100), "ms", 60
        yield "  of a third of the trace or more, p95", _p95([partial(tile, 0.5)] * 50), "ms", 60
        yield "sums by name over a range, p95", _p95([sums] * 50), "ms", 60


def write_trace(path: Path, slices: int) -> None:
    """Ops with kernels inside, on 8 threads, some 300 bytes an event."""
    pad = "x" * 120
    with open(path, "w") as file:
        file.write('{"traceEvents":[\n')
        for number in range(slices):
            outer, at = number % 2 == 0, number // 2 * 2
            event = {
                "ph": "X",
                "cat": "cpu_op" if outer else "kernel",
                "name": f"aten::op_{number % 400}",
                "pid": 4242,
                "tid": 4242 + number // 2 % 8,
                "ts": at + 0.125 if outer else at + 0.5,
                "dur": 1.75 if outer else 1.0,
                "args": {"External id": number, "Input Dims": [[64, 128], [128, number % 64]], "pad": pad},
            }
            file.write(json.dumps(event) + (",\n" if number + 1 < slices else "\n"))
        file.write("]}\n")


def _ingest(lab: Path, file: Path) -> tuple[float, float]:
    """Seconds and MB of a process that takes in a file."""
    command = [*PERFLAB, "upload", str(file), "--lab", str(lab), "--project", "load"]
    began = time.perf_counter()
    process = subprocess.Popen([*command, "--commit", "0" * 39 + "1"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def _time(call: Callable[[], None]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _p95(calls: list[Callable[[], None]]) -> float:
    """ms; the first call, which opens connections, is not counted."""
    calls[0]()
    return 1e3 * statistics.quantiles([_time(call) for call in calls], n=20)[-1]


if __name__ == "__main__":
    main()
