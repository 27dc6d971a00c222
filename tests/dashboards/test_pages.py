"""The HTML of pages, without a browser."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from perflab.dashboards import headline, pages
from perflab.dashboards.assets import address, assets
from perflab.dashboards.views import CompareView, Fact, RunRow, RunsView, Side
from perflab.profiler.analysis.diff import TraceDiff, diff
from perflab.profiler.trace import Trace

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


def test_traces_are_compared_without_verdicts(training_trace: MakeTrace) -> None:
    side = Side(project="demo", commit="a" * 40, runs=None, trace=1, trace_name="trace.json", address="/runs")
    view = CompareView(
        base=side,
        head=side,
        machine=None,
        judged=False,
        verdicts=[],
        diff=diff(training_trace(), training_trace(slow=True, seed=2)),
        facts=[Fact(name="CPU", base="this", head="that"), Fact(name="cores", base="2", head="2")],
        warnings=["The traces are of different machines."],
    )
    html = pages.compare_page(view)
    assert "Benchmarks</h2>" not in html
    assert "The traces are of different machines." in html
    assert "1 of 2 facts differ" in html
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


def test_a_comparison_says_which_side_did_not_record_memory() -> None:
    peaks = {}
    for base, head in ((0, 2**20), (2**20, 0), (0, 0), (2**20, 2**21)):
        stats = {stat.label: stat for stat in headline.compare_stats(TraceDiff(9, 9, (), base, head, 0, 0, ()))}
        peaks[base, head] = (stats["peak memory"].value, stats["peak memory"].note, stats["peak memory"].tone)
    assert list(peaks.values()) == [
        ("– → 1.00 MiB", "base did not record it", ""),
        ("1.00 MiB → –", "head did not record it", ""),
        ("0 B", "none recorded", ""),
        ("1.00 MiB → 2.00 MiB", "+1.00 MiB, +100 %", "worse"),
    ]
