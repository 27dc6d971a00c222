"""Lifetimes of the largest blocks around the peak."""

from perflab.profiler import TraceBuilder
from perflab.profiler.analysis.blocks import CATEGORIES
from perflab.profiler.analysis.lifetimes import Lifetime, lifetimes

from .test_memory import Recorder, training

STATE = next(word for word in CATEGORIES if word.startswith("optimizer"))


def test_the_blocks_of_the_step_with_the_peak() -> None:
    found = lifetimes(training(2))
    assert found is not None
    assert (found.start, found.end, found.peak) == (1000, 2000, 1510)
    assert found.blocks == (
        Lifetime("zeros", "(none)", STATE, 400, 720, None, True),
        Lifetime("matmul", "Net.fc", "activation", 300, 1210, 1590, True),
        Lifetime("matmul", "(none)", "gradient", 200, 1420, 1850, True),
        Lifetime("stack", "(none)", "input", 64, 1020, 1950, True),
        Lifetime("matmul", "Net.fc", "temporary", 30, 1220, 1230, False),
        Lifetime("mul", "(none)", "temporary", 20, 1510, 1520, True),
    )
    assert (found.left_out, found.left_out_bytes) == (0, 0)


def test_what_is_too_many_or_too_small_is_counted() -> None:
    found = lifetimes(training(2), limit=2)
    assert found is not None
    assert [block.bytes for block in found.blocks] == [400, 300]
    assert (found.left_out, found.left_out_bytes) == (4, 200 + 64 + 30 + 20)
    it = Recorder(0)
    it.change(10, 1, 100_000)
    it.change(20, 2, 100)
    small = lifetimes(it.builder.build())
    assert small is not None
    assert ([block.bytes for block in small.blocks], small.left_out) == ([100_000], 1)


def test_without_steps_it_is_the_whole_trace() -> None:
    it = Recorder(500)
    it.change(10, 1, -200)
    it.change(20, 2, 700)
    it.change(40, 2, -700)
    found = lifetimes(it.builder.build())
    assert found is not None
    assert (found.start, found.end, found.peak) == (10, 40, 20)
    assert found.blocks == (
        Lifetime("(no op)", "(none)", "other", 700, 20, 40, True),
        Lifetime("(no op)", "(none)", "before", 200, None, 10, False),
    )
    assert lifetimes(TraceBuilder().build()) is None
