"""The GIL's tracer against what is known of each program.

What must hold whatever the machine does is asserted exactly; times only within wide factors, as it may be busy. Threads
that other tests have left take the GIL, too: where each record counts, the test stands in test_gil_processes.py.
"""

import asyncio
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab.profiler.events import GIL_AFTER, GIL_BEFORE, GIL_CROWD, GIL_WAITING
from perflab.profiler.gil import GilRecorder
from perflab.runtime import _core

MS = 1e-3
STRANGERS: list[int] = []  # threads that other tests have left running


@pytest.fixture(autouse=True)
def strangers() -> None:
    threads = (int(task.name) for task in Path("/proc/self/task").iterdir())
    STRANGERS[:] = [thread for thread in threads if thread != threading.get_native_id()]


def traced(work: Callable[[], object]) -> Any:
    """The records of the GIL while `work` runs, but for those of strangers."""
    recorder = GilRecorder()
    try:
        work()
    finally:
        record = recorder.stop()
    assert record.notes == {"gil": "exact"}
    check(record.holds)
    return record.holds[~np.isin(record.holds["thread"], STRANGERS)]


def check(holds: Any) -> None:
    """What is true of every recording of the GIL."""
    waiting = holds[holds["flags"] & GIL_WAITING > 0]
    holds = holds[holds["flags"] & GIL_WAITING == 0]
    wait, acquired, requested, released, thread, flags = (
        holds[name] for name in ("wait", "acquired", "requested", "released", "thread", "flags")
    )
    assert (wait <= acquired).all() and (acquired <= released).all()
    assert (acquired[1:] >= released[:-1]).all(), "two holders at once"
    asked = requested > 0
    assert (acquired[asked] <= requested[asked]).all() and (requested[asked] <= released[asked]).all()
    assert flags[0] & GIL_BEFORE and flags[-1] & GIL_AFTER
    assert not (flags[:-1] & GIL_AFTER).any()
    assert (waiting["wait"] <= released[-1]).all() and (waiting["acquired"] == released[-1]).all()

    waited = np.flatnonzero((wait < acquired) & (flags & (GIL_CROWD | GIL_BEFORE) == 0))
    holder = np.searchsorted(acquired, wait[waited], side="right") - 1
    # a hold of no length may stand at the same tick: the one before it is as good
    holder -= (thread[holder] == thread[waited]) & (acquired[holder] == wait[waited])
    assert (wait[waited] <= released[holder]).all(), "waited while nobody held it"
    assert (thread[holder] != thread[waited]).all(), "waited for itself"
    for name in np.unique(thread):
        mine = np.flatnonzero(thread == name)
        assert (wait[mine[1:]] >= released[mine[:-1]]).all(), "held it while it waited"


def seconds(ticks: Any) -> Any:
    return ticks * _core.recorder_clock()[2] / 1e9


def together(*bodies: Callable[[], object]) -> None:
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def spin(duration: float) -> None:
    end = time.perf_counter() + duration
    while time.perf_counter() < end:
        pass


