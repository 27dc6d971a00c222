"""The windows of a profile against a core that counts its own ticks: schedules, steps, nested profiles."""

import pytest

from perflab.profiler import (
    ProfilerAction,
    ProfileStateError,
    profile,
    schedule,
)
from perflab.profiler.analysis.steps import steps
from perflab.profiler.events import FREE, TASK_RUN, TASK_WAIT

from .fake_core import FakeCore, FakeGilRecorder, ops


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


def test_what_goes_on_beside_the_steps_takes_no_windows_place(core: FakeCore) -> None:
    """A free, the tasks of an event loop, ops of another thread: they come after the last step too."""
    windows: list[list[str]] = []
    sched = schedule(wait=0, warmup=0, active=1)
    with profile(schedule=sched, on_trace_ready=lambda prof: windows.append(ops(prof))) as prof:
        core.op(1)
        prof.step()
        for kind in (FREE, TASK_RUN, TASK_WAIT):
            core.recorder_push(kind, 0, core.recorder_ticks(), core.recorder_ticks(), 1)
        core.others_op(2)
    assert windows == [["op1"]] and ops(prof) == ["op1"]


def test_work_after_the_last_whole_step_is_a_window(core: FakeCore) -> None:
    windows: list[list[str]] = []
    sched = schedule(wait=0, warmup=0, active=2)
    with profile(schedule=sched, on_trace_ready=lambda prof: windows.append(ops(prof))) as prof:
        for number in range(2):
            core.op(number)
            prof.step()
        core.op(7)
    assert windows == [["op0", "op1"], ["op7"]]
    with profile(schedule=sched, on_trace_ready=lambda prof: windows.append(ops(prof))) as prof:
        for _ in range(3):
            core.others_op(3)
            prof.step()
    assert windows[2:] == [["op3", "op3"], ["op3"]], "a whole step is one, whoever worked in it"
