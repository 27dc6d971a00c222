"""The pages of the dashboard but for those of a trace: what a page is given in, its HTML out."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from math import log

import plotly.graph_objects as go
from markupsafe import Markup

from perflab.profiler.analysis.memory import memory_curve
from perflab.profiler.analysis.steps import steps
from perflab.profiler.memory_snapshot import Segment
from perflab.profiler.replay import Replay
from perflab.profiler.report.section import Section

from . import blockmap, compare, headline, intervals, op_tree, overlay, replay, series, strips, theme
from .access_views import SettingsView
from .project_views import Event, GridView, OverviewView, ProjectRow, SeriesListView
from .rendering import SECTIONS, STATES, render
from .sql_view import SqlView
from .views import (
    Choice,
    CompareView,
    GatesView,
    GateView,
    RunRow,
    RunsView,
    RunView,
    SeriesView,
    VerdictRow,
)

SERIES_LIMIT = 6
ROW_LIMIT = 50  # rows of a series' table
TILE_LIMIT = 60


def projects_page(projects: Sequence[ProjectRow], section: str = "Overview") -> str:
    """The projects of the lab, each with the way to that page of it."""
    return render("projects.html", section=section, projects=projects, page=SECTIONS[section])


def overview_page(view: OverviewView) -> str:
    """A project at a glance: what changed, how each series stands, what drifts, what is stale, the latest runs."""
    return render(
        "overview.html",
        section="Overview",
        project=view.project,
        view=view,
        stats=headline.overview_stats(view),
        tones=[_tone(event) for event in view.events],
        drifts=sorted((row for row in view.series if row.state == "drift"), key=lambda row: abs(log(row.ratio or 1))),
        stale=[row for row in view.series if row.state == "stale"],
        tile_limit=TILE_LIMIT,
    )


def cause_part(cause: str) -> str:
    """What the traces of two commits say of their difference, in a line: a part of the overview, which fetches it."""
    return render("cause.html", cause=cause)


def _tone(event: Event) -> str:
    if event.moved:
        return "worse" if any(moved.worse for moved in event.moved) else "better"
    return {"regression": "worse", "passed": "better"}.get(event.result, "")


def grid_page(view: GridView) -> str:
    """The benchmarks of a project by its newest commits."""
    return render("grid.html", section="Benchmarks", project=view.project, view=view)


def upload_page(projects: Sequence[str], project: str) -> str:
    """Where files are dropped; `project` is the one that is proposed, empty for none."""
    return render("upload.html", section="Upload", project=project, projects=projects)


def runs_page(view: RunsView) -> str:
    """The list of runs, newest first."""
    # The newest commit is head; the one before it in its project is what it is most often compared with.
    before = (at for at, run in enumerate(view.runs) if _is_other_commit(run, view.runs[0]))
    return render("runs.html", section="Runs", project=view.project or "", view=view, base_index=next(before, 1))


def _is_other_commit(run: RunRow, newest: RunRow) -> bool:
    return run.project == newest.project and run.commit != newest.commit


def run_page(view: RunView) -> str:
    """One run: its traces and results."""
    return render("run.html", section="Runs", project=view.run.project, view=view)


def choose_page(project: str, choices: Sequence[Choice]) -> str:
    """What there is to compare, in a project or over all."""
    return render("choose.html", section="Compare", project=project, choices=choices)


def compare_page(view: CompareView) -> str:
    """Two sides compared."""
    diff = view.diff
    return render(
        "compare.html",
        _overlays(view),
        section="Compare",
        project=view.head.project,
        view=view,
        swapped=view.swapped,
        headline=headline.compare_sentence(view),
        stats=headline.compare_stats(diff) if diff else [],
        **_verdicts(view.verdicts),
        bill=compare.bill(diff) if diff else [],
        zero=compare.zero(diff) if diff else 0,
        deltas=compare.rows(diff) if diff else [],
        tree=op_tree.rows(diff) if diff else [],
        different=[fact for fact in view.facts if fact.base != fact.head],
    )


def _overlays(view: CompareView) -> dict[str, go.Figure]:
    if view.traces is None:
        return {}
    sides = [(memory_curve(trace), steps(trace), trace.span()) for trace in view.traces]
    drawn = {
        "steps": overlay.step_times(sides[0][1], sides[1][1]),
        "memory": overlay.memory(sides[0], sides[1]),
    }
    return {key: figure for key, figure in drawn.items() if figure is not None}


def _verdicts(rows: Sequence[VerdictRow]) -> dict[str, object]:
    axis = intervals.axis(rows)
    return {
        "axis": axis,
        "verdicts": [(row, intervals.mark(row, axis), strips.strip(row.base_values, row.head_values)) for row in rows],
        "reasons": [(row.benchmark, row.reason) for row in rows if row.reason],
    }


def gates_page(view: GatesView) -> str:
    """What gates came to, newest first."""
    return render("gates.html", section="Gates", project=view.project or "", view=view)


def gate_page(view: GateView) -> str:
    """What one gate came to: verdicts, and what made the difference."""
    return render("gate.html", {}, section="Gates", project=view.gate.project, view=view, **_verdicts(view.verdicts))


def series_page(views: Sequence[SeriesView]) -> str:
    """A benchmark over commits, one figure for each machine and set of parameters; at least one."""
    shown = views[:SERIES_LIMIT]
    return render(
        "series.html",
        {f"series-{number}": series.figure(view) for number, view in enumerate(shown)},
        section="Series",
        project=views[0].project,
        views=shown,
        left_out=len(views) - len(shown),
        bands=[bool(series.band(view)) for view in shown],
        row_limit=ROW_LIMIT,
        colours={
            "run": theme.NEUTRAL,
            "point": theme.ALLOCATED,
            "band": theme.BAND,
            "worse": theme.WORSE,
            "better": theme.BETTER,
        },
    )


def series_list_page(view: SeriesListView) -> str:
    """Every series of a project."""
    states: Counter[str] = Counter(row.state for row in view.series)
    return render(
        "series_list.html",
        section="Series",
        project=view.project,
        view=view,
        counts=[(state, states[state]) for state in STATES if state in states],
        machines=len({row.machine for row in view.series}),
    )


def replay_page(title: str, section: Section, replays: Sequence[Replay]) -> str:
    """Replays of a history, at least one, and the words on them; it needs no server."""
    figures = {"replay": replay.figure(replays)}
    return render("alone.html", figures, title=title, section=section, picture="")


def snapshot_page(title: str, section: Section, segments: Sequence[Segment]) -> str:
    """The block map of a snapshot, and the words on it; it needs no server."""
    return render("alone.html", title=title, section=section, picture=Markup(blockmap.svg(segments)))


def sign_in_page(to: str, refused: str | None) -> str:
    """The page that asks for a token and goes on to the address `to`; `refused` is why the last one was not taken."""
    return render("sign_in.html", section="", to=to, refused=refused)


def sql_page(view: SqlView) -> str:
    """The editor for questions in SQL, the ready questions, and the answer."""
    return render("sql.html", section="SQL", project=view.project, view=view)


def shared_page(link: str, address: str, until: datetime) -> str:
    """The link to a page that was shared, shown this once."""
    return render("shared.html", section="", link=link, address=address, until=until)


def settings_page(view: SettingsView) -> str:
    """Who may do what, what is shared and masked, and what was done."""
    return render("settings.html", section="Settings", view=view)


def error_page(status: int, title: str, sentence: str) -> str:
    """An error as a page: HTTP status, a title of two or three words, and what came and what to do."""
    first, *rest = sentence.split(" ")
    # The name of a file or of a project is left as it is.
    first = first.capitalize() if first in ("the", "there", "no") else first
    return render("error.html", section="", status=status, title=title, sentence=" ".join((first, *rest)) + ".")