@pytest.fixture
def interval() -> Iterator[Callable[[float], None]]:
    before = sys.getswitchinterval()
    yield sys.setswitchinterval
    sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> ctypes.PyDLL:
    """gil_truth.c. Its functions are entered with the GIL."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler to compile the test's threads with")
    library = tmp_path_factory.mktemp("truth") / "gil_truth.so"
    source = Path(__file__).with_name("gil_truth.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-pthread", "-o", library, source], check=True)
    return ctypes.PyDLL(str(library))


def test_spinning_threads_hold_it_for_the_switch_interval(interval: Callable[[float], None]) -> None:
    def spin() -> None:
        while len(turns) < 12:
            if turns[-1] != threading.get_native_id():
                turns.append(threading.get_native_id())

    shortest = []
    for wanted in (20 * MS, 0.2 * MS):
        interval(wanted)
        turns = [0]
        holds = traced(lambda: together(spin, spin))
        forced = holds[(holds["requested"] > 0) & np.isin(holds["thread"], turns)]
        assert len(forced) >= 8
        kept = seconds(forced["requested"] - forced["acquired"])
        assert kept.min() > 0.9 * wanted, "asked to let go before the waiter's patience ended"
        shortest.append(float(seconds(forced["released"] - forced["acquired"]).min()))
    # the others may be longer: on a busy machine a thread waits for a processor, too
    assert shortest[1] < 20 * MS < shortest[0] * 1.1 < 20 * 20 * MS


def test_a_sleeping_thread_is_away() -> None:
    def sleeper() -> None:
        slept_in.append(threading.get_native_id())
        for _ in range(20):
            time.sleep(5 * MS)
        rested.set()

    def spinner() -> None:
        while not rested.is_set():
            pass

    rested = threading.Event()
    slept_in: list[int] = []

    holds = traced(lambda: together(sleeper))
    mine = holds[holds["thread"] == slept_in[0]]
    away = seconds(mine["acquired"][1:] - mine["released"][:-1])
    # a sleep ends so long after it was asked for, which is before the GIL is given away
    assert (away >= 4 * MS).sum() >= 18
    rested.clear()
    holds = traced(lambda: together(sleeper, spinner))
    assert (holds["acquired"] > holds["wait"]).sum() >= 15, "a thread that wakes beside a spinning one waits"


def held_share(holds: Any) -> float:
    span = int(holds["released"][-1] - holds["acquired"][0])
    return float((holds["released"] - holds["acquired"]).sum() / span)


def test_blas_and_hashes_in_two_threads_hardly_hold_it() -> None:
    a = np.ones((600, 600))
    data = b"x" * (8 << 20)
    for work in (lambda: [a @ a for _ in range(10)], lambda: [hashlib.sha256(data).digest() for _ in range(4)]):
        holds = traced(lambda work=work: together(work, work))  # type: ignore[misc]
        assert held_share(holds) < 0.5
        assert len(set(holds["thread"].tolist())) >= 3


def test_c_code_that_ignores_the_request_to_let_go(truth: ctypes.PyDLL) -> None:
    def ignores() -> None:
        spin(0.05)
        truth.hold(300_000)
        done.set()

    def asks() -> None:
        while not done.is_set():
            pass

    done = threading.Event()
    holds = traced(lambda: together(ignores, asks))
    longest = holds[np.argmax(holds["released"] - holds["acquired"])]
    assert seconds(longest["released"] - longest["acquired"]) >= 300 * MS
    ignored = holds[holds["requested"] > 0]
    assert seconds(ignored["released"] - ignored["requested"]).max() > 5 * MS


def ticks_of(monotonic_ns: Any) -> Any:
    """Ticks of CLOCK_MONOTONIC's ns, to about a microsecond."""
    tries = [(time.monotonic_ns(), _core.recorder_ticks(), time.monotonic_ns()) for _ in range(200)]
    before, tick, after = min(tries, key=lambda three: three[2] - three[0])
    return tick + (monotonic_ns - (before + after) / 2) / _core.recorder_clock()[2]


def check_brackets(holds: Any, stamps: Any, thread: int, releases_first: bool) -> None:
    """Each transition that C code made lies between its own two readings of the clock, and no other does."""
    mine = holds[holds["thread"] == thread]
    slack = 3_000 / _core.recorder_clock()[2]
    stamps = ticks_of(stamps.reshape(-1, 4).astype(np.float64))
    places = (2, 0) if releases_first else (0, 2)
    for name, place in zip(("acquired", "released"), places, strict=True):
        times = np.sort(mine[name])
        first = np.searchsorted(times, stamps[:, place] - slack)
        last = np.searchsorted(times, stamps[:, place + 1] + slack, side="right")
        assert (last - first == 1).all(), name


def test_every_transition_of_c_code_is_recorded_once(truth: ctypes.PyDLL) -> None:
    stamps: dict[int, Any] = {}

    def pairs() -> None:
        out = np.zeros(4 * 500, dtype=np.int64)
        truth.pairs(500, 20, out.ctypes.data_as(ctypes.c_void_p))
        stamps[threading.get_native_id()] = out

    holds = traced(lambda: together(pairs, pairs, pairs))
    for thread, out in stamps.items():
        check_brackets(holds, out, thread, releases_first=True)


