"""The HTML of the pages of a trace, without a browser."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from perflab.dashboards import trace_pages
from perflab.dashboards.errors import StepNotFound
from perflab.dashboards.study import study
from perflab.dashboards.views import TraceView
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Trace, Track

from .test_pages import RUN

MakeTrace = Callable[..., Trace]
PAGES: dict[str, Callable[[TraceView], str]] = {
    "timeline": trace_pages.timeline_page,
    "operators": lambda view: trace_pages.operators_page(view, "op", None, None),
    "flame": lambda view: trace_pages.flame_page(view, "ops"),
    "memory": trace_pages.memory_page,
    "gil": trace_pages.gil_page,
    "steps": trace_pages.steps_page,
    "ranks": trace_pages.ranks_page,
    "graph": trace_pages.graph_page,
    "doctor": trace_pages.doctor_page,
}


def view_of(trace: Trace, name: str = "trace.json", step: int | None = None) -> TraceView:
    return TraceView(id=1, name=name, run=RUN, trace=trace, step=step)


def words_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


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


@pytest.mark.parametrize("name", PAGES)
def test_pages_of_a_large_trace_are_of_bounded_size(name: str, large: Trace) -> None:
    assert len(PAGES[name](view_of(large))) < 300_000


@pytest.fixture(scope="module")
def large() -> Trace:
    return large_trace(200_000)


def test_the_timeline_says_what_is_there(large: Trace) -> None:
    assert len(large.slices) > 199_000
    html = trace_pages.timeline_page(view_of(large))
    assert f"{len(large.slices):,} slices on 2 tracks, {len(large.counters):,} counter values" in html


@pytest.mark.parametrize("name", PAGES)
def test_each_page_marks_its_tab_and_leads_to_the_others(name: str, training_trace: MakeTrace) -> None:
    html = PAGES[name](view_of(training_trace()))
    tabs = dict(re.findall(r'<a href="/traces/1(/\w+)?"( aria-current="page")? title="[^"]+\?">', html))
    of_ranks = ["/ranks"] if name == "ranks" else []  # of one rank only the page itself has the tab
    assert list(tabs) == ["", "/operators", "/flame", "/memory", "/gil", "/steps", *of_ranks, "/graph", "/doctor"]
    own = "" if name == "timeline" else f"/{name}"
    assert [path for path, current in tabs.items() if current] == [own]


def loop(steps: int = 4) -> Trace:
    """Steps of 1 ms: a quarter of it waits for data, the rest is one op."""
    builder = TraceBuilder()
    main = Track(1, 1, "main", "python")
    for number in range(steps):
        start = number * 1_000_000
        builder.slice(f"ProfilerStep#{number}", start, 1_000_000, track=main, category="user_annotation")
        builder.slice("data", start, 250_000, track=main, category="user_annotation")
        builder.slice("aten::<mm>", start + 250_000, 750_000, track=main, category="cpu_op")
    return builder.build()


def test_cards_say_where_the_time_goes_and_what_to_do() -> None:
    trace = loop()
    html = trace_pages.steps_page(view_of(trace))
    assert "data-fragment" not in html
    words = words_of(html)
    assert words_of(trace_pages.findings_part(view_of(trace))) in words
    assert "step, median 1.00 ms" in words
    assert "forward 750 µs 75.0 %" in words and "waiting for data 250 µs 25.0 %" in words
    assert "250 µs Load data ahead the loop waits for its next batch for 250 µs of 1 ms a step (25%)" in words
    assert '<a href="/traces/1?step=0">step 0</a>' in html
    assert '<a href="/traces/1?find=aten%3A%3A%3Cmm%3E">aten::&lt;mm&gt;</a>' in html


def test_what_to_do_comes_later_where_it_takes_long() -> None:
    trace = large_trace(trace_pages.ADVISED_AT_ONCE + 20)
    assert 'data-fragment="/traces/1/findings"' in trace_pages.steps_page(view_of(trace))
    found = words_of(trace_pages.findings_part(view_of(trace)))
    after = trace_pages.steps_page(view_of(trace))
    assert "data-fragment" not in after and found in words_of(after)


@pytest.mark.parametrize(
    ("name", "panels"), [(name, 2 if name == "operators" else 1) for name in PAGES if name != "flame"]
)
def test_an_empty_trace_says_so_on_every_page(name: str, panels: int) -> None:
    html = PAGES[name](view_of(TraceBuilder().build()))
    assert html.count('class="empty"') == panels
    assert "data-figure" not in html


@pytest.mark.parametrize("name", PAGES)
def test_names_are_escaped(name: str) -> None:
    builder = TraceBuilder()
    for number in range(6):
        start = 1_000 * number
        builder.slice(f"ProfilerStep#{number}", start, 900, track=Track(1, 1), category="user_annotation")
        builder.slice("</script><script>alert(1)</script>", start, 800, track=Track(1, 1), category="cpu_op")
    trace = builder.build()
    assert study(trace).advice
    html = PAGES[name](view_of(trace, "<i>.json"))
    assert "<script>alert" not in html
    assert "<i>.json" not in html
    assert "<demo>" not in html


@pytest.mark.parametrize("name", ["timeline", "flame", "graph"])
def test_a_step_that_is_not_there_is_refused(name: str, training_trace: MakeTrace) -> None:
    with pytest.raises(StepNotFound, match=r"the trace has no step 99: its steps are 2 to 6, choose one of them"):
        PAGES[name](view_of(training_trace(), step=99))


def test_the_chosen_operator_is_said_and_shown(training_trace: MakeTrace) -> None:
    trace = training_trace()
    html = trace_pages.operators_page(view_of(trace), "op", "tanh", None)
    assert re.search(r'<tr class="current">\s*<td class="name" title="tanh">', html)
    calls = trace.select(category="cpu_op", name="tanh")
    assert f"calls {len(calls)} " in words_of(html)
    longest = calls[np.argmax(trace.slices.duration[calls])]
    assert f'href="/traces/1?slice={longest}"' in html
    assert "There is no such group" in trace_pages.operators_page(view_of(trace), "op", "nothing", None)
