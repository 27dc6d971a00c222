"""profile() against a core that counts its own ticks: what is recorded, when, and what is thrown away."""

import gc
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab.profiler import (
    ProfilerAction,
    ProfilerError,
    ProfileStateError,
    chrome,
    profile,
    recorder,
    schedule,
    session,
    window,
)
from perflab.profiler.analysis.steps import steps
from perflab.profiler.events import EVENT, OP
from perflab.profiler.gil_track import GilRecord


class FakeCore:
    """The recorder's interface with a clock that moves by one tick a reading."""

    def __init__(self) -> None:
        self.now = 0
        self.recording = False
        self.events: list[tuple[int, ...]] = []
        self.strings = [""]
        self.starts = self.allowed = 0

    def recorder_start(self, max_events: int) -> None:
        assert not self.recording
        self.recording, self.events, self.starts = True, [], self.starts + 1

    def recorder_join(self) -> None:
        assert self.recording

    def record_stacks(self, on: bool) -> None:
        self.stacks_on = on

    def stacks(self) -> list[list[tuple[str, int, str]]]:
        return [[("train.py", 3, "step")]]

    def recorder_allow(self, count: int) -> None:
        self.allowed += count

    def recorder_stop(self) -> None:
        self.recording = False

    def recorder_drain(self) -> list[tuple[int, Any]]:
        array = np.zeros(len(self.events), dtype=EVENT)
        for row, values in zip(array, self.events, strict=True):
            row["kind"], row["name"], row["t0"], row["t2"], row["sequence"] = values
        self.events = []
        return [(7, array)]

    def recorder_dropped(self) -> int:
        return 0

    def recorder_clock(self) -> tuple[int, int, float]:
        return 0, 10**18, 1.0

    def recorder_ticks(self) -> int:
        self.now += 1
        return self.now

    def recorder_push(self, kind: int, name_id: int, t0: int, t2: int, sequence: int) -> None:
        if self.recording:
            self.events.append((kind, name_id, t0, t2, sequence))

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

    def memory_stats(self) -> dict[str, int]:
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


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCore]:
    fake = FakeCore()
    for module in (session, window, recorder):
        monkeypatch.setattr(module, "_core", fake)
    monkeypatch.setattr(window, "GilRecorder", FakeGilRecorder)
    yield fake
    assert not fake.recording, "the recorder was left on"
    assert FakeGilRecorder.running == 0, "the GIL's tracer was left on"


def ops(prof: profile) -> list[str]:
    return prof.trace.name_of(prof.trace.select(category="cpu_op"))


def test_without_a_schedule_everything_is_recorded(core: FakeCore) -> None:
    core.op(0)
    with profile(metadata={"commit": "abc"}) as prof:
        core.op(1)
        core.op(2)
    core.op(3)
    assert ops(prof) == ["op1", "op2"]
    assert prof.trace.metadata["commit"] == "abc"
    assert set(prof.trace.metadata["versions"]) >= {"python", "numpy"}
    assert [row.name for row in prof.key_averages()] == ["op1", "op2"]
    assert prof.trace is prof.trace


def test_a_schedule_waits_warms_up_records_and_repeats(core: FakeCore) -> None:
    windows: list[tuple[int, list[str], list[int]]] = []

    def ready(prof: profile) -> None:
        windows.append((prof.step_num, ops(prof), [step.number for step in steps(prof.trace)]))

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as prof:
        for number in range(10):
            assert core.recording == (number % 4 > 0 and number < 8)
            core.op(number)
            prof.step()
    assert windows == [(4, ["op2", "op3"], [2, 3]), (8, ["op6", "op7"], [6, 7])]
    assert ops(prof) == ["op6", "op7"]
    assert core.starts == 4


def test_windows_that_follow_each_other_are_apart(core: FakeCore) -> None:
    windows: list[list[str]] = []
    sched = schedule(wait=0, warmup=0, active=1)
    with profile(schedule=sched, on_trace_ready=lambda prof: windows.append(ops(prof))) as prof:
        for number in range(3):
            core.op(number)
            prof.step()
    assert windows == [["op0"], ["op1"], ["op2"]]
    assert ops(prof) == ["op2"], "not of the window that the last step() began"


