"""The page of a run's ranks: its figures and sentences, over skews that are known beforehand."""

import re

import pytest

from perflab.dashboards import ranks, trace_pages
from perflab.dashboards.study import study
from perflab.profiler.analysis.ranks import CLOCKS, Ranks
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Trace, Track

from .test_trace_pages import view_of, words_of

US = 1_000
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
# When each rank arrives at each collective, and when these end.
ARRIVALS = ((100, 300, 500), (110, 290, 540), (130, 250, 500))
ENDS = (150, 320, 560)


def run_of_ranks(uncertainty_us: int = 15) -> Trace:
    """Three ranks at three collectives; 10 us before each ends a kernel of 40 us begins beside it."""
    fit = {"method": "agreed", "collectives": 3, "uncertainty_ns": uncertainty_us * US, "moved_ns": {}}
    builder = TraceBuilder({CLOCKS: fit})
    for rank, arrivals in enumerate(ARRIVALS):
        talks, works = (Track(rank, tid, f"stream {tid}", f"rank {rank}") for tid in (7, 9))
        for start, end in zip(arrivals, ENDS, strict=True):
            builder.slice(REDUCE, start * US, (end - start) * US, track=talks, category="kernel")
            builder.slice("gemm", (end - 10) * US, 40 * US, track=works, category="kernel")
    return builder.build()


def found_in(trace: Trace) -> Ranks:
    found = study(trace).ranks
    assert found is not None
    return found


def test_the_parts_of_a_bar_add_up_to_the_rank() -> None:
    found = found_in(trace := run_of_ranks())
    figure = ranks.shares_figure(found)
    assert trace is not None
    parts = {bar.name: [value * US for value in bar.x] for bar in figure.data}  # the axis is in us
    assert list(parts) == ["computes", "both", "communicates alone", "neither"]
    assert parts["computes"] == pytest.approx([90 * US] * 3)
    assert parts["both"] == pytest.approx([30 * US] * 3)
    # 50 + 20 + 60 us of communication on rank 0, 40 + 30 + 20 on rank 1, 20 + 70 + 60 on rank 2
    assert parts["communicates alone"] == pytest.approx([100 * US, 60 * US, 120 * US])
    assert [sum(of_rank) for of_rank in zip(*parts.values(), strict=True)] == pytest.approx(
        [use.span_ns for use in found.uses]
    )
    assert list(figure.data[0].y) == ["rank 0", "rank 1", "rank 2"]


def test_a_point_is_a_collective_and_leads_to_it() -> None:
    found = found_in(trace := run_of_ranks())
    figure = ranks.skew_figure(found, trace.span()[0], "/traces/7")
    points = {points.name: list(zip(points.x, points.y, points.ids, strict=True)) for points in figure.data}
    assert points == {
        "rank 0 last": [(150.0, 50.0, "/traces/7?start=141250&end=228750")],
        "rank 1 last": [(400.0, 40.0, "/traces/7?start=392500&end=467500")],
        "rank 2 last": [(0.0, 30.0, "/traces/7?start=0&end=56250")],
    }
    (unsure,) = figure.layout.shapes
    assert (unsure.y0, unsure.y1) == (0, 15.0)


def test_only_the_largest_skews_are_drawn_and_listed() -> None:
    builder = TraceBuilder()
    count = ranks.POINT_LIMIT + 10
    for rank in (0, 1):
        track = Track(rank, 7, "stream 7", f"rank {rank}")
        for number in range(count):
            late = rank * (number + 1)
            builder.slice(REDUCE, number * 10_000 + late, 5_000 - late, track=track, category="kernel")
    found = found_in(trace := builder.build())
    (points,) = ranks.skew_figure(found, trace.span()[0], "/traces/7").data
    assert len(points.x) == ranks.POINT_LIMIT and min(points.y) * US == pytest.approx(11)
    listed = [each.skew.skew_ns for each in ranks.furthest(found, 0)]
    assert listed == list(range(count, count - ranks.ROW_LIMIT, -1))


def test_the_page_names_the_straggler_and_what_the_clocks_allow() -> None:
    html = trace_pages.ranks_page(view_of(run_of_ranks(uncertainty_us=40)))
    words = words_of(html)
    assert "clocks agree to within 40 µs, by 3 collectives: skews below that mean nothing." in words
    # rank 1 delayed the others by 40 + 40 us, rank 0 by 10 + 50, rank 2 by 30 + 20
    assert "The others waited longest for rank 1: 80 µs together, at 1 of 3 collectives." in words
    assert re.search(r'<tr class="current"><td class="num " data-value="1">', html)
    of_skews = html[html.index('id="apart"') :]
    assert re.findall(r'<td class="num (soft)?" data-value="(\d+)">[\d.]+ µs</td>', of_skews)[::2] == [
        ("", "50000"),
        ("soft", "40000"),
        ("soft", "30000"),
    ]
    assert '<a href="/traces/1?start=141250&amp;end=228750">on the timeline</a>' in of_skews


def test_ranks_without_a_collective_in_common() -> None:
    builder = TraceBuilder()
    for rank in (0, 1):
        track = Track(rank, 7, "stream 7", f"rank {rank}")
        builder.slice("gemm", 0, 5_000, track=track, category="kernel")
    html = trace_pages.ranks_page(view_of(builder.build()))
    assert "No collective is on all ranks" in html
    assert "rank 1" in html and "figure-skew" not in html


def test_the_tab_is_there_where_several_ranks_are() -> None:
    several, one = run_of_ranks(), TraceBuilder().build()
    assert 'href="/traces/1/ranks"' in trace_pages.steps_page(view_of(several))
    assert 'href="/traces/1/ranks"' not in trace_pages.steps_page(view_of(one))
    assert "This trace is of one rank" in trace_pages.ranks_page(view_of(one))
