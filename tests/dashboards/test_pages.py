"""The HTML of pages, without a browser."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from perflab.dashboards import pages
from perflab.dashboards.assets import address, assets
from perflab.dashboards.errors import StepNotFound
from perflab.dashboards.views import CompareView, RunRow, RunsView, Side, TraceView
from perflab.profiler.analysis.diff import diff
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Trace, Track

MakeTrace = Callable[..., Trace]
RUN = RunRow(
    id=1,
    project="<demo>",
    commit="c0ffee" * 6 + "beef",
    branch=None,
    machine="ada",
    machine_detail="A CPU, 2 cores",
    tool="a test",
    created=datetime(2026, 1, 31, 12, tzinfo=UTC),
    dirty=True,
    traces=[1],
    results=0,
    step_ns=None,
)


def large_trace(slices: int) -> Trace:
    """Ops of three levels on two threads, `slices` of them in all, without steps."""
    builder = TraceBuilder()
    names = np.array([builder.string(f"aten::op_{number}") for number in range(60)])
    category = builder.string("cpu_op")
    count = slices // 6
    start = np.arange(count, dtype=np.int64) * 10_000
    for tid in (1, 2):
        track = builder.track(Track(1, tid, f"thread {tid}"))
        for level in range(3):
            duration = 9_000 - 2_000 * level - np.arange(count) % 1_000
            builder.slices(start + 500 * level, duration, track, names[(np.arange(count) + level) % 60], category)
    track = builder.track(Track(1, 1, "thread 1"))
    builder.counters(start, track, builder.string("Allocated"), 1e6 + np.arange(count) % 5_000)
    return builder.build()


def test_large_trace_makes_a_page_of_bounded_size() -> None:
    trace = large_trace(200_000)
    assert len(trace.slices) > 199_000
    html = pages.trace_page(TraceView(id=1, name="large.json", run=RUN, trace=trace))
    assert len(html) < 300_000
    assert f"{len(trace.slices):,} slices on 2 tracks, {len(trace.counters):,} counter values" in html


def test_trace_page_says_where_the_time_goes_and_what_to_do() -> None:
    builder = TraceBuilder()
    main = Track(1, 1, "main", "python")
    for number in range(4):
        start = number * 1_000_000
        builder.slice(f"ProfilerStep#{number}", start, 1_000_000, track=main, category="user_annotation")
        builder.slice("data", start, 250_000, track=main, category="user_annotation")
        builder.slice("aten::<mm>", start + 250_000, 750_000, track=main, category="cpu_op")
    html = pages.trace_page(TraceView(id=1, name="loop.json", run=RUN, trace=builder.build()))
    words = " ".join(re.sub(r"<[^>]*>", " ", html).split())
    assert "waiting for data 250 µs 25.0 %" in words
    assert "forward 750 µs 75.0 %" in words
    assert "(250 µs): the loop waits for its next batch for 250 us of 1 ms a step (25%); step 0" in words
    assert '<a href="?step=0">step 0</a>' in html
    assert "Look at aten::&lt;mm&gt; first" in html


def test_empty_trace_says_so_in_every_panel() -> None:
    html = pages.trace_page(TraceView(id=1, name="empty.json", run=RUN, trace=TraceBuilder().build()))
    assert html.count('class="empty"') == 5
    assert "data-figure" not in html


def test_names_are_escaped() -> None:
    builder = TraceBuilder()
    builder.slice("</script><script>alert(1)</script>", 0, 100, track=Track(1, 1), category="cpu_op")
    html = pages.trace_page(TraceView(id=1, name="<i>.json", run=RUN, trace=builder.build()))
    assert "<script>alert" not in html
    assert "<i>.json" not in html
    assert "<demo>" not in html


def test_step_that_is_not_there_is_refused(training_trace: MakeTrace) -> None:
    view = TraceView(id=1, name="trace.json", run=RUN, trace=training_trace(), step=99)
    with pytest.raises(StepNotFound, match=r"the trace has no step 99: its steps are 2 to 6, choose one of them"):
        pages.trace_page(view)


def test_traces_are_compared_without_verdicts(training_trace: MakeTrace) -> None:
    side = Side(project="demo", commit="a" * 40, runs=None, trace=1, trace_name="trace.json")
    view = CompareView(
        base=side,
        head=side,
        machine=None,
        judged=False,
        verdicts=[],
        diff=diff(training_trace(), training_trace(slow=True, seed=2)),
        warnings=["The traces are of different machines."],
    )
    html = pages.compare_page(view)
    assert "Benchmarks</h2>" not in html
    assert "The traces are of different machines." in html
    assert re.search(r"the largest parts: matmul \+[\d.]+ ms, one_hot \+", html)


def test_runs_page_proposes_the_last_two_commits() -> None:
    commits = ("a", "b", "b", "c")
    runs = [RUN.__class__(**{**RUN.__dict__, "id": 9 - at, "commit": name * 40}) for at, name in enumerate(commits)]
    html = pages.runs_page(RunsView(projects=["<demo>"], project=None, commit=None, runs=runs, limit=100))
    checked = re.findall(r'name="(base|head)" value="(\w)\w+"[^>]* checked', html)
    assert checked == [("head", "a"), ("base", "b")]


def test_assets_are_there_and_named_by_content() -> None:
    assert set(assets()) >= {"plotly.min.js", "perflab.css", "figures.js", "table.js", "icon.svg"}
    assert all(path.is_file() for path in assets().values())
    assert {"timeline/main.js", "timeline/view.js"} <= set(assets())
    assert re.fullmatch(r"/static/[0-9a-f]{12}/perflab\.css", address("perflab.css"))
    # A module's imports are relative to its own address, so all of ours have one version.
    assert address("timeline/main.js").split("/")[2] == address("table.js").split("/")[2]