def test_a_window_cut_off_by_the_end_is_saved_and_a_warm_up_is_not(core: FakeCore) -> None:
    windows: list[list[str]] = []
    for count, expected in ((2, []), (3, [["op2"]])):
        windows.clear()
        sched = schedule(wait=1, warmup=1, active=5)
        with profile(schedule=sched, on_trace_ready=lambda prof: windows.append(ops(prof))) as prof:
            for number in range(count):
                core.op(number)
                if number < count - 1:
                    prof.step()
        assert windows == expected


def test_a_warm_up_that_nothing_follows_is_thrown_away(core: FakeCore) -> None:
    with profile(schedule=lambda step: ProfilerAction.WARMUP if step == 0 else ProfilerAction.NONE) as prof:
        assert core.recording and FakeGilRecorder.running == 1
        prof.step()
        assert not core.recording and FakeGilRecorder.running == 0


def test_steps_are_marked_once_they_are_whole(core: FakeCore) -> None:
    with profile() as prof:
        for number in range(3):
            core.op(number)
            prof.step()
        core.op(9)
    found = steps(prof.trace)
    assert [step.number for step in found] == [0, 1, 2]
    assert all(step.duration > 0 for step in found)
    assert ops(prof) == ["op0", "op1", "op2", "op9"]


def test_an_exception_ends_the_window_and_passes(core: FakeCore) -> None:
    with pytest.raises(KeyError), profile() as prof:
        core.op(1)
        raise KeyError
    assert ops(prof) == ["op1"]


def test_there_is_no_trace_before_a_window_has_ended(core: FakeCore) -> None:
    with profile() as prof, pytest.raises(ProfileStateError, match="there is no trace yet: read it in on_trace_ready"):
        prof.key_averages()
    with profile(schedule=schedule(wait=9, warmup=0, active=1)) as prof:
        prof.step()
    with pytest.raises(ProfileStateError, match="reaches the schedule's active steps"):
        prof.export_chrome_trace("never written")


def test_each_of_nested_profiles_sees_its_own_part_and_steps(core: FakeCore) -> None:
    with profile() as outer:
        core.op(0)
        with profile() as inner:
            core.op(1)
            inner.step()
        core.op(2)
        with profile() as other:
            core.op(3)
        outer.step()
    assert (ops(outer), ops(inner), ops(other)) == (["op0", "op1", "op2", "op3"], ["op1"], ["op3"])
    assert [len(steps(prof.trace)) for prof in (outer, inner, other)] == [1, 1, 0]
    assert core.starts == 1


def test_profiles_may_end_in_any_order(core: FakeCore) -> None:
    first, second, third = profile(), profile(), profile()
    first.start()
    core.op(1)
    second.start()
    core.op(2)
    first.stop()
    core.op(3)
    third.start()
    core.op(4)
    second.stop()
    core.op(5)
    third.stop()
    assert [ops(prof) for prof in (first, second, third)] == [["op1", "op2"], ["op2", "op3", "op4"], ["op4", "op5"]]


def test_ten_nested_profiles(core: FakeCore) -> None:
    def nested(depth: int) -> list[list[str]]:
        with profile() as prof:
            core.op(depth)
            inside = nested(depth + 1) if depth < 9 else []
        return [ops(prof), *inside]

    assert nested(0) == [[f"op{number}" for number in range(depth, 10)] for depth in range(10)]


def test_a_recorder_that_somebody_else_runs_is_left_alone(core: FakeCore) -> None:
    core.recorder_start(10)
    with pytest.raises(ProfileStateError, match="something else records"), profile():
        pass
    core.recorder_stop()


def test_memory_is_sampled_at_every_step(core: FakeCore) -> None:
    with profile() as prof:
        prof.step()
        prof.step()
    _, reserved = prof.trace.counter("Reserved")
    assert len(reserved) == 4
    assert prof.trace.counter("Allocated")[1].tolist() == [100]
    with profile(profile_memory=False) as prof:
        prof.step()
    assert len(prof.trace.counters) == 0


def test_the_trace_is_exported(core: FakeCore, tmp_path: Path) -> None:
    with profile() as prof:
        core.op(1)
    for name in ("trace.json", "trace.json.gz"):
        prof.export_chrome_trace(tmp_path / name)
        assert chrome.read(tmp_path / name).name_of([0]) == ["op1"]


