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
from datetime import UTC, datetime, timedelta
from functools import partial
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
CLIENTS = 4
COMMITS, BENCHMARKS, TRACES = 2_000, 50, 5_000
SLICES = 1_000_000
MACHINE = Machine.of(name="load", cpu="A CPU", cores=2, os="Linux x86_64", python="CPython 3.11")
START = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["uploads", "series", "trace"])
    parser.add_argument("--large", action="store_true", help="also a trace of ten million events")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        if "uploads" in arguments.what:
            figures += uploads(folder)
        if "series" in arguments.what:
            figures += series(folder)
        if "trace" in arguments.what:
            figures += trace(folder, arguments.large)
    for what, value, unit, goal in figures:
        print(f"{what:70} {value:10.1f} {unit:5} goal {goal:g}")


def uploads(folder: Path) -> list[Figure]:
    """Small uploads to two processes on PostgreSQL, while one of them or the worker is killed every few seconds."""
    with postgresql(durable=True) as database, _served(folder / "team", database, workers=2, queue=True) as served:
        url, server, workers = served
        sent: list[int] = []
        retried: list[int] = []
        end = time.monotonic() + UPLOAD_S
        threads = [Thread(target=_send, args=(url, number, end, sent, retried)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        kills = 0
        chance = random.Random(0)
        while (now := time.monotonic()) < end - 1:
            time.sleep(min(KILL_EVERY_S, end - 1 - now))
            kills += _kill(server, workers, chance)
        for thread in threads:
            thread.join()
        answer = httpx.post(
            f"{url}/api/v1/sql", json={"query": "select count(*), count(distinct run) from results"}, timeout=120
        )
        (kept, runs), *_ = answer.raise_for_status().json()["rows"]
        print(f"{len(sent)} uploads, {len(retried)} sent again, {kills} processes killed; the lab has {runs} runs")
        return [
            ("small uploads, 2 processes on PostgreSQL, killed at random", len(sent) / UPLOAD_S, "/s", 200),
            ("of these lost or doubled", abs(kept - len(sent)), "", 0),
        ]


def _send(url: str, client: int, end: float, sent: list[int], retried: list[int]) -> None:
    number = 0
    connection = httpx.Client(timeout=60)
    while time.monotonic() < end:
        run = Run(
            project="load",
            commit=f"{number % COMMITS + 1:040x}",
            branch="main",
            machine=MACHINE,
            created=START + timedelta(seconds=number),
            tool="load",
            results=(Result(Benchmark("step"), (client + number / 1e6 + 1e-9,)),),
        ).to_json()
        while True:
            try:
                answer = connection.post(f"{url}/api/v1/uploads", files={"file": (f"{client}-{number}.json", run)})
            except httpx.TransportError:
                connection.close()
                connection = httpx.Client(timeout=60)
                retried.append(number)
                continue
            if answer.status_code != 503:
                answer.raise_for_status()
                break
        sent.append(number)
        number += 1
    connection.close()


def _kill(server: subprocess.Popen[str], workers: list[subprocess.Popen[str]], chance: random.Random) -> int:
    """Kill a process that serves, or the worker, which is then started again."""
    serving = [int(pid) for pid in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()]
    serving = [pid for pid in serving if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    if chance.random() < 0.3:
        workers[-1].kill()
        workers[-1].wait()
        workers.append(subprocess.Popen(workers[-1].args, stdout=subprocess.DEVNULL, text=True))
        return 1
    if len(serving) < 2:  # the last one that was killed is not replaced yet
        return 0
    with suppress(ProcessLookupError):
        os.kill(chance.choice(serving), signal.SIGKILL)
    return 1


@contextmanager
def _served(
    lab: Path, database: str | None, *, workers: int, queue: bool
) -> Iterator[tuple[str, subprocess.Popen[str], list[subprocess.Popen[str]]]]:
    if database is not None:
        os.environ["PERFLAB_DATABASE_URL"] = database
    serve = [*PERFLAB, "serve", "--lab", str(lab), "--port", "0", "--workers", str(workers), *(["--queue"] * queue)]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
    readers = [subprocess.Popen([*PERFLAB, "worker", "--lab", str(lab)], stdout=subprocess.DEVNULL, text=True)] * queue
    try:
        assert server.stdout is not None
        url = re.findall("http://[^ ]+", server.stdout.readline())[0]
        httpx.get(f"{url}/api/v1/projects", timeout=120)  # answered once a process is up
        yield url, server, readers
    finally:
        for process in (server, *readers[-1:]):
            process.send_signal(signal.SIGINT)
            process.wait()
        os.environ.pop("PERFLAB_DATABASE_URL", None)


def series(folder: Path) -> list[Figure]:
    """The data of a series' page in a lab of 100,000 results and 5,000 traces."""
    figures: list[Figure] = []
    figures.append(("series of 2,000 commits, SQLite, p95", _series(folder / "series", None), "ms", 100))
    with postgresql(durable=False) as database:
        figures.append(("series of 2,000 commits, PostgreSQL, p95", _series(folder / "pg", database), "ms", 100))
    return figures


def _series(lab: Path, database: str | None) -> float:
    from perflab.server.settings import Settings
    from perflab.server.store import Store

    store = Store.open(Settings(lab, database_url=database), create=True)
    _fill(store)
    store.close()
    with _served(lab, database, workers=1, queue=False) as (url, _, _), httpx.Client(timeout=60) as client:
        names = [f"bench_{number % BENCHMARKS}" for number in range(100)]

        def ask(name: str) -> None:
            query = {"project": "load", "benchmark": name}
            client.get(f"{url}/api/v1/series", params=query).raise_for_status()

        return _p95([partial(ask, name) for name in names])


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


def trace(folder: Path, large: bool) -> list[Figure]:
    """A trace of a million events, from its file to what the pages ask."""
    file = folder / "trace.json"
    write_trace(file, SLICES)
    lab = folder / "traces"
    seconds, megabytes = _ingest(lab, file)
    size = file.stat().st_size >> 20
    figures: list[Figure] = [
        (f"from file to queryable, {SLICES:,} events, {size} MB", seconds, "s", 6),
        ("  memory of the worker", megabytes, "MB", 600),
    ]
    with _served(lab, None, workers=1, queue=False) as (url, _, _), httpx.Client(timeout=600) as client:
        address = f"{url}/api/v1/traces/1/timeline"
        end = SLICES * 1_000
        chance = random.Random(0)

        def tile() -> None:
            width = int(end * 10 ** -chance.uniform(0, 4))
            start = chance.randrange(end - width + 1)
            query = {"start": start, "end": start + width, "width": 1_500}
            client.get(address, params=query).raise_for_status()

        def table() -> None:
            client.get(f"{address}/totals", params={"start": 0, "end": end}).raise_for_status()

        figures.append(("op table, cold", 1e3 * _time(table), "ms", 300))
        figures.append(("op table, warm, p95", _p95([table] * 20), "ms", 50))
        figures.append(("timeline of a range, p95", _p95([tile] * 100), "ms", 60))
    if large:
        file.unlink()
        write_trace(file, 10 * SLICES)
        seconds, megabytes = _ingest(folder / "large", file)
        figures.append((f"{10 * SLICES:,} events", seconds, "s", 60))
        figures.append(("  memory of the worker", megabytes, "MB", 1024))
    return figures


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
