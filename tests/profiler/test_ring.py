"""Ring mode: what is kept, and when it is dumped."""

import signal
import threading
from collections.abc import Callable

import pytest

from perflab import runtime as rt
from perflab.profiler import ProfileStateError, Ring, profile, schedule
from perflab.profiler.analysis.memory import memory_curve
from perflab.profiler.analysis.steps import steps
from perflab.profiler.ring import RingSteps
from perflab.runtime import _core


class Forgotten(list[int]):
    """A window that notes what it is to forget."""

    def forget(self, tick: int) -> None:
        self.append(tick)


def fed(ring: Ring, *durations: int) -> tuple[list[str], list[int]]:
    """The reasons to dump and the ticks up to which was forgotten, for steps that follow each other from tick 100."""
    reasons: list[str] = []
    window, held, tick = Forgotten(), RingSteps(ring, reasons.append), 100
    held.start()
    for number, duration in enumerate(durations):
        held.add(window, number, tick, tick + duration)
        tick += duration
    return reasons, window


def test_steps_before_the_last_ones_are_forgotten_in_turn() -> None:
    assert fed(Ring(3), *[10] * 9)[1] == [100, 130, 160]
    assert fed(Ring(1), *[10] * 3)[1] == [100, 110, 120]


def test_a_slow_step_is_told_once_it_is_known_what_is_usual() -> None:
    assert fed(Ring(2, slower=3), 10, 10, 10, 10, 31)[0] == [], "of four steps nothing is usual"
    assert fed(Ring(2, slower=3), 10, 10, 10, 10, 10, 30)[0] == []
    assert fed(Ring(2, slower=3), 10, 10, 10, 10, 10, 31)[0] == ["step 5 took 3.1 times the median"]
    assert fed(Ring(2), 10, 10, 10, 10, 10, 1000)[0] == []


def test_slow_steps_that_one_dump_holds_are_told_once() -> None:
    reasons, _ = fed(Ring(2, slower=2), 10, 10, 10, 10, 10, 50, 60, 70, 10, 10)
    assert reasons == ["step 5 took 5.0 times the median", "step 7 took 7.0 times the median"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ring(0), "steps is 0; keep at least one"),
        (lambda: Ring(5, slower=1.0), "slower is 1.0; it is how many times the median"),
        (lambda: Ring(5, slower=float("nan")), "slower is nan"),
        (lambda: profile(ring=Ring(5), with_stack=True), "leave out schedule=, with_stack= and torch="),
        (lambda: profile(ring=Ring(5), schedule=schedule(wait=1, warmup=0, active=1)), "leave out schedule="),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_the_last_steps_are_kept() -> None:
    x = rt.ones((4,))
    with profile(ring=Ring(3)) as prof:
        for number in range(20):
            kept = x + x if number % 2 else x * x
            prof.step()
        x - x
    assert [step.number for step in steps(prof.trace)] == [17, 18, 19]
    assert prof.trace.name_of(prof.trace.select(category="cpu_op")) == ["add", "mul", "add", "sub"]
    prof.trace.check()
    del kept


def test_it_runs_on_beyond_its_limit() -> None:
    """Some 4,000 events in all, and never more than 1,000 at once."""
    x = rt.ones((4,))
    with profile(ring=Ring(2), max_events=1_000) as prof:
        for _ in range(200):
            for _ in range(10):
                x + x
            prof.step()
    assert "droppedEvents" not in prof.trace.metadata
    assert len(prof.trace.select(category="cpu_op", name="add")) == 20
    with profile(max_events=1_000) as prof:
        for _ in range(2_000):
            x + x
    assert prof.trace.metadata["droppedEvents"] > 0


def test_totals_of_memory_are_those_of_the_allocator() -> None:
    kept, totals = [], []
    with profile(ring=Ring(2)) as prof:
        for _ in range(9):
            totals.append(rt.memory.live_stats()["allocated_bytes"])
            kept.append(rt.zeros((1000,)))
            prof.step()
        totals.append(rt.memory.live_stats()["allocated_bytes"])
    curve = memory_curve(prof.trace)
    assert (curve.allocated[0], curve.allocated[-1]) == (totals[7], totals[9])
    assert totals[9] - totals[7] >= 8_000


def test_an_exception_dumps_what_came_before_it() -> None:
    x = rt.ones((4,))
    with pytest.raises(ZeroDivisionError), profile(ring=Ring(2)) as prof:
        for number in range(7):
            x + x
            if number == 6:
                x * x
                1 / 0  # noqa: B018
            prof.step()
    assert prof.trace.metadata["reason"] == "ZeroDivisionError: division by zero"
    assert [step.number for step in steps(prof.trace)] == [4, 5]
    assert prof.trace.name_of(prof.trace.select(category="cpu_op"))[-2:] == ["add", "mul"]


def test_a_signal_dumps_and_the_handler_goes() -> None:
    dumped = threading.Event()
    found: list[tuple[object, list[int]]] = []

    def ready(prof: profile) -> None:
        found.append((prof.trace.metadata.get("reason"), [step.number for step in steps(prof.trace)]))
        dumped.set()

    before = signal.getsignal(signal.SIGUSR2)
    with profile(ring=Ring(4, signal=signal.SIGUSR2), on_trace_ready=ready) as prof:
        for _ in range(6):
            prof.step()
        signal.raise_signal(signal.SIGUSR2)
        assert dumped.wait(60)
        prof.step()
    assert signal.getsignal(signal.SIGUSR2) is before
    assert found == [("signal SIGUSR2", [2, 3, 4, 5]), (None, [3, 4, 5, 6])]


def test_a_signal_needs_the_main_thread() -> None:
    refused: list[str] = []

    def start() -> None:
        prof = profile(ring=Ring(4, signal=signal.SIGUSR2))
        with pytest.raises(ProfileStateError) as error, prof:
            pass
        refused.append(str(error.value))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "signal=" in refused[0] and "main thread" in refused[0]
    assert not _core.is_recording()
