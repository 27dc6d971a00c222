"""The page that says what is odd in a trace's file."""

import re

from perflab.dashboards import doctor, trace_pages
from perflab.dashboards.views import Health, HealthFinding, TraceView
from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Track

from .test_pages import RUN

OVERLAP = HealthFinding(
    severity="warning",
    kind="overlap",
    count=5,
    what="5 slices cross others of the same thread.",
    advice="They are kept on lanes beside it.",
    examples=[("'<a>' at 1,000,500 ns on main", 1_000_500), ("'b'", None), ("'c' at 9 ns on main", 9)],
)
CUT = HealthFinding(severity="error", kind="cut", count=1, what="The file ends at byte 9.", advice="Copy it again.")


def health(verdict: str, *findings: HealthFinding) -> Health:
    return Health(verdict=verdict, sentence=verdict, format="Chrome JSON", findings=findings)


def page(told: Health | None) -> str:
    builder = TraceBuilder()
    builder.slice("a", 1_000_000, 1_000_000, track=Track(1, 1, "main"))
    return trace_pages.doctor_page(TraceView(id=7, name="trace.json", run=RUN, trace=builder.build(), health=told))


def test_findings_stand_with_what_they_mean_and_examples_lead_to_the_timeline() -> None:
    html = page(health("incomplete", CUT, OVERLAP))
    assert html.index("The file ends at byte 9.") < html.index("5 slices cross others")
    assert "counts and totals are too small" in html
    assert re.findall(r'<li data-severity="(\w+)">\s*<h3>', html) == ["error", "warning"]
    # 20 us of the millisecond, around the moment, which is 500 ns behind the begin
    assert (
        '<a href="/traces/7?start=0&amp;end=20000#timeline" title="Show it on the timeline">&#39;&lt;a&gt;&#39;' in html
    )
    assert "<li>&#39;b&#39;</li>" in html
    assert "<li>&#39;c&#39; at 9 ns on main</li>" in html  # outside of the trace
    assert "and 2 more" in html
    assert 'href="/api/v1/traces/7/repaired"' in html


def test_links_stand_around_their_moment() -> None:
    found = doctor.oddities(7, health("usable with care", OVERLAP), (0, 100_000_000))
    assert [address for _, address in found[0].examples] == [
        "/traces/7?start=500&end=2000500#timeline",
        None,
        "/traces/7?start=0&end=2000000#timeline",
    ]


def test_healthy_and_unexamined_traces_say_so() -> None:
    assert "Nothing is odd in this file." in page(health("healthy"))
    assert "Upload it again to have it examined." in page(None)
