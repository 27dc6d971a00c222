"""Questions asked of a large trace: how long the answer takes."""

import time
from collections.abc import Callable

import pytest

from perflab.benchmarks.beside import Figure, Measure
from perflab.benchmarks.quantity import SECONDS, quantity
from perflab.profiler import profile, record_function
from perflab.profiler.analysis.averages import key_averages
from perflab.profiler.analysis.diff import diff
from perflab.profiler.analysis.groups import GroupBy
from perflab.profiler.analysis.parts import step_parts
from perflab.profiler.trace import Trace

pytestmark = pytest.mark.perflab(counters="off")

OPS = 1_000_000
STEPS = 100


def recorded(measure: Measure, ops: int) -> Trace:
    """Steps of additions under an annotation, each op with its kernel and its memory."""
    ones = measure.ours.ones((1, 1))
    with profile() as session:
        for _ in range(STEPS):
            with record_function("forward"):
                for _ in range(ops // STEPS):
                    ones + ones
            session.step()
    return session.trace


def seconds(measure: Measure, ask: Callable[[], object]) -> float:
    """Of an answer, the least of three."""

    def once() -> float:
        begin = time.perf_counter()
        ask()
        return time.perf_counter() - begin

    return measure.in_turn({"perflab": once}, rounds=3)["perflab"].least


@pytest.mark.parametrize("group_by", ["op", "op+shape", "module", "stack", "step"])
@pytest.mark.parametrize(("ops", "limit"), [(OPS, 2.0), (300_000, 0.6)])
def test_key_averages(measure: Measure, ops: int, limit: float, group_by: GroupBy) -> None:
    """PyTorch takes 25 s for 300,000 ops."""
    trace = recorded(measure, ops)
    took = seconds(measure, lambda: key_averages(trace, group_by))
    what = f"key_averages of {ops:,} ops by {group_by}"
    measure.table.figures.append(
        Figure(what, quantity(took, SECONDS), goal=f"<= {limit} s", met=took <= limit),
    )


@pytest.mark.parametrize(
    ("name", "ask"), [("parts of the steps", step_parts), ("diff", lambda trace: diff(trace, trace))]
)
def test_other_questions(measure: Measure, name: str, ask: Callable[[Trace], object]) -> None:
    """Those that look at every op."""
    trace = recorded(measure, OPS)
    took = seconds(measure, lambda: ask(trace))
    measure.table.figures.append(Figure(f"{name} of {OPS:,} ops", quantity(took, SECONDS)))
