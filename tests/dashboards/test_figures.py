"""The numbers in a figure are those of the analysis that it draws."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from perflab.dashboards import (
    compare,
    gil,
    intervals,
    lifetimes,
    memory,
    op_tree,
    operators,
    overlay,
    series,
    stepchoice,
    strips,
    theme,
)
from perflab.dashboards.views import Judged, SeriesChange, SeriesPoint, SeriesView, VerdictRow
from perflab.profiler.analysis.averages import key_averages
from perflab.profiler.analysis.contention import Convoy, GilThread, gil_threads
from perflab.profiler.analysis.diff import BillLine, TraceDiff, diff
from perflab.profiler.analysis.gil import gil_waits
from perflab.profiler.analysis.growth import Growth, Survivor
from perflab.profiler.analysis.lifetimes import Lifetime, Lifetimes
from perflab.profiler.analysis.memory import MemoryCurve, category_curves, memory_curve
from perflab.profiler.analysis.op_tree import OpNode, OpTree
from perflab.profiler.analysis.steps import Step, steps
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Trace, Track

MakeTrace = Callable[..., Trace]


def test_memory_figure_holds_the_curve_and_marks_its_peak(training_trace: MakeTrace) -> None:
    trace = training_trace()
    curve = memory_curve(trace)
    figure = memory.figure(curve, steps(trace), trace.span())
    drawn = {each.name: each for each in figure.data}
    assert np.allclose(np.asarray(drawn["allocated"].y) * 2**20, curve.allocated)
    assert np.allclose(np.asarray(drawn["reserved"].y) * 2**20, curve.reserved)
    assert drawn["peak"].y[0] * 2**20 == pytest.approx(curve.peak_bytes)
    assert drawn["peak"].x[0] * 1e6 == pytest.approx(curve.time[curve.peak_index] - trace.span()[0])
    assert figure.layout.annotations[0].text.startswith("peak ")
    assert len(figure.layout.shapes) == len(steps(trace))


def test_memory_figure_has_a_layer_for_each_category(training_trace: MakeTrace) -> None:
    trace = training_trace()
    layers = category_curves(trace)
    figure = memory.figure(memory_curve(trace), steps(trace), trace.span(), layers)
    drawn = {each.name: each for each in figure.data if each.stackgroup}
    assert list(drawn) == list(layers.categories)
    assert all(
        np.allclose(np.asarray(drawn[name].y) * 2**20, held)
        for name, held in zip(layers.categories, layers.bytes, strict=True)
    )
    assert np.allclose(np.asarray(drawn["before"].x) * 1e6, layers.time - trace.span()[0])
    assert {each.line.color for each in drawn.values()} == {theme.MEMORY[name] for name in layers.categories}


@pytest.mark.parametrize(("reserved", "visible"), [(4_000, True), (4_001, "legendonly")])
def test_what_is_reserved_does_not_press_the_curve_down(reserved: int, visible: object) -> None:
    both = np.array([0, 1_000], dtype=np.int64)
    curve = MemoryCurve(both, both, np.array([reserved, reserved], dtype=np.int64), 1, 1_000)
    drawn = {trace.name: trace for trace in memory.figure(curve, [], (0, 1_000)).data}
    assert drawn["reserved"].visible == visible


def test_a_leak_is_a_sentence() -> None:
    survivors = (Survivor("cat", "Net.log", 2048, 2), Survivor("add", "(none)", 10, 1))
    assert memory.leak_note(Growth((), 2058, survivors)) == (
        "Each step leaves 2.01 KiB behind: 2.00 KiB of cat in Net.log, 10 B of add in (none)."
    )
    assert memory.leak_note(Growth((), 0, ())) == ""


def test_labels_of_short_lifetimes_stand_behind_them_where_there_is_room() -> None:
    ends = ((1_000_000, 1_010_000), (1_980_000, 1_990_000))
    blocks = tuple(Lifetime("(no op)", "Net.act", "temporary", 2**20, *each, False) for each in ends)
    [bar] = lifetimes.figure(Lifetimes(1_000_000, 2_000_000, 1_300_000, blocks, 0, 0), 0).data
    assert list(zip(bar.text, bar.textposition, strict=True)) == [
        ("1.00 MiB Net.act", "outside"),
        ("1.00 MiB Net.act", "none"),
    ]


def test_lifetimes_are_bars_within_the_step() -> None:
    state = next(word for word in theme.MEMORY if word.startswith("optimizer"))
    blocks = (
        Lifetime("relu", "Net.act", "activation", 2**20, 1_200_000, 1_500_000, True),
        Lifetime("zeros", "(none)", state, 2**10, 500_000, None, True),
        Lifetime("(no op)", "(none)", "before", 10, None, 1_100_000, False),
    )
    found = Lifetimes(1_000_000, 2_000_000, 1_300_000, blocks, 3, 2**11)
    figure = lifetimes.figure(found, 1_000)
    bars = {(bar.name, bar.y[0]): (bar.base[0], bar.base[0] + bar.x[0]) for bar in figure.data}
    assert bars == {
        ("activation", 0): pytest.approx((1.199, 1.499)),
        (state, 1): pytest.approx((0.999, 1.999)),
        ("before", 2): pytest.approx((0.999, 1.099)),
    }
    assert figure.layout.shapes[0].x0 == pytest.approx(1.299)
    assert [(bar.text[0], bar.textposition[0]) for bar in figure.data] == [
        ("1.00 MiB relu", "inside"),
        ("1.00 KiB zeros", "inside"),
        ("10 B", "inside"),
    ]
    assert "relu, Net.act<br>from 1.20 ms to 1.50 ms" in figure.data[0].customdata[0]
    assert "from 499 µs to the end of the trace" in figure.data[1].customdata[0]
    assert lifetimes.note(found) == (
        "the largest 3 blocks of the step with the peak, which is the dotted line;"
        " 3 smaller ones, 2.00 KiB, are left out"
    )


def test_long_curve_is_thinned_but_keeps_its_outline() -> None:
    values = np.random.default_rng(1).integers(0, 1_000, 100_000)
    values[77_777] = 5_000
    kept = memory.thinned(values, 77_777)
    assert len(kept) <= 2 * memory.POINT_LIMIT
    assert {0, 77_777, 99_999} <= set(kept.tolist())
    assert np.all(np.diff(kept) > 0)
    assert values[kept].min() == values.min()


def test_gil_figure_and_rows_add_up_to_the_waits(training_trace: MakeTrace) -> None:
    trace = training_trace()
    waits = gil_waits(trace)
    figure = gil.figure(trace, waits, trace.span())
    total = sum(wait.wait_ns for wait in waits)
    assert sum(sum(each.y) for each in figure.data) * 1e3 == pytest.approx(total)
    rows = gil.rows(trace, gil_threads(trace), 10**9)
    assert sum(row.use.waited_ns for row in rows) == total
    assert [(row.name, row.held_share) for row in rows] == [("main", sum(wait.hold_ns for wait in waits) / 10**9)]


def test_of_many_waits_the_longest_of_each_stretch_is_drawn() -> None:
    builder = TraceBuilder()
    count = 3 * gil.POINT_LIMIT
    for number in range(count):
        length = 400 if number % 3 == 1 else 200
        lane = Track(1, "1 GIL", "main GIL")
        builder.slice("GIL wait: hook", number * 1_000, length, track=lane, category="gil", args={"Thread": 1})
        builder.slice("GIL held: hook", number * 1_000 + length, 100, track=lane, category="gil", args={"Thread": 1})
    trace = builder.build()
    waits = gil_waits(trace)
    assert len(waits) == count
    (stems,) = gil.figure(trace, waits, (0, count * 1_000)).data
    assert list(stems.y) == [400] * gil.POINT_LIMIT  # ns
    assert stems.x[0] < 0.01 and stems.x[-1] > 5.99  # ms: over the whole trace
    assert "the longest in each of 2,000 stretches of time are drawn" in gil.note(trace, gil_threads(trace))


def test_the_gils_note_says_what_it_is_of_and_what_was_lost() -> None:
    trace = TraceBuilder({"gil": "exact", "gilLost": 12}).build()
    threads = [GilThread(0, 1000, 10**9, 10**8, 10**6, 10**5, 3, 10**4)]
    assert gil.note(trace, threads) == (
        "1.00 ms of waiting in 1,000 acquisitions by 1 thread (every thread's, exact);"
        " 12 more were lost for want of room"
    )
    assert gil.note(trace, []) == ""


def test_a_convoy_is_a_sentence() -> None:
    builder = TraceBuilder()
    for name in ("main", "loader GIL"):
        builder.track(Track(1, name, name, "python"))
    convoy = Convoy(1, 0, 0, 10**9, 40, 200_000_000, 1_000_000)
    assert gil.convoy_rows(builder.build(), [convoy], -5) == [
        gil.Moment("loader waited 200 ms behind main in 40 acquisitions in a row, to hold it for 1.00 ms", 5, 10**9 + 5)
    ]


def test_op_rows_are_the_averages_with_shares(training_trace: MakeTrace) -> None:
    averages = key_averages(training_trace())
    rows = operators.rows(averages)
    assert [(row.name, row.count, row.self_ns, row.total_ns) for row in rows] == [
        (row.name, row.count, row.self_ns, row.total_ns) for row in averages
    ]
    assert sum(row.self_share for row in rows) == pytest.approx(1)
    assert rows[0].kernel_share == pytest.approx(averages.rows[0].kernel_ns / averages.rows[0].self_ns)


def test_the_bill_adds_up_to_the_change_of_the_step(training_trace: MakeTrace) -> None:
    difference = diff(training_trace(), training_trace(slow=True, seed=2))
    bill = compare.bill(difference)
    assert sum(row.line.ns for row in bill) == pytest.approx(difference.step_ns)
    assert [abs(row.line.ns) for row in bill[:5]] == sorted((abs(row.line.ns) for row in bill[:5]), reverse=True)
    assert bill[0].tone == "worse"
    zero = compare.zero(difference)
    for row in bill:
        # A bar reaches from no change to its own, in percent of all that changed.
        assert (row.left if row.line.ns > 0 else row.left + row.width) == pytest.approx(zero, abs=0.02)
        assert 0 <= row.left and row.left + row.width <= 100.02
    assert {row.delta.name: row.status for row in compare.rows(difference)}["one_hot"] == "new"


def test_the_op_tree_is_open_where_it_changed(training_trace: MakeTrace) -> None:
    nodes = (
        OpNode("linear", 1, -1, 2, 2, 10, 10, 100, 180, 0, 0),
        OpNode("mm", 2, 0, 2, 2, 80, 160, 80, 160, 0, 0),
        OpNode("t", 2, 0, 2, 2, 10, 10, 10, 10, 0, 0),
        OpNode("norm", 1, -1, 1, 1, 10, 10, 30, 31, 0, 0),
        OpNode("sum", 2, 3, 0, 1, 20, 21, 20, 21, 0, 0),
    )
    lines = (BillLine("op", "linear > mm", 80), BillLine("outside", "outside of ops", -1, base_ns=70))
    difference = TraceDiff(200, 280, (), 0, 0, 0, 0, lines, tree=OpTree(nodes))
    rows = op_tree.rows(difference)
    assert [(row.node.name, row.inner, row.open, row.hidden) for row in rows] == [
        ("linear", True, True, False),
        ("mm", False, False, False),
        ("t", False, False, False),
        ("norm", True, False, False),
        ("sum", False, False, True),
        ("outside of ops", False, False, False),
    ]
    assert [row.status for row in rows] == ["", "", "", "", "new", ""]
    assert [row.tone for row in rows] == ["worse", "worse", "", "worse", "worse", "better"]
    assert [(row.base_width, row.head_width) for row in rows[:1]] == [(35.71, 64.29)]
    assert (rows[-1].node.base_total_ns, rows[-1].node.head_total_ns) == (70, 69)
    real = op_tree.rows(diff(training_trace(), training_trace(slow=True, seed=2)))
    assert {row.node.name for row in real if row.status == "new"} == {"one_hot"}


def test_a_line_of_the_bill_names_its_op_before_those_around_it() -> None:
    lines = tuple(BillLine("op", name, ns) for name, ns in (("linear > addmm", 3.0), ("add", -1.0), ("mul", 0.0)))
    difference = TraceDiff(
        base_step_ns=100,
        head_step_ns=102,
        ops=(),
        peak_bytes_base=0,
        peak_bytes_head=0,
        gil_wait_ns_base=0,
        gil_wait_ns_head=0,
        bill=lines,
    )
    rows = compare.bill(difference)
    assert [(row.name, row.around, row.share) for row in rows] == [("addmm", "linear", 1.5), ("add", "", None)]
    assert [(row.left, row.width) for row in rows] == [(25.0, 75.0), (0.0, 25.0)]
    assert compare.zero(difference) == 25.0


def test_memory_of_two_traces_stands_step_below_step(training_trace: MakeTrace) -> None:
    sides = [(memory_curve(trace), steps(trace), trace.span()) for trace in (training_trace(3), training_trace(5))]
    drawn = overlay.memory(*sides)
    assert drawn is not None and [line.name for line in drawn.data] == ["base", "head"]
    assert drawn.layout.xaxis.range == (0, 5)
    for line, (curve, found, _) in zip(drawn.data, sides, strict=True):
        for at, step in enumerate(found):
            inside = curve.allocated[(curve.time >= step.start) & (curve.time < step.start + step.duration)]
            shown = line.y[(line.x >= at) & (line.x < at + 1)]
            assert shown.max() * 2**20 == pytest.approx(inside.max())
    empty = MemoryCurve(*(np.empty(0, dtype=np.int64),) * 3, -1, 0)
    assert overlay.memory((empty, [], (0, 1)), sides[1]) is None


def test_times_of_steps_are_drawn_beside_each_other() -> None:
    base, head = (
        [Step(at, at * 10**7, ns) for at, ns in enumerate(times)] for times in ((10**6, 2 * 10**6), (3 * 10**6,) * 3)
    )
    drawn = overlay.step_times(base, head)
    assert drawn is not None
    assert [list(box.x) for box in drawn.data] == [[1.0, 2.0], [3.0, 3.0, 3.0]]
    assert overlay.step_times(base[:1], head) is None


def test_strips_put_both_sides_on_one_axis() -> None:
    drawn = strips.strip([1.0, 1.1], [1.3])
    assert drawn is not None
    assert drawn.dots == [(strips.PAD, 6, "base"), (51.7, 6, "base"), (strips.WIDTH - strips.PAD, 16, "head")]
    assert drawn.medians == [(28.3, 6, "base"), (145.0, 16, "head")]
    assert strips.strip([], [1.0]) is None


def point(commit: str, *values: float, verdict: str = "") -> SeriesPoint:
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    runs = list(range(len(values)))
    return SeriesPoint(commit=commit, branch="main", created=noon, runs=runs, values=values, verdict=verdict)


def test_series_draws_medians_runs_and_the_baseline() -> None:
    view = SeriesView(
        project="demo",
        benchmark="step",
        params="",
        unit="s",
        direction="lower",
        machine="ada",
        fingerprint="0" * 16,
        query="",
        points=[point("a" * 40, 1e-3, 3e-3, 2e-3), point("b" * 40, 4e-3, verdict="regression")],
    )
    figure = series.figure(view)
    runs, medians = figure.data
    assert sorted(runs.y) == pytest.approx([1, 2, 3, 4])
    assert list(medians.y) == pytest.approx([2, 4])
    assert list(medians.marker.color) == [theme.ALLOCATED, theme.WORSE]
    assert figure.layout.shapes[0].y0 == pytest.approx(2)
    low, high = figure.layout.yaxis.range
    assert low <= 1 and high >= 4
    assert list(figure.layout.xaxis.ticktext) == ["aaaaaaaa", "bbbbbbbb"]


def test_series_rings_what_gates_judged() -> None:
    passed, failed = Judged(gate=3, verdict="no change"), Judged(gate=4, verdict="regression")
    points = [point("a" * 40, 1e-3), point("b" * 40, 2e-3), point("c" * 40, 3e-3)]
    points[1:] = [replace(points[1], judged=[passed]), replace(points[2], judged=[failed, passed])]
    view = SeriesView(
        project="demo",
        benchmark="step",
        params="",
        unit="s",
        direction="lower",
        machine="ada",
        fingerprint="0" * 16,
        query="",
        points=points,
    )
    _, rings, medians = series.figure(view).data
    assert list(rings.x) == [1, 2]
    assert list(rings.y) == pytest.approx([2, 3])
    assert list(rings.marker.color) == [theme.NEUTRAL, theme.WORSE]
    first, _, last = (hover for hover, _ in medians.customdata)
    assert "gate" not in first
    assert last.endswith("gate 4: regression<br>gate 3: no change")


def test_series_says_what_was_measured_of_a_dirty_tree() -> None:
    view = SeriesView(
        project="demo",
        benchmark="step",
        params="",
        unit="s",
        direction="lower",
        machine="ada",
        fingerprint="0" * 16,
        query="",
        points=[point("a" * 40, 1e-3), replace(point("b" * 40, 2e-3), dirty=True)],
    )
    clean, dirty = (hover for hover, _ in series.figure(view).data[1].customdata)
    assert "dirty: with changes that were not committed" in dirty and "dirty" not in clean


def test_series_draws_where_the_level_changed() -> None:
    view = SeriesView(
        project="demo",
        benchmark="step",
        params="",
        unit="s",
        direction="lower",
        machine="ada",
        fingerprint="0" * 16,
        query="",
        points=[point("a" * 40, 1e-3), point("b" * 40, 2e-3), point("c" * 40, 1e-3)],
        changes=[SeriesChange(place=1, ratio=2.0, worse=True), SeriesChange(place=2, ratio=0.5, worse=False)],
    )
    figure = series.figure(view)
    lines = [(shape.x0, shape.line.color) for shape in figure.layout.shapes[1:]]
    assert lines == [(0.5, theme.WORSE), (1.5, theme.BETTER)]
    assert [note.text for note in figure.layout.annotations] == ["+100 %", "\u221250.0 %"]
    hovers = [hover for hover, _ in figure.data[1].customdata]
    assert [commit[0] for _, commit in figure.data[1].customdata] == ["a", "b", "c"]
    assert "<b>+100 %</b> from here on" in hovers[1]
    assert "from here on" not in hovers[0]


def test_a_band_holds_what_is_usual_on_a_level() -> None:
    low, high = [1.0 + at / 100 for at in range(41)], [3.0] * 4
    view = SeriesView(
        project="demo",
        benchmark="step",
        params="",
        unit="x",
        direction="lower",
        machine="ada",
        fingerprint="0" * 16,
        query="",
        points=[point(f"{at:040x}", value) for at, value in enumerate((*low, *high))],
        changes=[SeriesChange(place=41, ratio=2.5, worse=True)],
    )
    band = series.figure(view).data[0]
    # The middle 95 % of 1.00 to 1.40; four commits on the other level are too few for one.
    assert list(band.x) == [-0.5, 40.5, 40.5, -0.5, -0.5]
    assert list(band.y) == pytest.approx([1.01, 1.01, 1.39, 1.39, 1.01])


def verdict(ratio: float | None, low: float | None, high: float | None) -> VerdictRow:
    return VerdictRow(
        benchmark="step",
        unit="s",
        verdict="no change",
        reason="",
        ratio=ratio,
        low=low,
        high=high,
        base=1.0,
        head=1.0,
        base_runs=5,
        head_runs=5,
        series="/series",
    )


def test_intervals_share_one_axis() -> None:
    rows = [verdict(1.3, 1.2, 1.4), verdict(0.9, 0.8, 1.0), verdict(None, None, None), verdict(1.0, None, None)]
    axis = intervals.axis(rows)
    marks = [intervals.mark(row, axis) for row in rows]
    assert marks[2] is None
    wide, left, _, alone = marks
    assert wide is not None and left is not None and alone is not None
    assert 0 <= left.left < axis.one < wide.left < wide.at < wide.left + wide.width <= 100
    assert alone.at == axis.one and alone.width == 0


def test_step_choice_offers_the_extremes(training_trace: MakeTrace) -> None:
    known = steps(training_trace(5))
    ordered = sorted(known, key=lambda step: step.duration)
    current = stepchoice.chosen(known, None)
    assert current == ordered[2]
    offered = {choice.label: choice.step for choice in stepchoice.choices(known, current)}
    assert offered["fastest"] == ordered[0].number
    assert offered["slowest"] == ordered[-1].number
    assert stepchoice.chosen(known, 99) is None
    assert stepchoice.choices(known[:1], known[0]) == []


def test_every_kind_of_slice_has_one_colour() -> None:
    assert theme.category("Kernel") is theme.category("kernel")
    assert theme.slice_colour(theme.category("cpu_op"), "matmul") == theme.slice_colour(
        theme.category("cpu_op"), "matmul"
    )
    assert theme.category("of some other tool").word == "other"


def test_waits_by_op_are_ranked_by_time(training_trace: MakeTrace) -> None:
    averages = key_averages(training_trace())
    ranked = gil.by_op(averages)
    assert [row.gil_wait_ns for row in ranked] == sorted(row.gil_wait_ns for row in averages if row.gil_wait_ns)[::-1]
    assert ranked and len({row.name for row in ranked}) == len(ranked)