def test_threads_that_python_does_not_know(truth: ctypes.PyDLL) -> None:
    count, n = 4, 300
    out, ids = np.zeros(4 * n * count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (out, ids)]
    holds = traced(lambda: truth.foreign_threads(count, n, 20, *pointers))
    for thread, stamps in zip(ids.tolist(), out.reshape(count, -1), strict=True):
        check_brackets(holds, stamps, thread, releases_first=False)


def test_sixteen_threads_of_all_kinds(truth: ctypes.PyDLL) -> None:
    data = b"x" * (1 << 20)
    out = np.zeros(4 * 200, dtype=np.int64)
    bodies = [lambda: spin(0.5)] * 6
    bodies += [lambda: [time.sleep(1 * MS) for _ in range(100)]] * 4  # type: ignore[list-item]
    bodies += [lambda: [hashlib.sha256(data).digest() for _ in range(40)]] * 3  # type: ignore[list-item]
    bodies += [lambda: truth.pairs(200, 20, out.ctypes.data_as(ctypes.c_void_p))] * 3
    holds = traced(lambda: together(*bodies))
    assert len(set(holds["thread"].tolist())) >= 17


def test_many_short_threads_and_an_executor() -> None:
    def churn() -> None:
        for _ in range(100):
            together(*[lambda: None] * 8)

    async def executor() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*[loop.run_in_executor(None, time.sleep, 1 * MS) for _ in range(100)])

    assert len(traced(churn)) > 800
    traced(lambda: asyncio.run(executor()))


def test_a_thread_that_waits_at_the_end_is_on_the_record(truth: ctypes.PyDLL) -> None:
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            pass

    thread = threading.Thread(target=run)
    thread.start()
    try:
        waiting: Any = ()
        while not len(waiting):  # on a busy machine the thread may not have come so far as to ask for it
            holds = traced(lambda: truth.hold(20_000))
            waiting = holds[(holds["flags"] & GIL_WAITING > 0) & (holds["thread"] == thread.native_id)]
    finally:
        stop.set()
        thread.join()
    assert len(waiting) == 1 and waiting["wait"][0] < waiting["acquired"][0]


def test_recordings_in_many_threads() -> None:
    def record() -> None:
        for _ in range(20):
            recorder = GilRecorder()
            time.sleep(0)
            holds = recorder.stop().holds
            assert holds is not None
            check(holds)
            checked.append(len(holds))

    checked: list[int] = []
    together(*[record] * 8)
    assert len(checked) == 160 and min(checked) >= 2


def slots() -> list[int]:
    """Where CPython's module keeps the functions that are hooked, as they are now."""
    maps = Path("/proc/self/maps").read_text()
    return [hash(line) for line in maps.splitlines() if "python" in line or "_core" in line]


def test_a_thousand_starts_and_stops(interval: Callable[[float], None]) -> None:
    GilRecorder().stop()
    before = slots()
    for _ in range(1000):
        traced(lambda: None)
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            pass

    interval(0.01 * MS)
    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(200):
            traced(lambda: time.sleep(0))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert slots() == before, "pages are protected as they were"


def test_where_it_cannot_be_traced_it_says_why_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(room: int) -> None:
        raise RuntimeError("no hooks here")

    monkeypatch.setattr(_core, "GilTrace", refuse)
    monkeypatch.setattr("perflab.profiler.gil._warned", False)
    with pytest.warns(RuntimeWarning, match="cannot be traced here: no hooks here"):
        recorder = GilRecorder()
    notes = recorder.stop().notes
    assert (notes["gil"], notes["gilRefusal"]) == ("sampled", "no hooks here")
    assert GilRecorder().stop().holds is None, "and does not warn again"


def test_the_child_of_a_fork_may_hold_a_recorder_for_ever() -> None:
    recorder = GilRecorder()
    child = os.fork()
    if not child:
        del recorder
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert recorder.stop().holds is not None
