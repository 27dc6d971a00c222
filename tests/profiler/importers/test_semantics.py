"""What each kind of Chrome event means, as Perfetto takes it: one small file for each."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perflab.profiler import TraceBuilder, Track
from perflab.profiler.importers import Import
from perflab.profiler.importers.open_begins import OpenBegins
from perflab.profiler.nesting import trees

from .test_formats import slices
from .test_troubles import event, kinds, load, names


def b(name: str, ts: int, **more: Any) -> dict[str, Any]:
    return event("B", name, ts, **more)


def e(name: str | None, ts: int, **more: Any) -> dict[str, Any]:
    made = event("E", name or "", ts, **more)
    if name is None:
        del made["name"]
    return made


def spans(found: Import) -> list[tuple[str, int, int]]:
    """Name, start and end in us."""
    columns = found.trace.slices
    return list(zip(names(found), (columns.start // 1000).tolist(), (columns.end // 1000).tolist(), strict=True))


def test_an_end_takes_the_innermost_begin_of_its_name() -> None:
    found = load([b("f", 1), b("f", 2), b("g", 3), e("f", 4), e("g", 5), e("f", 6)])
    assert spans(found) == [("f", 1, 6), ("f", 2, 4), ("g", 3, 5)]
    assert [found.trace.tracks[track].lane for track in found.trace.slices.track] == [0, 0, 1]  # g crosses the inner f


def test_an_end_without_a_name_takes_the_innermost_begin() -> None:
    assert spans(load([b("f", 1), b("g", 2), e(None, 3), e(None, 4)])) == [("f", 1, 4), ("g", 2, 3)]


def test_an_end_of_a_category_takes_a_begin_of_that_category() -> None:
    found = load([b("f", 1, cat="x"), b("f", 2, cat="y"), e("f", 3, cat="x"), e("f", 4)])
    assert spans(found) == [("f", 1, 3), ("f", 2, 4)]
    assert kinds(load([b("f", 1), e("f", 2, cat="x")])) == {"stray-end": 1, "unfinished": 1}


def test_a_begin_without_a_name_is_ended_by_any() -> None:
    unnamed = b("", 1)
    del unnamed["name"]
    assert spans(load([unnamed, e("f", 3)])) == [("", 1, 3)]


def test_thousands_of_begins_and_of_ends_that_mean_none_of_them() -> None:
    begins = [b(f"f {number}", number) for number in range(5000)]
    strays = [e("other", 10_000 + number) for number in range(5000)]
    found = load([*begins, *strays, e("f 0", 60_000)])
    assert kinds(found)["stray-end"] == 5000
    assert kinds(found)["unfinished"] == 4999
    assert "unfinished" not in found.trace.args_of(0)


open_ones = st.lists(st.tuples(st.booleans(), st.sampled_from(["", "f", "g"]), st.sampled_from(["", "x"])), max_size=12)


@given(open_ones)
def test_begins_are_found_as_one_would_by_looking_at_each(rows: list[tuple[bool, str, str]]) -> None:
    opened: list[tuple[str, str, int]] = []
    indexed = OpenBegins[int]()
    for number, (is_begin, name, category) in enumerate(rows):
        if is_begin:
            opened.append((name, category, number))
            indexed.add(name or None, category or None, number)
            continue
        means = [one for one in opened if (not category or one[1] == category) and (not name or one[0] in ("", name))]
        assert indexed.take(name or None, category or None) == (means[-1][2] if means else None)
        if means:
            opened.remove(means[-1])
    assert indexed.left() == [number for _, _, number in opened]


def test_threads_and_processes_have_stacks_of_their_own() -> None:
    found = load([b("f", 1), b("f", 2, tid=2), b("f", 3, pid=2), e("f", 4, tid=2), e("f", 5), e("f", 6, pid=2)])
    assert spans(found) == [("f", 1, 5), ("f", 2, 4), ("f", 3, 6)]
    assert [(track.pid, track.tid) for track in found.trace.tracks] == [(1, 1), (1, 2), (2, 1)]


def test_arguments_of_begin_and_end_are_joined() -> None:
    found = load([b("f", 1, args={"a": 1, "b": 2}), e("f", 2, args={"b": 3, "c": 4})])
    assert found.trace.args_of(0)["a"] == 1
    assert found.trace.args_of(0)["c"] == 4


def test_slices_without_an_end_are_marked_and_reach_to_the_end_of_the_trace() -> None:
    found = load([b("f", 1), event("X", "x", 2, dur=3), event("i", "later", 9)])
    assert spans(found) == [("f", 1, 9), ("x", 2, 5)]
    assert found.trace.args_of(0) == {"unfinished": True}
    assert found.findings[0].moments == (1000,)


def test_complete_events_that_cross_are_both_kept_whole() -> None:
    found = load([event("X", "a", 0, dur=10), event("X", "b", 5, dur=10), event("X", "c", 7, dur=2)])
    assert spans(found) == [("a", 0, 10), ("b", 5, 15), ("c", 7, 9)]
    lanes = [found.trace.tracks[track].lane for track in found.trace.slices.track]
    assert lanes == [0, 1, 0]


def test_annotations_that_straddle_frames_have_a_tree_of_their_own() -> None:
    frames = [event("X", f"frame {start}", start, dur=10, cat="python_function") for start in (0, 10, 20)]
    inner = [event("X", "op", 12, dur=3, cat="cpu_op"), event("X", "inside", 11, dur=5, cat="user_annotation")]
    steps = [event("X", f"ProfilerStep#{start}", start, dur=10, cat="user_annotation") for start in (5, 15)]
    trace = load(frames + inner + steps).trace
    told = {
        name: (lane, depth)
        for name, lane, depth in zip(
            trace.name_of(range(len(trace.slices))),
            (trace.tracks[track].lane for track in trace.slices.track),
            trace.slices.depth.tolist(),
            strict=True,
        )
    }
    assert told == {
        "frame 0": (0, 0), "frame 10": (0, 0), "frame 20": (0, 0), "inside": (0, 1), "op": (0, 2),
        "ProfilerStep#5": (1, 0), "ProfilerStep#15": (1, 0),
    }  # fmt: skip


def test_a_frame_that_outlives_the_step_in_which_it_began_stays_where_it_is() -> None:
    found = load([
        event("X", "step", 0, dur=10, cat="user_annotation"), event("X", "frame", 5, dur=10, cat="python_function"),
    ])  # fmt: skip
    lanes = {
        name: found.trace.tracks[track].lane for name, track in zip(names(found), found.trace.slices.track, strict=True)
    }
    assert lanes == {"step": 1, "frame": 0}


def crosses(one: tuple[int, int], other: tuple[int, int]) -> bool:
    (a, b), (c, d) = sorted((one, other))
    return a < c < b < d


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8), st.integers(0, 2)), max_size=9))
def test_lanes_hold_nothing_that_crosses_and_annotations_give_way(rows: list[tuple[int, int, int]]) -> None:
    rows.sort(key=lambda row: (row[0], -row[1]))
    start, duration, group = (np.array([row[part] for row in rows], dtype=np.int64) for part in range(3))
    chosen = trees(start, duration, group).tolist()
    spans = [(begin, begin + length) for begin, length, _ in rows]
    for one in range(len(rows)):
        for other in range(one):
            if chosen[one] == chosen[other]:
                assert not crosses(spans[one], spans[other])
    alone = group == 0
    without = trees(start[alone], duration[alone], group[alone]).tolist()
    assert [lane for lane, is_alone in zip(chosen, alone.tolist(), strict=True) if is_alone] == without
    if not any(crosses(one, other) for one in spans for other in spans):
        assert not any(chosen)


def test_counters_of_several_series() -> None:
    found = load([
        event("C", "memory", 1, args={"used": 1, "free": 9}), event("C", "memory", 2, args={"used": 3}),
        event("C", "memory", 3, id="gpu", args={"used": 5}), event("C", "plain", 4, args={"value": 7.5}),
    ])  # fmt: skip
    told = {name: found.trace.counter(name) for name in ("memory used", "memory free", "memory[gpu] used", "plain")}
    assert {name: (time.tolist(), value.tolist()) for name, (time, value) in told.items()} == {
        "memory used": ([1000, 2000], [1.0, 3.0]),
        "memory free": ([1000], [9.0]),
        "memory[gpu] used": ([3000], [5.0]),
        "plain": ([4000], [7.5]),
    }


def test_async_events_are_matched_by_category_and_id() -> None:
    one, other = {"cat": "req", "id": "0x1"}, {"cat": "req", "id": "0x2"}
    found = load([
        event("b", "get", 1, **one), event("b", "get", 2, **other), event("n", "mark", 3, **one),
        event("b", "read", 4, **one), event("e", "read", 5, tid=9, **one), event("e", "get", 6, **one),
        event("e", "get", 7, **other),
    ])  # fmt: skip
    assert spans(found) == [("get", 1, 6), ("get", 2, 7), ("read", 4, 5)]
    assert len({found.trace.slices.track[row] for row in (0, 2)}) == 1
    assert found.trace.slices.track[1] != found.trace.slices.track[0]
    assert [found.trace.strings[name] for name in found.trace.instants.name] == ["mark"]


def test_instants_of_every_phase() -> None:
    found = load([event(phase, phase, place) for place, phase in enumerate("iIR")])
    assert [found.trace.strings[name] for name in found.trace.instants.name] == ["i", "I", "R"]
    assert found.trace.instants.time.tolist() == [0, 1000, 2000]


def test_a_flow_with_steps_is_an_arrow_from_each_to_the_next() -> None:
    ends = [event("s", "flow", 1, id=1), event("t", "flow", 11, id=1), event("f", "flow", 21, id=1, bp="e")]
    found = load([event("X", name, ts, dur=5) for name, ts in (("a", 0), ("b", 10), ("c", 20))] + ends)
    flows = found.trace.flows
    arrows = list(zip(found.trace.name_of(flows.source), found.trace.name_of(flows.target), strict=True))
    assert arrows == [("a", "b"), ("b", "c")]


def test_events_without_a_clock_of_their_own_are_left_out_of_none() -> None:
    """Clock syncs and context events put nothing on the timeline, and nothing is said of them."""
    silent = [event(phase, "x", 1, id=1) for phase in "cPNODvVa(),"]
    found = load([event("X", "a", 1, dur=1), *silent])
    assert (names(found), kinds(found)) == (["a"], {})


def test_the_time_of_the_files_zero_is_kept() -> None:
    found = load({"baseTimeNanoseconds": 1_700_000_000_000_000_001, "traceEvents": [event("X", "a", 0.001, dur=1)]})
    assert found.trace.metadata["baseTimeNanoseconds"] == 1_700_000_000_000_000_001
    assert found.trace.slices.start.tolist() == [1]


def test_metadata_events_with_arguments_of_any_type() -> None:
    odd = [{"ph": "M", "name": name, "pid": 1, "tid": 1, "args": args}
           for name in ("process_name", "thread_name", "process_labels", "thread_sort_index", "who knows")
           for args in (None, 3, "text", [1], {"name": None}, {"name": 7}, {"sort_index": "x"})]  # fmt: skip
    named = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "main"}}
    found = load([event("X", "a", 1, dur=1), *odd, named])
    assert (names(found), kinds(found)) == (["a"], {})
    assert found.trace.tracks[0].name == "main"


def test_pids_and_tids_that_look_alike_stay_apart() -> None:
    ids: list[Any] = [1, "one", -1, 2**63, 2**64 + 1, 1.5, "0x1", True]
    found = load([event("X", "a", 1, dur=1, tid=tid) for tid in ids])
    assert len(found.trace.tracks) == len(ids)


def test_sorting_is_stable() -> None:
    found = load([event("X", str(number), 5, dur=0, tid=number % 3) for number in range(20)])
    assert names(found) == [str(number) for number in range(20)]


def test_a_builder_puts_annotations_aside_as_a_reader_does() -> None:
    builder = TraceBuilder()
    builder.slice("step", 0, 10, track=Track(1, 1), category="user_annotation")
    builder.slice("frame", 5, 10, track=Track(1, 1), category="python_function")
    trace = builder.build()
    assert [trace.tracks[track].lane for track in trace.slices.track] == [1, 0]
    assert slices(trace) == [("step", 0, 10, 0), ("frame", 5, 10, 0)]


def test_async_ids_are_of_all_processes_unless_they_are_local() -> None:
    everywhere, local = {"cat": "c", "id2": {"global": "0x1"}}, {"cat": "c", "id2": {"local": "0x1"}}
    plain = {"cat": "c", "id": "0x2"}
    found = load([
        b("g", 1, **everywhere) | {"ph": "b"}, e("g", 9, pid=2, **everywhere) | {"ph": "e"},
        b("p", 1, **plain) | {"ph": "b"}, e("p", 8, pid=2, **plain) | {"ph": "e"},
        b("l", 2, **local) | {"ph": "b"}, b("l", 3, pid=2, **local) | {"ph": "b"},
        e("l", 4, **local) | {"ph": "e"}, e("l", 6, pid=2, **local) | {"ph": "e"},
    ])  # fmt: skip
    assert spans(found) == [("g", 1, 9), ("p", 1, 8), ("l", 2, 4), ("l", 3, 6)]
    assert [found.trace.tracks[track].pid for track in found.trace.slices.track] == [1, 1, 1, 2]
    assert kinds(found) == {}


def test_async_events_of_different_scopes_are_different_ones() -> None:
    one, other = ({"cat": "c", "id": 1, "scope": scope} for scope in ("one", "other"))
    found = load([event("b", "f", 1, **one), event("b", "f", 2, **other), event("e", "f", 3, **one),
                  event("e", "f", 5, **other)])  # fmt: skip
    assert spans(found) == [("f", 1, 3), ("f", 2, 5)]
    assert [found.trace.tracks[track].lane for track in found.trace.slices.track] == [0, 0]


def test_slices_that_say_which_flows_they_are_part_of() -> None:
    found = load([
        event("X", "a", 0, dur=5, bind_id="0x1", flow_out=True),
        event("X", "outer", 10, dur=5), event("X", "b", 10, dur=4, bind_id="0x1", flow_in=True, flow_out=True),
        event("X", "c", 20, dur=5, bind_id="0x1", flow_in=True), event("X", "no way", 30, dur=5, bind_id="0x1"),
    ])  # fmt: skip
    flows = found.trace.flows
    arrows = list(zip(found.trace.name_of(flows.source), found.trace.name_of(flows.target), strict=True))
    assert arrows == [("a", "b"), ("b", "c")]
    assert kinds(found) == {}


def test_values_of_counters_that_are_text_or_beyond_an_int() -> None:
    found = load([event("C", "c", 1, args={"a": 1, "b": "2.5", "big": 10**20}), event("C", "c", 2, args={"a": 3})])
    told = {name: found.trace.counter(f"c {name}")[1].tolist() for name in ("a", "b", "big")}
    assert told == {"a": [1.0, 3.0], "b": [2.5], "big": [1e20]}
    assert kinds(found) == {}


def test_values_of_counters_that_are_no_numbers() -> None:
    values = {"a": 1, "b": None, "c": "x", "d": 10**400, "e": "1e999", "f": True, "g": [1]}
    found = load([event("C", "c", 1, args=values)])
    assert found.trace.counter("c a")[1].tolist() == [1.0]
    assert (len(found.trace.counters), kinds(found)) == (1, {"no-value": 6})
    assert found.findings[0].examples[0] == "'b' of 'c' (event 1)"
