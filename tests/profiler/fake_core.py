"""A recorder that counts its own ticks, in the place of the core's: for tests of what is recorded, and when."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from perflab.profiler import profile, recorder, session, window
from perflab.profiler.events import EVENT, OP
from perflab.profiler.gil_track import GilRecord


class FakeCore:
    """The recorder's interface with a clock that moves by one tick a reading."""

    def __init__(self) -> None:
        self.now = 0
        self.recording = False
        self.events: list[tuple[int, ...]] = []  # the thread first
        self.strings = [""]
        self.starts = self.allowed = 0
        self.lock = threading.Lock()  # event loops that other tests left push too

    def recorder_start(self, max_events: int) -> None:
        assert not self.recording
        self.recording, self.events, self.starts = True, [], self.starts + 1

    def recorder_join(self) -> None:
        assert self.recording

    def record_stacks(self, on: bool) -> None:
        self.stacks_on = on

    def stacks(self) -> list[list[tuple[str, int, str, int]]]:
        return [[("train.py", 3, "step", 1)]]

    def recorder_allow(self, count: int) -> None:
        self.allowed += count

    def recorder_stop(self) -> None:
        self.recording = False

    def recorder_drain(self) -> list[tuple[int, Any]]:
        with self.lock:
            events, self.events = self.events, []
        by_thread: dict[int, list[tuple[int, ...]]] = {}
        for thread, *event in events:
            by_thread.setdefault(thread, []).append(tuple(event))
        return [(thread, _as_array(own)) for thread, own in by_thread.items()]

    def recorder_dropped(self) -> int:
        return 0

    def recorder_clock(self) -> tuple[int, int, float]:
        return 0, 10**18, 1.0

    def recorder_ticks(self) -> int:
        self.now += 1
        return self.now

    def recorder_push(self, kind: int, name_id: int, t0: int, t2: int, sequence: int) -> None:
        self.push_of(threading.get_native_id(), kind, name_id, t0, t2, sequence)

    def push_of(self, thread: int, *event: int) -> None:
        with self.lock:
            if self.recording:
                self.events.append((thread, *event))

    def recorder_is_started(self) -> bool:
        return self.recording

    def record_shapes(self, on: bool) -> None:
        pass

    def is_recording(self) -> bool:
        return self.recording

    def intern(self, text: str) -> int:
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def interned(self) -> list[str]:
        return self.strings

    def op_names(self) -> list[str]:
        return [f"op{number}" for number in range(40)]

    def shapes(self) -> list[Any]:
        return [()]

    def live_stats(self) -> dict[str, int]:
        return {"allocated_bytes": 100, "reserved_bytes": 1000 + self.now}

    def device_count(self) -> int:
        return 1

    def device_name(self, number: int) -> str:
        return "cpu"

    def sim_settle(self) -> None:
        pass

    def cuda_settle(self) -> None:
        pass

    def op(self, number: int) -> None:
        self.recorder_push(OP, number, self.recorder_ticks(), self.recorder_ticks(), 0)

    def others_op(self, number: int) -> None:
        """An op in another thread."""
        self.push_of(1, OP, number, self.recorder_ticks(), self.recorder_ticks(), 0)


def _as_array(events: list[tuple[int, ...]]) -> Any:
    array = np.zeros(len(events), dtype=EVENT)
    for row, values in zip(array, events, strict=True):
        row["kind"], row["name"], row["t0"], row["t2"], row["sequence"] = values
    return array


class FakeGilRecorder:
    """Traces nothing, and knows whether it was stopped."""

    running = 0

    def __init__(self) -> None:
        FakeGilRecorder.running += 1
        self.stopped = False

    def read(self) -> GilRecord:
        return GilRecord(notes={"gil": "sampled"})

    def forget(self, tick: int) -> None:
        pass

    def stop(self) -> GilRecord:
        if not self.stopped:
            self.stopped = True
            FakeGilRecorder.running -= 1
        return self.read()


@contextmanager
def fake_core() -> Iterator[FakeCore]:
    """The profiler uses it in the block; afterwards it must be off, and the GIL's tracer too."""
    fake = FakeCore()
    with pytest.MonkeyPatch.context() as patch:
        for module in (session, window, recorder):
            patch.setattr(module, "_core", fake)
        patch.setattr(window, "GilRecorder", FakeGilRecorder)
        yield fake
    assert not fake.recording, "the recorder was left on"
    assert FakeGilRecorder.running == 0, "the GIL's tracer was left on"


def ops(prof: profile) -> list[str]:
    return prof.trace.name_of(prof.trace.select(category="cpu_op"))
