"""What the pages of a project are given, made of how its series stand."""

import statistics
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import urlencode

from perflab.benchmarks.causes import Causes, explain
from perflab.benchmarks.report import cause_lines, explanations
from perflab.dashboards import project_views as views
from perflab.dashboards.grid import GridCell, GridRow
from perflab.dashboards.views import SeriesChange
from perflab.profiler.analysis.diff import TraceDiff

from ..glances import Glance
from ..lab import DEFAULTS
from ..schema import Judgement, JudgementDetail, Recent, Run
from ..standing import LATELY, Move, Standing, release
from . import views as run_views

SHORT_SHA = 8
EVENTS = 30
GATES = 10
CAUSES = 5  # of the newest moves: each is a comparison of traces
GRID_COMMITS = 40
BASELINE = 20  # results at most that a level is made of


def list_view(glance: Glance) -> views.SeriesListView:
    """Every series of a project."""
    recent = glance.recent
    return views.SeriesListView(
        project=recent.project,
        commits=commit_marks(recent),
        series=series_rows(recent, glance.standings),
        missing=[run_views.title(benchmark) for benchmark in recent.missing],
    )


def grid_view(glance: Glance) -> views.GridView:
    """The benchmarks of a project over its newest commits."""
    recent = glance.recent
    first = max(len(recent.commits) - GRID_COMMITS, 0)
    ranked = sorted(glance.standings, key=lambda each: (ORDER.index(_state(each, recent)[0]), *_names(each)))
    shown = [each for each in ranked if each.places[-1] >= first]
    return views.GridView(
        project=recent.project,
        commits=commit_marks(recent)[first:],
        rows=[_grid_row(each, recent, first) for each in shown],
    )


def _names(standing: Standing) -> tuple[str, str]:
    benchmark = standing.series.benchmark
    return benchmark.name, benchmark.params_text


def _grid_row(standing: Standing, recent: Recent, first: int) -> GridRow:
    """One benchmark held against its level before the oldest commit shown; against the first commit, where it was not
    measured before."""
    at = max(bisect_right(standing.places, first) - 1, 0)  # the newest on the baseline
    begin = max((move.place for move in standing.moves if move.place <= at), default=0)
    base = statistics.median(standing.values[max(begin, at + 1 - BASELINE) : at + 1])
    cells: list[GridCell | None] = [None] * (len(recent.commits) - first)
    level = 1.0  # of the newest move since the baseline, over it
    moves = {move.place: move.ratio for move in standing.moves if move.place > at}
    for own, (place, value) in enumerate(zip(standing.places, standing.values, strict=True)):
        level *= moves.get(own, 1.0)
        if place >= first and base > 0:
            cells[place - first] = GridCell(value / base, standing.worse(level) if _matters(level) else None)
    series = standing.series
    title = run_views.title(series.benchmark)
    suite = title.rfind("::", 0, len(series.benchmark.name)) + 2 if "::" in series.benchmark.name else 0
    return GridRow(
        suite=title[:suite],
        title=title[suite:],
        address=run_views.series_address(series.project, series.benchmark, series.machine.fingerprint),
        unit=series.benchmark.unit,
        base=base,
        base_commit=recent.commits[standing.places[at]].sha,
        cells=cells,
    )


def _matters(ratio: float) -> bool:
    return max(ratio, 1 / ratio) >= 1 + DEFAULTS.min_effect


def overview(
    glance: Glance, judgements: Sequence[Judgement], read: Callable[[int], JudgementDetail], runs: Sequence[Run]
) -> views.OverviewView:
    """A project at a glance; `read` gives a judgement with its report."""
    recent, found = glance.recent, glance.standings
    gates = [_gate(read(each.id)) for each in judgements[:GATES]]
    events = [*_moves(recent, found, gates), *gates]
    return views.OverviewView(
        project=recent.project,
        commits=commit_marks(recent),
        series=series_rows(recent, found),
        missing=[run_views.title(benchmark) for benchmark in recent.missing],
        events=sorted(events, key=lambda event: event.when, reverse=True)[:EVENTS],
        runs=[run_views.run_row(run) for run in runs],
        lately=LATELY,
        release=release(recent)[0],
    )


def commit_marks(recent: Recent) -> list[views.CommitMark]:
    """The commits of a project as pages show them."""
    return [
        views.CommitMark(
            sha=commit.sha,
            branch=commit.branch,
            created=commit.created,
            subject=commit.facts.subject if commit.facts else "",
            authored=commit.facts.authored if commit.facts else None,
        )
        for commit in recent.commits
    ]


ORDER: tuple[views.State, ...] = ("worse", "drift", "stale", "better", "steady", "young")


