"""Garbage collections and the process's memory on the timeline."""

import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from perflab.profiler import TraceBuilder, Track, profile
from perflab.profiler.analysis.garbage import Garbage, garbage
from perflab.profiler.analysis.parts import step_parts
from perflab.profiler.garbage import GarbageRecorder
from perflab.profiler.resident import ResidentMemory


class Cycle:
    def __init__(self) -> None:
        self.me = self


def test_a_collection_is_a_slice_of_its_thread_with_its_counts() -> None:
    def work() -> None:
        for _ in range(10):
            Cycle()
        gc.collect(1)

    gc.collect()
    thread = threading.Thread(target=work, name="worker")
    with profile() as prof:
        thread.start()
        thread.join()
    trace = prof.trace
    trace.check()
    rows = [
        row for row in trace.select(category="gc").tolist() if trace.tracks[trace.slices.track[row]].name == "worker"
    ]
    args = [trace.args_of(row) for row in rows]
    assert trace.name_of(rows[-1:]) == ["gc generation 1"]
    assert args[-1]["Generation"] == 1 and args[-1]["Uncollectable"] == 0
    assert sum(one["Collected"] for one in args) >= 10
    assert (trace.slices.duration[rows] > 0).all()


def test_the_time_of_collections_is_a_part_of_the_step() -> None:
    with profile() as prof:
        gc.collect()
        prof.step()
    (step,) = step_parts(prof.trace)
    assert 0 < step.gc_ns <= step.duration


def test_the_callback_goes_with_the_recorder() -> None:
    before = list(gc.callbacks)
    now = iter(range(1, 100))
    ends: list[int] = []
    recorder = GarbageRecorder(lambda: next(now), ends.append)
    gc.collect(0)
    (one,) = recorder.read()
    recorder.stop()
    assert (one.began, one.ended, one.generation) == (1, 2, 0) and ends == [2]
    assert gc.callbacks == before
    with profile():
        assert len(gc.callbacks) == len(before) + 1
    assert gc.callbacks == before


def test_the_memory_of_the_process_is_a_counter() -> None:
    with profile() as prof:
        kept = bytearray(64 << 20)
        kept[::4096] = b"x" * len(kept[::4096])
    times, values = prof.trace.counter("RSS")
    assert len(times) >= 2
    assert values[-1] - values[0] > 60 << 20


def test_a_peak_between_samples_is_known() -> None:
    program = (
        "from perflab.profiler import profile\n"
        "from perflab.profiler.report.answers import answers\n"
        "with profile() as before:\n"
        "    pass\n"
        "with profile() as prof:\n"
        "    bytearray(300 << 20)[::4096] = b'x' * (300 << 8)\n"
        "with profile() as after:\n"
        "    pass\n"
        "peaks = [answers(one.trace).resident.peak_bytes >> 20 for one in (before, prof, after)]\n"
        "print(peaks[1] - peaks[0] > 280, peaks[1] - peaks[2] > 280)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr


def test_it_is_read_when_garbage_was_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000_000_000
    monkeypatch.setattr("time.monotonic_ns", lambda: now)
    with profile() as prof:
        for _ in range(3):
            now += 20_000_000
            gc.collect()
    trace = prof.trace
    rows = trace.select(name="gc generation 2")
    times, _ = trace.counter("RSS")
    assert set(trace.slices.end[rows].tolist()[-3:]) <= set(times.tolist())


def test_it_is_read_at_most_every_ten_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000_000_000
    monkeypatch.setattr("time.monotonic_ns", lambda: now)
    resident = ResidentMemory()
    for tick in range(5):
        resident.sample(tick)
        now += 4_000_000
    samples = resident.read(9)
    resident.stop()
    assert [tick for tick, _ in samples] == [0, 3, 9]
    assert all(size > 1 << 20 for _, size in samples)


def test_where_the_system_does_not_say_it_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> int:
        raise FileNotFoundError

    monkeypatch.setattr("os.open", refuse)
    assert ResidentMemory().read(1) == []


def test_collections_by_generation() -> None:
    builder = TraceBuilder()
    for generation, start, duration, collected in ((0, 0, 5, 1), (2, 10, 50, 30), (0, 70, 7, 2)):
        args = {"Generation": generation, "Collected": collected, "Uncollectable": 0}
        builder.slice(f"gc generation {generation}", start, duration, track=Track(1, 1), category="gc", args=args)
    assert garbage(builder.build()) == [Garbage(2, 1, 50, 50, 30), Garbage(0, 2, 12, 7, 3)]
    assert garbage(TraceBuilder().build()) == []
