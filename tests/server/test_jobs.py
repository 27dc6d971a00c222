"""The queue of traces: what is taken, by whom, and what becomes of it when workers are killed."""

import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest

from perflab.server.blobs import Blobs
from perflab.server.errors import LabRefused, Refused
from perflab.server.jobs import MOST_ATTEMPTS, Jobs
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin, Upload
from perflab.server.settings import Settings
from perflab.server.store import Store
from perflab.server.worker import Worker

from .conftest import BASE, Files

AT_ONCE = timedelta(0)
Work = Callable[[], None]


def label(name: str) -> Label:
    return Label(name=name, said=Origin(project="demo", commit=BASE))


def keep(blobs: Blobs, path: Path) -> str:
    """Keep a file as an upload does, and give its hash."""
    with open(path, "rb") as file, blobs.stage(file) as staged:
        blobs.keep(staged)
        return staged.sha256


@pytest.fixture
def jobs(store: Store) -> Jobs:
    return store.jobs


def test_jobs_are_taken_in_their_order_and_once(jobs: Jobs) -> None:
    ids = [jobs.add(f"{number:064x}", label(f"{number}.json")) for number in range(3)]
    taken = [jobs.take() for _ in range(4)]
    assert [job and job.id for job in taken] == [*ids, None]
    assert taken[1] is not None
    assert (taken[1].sha256, taken[1].label, taken[1].attempt) == (f"{1:064x}", label("1.json"), 1)
    jobs.give_back(taken[1])
    again = jobs.take()
    assert again is not None and (again.id, again.attempt) == (ids[1], 2)


def test_workers_at_once_take_different_jobs(store: Store) -> None:
    for number in range(24):
        store.jobs.add(f"{number:064x}", label("t.json"))
    with ThreadPoolExecutor(6) as pool:
        taken = list(pool.map(lambda _: store.jobs.take(), range(30)))
    assert sorted(job.sha256 for job in taken if job) == [f"{number:064x}" for number in range(24)]


def test_what_a_dead_worker_had_is_taken_again(store: Store) -> None:
    dead = Jobs(store._engine, AT_ONCE)
    id = dead.add("a" * 64, label("t.json"))
    first = dead.take()
    second = store.jobs.take()
    assert first is not None and second is not None
    assert (second.id, second.attempt) == (id, 2)
    # Should it live after all, what it says counts no more.
    dead.finish(first, None, "late")
    assert dead.outcome(id) is None
    dead.renew(first)
    store.jobs.finish(second, None, "in time")
    outcome = store.jobs.outcome(id)
    assert outcome is not None and outcome.error == "in time"


def test_a_job_that_ends_its_workers_ends_itself(store: Store) -> None:
    jobs = Jobs(store._engine, AT_ONCE)
    id = jobs.add("a" * 64, label("t.json"))
    assert [job.attempt for job in iter(jobs.take, None)] == list(range(1, MOST_ATTEMPTS + 1))
    outcome = jobs.outcome(id)
    assert outcome is not None and outcome.error == (
        "reading the file ended its worker 5 times; record fewer steps a file"
    )


def test_a_job_that_has_ended_begins_anew(jobs: Jobs) -> None:
    id = jobs.add("a" * 64, label("t.json"))
    assert jobs.add("a" * 64, label("t.json")) == id
    job = jobs.take()
    assert job is not None and jobs.take() is None
    assert jobs.add("a" * 64, label("t.json")) == id and jobs.take() is None  # it is being read
    jobs.finish(job, None, "no trace")
    assert jobs.add("a" * 64, label("t.json")) == id
    assert jobs.outcome(id) is None
    again = jobs.take()
    assert again is not None and again.attempt == 1


def run_worker(store: Store, blobs: Blobs, do: Callable[[], Upload]) -> Upload:
    """What `do` gives while a worker works."""
    stop = Event()
    thread = Thread(target=Worker(store, blobs, store.jobs).work, args=(stop,))
    thread.start()
    try:
        return do()
    finally:
        stop.set()
        thread.join()


def test_a_queued_trace_is_read_by_a_worker(store: Store, blobs: Blobs, files: Files) -> None:
    lab = LocalLab(store, blobs, queued=True)
    path = files.trace("trace.json", 100)
    taken = run_worker(store, blobs, lambda: lab.upload(path, label("trace.json")))
    assert (taken.new, taken.name, taken.commit, taken.health) == (True, "trace.json", BASE, "healthy")
    assert taken.trace is not None and len(lab.read_trace(taken.trace).slices) == 9
    again = run_worker(store, blobs, lambda: lab.upload(path, label("trace.json")))
    assert (again.new, again.trace, again.run) == (False, taken.trace, taken.run)


