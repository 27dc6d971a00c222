from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflab.profiler import Trace, TraceBuilder, TraceInvariantError, Track
from perflab.profiler.errors import ProfileStateError
from perflab.profiler.nesting import lanes, nest
from perflab.profiler.trace import ArgColumn

MAIN, OTHER = Track(1, 1, "main", "python"), Track(1, 2, "other", "python")


def small_trace() -> Trace:
    builder = TraceBuilder({"commit": "abc"})
    inner = builder.slice("inner", 20, 10, track=MAIN, category="kernel")
    outer = builder.slice("outer", 10, 50, track=MAIN, category="cpu_op", args={"Input Dims": [[2, 3]], "n": 1})
    away = builder.slice("away", 15, 100, track=OTHER, category="cpu_op", args={"n": 2})
    builder.instant("[memory]", 25, track=MAIN, category="cpu_instant_event", args={"Bytes": 64})
    builder.counter("Allocated", 25, 64, track=MAIN)
    builder.flow("fwdbwd", away, inner)
    assert (inner, outer, away) == (0, 1, 2)
    return builder.build()


def test_rows_are_sorted_and_nested_and_references_follow() -> None:
    trace = small_trace()
    trace.check()
    assert trace.name_of(range(3)) == ["outer", "away", "inner"]
    assert trace.slices.depth.tolist() == [0, 0, 1]
    assert trace.slices.parent.tolist() == [-1, -1, 0]
    assert (trace.flows.source.tolist(), trace.flows.target.tolist()) == ([1], [2])
    assert trace.args_of(0) == {"Input Dims": [[2, 3]], "n": 1}
    assert trace.args_of(1) == {"n": 2}
    assert trace.args_of(2) == {}
    assert trace.instant_args_of(0) == {"Bytes": 64}
    assert trace.select(category="cpu_op").tolist() == [0, 1]
    assert trace.select(category="cpu_op", name="away").tolist() == [1]
    assert trace.select(name="absent").tolist() == []
    assert trace.span() == (10, 115)
    assert TraceBuilder().build().span() == (0, 0)


def test_a_builder_builds_once() -> None:
    builder = TraceBuilder()
    builder.slice("one", 0, 10, track=MAIN)
    built = builder.build()
    with pytest.raises(ProfileStateError, match="was built already; keep the Trace"):
        builder.build()
    builder.slice("two", 20, 10, track=MAIN)
    with pytest.raises(ProfileStateError, match="or begin another builder"):
        builder.build()
    assert [built.strings[name] for name in built.slices.name] == ["one"]


def test_slices_that_cross_move_to_a_lane_beside_their_track() -> None:
    builder = TraceBuilder()
    builder.slice("alpha", 0, 10, track=MAIN)
    builder.slice("beta", 5, 10, track=MAIN)
    builder.slice("inside beta", 11, 2, track=MAIN)
    trace = builder.build()
    trace.check()
    assert [trace.tracks[number].lane for number in trace.slices.track] == [0, 1, 0]
    assert {(track.pid, track.tid, track.name) for track in trace.tracks} == {(1, 1, "main")}


def test_slices_of_no_length_stand_beside_or_inside_each_other() -> None:
    builder = TraceBuilder()
    for name, start, duration in (("a", 0, 10), ("at its start", 0, 0), ("at its end", 10, 0), ("same", 0, 10)):
        builder.slice(name, start, duration, track=MAIN)
    trace = builder.build()
    trace.check()
    assert trace.name_of(range(4)) == ["a", "same", "at its start", "at its end"]
    assert trace.slices.parent.tolist() == [-1, 0, 1, -1]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8), st.integers(0, 1)), max_size=25))
def test_any_slices_make_a_valid_trace(slices: list[tuple[int, int, int]]) -> None:
    builder = TraceBuilder()
    for start, duration, track in slices:
        builder.slice("x", start, duration, track=(MAIN, OTHER)[track])
    trace = builder.build()
    trace.check()
    assert len(trace.slices) == len(slices)
    assert sorted(zip(trace.slices.start, trace.slices.duration, strict=True)) == sorted(s[:2] for s in slices)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), max_size=25))
