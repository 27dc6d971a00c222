"""Sets of moments, beside sets of integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perflab.profiler.analysis.intervals import NOTHING, Cover

intervals = st.lists(st.tuples(st.integers(-20, 60), st.integers(0, 12)), max_size=12)


def cover(pairs: list[tuple[int, int]]) -> Cover:
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Cover.union(columns[:, 0], columns[:, 1])


def moments(pairs: list[tuple[int, int]]) -> set[int]:
    return {time for start, duration in pairs for time in range(start, start + duration)}


def members(it: Cover) -> set[int]:
    return {time for start, end in zip(it.start.tolist(), it.end.tolist(), strict=True) for time in range(start, end)}


@given(intervals, intervals)
def test_sets_of_moments_are_sets(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    a, b = cover(one), cover(other)
    left, right = moments(one), moments(other)
    for made, expected in ((a, left), (a | b, left | right), (a & b, left & right), (a - b, left - right)):
        assert members(made) == expected
        assert made.total == len(expected)
        assert np.all(made.start[1:] > made.end[:-1]), "neighbours are one"


@given(intervals, intervals)
def test_what_lies_within(one: list[tuple[int, int]], windows: list[tuple[int, int]]) -> None:
    a, inside = cover(one), moments(one)
    start = np.array([begin for begin, _ in windows], dtype=np.int64)
    length = np.array([duration for _, duration in windows], dtype=np.int64)
    expected = [len(inside & set(range(begin, begin + duration))) for begin, duration in windows]
    assert a.within(start, start + length).tolist() == expected
    assert a.holds(start).tolist() == [begin in inside for begin, _ in windows]


def test_nothing() -> None:
    assert (len(NOTHING), NOTHING.total) == (0, 0)
    assert NOTHING.within(np.array([0]), np.array([5])).tolist() == [0]