def test_queued_benchmarks_need_no_worker(store: Store, blobs: Blobs, files: Files) -> None:
    lab = LocalLab(store, blobs, queued=True)
    assert lab.upload(files.run("run.json", 1.0), label("run.json")).results == 1
    with pytest.raises(Refused, match=r"empty\.json is empty"):
        lab.upload(files.write("empty.json", ""), label("empty.json"))
    assert store.jobs.take() is None


def test_what_a_worker_refuses_is_refused(store: Store, blobs: Blobs, files: Files) -> None:
    lab = LocalLab(store, blobs, queued=True)
    with pytest.raises(Refused, match=r"text\.json"):
        run_worker(store, blobs, lambda: lab.upload(files.write("text.json", "hello"), label("text.json")))


def test_what_breaks_a_reader_breaks_no_worker(
    store: Store, blobs: Blobs, files: Files, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lab = LocalLab(store, blobs, queued=True)
    monkeypatch.setattr("perflab.server.worker.ingest", lambda *_: 1 / 0)
    with pytest.raises(Refused, match=r"reading t\.json failed \(ZeroDivisionError\); the worker's log says why"):
        run_worker(store, blobs, lambda: lab.upload(files.trace("t.json", 1), label("t.json")))
    assert "ZeroDivisionError" in caplog.text


def test_a_job_waits_for_files_that_cannot_be_reached(
    store: Store, blobs: Blobs, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = store.jobs.add(keep(blobs, files.trace("t.json", 1)), label("t.json"))
    failures = iter([LabRefused("the bucket is away")])
    open_blob = blobs.open

    def opened(sha256: str) -> object:
        for failure in failures:
            raise failure
        return open_blob(sha256)

    monkeypatch.setattr(blobs, "open", opened)
    monkeypatch.setattr("perflab.server.worker.RETRY_S", 0.01)
    stop = Event()
    thread = Thread(target=Worker(store, blobs, store.jobs).work, args=(stop,))
    thread.start()
    while (outcome := store.jobs.outcome(id)) is None:
        stop.wait(0.01)
    stop.set()
    thread.join()
    assert outcome.upload is not None and outcome.upload.new


# A worker that says when it has taken a job, and lets go of it soon when it is dead.
WORKER = """
import ast, sys
from datetime import timedelta
from pathlib import Path
from threading import Event
from perflab.server.blobs import open_blobs
from perflab.server.jobs import Jobs
from perflab.server.settings import Settings
from perflab.server.store import Store
from perflab.server.worker import Worker

class Telling(Jobs):
    def take(self):
        job = super().take()
        print("nothing" if job is None else f"took {job.id}", flush=True)
        return job

lab, database, blobs = ast.literal_eval(sys.argv[1])
settings = Settings(Path(lab), database_url=database, blobs_url=blobs)
store = Store.open(settings, create=False)
Worker(store, open_blobs(settings), Telling(store._engine, timedelta(seconds=1))).work(Event())
"""


def test_killed_workers_lose_and_double_nothing(settings: Settings, store: Store, blobs: Blobs, files: Files) -> None:
    ids = [
        store.jobs.add(keep(blobs, files.trace(f"{number}.json", 100 + number)), label(f"{number}.json"))
        for number in range(6)
    ]
    places = repr((str(settings.lab), settings.database_url, settings.blobs_url))
    chance = random.Random(6)
    for killed in range(MOST_ATTEMPTS):
        command = [sys.executable, "-c", WORKER, places]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            if killed < MOST_ATTEMPTS - 1:
                assert worker.stdout.readline()
                with pytest.raises(subprocess.TimeoutExpired):
                    worker.wait(chance.uniform(0, 0.05))
            else:  # the last one may go on until nothing waits
                while any(store.jobs.outcome(id) is None for id in ids):
                    assert worker.stdout.readline()
            worker.kill()
    outcomes = [store.jobs.outcome(id) for id in ids]
    assert all(outcome is not None and outcome.error is None for outcome in outcomes)
    lab = LocalLab(store, blobs)
    traces = [trace for run in lab.runs("demo") for trace in run.traces]
    assert sorted(trace.name for trace in traces) == [f"{number}.json" for number in range(6)]
    assert {trace.name: trace.summary["step_ns"] for trace in traces} == {
        f"{number}.json": 120_000 + 1_000 * number for number in range(6)
    }
    assert all(len(lab.read_trace(trace.id).slices) == 9 for trace in traces)
    assert set(blobs.sizes()) == {trace.sha256 for trace in traces}
