"""Memory: what was there at the peak, what for, and what stays."""

from collections.abc import Sequence

import pytest

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.blocks import NEVER, blocks
from perflab.profiler.analysis.growth import Growth, StepMemory, Survivor, growth
from perflab.profiler.analysis.memory import MemoryPeak, category_curves, memory_curve, memory_peak

MAIN, ENGINE = Track(1, 1, "main"), Track(1, 2, "pt_autograd_0")


class Recorder:
    """Writes `[memory]` instants with their running total."""

    def __init__(self, total: int) -> None:
        self.builder, self.total = TraceBuilder(), total

    def op(self, name: str, start: int, duration: int, module: str = "", *, category: str = "cpu_op") -> None:
        args = {"Module Hierarchy": module} if module else None
        self.builder.slice(name, start, duration, track=MAIN, category=category, args=args)

    def change(self, time: int, address: int, size: int, category: str = "") -> None:
        self.total += size
        args: dict[str, object] = {
            "Addr": address,
            "Bytes": size,
            "Total Allocated": self.total,
            "Total Reserved": 4000,
        }
        self.builder.instant("[memory]", time, track=MAIN, args=args | ({"Category": category} if category else {}))


def training(steps: int = 2, leak: Sequence[int] = ()) -> Trace:
    """1000 bytes of parameters from before; a batch, an activation, a temporary, a gradient, optimizer state."""
    it = Recorder(1000)
    for number in range(steps):
        start, base = number * 1000, 0x100
        it.op(f"ProfilerStep#{number}", start, 1000, category="user_annotation")
        it.op("data", start, 100, category="user_annotation")
        it.op("stack", start + 10, 50)
        it.change(start + 20, base, 64)
        it.op("matmul", start + 200, 100, "Net.fc")
        it.change(start + 210, base + 1, 300)  # an activation
        it.change(start + 220, base + 2, 30)  # a temporary
        it.change(start + 230, base + 2, -30)
        it.op("MatmulBackward0", start + 400, 200, category="autograd")
        it.op("matmul", start + 410, 50)
        it.change(start + 420, base + 3, 200)  # the gradient
        it.op("mul", start + 500, 50)
        it.change(start + 510, base + 4, 20)  # a temporary of the pass
        it.change(start + 520, base + 4, -20)
        it.change(start + 590, base + 1, -300)
        it.op("optimizer", start + 700, 100, category="user_annotation")
        it.op("zeros", start + 710, 20)
        if number == 0:
            it.change(start + 720, base + 5, 400)  # optimizer state
        it.change(start + 850, base + 3, -200)
        for place, size in enumerate(leak):
            it.op("cat", start + 860 + 10 * place, 5, "Net.log")
            it.change(start + 861 + 10 * place, 0x10000 + number * 10 + place, size)
        it.change(start + 950, base, -64)
    trace = it.builder.build()
    trace.check()
    return trace


def test_blocks_are_paired_and_sorted_into_categories() -> None:
    found = blocks(training(1))
    told = zip(found.bytes.tolist(), (found.died < NEVER).tolist(), found.category.tolist(), strict=True)
    names = ["parameter", "gradient", "optimizer_state", "activation", "input", "temporary", "other", "before"]
    assert [(size, freed, names[code]) for size, freed, code in told] == [
        (64, True, "input"),
        (300, True, "activation"),
        (30, True, "temporary"),
        (200, True, "gradient"),
        (20, True, "temporary"),
        (400, False, "optimizer_state"),
    ]


def test_the_peak_is_shared_out_three_ways() -> None:
    peak = memory_peak(training(2))
    assert peak == MemoryPeak(
        time=1510,
        bytes=1984,
        by_category={
            "before": 1000, "optimizer_state": 400, "activation": 300, "gradient": 200, "input": 64, "temporary": 20
        },
        by_module={"(none)": 1684, "Net.fc": 300},
        by_op={"(no op)": 1000, "matmul": 500, "zeros": 400, "stack": 64, "mul": 20},
    )  # fmt: skip
    assert memory_peak(TraceBuilder().build()) is None


def test_categories_over_time_add_up_to_the_total() -> None:
    trace = training(2)
    curves = category_curves(trace)
    assert curves.bytes.sum(axis=0).tolist() == blocks(trace).total.tolist() == memory_curve(trace).allocated.tolist()
    by_name = dict(zip(curves.categories, curves.bytes.tolist(), strict=True))
    assert set(by_name["before"]) == {1000}
    assert by_name["optimizer_state"][-1] == 400
    assert max(by_name["gradient"]) == 200


def test_what_a_trace_tells_of_categories_comes_first() -> None:
    it = Recorder(0)
    it.change(10, 1, 100, "parameter")
    it.change(20, 2, 50)
    it.change(30, 2, -50)
    peak = memory_peak(it.builder.build())
    assert peak is not None
    assert peak.by_category == {"parameter": 100, "other": 50}


def test_what_was_there_before_is_known_by_its_end() -> None:
    it = Recorder(500)
    it.change(10, 1, -200)
    it.change(20, 2, 700)
    trace = it.builder.build()
    assert blocks(trace).born.tolist() == [1, -1]
    peak = memory_peak(trace)
    assert peak is not None
    assert (peak.bytes, peak.by_category) == (1000, {"other": 700, "before": 300})
    assert category_curves(trace).bytes.sum(axis=0).tolist() == [300, 1000]


def test_a_leak_and_who_owns_it() -> None:
    found = growth(training(5, leak=(8, 24)))
    assert found.leak_bytes == 32
    assert found.survivors == (Survivor("cat", "Net.log", 32, 2),)
    assert found.steps[:2] == (
        StepMemory(0, begin_bytes=1000, peak_bytes=1664, end_bytes=1432),
        StepMemory(1, begin_bytes=1432, peak_bytes=2016, end_bytes=1464),
    )
    assert [step.growth for step in found.steps] == [432, 32, 32, 32, 32]


def test_steady_steps_leak_nothing() -> None:
    found = growth(training(5))
    assert [step.growth for step in found.steps] == [400, 0, 0, 0, 0]
    assert (found.leak_bytes, found.survivors) == (0, ())
    assert growth(training(3, leak=(8,))).leak_bytes == 0, "two steps are no series"
    assert growth(TraceBuilder().build()) == Growth((), 0, ())


def test_fragmentation_is_what_was_reserved_and_unused_at_the_peak() -> None:
    assert memory_curve(training(2)).fragmentation == pytest.approx(1 - 1984 / 4000)
    assert memory_curve(TraceBuilder().build()).fragmentation == 0
