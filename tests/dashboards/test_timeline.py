"""The timeline without a browser: bands, tiles held against a slow way to make them, slices, sums."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from perflab.dashboards import slices, stretches
from perflab.dashboards.errors import SliceNotFound
from perflab.dashboards.outline import outline
from perflab.dashboards.stepchoice import window
from perflab.dashboards.tiles import Tile, tile
from perflab.dashboards.timeline import Timeline
from perflab.profiler.analysis.steps import steps
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Trace, Track

MakeTrace = Callable[..., Trace]
Entry = tuple[int, int, int, int, int, str]  # row, begin, end, count, busy, name of the longest


def entries(drawn: Tile, timeline: Timeline) -> list[Entry]:
    """A tile's entries with their differences summed up."""
    found = []
    at = 0
    for row, length in zip(drawn.rows.tolist(), drawn.lengths.tolist(), strict=True):
        begin, number = drawn.start, 0
        for _ in range(length):
            begin, number = begin + int(drawn.begin[at]), number + int(drawn.slice[at])
            name = drawn.names[drawn.look[at]]
            assert timeline.trace.strings[timeline.trace.slices.name[number]] == name
            found.append((row, begin, begin + int(drawn.length[at]), int(drawn.count[at]), int(drawn.busy[at]), name))
            at += 1
    assert at == len(drawn.begin)
    return found