def series_rows(recent: Recent, found: Sequence[Standing]) -> list[views.SeriesRow]:
    """Those that need a look first, then by name."""
    rows = [_row(standing, recent) for standing in found]
    return sorted(rows, key=lambda row: (ORDER.index(row.state), row.benchmark, row.params))


def _row(standing: Standing, recent: Recent) -> views.SeriesRow:
    series = standing.series
    state, ratio, note = _state(standing, recent)
    return views.SeriesRow(
        benchmark=series.benchmark.name,
        params=series.benchmark.params_text,
        unit=series.benchmark.unit,
        direction=series.benchmark.direction,
        machine=str(series.machine),
        address=run_views.series_address(series.project, series.benchmark, series.machine.fingerprint),
        places=standing.places,
        values=standing.values,
        changes=[SeriesChange(place=move.place, ratio=move.ratio, worse=move.worse) for move in standing.moves],
        state=state,
        ratio=ratio,
        note=note,
    )


def _state(standing: Standing, recent: Recent) -> tuple[views.State, float | None, str]:
    lately = standing.lately
    if standing.stale:
        return "stale", None, f"last measured {standing.behind} commits and {standing.days} days ago"
    if lately:
        place = standing.places[lately.place]
        back = len(recent.commits) - 1 - place
        when = "by the newest commit" if back == 0 else f"{back} commit{'s' if back > 1 else ''} ago"
        sha = recent.commits[place].sha[:SHORT_SHA]
        return "worse" if lately.worse else "better", lately.ratio, f"at {sha}, {when}"
    if standing.drift:
        name, _ = release(recent)
        since = f" since {name}" if name else ""
        return "drift", standing.drift.since.ratio, f"in steps too small to blame a commit{since}"
    if standing.young:
        return "young", None, "too few commits to tell"
    return "steady", None, f"no change in {min(LATELY, len(recent.commits))} commits"


def _moves(recent: Recent, found: Sequence[Standing], gates: Sequence[views.Event]) -> list[views.Event]:
    """What moved benchmarks, commit by commit, with the cause where a gate of that commit told one."""
    causes = {gate.head: gate.cause for gate in reversed(gates) if gate.cause}
    moved: defaultdict[int, list[tuple[Standing, Move]]] = defaultdict(list)
    for standing in found:
        for move in standing.moves:
            moved[standing.places[move.place]].append((standing, move))
    events = []
    for place, which in moved.items():
        commit = recent.commits[place]
        which.sort(key=lambda one: -max(one[1].ratio, 1 / one[1].ratio))
        events.append(
            views.Event(
                when=commit.created,
                head=commit.sha,
                base=_before(recent, which),
                moved=[
                    views.Moved(
                        title=run_views.title(standing.series.benchmark),
                        address=run_views.series_address(
                            recent.project, standing.series.benchmark, standing.series.machine.fingerprint
                        ),
                        ratio=move.ratio,
                        worse=move.worse,
                    )
                    for standing, move in which
                ],
                cause=causes.get(commit.sha, ""),
                subject=commit.facts.subject if commit.facts else "",
            )
        )
    return events


def _before(recent: Recent, which: Sequence[tuple[Standing, Move]]) -> str:
    """The commit before, as the largest of these series knows it."""
    standing, move = which[0]
    return recent.commits[standing.places[move.place - 1]].sha


def _gate(found: JudgementDetail) -> views.Event:
    told = run_views.gate_row(found.judgement)
    return views.Event(
        when=told.created,
        head=told.head,
        base=told.base,
        moved=[],
        result=told.result,
        gate=told.id,
        sentence=told.headline,
        cause=_first_line([causes for _, causes in explanations(found.report, str)]),
    )


def with_causes(view: views.OverviewView, is_traced: Callable[[str], bool]) -> views.OverviewView:
    """The view with the addresses of the causes of its newest moves, where both commits have traces."""
    open_moves = [event for event in view.events if event.moved and event.base and not event.cause][:CAUSES]
    found = {
        event.head: f"/cause?{urlencode({'project': view.project, 'base': event.base, 'head': event.head})}"
        for event in open_moves
        if is_traced(event.base) and is_traced(event.head)
    }
    events = [replace(event, cause_at=found.get(event.head, "")) if event.moved else event for event in view.events]
    return replace(view, events=events)


def cause(difference: TraceDiff | None) -> str:
    """The largest line of the bill of two traces; empty where there is none."""
    return _first_line([explain(difference)]) if difference else ""


def _first_line(causes: Sequence[Causes]) -> str:
    """The largest line of the first bill."""
    return next((line for each in causes for line in cause_lines(each)), "")