def test_dropped_events_are_told(core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    with profile() as prof:
        monkeypatch.setattr(core, "recorder_dropped", lambda: 12)
    assert prof.trace.metadata["droppedEvents"] == 12
    assert prof.trace.metadata["maxEvents"] == 10_000_000
    assert "12 events were dropped (max_events was 10,000,000): " in prof.key_averages().table()


def test_a_step_outside_of_the_block_starts_nothing(core: FakeCore) -> None:
    prof = profile()
    with pytest.raises(ProfileStateError, match="inside the profile's with block"):
        prof.step()
    with prof:
        prof.step()
    with pytest.raises(ProfileStateError, match="inside the profile's with block"):
        prof.step()
    with profile():
        pass


def test_torch_that_is_not_there_is_named_and_nothing_is_left_on(
    core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ProfilerError, match=r"PyTorch is not installed: pip install 'perflab\[torch\]'"):
        with profile(torch=True):
            pass
    assert not core.recording
    with profile() as prof:
        core.op(1)
    assert ops(prof) == ["op1"]


def test_a_handler_that_fails_ends_no_later_window(core: FakeCore) -> None:
    failures = iter((ZeroDivisionError("full"), None))

    def ready(_: profile) -> None:
        if failure := next(failures):
            raise failure

    with profile(schedule=schedule(wait=0, warmup=0, active=1), on_trace_ready=ready) as prof:
        core.op(0)
        with pytest.raises(ZeroDivisionError, match="full"):
            prof.step()
        assert ops(prof) == ["op0"]
        core.op(1)
        prof.step()
        assert ops(prof) == ["op1"]


def test_what_cannot_begin_leaves_nothing_on(core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no")

    before = list(gc.callbacks)
    monkeypatch.setattr(window, "GarbageRecorder", refuse)
    prof = profile()
    with pytest.raises(OSError, match="no"):
        prof.start()
    assert not core.recording and gc.callbacks == before
    with pytest.raises(ProfileStateError):
        prof.step()


def test_a_profile_that_is_stopped_twice_or_never_began(core: FakeCore) -> None:
    windows: list[list[str]] = []
    prof = profile(on_trace_ready=lambda prof: windows.append(ops(prof)))
    prof.stop()
    with prof:
        core.op(1)
        prof.stop()
        core.op(2)
    prof.stop()
    assert windows == [["op1"]]


def test_a_profile_in_a_generator_ends_with_it(core: FakeCore) -> None:
    found: list[profile] = []

    def batches() -> Iterator[int]:
        with profile() as prof:
            found.append(prof)
            for number in range(3):
                core.op(number)
                yield number
                prof.step()

    for _ in batches():
        pass
    assert ops(found[0]) == ["op0", "op1", "op2"] and len(steps(found[0].trace)) == 3
    for number in batches():
        if number == 1:
            break  # the generator is closed where nobody holds it any longer
    assert ops(found[1]) == ["op0", "op1"] and "reason" not in found[1].trace.metadata


def test_an_exception_is_the_reason(core: FakeCore) -> None:
    with pytest.raises(ValueError, match="loss is nan"), profile() as prof:
        core.op(1)
        raise ValueError("loss is nan")
    assert prof.trace.metadata["reason"] == "ValueError: loss is nan"


def test_a_dump_goes_on(core: FakeCore) -> None:
    saved: list[tuple[list[str], object]] = []
    ready = lambda prof: saved.append((ops(prof), prof.trace.metadata.get("reason")))  # noqa: E731
    with profile(on_trace_ready=ready) as prof:
        core.op(1)
        prof.dump("look here")
        core.op(2)
    assert saved == [(["op1"], "look here"), (["op1", "op2"], None)]
    with pytest.raises(ProfileStateError, match="nothing is now"):
        prof.dump()
    with profile(schedule=schedule(wait=1, warmup=0, active=1)) as prof, pytest.raises(ProfileStateError, match="now"):
        prof.dump()


def test_several_threads_may_stop_one_profile(core: FakeCore) -> None:
    windows: list[list[str]] = []
    with profile(on_trace_ready=lambda prof: windows.append(ops(prof))) as prof:
        core.op(1)
        together = threading.Barrier(4)

        def stop() -> None:
            together.wait()
            prof.stop()

        threads = [threading.Thread(target=stop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert windows == [["op1"]]


def test_the_limit_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="max_events is 0; keep at least one"):
        profile(max_events=0)


def test_stacks_are_recorded_while_some_profile_wants_them(core: FakeCore) -> None:
    with profile(record_stacks=True):
        assert core.stacks_on
        with profile():
            assert core.stacks_on
        with profile(record_stacks=True):
            pass
        assert core.stacks_on
    assert not core.stacks_on
    with profile():
        assert not core.stacks_on