def slowly(timeline: Timeline, start: int, end: int, width: int) -> list[Entry]:
    """What `tile` should hold, slice by slice."""
    columns, strings = timeline.trace.slices, timeline.trace.strings
    bin_ns = max(-(-(end - start) // width), 1)
    found: list[Entry] = []
    for row in range(timeline.rows):
        bin_of_last, longest = None, 0
        for number in np.flatnonzero(timeline.row_of(np.arange(len(columns))) == row).tolist():
            begin, duration = int(columns.start[number]) - timeline.begin, int(columns.duration[number])
            stop, name = begin + duration, strings[columns.name[number]]
            if duration >= bin_ns:
                if begin < end and stop > start:
                    found.append((row, begin, stop, 1, duration, name))
                    bin_of_last = None
            elif start <= begin < end:
                if (begin - start) // bin_ns != bin_of_last:
                    found.append((row, begin, stop, 1, duration, name))
                    longest = duration
                else:
                    _, first, _, count, busy, longest_name = found.pop()
                    name, longest = (name, duration) if duration > longest else (longest_name, longest)
                    found.append((row, first, stop, count + 1, busy + duration, name))
                bin_of_last = (begin - start) // bin_ns
    return found


def random_trace(seed: int, count: int = 400) -> Trace:
    """Nested slices of very different lengths on two threads, and a counter."""
    rng = np.random.default_rng(seed)
    builder = TraceBuilder()
    for tid in (1, 2):
        at = 1_000
        for number in range(count // 2):
            length = int(10 ** rng.uniform(0, 4))
            builder.slice(f"outer {number % 5}", at, length, track=Track(1, tid), category="cpu_op")
            if length > 3:
                builder.slice(f"inner {number % 3}", at + 1, length // 2, track=Track(1, tid), category="kernel")
            builder.counter("bytes", at, float(rng.integers(0, 100)), track=Track(1, tid))
            at += length + int(rng.integers(0, 300))
    return builder.build()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("width", [1, 7, 64, 1_000])
def test_tile_holds_every_slice_once_alone_or_merged(seed: int, width: int) -> None:
    timeline = Timeline(random_trace(seed))
    third = timeline.length // 3
    for start, end in ((0, timeline.length), (third, 2 * third), (third, third + 50), (-100, 10)):
        assert entries(tile(timeline, start, end, width), timeline) == slowly(timeline, start, end, width)


@pytest.mark.parametrize("seed", range(4))
def test_tiles_of_the_browser_are_made_from_coarser_entries(seed: int) -> None:
    timeline = Timeline(random_trace(seed, 2_000))
    sizes = [len(level) for level in timeline.levels]
    assert len(sizes) >= 3 and all(2 * coarse <= fine for fine, coarse in pairwise(sizes))
    for width, level in ((64, 4), (64, 8), (16, 12), (4, 16)):
        span = width << level  # bins of a power of two of ns, from a multiple of their stretch
        for place in {0, timeline.length // span // 2, timeline.length // span}:
            stretch = (place * span, (place + 1) * span)
            assert entries(tile(timeline, *stretch, width), timeline) == slowly(timeline, *stretch, width)


def test_neighbouring_tiles_share_only_what_reaches_over_their_border() -> None:
    timeline = Timeline(random_trace(3))
    middle = timeline.length // 2
    left, right = (
        set(entries(tile(timeline, *stretch, 50), timeline)) for stretch in ((0, middle), (middle, timeline.length))
    )
    assert left & right == {entry for entry in left if entry[2] > middle and entry[3] == 1} & right
    counted = sum(entry[3] for entry in left | right)
    assert counted == len(timeline.trace.slices)


def test_tile_of_an_empty_stretch_is_empty() -> None:
    timeline = Timeline(random_trace(1))
    drawn = tile(timeline, timeline.length + 10, timeline.length + 20, 10)
    assert len(drawn.begin) == len(drawn.rows) == 0
    assert drawn.names == []
    assert len(tile(Timeline(TraceBuilder().build()), 0, 1, 10).begin) == 0


def test_zero_length_slices_are_drawn() -> None:
    builder = TraceBuilder()
    builder.slice("moment", 100, 0, track=Track(1, 1))
    builder.slice("other", 200, 10, track=Track(1, 1))
    timeline = Timeline(builder.build())
    assert entries(tile(timeline, 0, 50, 50), timeline) == [(0, 0, 0, 1, 0, "moment")]


def test_counters_keep_their_peaks_and_the_value_before() -> None:
    builder = TraceBuilder()
    for time, value in ((0, 5.0), (10, 1.0), (12, 9.0), (14, 2.0), (55, 3.0)):
        builder.counter("bytes", time, value, track=Track(1, 1))
    timeline = Timeline(builder.build())
    drawn = tile(timeline, 10, 60, 5).counters
    assert np.cumsum(drawn.bin).tolist() == [-1, 0, 4]
    assert (drawn.high, drawn.last) == ([5.0, 9.0, 3.0], [5.0, 2.0, 3.0])
    assert (drawn.rows, drawn.lengths) == ([0], [3])


def test_a_million_slices_make_a_tile_of_bounded_size() -> None:
    count = 1_000_000
    builder = TraceBuilder()
    track = builder.track(Track(1, 1))
    names = np.array([builder.string(f"op {number}") for number in range(9)])
    builder.slices(np.arange(count) * 100, 60, track, names[np.arange(count) % 9], builder.string("cpu_op"))
    timeline = Timeline(builder.build())
    drawn = tile(timeline, 0, timeline.length, 1024)
    assert len(drawn.begin) == 1024
    assert int(drawn.count.sum()) == count
    assert int(drawn.busy.sum()) == 60 * count


def test_bands_put_lanes_and_gil_below_their_thread_and_counters_last() -> None:
    builder = TraceBuilder()
    main, worker = Track(1, 1, "main", "python"), Track(1, 2, "worker", "python")
    builder.slice("work", 0, 100, track=worker, category="cpu_op")
    builder.slice("GIL wait: op", 0, 10, track=Track(1, 31, "main GIL", "python"), category="gil", args={"Thread": 1})
    builder.slice("step", 0, 100, track=main, category="cpu_op")
    builder.slice("inside", 10, 20, track=main, category="cpu_op")
    builder.slice("across", 20, 95, track=main, category="cpu_op")
    builder.slice("kernel", 0, 100, track=Track(7, "stream 1", "stream 1", "cuda"), category="kernel")
    builder.counter("bytes", 0, 1.0, track=main)
    timeline = Timeline(builder.build())
    assert [(band.label, band.process, band.first_row, band.rows) for band in timeline.bands] == [
        ("worker", "python 1", 0, 1),
        ("main", "python 1", 1, 2),
        ("main (2)", "python 1", 3, 1),
        ("main GIL", "python 1", 4, 1),
        ("bytes", "python 1", 5, 1),
        ("stream 1", "cuda 7", 6, 1),
    ]


def test_a_thread_comes_first_whose_steps_stand_on_a_lane_of_it() -> None:
    builder = TraceBuilder()
    for track in (Track(1, 9, "autograd"), Track(1, 5, "main")):
        builder.slice("frame", 0, 1_000, track=track, category="python_function")
    lane = Track(1, 5, "main", lane=1)
    builder.slice("ProfilerStep#1", 500, 900, track=lane, category="user_annotation")
    assert [band.label for band in Timeline(builder.build()).bands] == ["main", "main (2)", "autograd"]


def test_counters_of_bytes_are_told_from_others() -> None:
    builder = TraceBuilder()
    for name in ("Allocated: gradient", "RSS", "SM clock", "GPU memory", "queue"):
        builder.counter(name, 0, 1.0, track=Track(1, 1))
    found = outline(builder.build(), []).data("/", window(None, (0, 1)))["bands"]
    assert isinstance(found, list)
    assert {band["label"]: band["bytes"] for band in found} == {
        "Allocated: gradient": True,
        "RSS": True,
        "SM clock": False,
        "GPU memory": True,
        "queue": False,
    }


def test_outline_opens_on_the_step_in_ns_of_the_timeline(training_trace: MakeTrace) -> None:
    trace = training_trace()
    found = steps(trace)
    drawn = outline(trace, found)
    data = drawn.data("/api/v1/traces/7/timeline", window(found[1], trace.span()))
    assert data["window"] == {"start": found[1].start, "end": found[1].start + found[1].duration}
    assert data["steps"][1] == [3, found[1].start, found[1].duration]
    assert [kind.word for kind in drawn.legend] == ["ops", "kernels", "GIL", "autograd", "steps and annotations"]
    assert drawn.note.startswith(f"{len(trace.slices)} slices on 2 tracks, {len(trace.counters)} counter values, ")


def test_detail_knows_nesting_flows_and_others_of_its_name(training_trace: MakeTrace) -> None:
    trace = training_trace()
    timeline = Timeline(trace)
    columns = trace.slices
    source, target = int(trace.flows.source[0]), int(trace.flows.target[0])
    forward = slices.detail(timeline, source)
    assert [(arrow.name, arrow.slice.slice) for arrow in forward.effects] == [("fwdbwd", target)]
    assert forward.causes == []
    backward = slices.detail(timeline, target)
    assert [arrow.slice.slice for arrow in backward.causes if arrow.name == "fwdbwd"] == [source]
    assert [outer.name for outer in forward.around] == ["ProfilerStep#2", "forward"]
    [kernel] = np.flatnonzero(columns.parent == source)
    assert forward.self_time == columns.duration[source] - columns.duration[kernel]
    same = columns.duration[columns.name == columns.name[source]]
    assert (forward.count, forward.total, forward.median) == (len(same), same.sum(), int(np.median(same)))
    assert forward.after is not None and slices.detail(timeline, forward.after.slice).before == forward.slice


def test_the_hold_is_the_cause_of_the_wait_for_it() -> None:
    builder = TraceBuilder()
    hold = builder.slice("GIL held: Python", 0, 90, track=Track(1, "1 GIL"), category="gil")
    wait = builder.slice("GIL wait: Python", 20, 70, track=Track(1, "2 GIL"), category="gil")
    builder.flow("gil", wait, hold)
    trace = builder.build()
    waited, held = (slices.detail(Timeline(trace), int(builder.row_of_slice[handle])) for handle in (wait, hold))
    assert [arrow.slice for arrow in waited.causes] == [held.slice] and waited.effects == []
    assert [arrow.slice for arrow in held.effects] == [waited.slice] and held.causes == []


def test_args_are_text_and_the_long_are_cut() -> None:
    builder = TraceBuilder()
    args = {"Input Dims": [[2, 3], []], "text": "a" * 5_000, "n": 7}
    builder.slice("op", 0, 10, track=Track(1, 1), category="cpu_op", args=args)
    shown = slices.detail(Timeline(builder.build()), 0).args
    assert shown["Input Dims"] == "[[2, 3], []]" and shown["n"] == "7"
    assert len(shown["text"]) == slices.TEXT_LIMIT + 1


def test_unknown_slice_is_refused() -> None:
    timeline = Timeline(random_trace(1, 10))
    with pytest.raises(SliceNotFound, match=r"the trace has no slice 99: they are numbered from 0 to \d+"):
        slices.detail(timeline, 99)


def test_search_goes_round_in_time(training_trace: MakeTrace) -> None:
    timeline = Timeline(training_trace())
    columns = timeline.trace.slices
    matching = [
        number for number in range(len(columns)) if "MATMUL" in timeline.trace.strings[columns.name[number]].upper()
    ]
    first = slices.find(timeline, "MatMul", 0, 0)
    assert (first.count, first.place) == (len(matching), 1)
    assert first.slice is not None and first.slice.slice == matching[0]
    near = matching[0]
    walked = []
    for _ in matching:
        found = slices.find(timeline, "matmul", near, 1)
        assert found.slice is not None
        near = found.slice.slice
        walked.append(near)
    assert walked == [*matching[1:], matching[0]]
    last = slices.find(timeline, "matmul", matching[0], -1)
    assert last.place == len(matching)
    assert slices.find(timeline, "no such", 0, 1) == slices.Found(0, 0, None)


def test_sums_of_a_stretch_are_clipped_and_without_what_lies_inside() -> None:
    builder = TraceBuilder()
    builder.slice("outer", 100, 100, track=Track(1, 1), category="cpu_op")
    builder.slice("inner", 120, 60, track=Track(1, 1), category="kernel")
    builder.slice("other", 100, 100, track=Track(1, 2), category="cpu_op")
    timeline = Timeline(builder.build())
    found = stretches.totals(timeline, 50, 100)
    assert {(row.name, row.count, row.total, row.self_time) for row in found.rows} == {
        ("other", 1, 50, 50),
        ("inner", 1, 30, 30),
        ("outer", 1, 50, 20),
    }
    assert (found.names, found.count, found.self_time) == (3, 3, 100)
    assert [row.name for row in stretches.totals(timeline, 0, 100, [0]).rows] == ["inner", "outer"]
    assert stretches.totals(timeline, 200, 300).rows == []