def test_nest_agrees_with_a_stack(slices: list[tuple[int, int]]) -> None:
    slices.sort(key=lambda one: (one[0], -one[1]))
    start, duration = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    lane = lanes(start, duration)
    depth, parent = nest(start, duration, lane)
    stacks: dict[int, list[int]] = {}
    for row, (begin, length) in enumerate(slices):
        stack = stacks.setdefault(int(lane[row]), [])
        while stack and sum(slices[stack[-1]]) <= begin:
            stack.pop()
        assert parent[row] == (stack[-1] if stack else -1)
        assert depth[row] == len(stack)
        assert not stack or begin + length <= sum(slices[stack[-1]])
        for lower in range(lane[row]):  # each has something open that ends before this slice does
            around = [end for end in (sum(slices[it]) for it in stacks[lower]) if end > begin]
            assert min(around) < begin + length
        stack.append(row)


def test_arguments_keep_their_types() -> None:
    values = [1, 1.0, True, "1", None, [1], [1.0], {"a": [1]}, 2**70, 1]
    builder = TraceBuilder()
    for place, value in enumerate(values):
        builder.slice("x", place, 1, track=MAIN, args={"v": value})
    column = builder.build().slice_args["v"]
    assert column.table is not None
    assert [(type(value), value) for value in column.to_list()] == [(type(value), value) for value in values]
    assert next(iter(column)) == (0, 1)
    assert len(column) == 10
    assert column.dense(10, missing=-1).tolist() == [1, -1, 1, -1, -1, -1, -1, -1, -1, 1]


def test_arguments_of_one_type_are_arrays_and_the_last_value_of_a_row_counts() -> None:
    builder = TraceBuilder()
    first = builder.slices([5, 3], 1, builder.track(MAIN), builder.string("x"), builder.string("cpu_op"))
    builder.slice_args("n", [first, first + 1], np.array([10, 20], dtype=np.uint32))
    builder.slice_args("n", first, [11])
    builder.slice_args("shape", [first, first + 1], np.array([1, 0]), table=[[[1]], [[2]]])
    trace = builder.build()
    column = trace.slice_args["n"]
    assert column.table is None
    assert column.values.dtype == np.int64
    assert list(column) == [(0, 20), (1, 11)]
    assert trace.slice_args["shape"].to_list() == [[[1]], [[2]]]
    assert column.at(7, "none") == "none"


def test_names_are_always_valid_unicode() -> None:
    builder = TraceBuilder()
    builder.slice("bad \udc80 name", 0, 1, track=MAIN)
    assert builder.build().name_of([0]) == ["bad \\udc80 name"]


def test_a_counter_refuses_values_that_are_no_numbers() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        TraceBuilder().counter("Allocated", 0, float("nan"), track=MAIN)


def broken(trace: Trace, **columns: object) -> Trace:
    return replace(trace, slices=replace(trace.slices, **columns))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t: broken(t, duration=np.array([50, -1, 10])), "slice 1 has a negative duration"),
        (lambda t: broken(t, start=np.array([10, 9, 20])), "slice 1 stands before slice 0"),
        (lambda t: broken(t, parent=np.array([-1, -1, 1])), "slice 2 has parent 1"),
        (lambda t: broken(t, depth=np.array([0, 0, 3], dtype=np.int32)), "at depth 3"),
        (lambda t: broken(t, duration=np.array([50, 100, 41])), "slice 2 ends after slice 0"),
        (lambda t: broken(t, name=np.array([0, 1, 99], dtype=np.int32)), "a name id lies outside"),
        (lambda t: broken(t, track=np.array([0, 7, 0], dtype=np.int32)), "a track id lies outside"),
        (lambda t: replace(t, flows=replace(t.flows, target=np.array([3]))), "a flow refers to a slice"),
        (
            lambda t: replace(t, counters=replace(t.counters, **{
                name: np.repeat(getattr(t.counters, name), 2) for name in ("track", "name", "value")
            }, time=np.array([2, 1]))),
            "counter 1 is out of order",
        ),
        (lambda t: replace(t, slice_args={"k": ArgColumn(np.array([1, 0]), np.array([1, 1]))}), "do not ascend"),
        (lambda t: replace(t, slice_args={"k": ArgColumn(np.array([9]), np.array([1]))}), "row that does not exist"),
        (lambda t: replace(t, slice_args={"k": ArgColumn(np.array([0]), np.array([1]), ["x"])}), "value that does not"),
    ],
)  # fmt: skip
def test_check_finds_what_is_wrong(make: object, message: str) -> None:
    with pytest.raises(TraceInvariantError, match=message):
        make(small_trace()).check()  # type: ignore[operator]
