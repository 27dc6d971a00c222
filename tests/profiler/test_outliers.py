"""Steps that stand out."""

import pytest

from perflab.profiler import Trace, TraceBuilder, Track
from perflab.profiler.analysis.outliers import OpExcess, outlier_steps

MAIN = Track(1, 1, "main")


def loop(durations: list[int], slow: dict[int, int] | None = None) -> Trace:
    """Steps of these durations; in the slow ones, data takes that much longer, and one more op runs for 100 ns."""
    builder = TraceBuilder()
    start = 0
    for number, duration in enumerate(durations):
        more = (slow or {}).get(number, 0)
        builder.slice(f"ProfilerStep#{number}", start, duration + more, track=MAIN, category="user_annotation")
        builder.slice("data", start, 200 + more, track=MAIN, category="user_annotation")
        builder.slice("mm", start + 300 + more, 100, track=MAIN, category="cpu_op")
        if more:
            builder.slice("copy_", start + 500 + more, 100, track=MAIN, category="cpu_op")
        start += duration + more
    return builder.build()


def test_what_was_different_adds_up() -> None:
    (step,) = outlier_steps(loop([1000, 1010, 990, 1000, 1005, 995], {3: 600}))
    assert (step.number, step.duration) == (3, 1600)
    assert step.usual_ns == pytest.approx(1000)
    assert step.excess_ns == pytest.approx(600)
    assert sum(step.parts.values()) == pytest.approx(step.excess_ns)
    assert step.parts["data_wait"] == 600
    assert step.parts["forward"] == 100, "one more op"
    assert step.ops == (OpExcess("copy_", 100, 1),)


def test_the_longest_comes_first() -> None:
    found = outlier_steps(loop([1000, 1010, 990, 1000, 1005, 995, 1001, 1003], {2: 400, 5: 900}))
    assert [step.number for step in found] == [5, 2]


@pytest.mark.parametrize(
    "durations",
    [
        [1000] * 8,
        [1000, 1001, 1000, 1000, 1040, 1000],  # far outside of a tiny spread, but by 4 %
        [1000, 1500, 700, 1300, 1800, 900],  # noisy: nothing stands out
        [1000, 1000, 1000, 9000],  # too few to say
    ],
)
def test_no_outliers(durations: list[int]) -> None:
    assert outlier_steps(loop(durations)) == []
