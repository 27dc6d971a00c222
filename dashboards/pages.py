"""The pages of the dashboard: what a page is given in, its HTML out."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from math import log
from pathlib import Path
from statistics import median

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from perflab.profiler.memory_snapshot import Segment
from perflab.profiler.replay import Replay
from perflab.profiler.report.section import Section

from . import (
    assets,
    blockmap,
    compare,
    graph,
    grid,
    headline,
    intervals,
    replay,
    series,
    sparkline,
    stepchoice,
    theme,
    units,
)
from .errors import StepNotFound
from .project_views import Event, GridView, OverviewView, ProjectRow, SeriesListView
from .study import study
from .views import (
    NO_COMMIT,
    CompareView,
    GatesView,
    GateView,
    RunRow,
    RunsView,
    RunView,
    SeriesView,
    TraceView,
    VerdictRow,
)

TEMPLATES = Path(__file__).parent / "templates"
SERIES_LIMIT = 12
TILE_LIMIT = 60
# The pages of a project, and where they are.
SECTIONS = {
    "Overview": "/",
    "Benchmarks": "/grid",
    "Series": "/series",
    "Runs": "/runs",
    "Compare": "/compare",
    "Gates": "/gates",
}
# What lists say of a series.
STATES = {
    "worse": "worse",
    "drift": "drifts",
    "better": "better",
    "steady": "steady",
    "stale": "stale",
    "young": "too young",
}


def projects_page(projects: Sequence[ProjectRow], section: str = "Overview") -> str:
    """The projects of the lab, each with the way to that page of it."""
    return _render("projects.html", section=section, projects=projects, page=SECTIONS[section])


def overview_page(view: OverviewView) -> str:
    """A project at a glance: what changed, how each series stands, what drifts, what is stale, the latest runs."""
    return _render(
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


def _tone(event: Event) -> str:
    if event.moved:
        return "worse" if any(moved.worse for moved in event.moved) else "better"
    return {"regression": "worse", "passed": "better"}.get(event.result, "")


def grid_page(view: GridView) -> str:
    """The benchmarks of a project by its newest commits."""
    return _render("grid.html", section="Benchmarks", project=view.project, view=view)


def upload_page(projects: Sequence[str], project: str) -> str:
    """Where files are dropped; `project` is the one that is proposed, empty for none."""
    return _render("upload.html", section="Upload", project=project, projects=projects)


def runs_page(view: RunsView) -> str:
    """The list of runs, newest first."""
    # The newest commit is head; the one before it in its project is what it is most often compared with.
    before = (at for at, run in enumerate(view.runs) if _is_other_commit(run, view.runs[0]))
    return _render("runs.html", section="Runs", project=view.project or "", view=view, base_index=next(before, 1))


def _is_other_commit(run: RunRow, newest: RunRow) -> bool:
    return run.project == newest.project and run.commit != newest.commit


def run_page(view: RunView) -> str:
    """One run: its traces and results."""
    return _render("run.html", section="Runs", project=view.run.project, view=view)


def trace_page(view: TraceView) -> str:
    """One trace: headline numbers, the timeline of a step, ops, memory, GIL waits, the autograd graph of the step.

    Raises StepNotFound where the step asked for is not in the trace.
    """
    found = study(view.trace)
    step = stepchoice.chosen(found.steps, view.step)
    if view.step is not None and step is None:
        raise StepNotFound(view.step, [known.number for known in found.steps])
    window = stepchoice.window(step, found.span)
    return _render(
        "trace.html",
        found.figures,
        section="Runs",
        project=view.run.project,
        view=view,
        study=found,
        timeline_data=_in_script(json.dumps(found.timeline.data(f"/api/v1/traces/{view.id}/timeline", window))),
        choices=stepchoice.choices(found.steps, step),
        graph=graph.picture(view.trace, window),
    )


def compare_page(view: CompareView | None) -> str:
    """Two sides compared; None asks the reader to choose them."""
    if view is None:
        return _render("compare.html", section="Compare", view=None)
    changed = view.diff is not None and any(op.self_ns for op in view.diff.ops)
    return _render(
        "compare.html",
        {"ops": compare.figure(view.diff).to_json(validate=False)} if view.diff and changed else {},
        section="Compare",
        project=view.head.project,
        view=view,
        headline=headline.compare_sentence(view),
        stats=headline.compare_stats(view.diff) if view.diff else [],
        **_verdicts(view.verdicts),
        deltas=compare.rows(view.diff) if view.diff else [],
        beside=[(line, compare.share(line.ns, view.diff)) for line in view.diff.beside] if view.diff else [],
    )


def _verdicts(rows: Sequence[VerdictRow]) -> dict[str, object]:
    axis = intervals.axis(rows)
    return {
        "axis": axis,
        "verdicts": [(row, intervals.mark(row, axis)) for row in rows],
        "reasons": [(row.benchmark, row.reason) for row in rows if row.reason],
    }


def gates_page(view: GatesView) -> str:
    """What gates came to, newest first."""
    return _render("gates.html", section="Gates", project=view.project or "", view=view)


def gate_page(view: GateView) -> str:
    """What one gate came to: verdicts, and what made the difference."""
    return _render("gate.html", {}, section="Gates", project=view.gate.project, view=view, **_verdicts(view.verdicts))


def series_page(views: Sequence[SeriesView]) -> str:
    """A benchmark over commits, one figure for each machine and set of parameters; at least one."""
    shown = views[:SERIES_LIMIT]
    return _render(
        "series.html",
        {f"series-{number}": series.figure(view).to_json(validate=False) for number, view in enumerate(shown)},
        section="Series",
        project=views[0].project,
        views=shown,
        left_out=len(views) - len(shown),
        colours={"point": theme.ALLOCATED, "worse": theme.WORSE, "better": theme.BETTER},
    )


def series_list_page(view: SeriesListView) -> str:
    """Every series of a project."""
    states: Counter[str] = Counter(row.state for row in view.series)
    return _render(
        "series_list.html",
        section="Series",
        project=view.project,
        view=view,
        counts=[(state, states[state]) for state in STATES if state in states],
        machines=len({row.machine for row in view.series}),
    )


def replay_page(title: str, section: Section, replays: Sequence[Replay]) -> str:
    """Replays of a history, at least one, and the words on them; it needs no server."""
    figures = {"replay": replay.figure(replays).to_json(validate=False)}
    return _render("alone.html", figures, title=title, section=section, picture="")


def snapshot_page(title: str, section: Section, segments: Sequence[Segment]) -> str:
    """The block map of a snapshot, and the words on it; it needs no server."""
    return _render("alone.html", title=title, section=section, picture=Markup(blockmap.svg(segments)))


def error_page(status: int, title: str, sentence: str) -> str:
    """An error as a page: HTTP status, a title of two or three words, and the sentence that says what to do."""
    return _render("error.html", section="", status=status, title=title, sentence=sentence)


def _render(template: str, figures: Mapping[str, str] | None = None, project: str = "", **data: object) -> str:
    """A page; `figures` are JSON, `project` is the one that its links stay in."""
    texts = {key: _in_script(figure) for key, figure in (figures or {}).items()}
    return _environment().get_template(template).render(figures=texts, project=project, **data)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        duration=units.duration,
        size=units.size,
        whole=units.whole,
        share=units.share,
        ratio=units.ratio,
        signed=units.signed,
        count=_per_step,
        median=median,
        value=series.value,
        percent=series.percent,
        sparkline=sparkline.sparkline,
        cells=grid.cells,
        short=_short,
    )
    templates = {name: theme.template(palette) for name, palette in (("light", theme.LIGHT), ("dark", theme.DARK))}
    environment.globals.update(
        css_variables=Markup(theme.css_variables()),
        plot_templates=_in_script(json.dumps({name: made.to_plotly_json() for name, made in templates.items()})),
        none_mark=units.NONE,
        no_commit=NO_COMMIT,
        states=STATES,
        sections=SECTIONS,
        asset=assets.address,
        inline=lambda name: Markup(assets.assets()[name].read_text(encoding="utf-8")),
        timeline_modules=[name for name in assets.assets() if name.startswith("timeline/")],
    )
    return environment


def _short(commit: str) -> str:
    return "no commit" if commit == NO_COMMIT else commit[:8]


def _per_step(count: float) -> str:
    return units.whole(count) if float(count).is_integer() else f"{count:,.1f}"


def _in_script(text: str) -> Markup:
    # `</script>` and `<!--` end a script element wherever they stand, so no `<` may reach it.
    return Markup(text.replace("<", "\\u003c"))
