"""The pages of one trace, a tab each: they share their head, and each makes only what it shows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import plotly.graph_objects as go
from markupsafe import Markup

from perflab.profiler.analysis.addresses import segments_at_peak
from perflab.profiler.analysis.groups import GroupBy
from perflab.profiler.analysis.lifetimes import lifetimes
from perflab.profiler.analysis.memory import category_curves
from perflab.profiler.analysis.steps import Step
from perflab.profiler.analysis.trees import TREES, TreeOf
from perflab.profiler.ceilings import Ceilings

from . import blockmap, doctor, gil, graph, memory, operators, ranks, stepchoice, stepfigures, units
from . import lifetimes as lifetimes_figure
from .cards import cards, findings
from .errors import StepNotFound
from .rendering import in_script, render
from .study import Study, study
from .views import TraceView

ALIVE_LIMIT = 50
ADVISED_AT_ONCE = 100_000  # slices; advice on more of them takes too long for a page to wait for it
GIL_PARTS = (("Threads", "threads"), ("Who waited for whom", "pairs"), ("Longest waits", "waits"))
MEMORY_PARTS = (("What was alive at the peak", "alive"), ("Leak suspects", "suspects"))
Figures = Mapping[str, go.Figure | None]


@dataclass(frozen=True)
class Tab:
    """A page of a trace: its template, what a link to it says, and the question that it answers."""

    name: str
    word: str
    question: str

    @property
    def path(self) -> str:
        """Below `/traces/{id}`."""
        return "" if self.name == "timeline" else f"/{self.name}"


TABS = (
    Tab("timeline", "Timeline", "What ran when, and what waited for what?"),
    Tab("operators", "Operators", "Which ops take the time, and how near are they to what the machine can do?"),
    Tab("flame", "Flame graph", "Through which code does the time flow?"),
    Tab("memory", "Memory", "What needs the memory, and what stays?"),
    Tab("gil", "GIL", "Who held the GIL while others waited?"),
    Tab("steps", "Steps", "Which steps are slow, and what was different in them?"),
    Tab("ranks", "Ranks", "Which rank keeps the others waiting?"),
    Tab("graph", "Graph", "Through which nodes does the backward pass of a step go?"),
    Tab("doctor", "Doctor", "What is odd in the file, and which numbers can be trusted?"),
)
WITHOUT: dict[TreeOf, str] = {
    "ops": "This trace has no ops, annotations or nodes.",
    "stacks": "This trace has no Python stacks: profile(with_stack=True) records them, torch.profiler's as well.",
    "modules": "This trace names no modules: torch.profiler records them with with_stack=True.",
}
TREE_WORDS: dict[TreeOf, str] = {"ops": "ops", "stacks": "Python stacks", "modules": "modules"}


def timeline_page(view: TraceView) -> str:
    """The timeline, opened on a step. Raises StepNotFound where the trace has not the one asked for."""
    found = study(view.trace)
    step = _chosen(found, view.step)
    data = found.outline.data(f"/api/v1/traces/{view.id}/timeline", stepchoice.window(step, found.span))
    return _page(
        "timeline",
        view,
        outline=found.outline,
        timeline_data=in_script(json.dumps(data)),
        choices=stepchoice.choices(found.steps, step),
    )


def operators_page(view: TraceView, by: GroupBy, label: str | None, ceilings: Ceilings | None) -> str:
    """The table of operators, the durations of the chosen one (the first without a `label`), and the roofline."""
    found = study(view.trace)
    rows = operators.rows(found.averages(by))
    wanted = label if label is not None else rows[0].name if rows else ""
    chosen = operators.chosen(view.trace, found.ops, by, wanted)
    by_shape = found.averages("op+shape")
    return _page(
        "operators",
        view,
        {
            "histogram": None if chosen is None else chosen.figure,
            "roofline": operators.roofline_figure(by_shape, ceilings),
        },
        by=by,
        groups=operators.WORDS.items(),
        rows=rows[: operators.ROW_LIMIT],
        columns=operators.columns(rows),
        left_out=len(rows[operators.ROW_LIMIT :]),
        chosen=chosen,
        label=wanted,
        roofline_note=operators.roofline_note(by_shape, ceilings),
        extent=f"{units.whole(len(found.steps))} steps" if len(found.steps) > 1 else "the trace",
        data=[("Operators", f"{_data(view)}/ops?{urlencode({'by': by})}")],
    )


def flame_page(view: TraceView, of: TreeOf) -> str:
    """A flame graph of the ops, of Python's stacks or of modules, of the mean step or of one. Raises StepNotFound."""
    found = study(view.trace)
    step = None if view.step is None else _chosen(found, view.step)
    return _page(
        "flame",
        view,
        of=of,
        trees=[(tree, TREE_WORDS[tree]) for tree in TREES],
        empty=WITHOUT[of],
        step=step,
        choices=stepchoice.named(found.steps, step),
    )


def memory_page(view: TraceView) -> str:
    """The curve by category, what was there at the peak, lifetimes, and what stays."""
    trace, found = view.trace, study(view.trace)
    curve, known = found.curve, found.blocks
    has_curve = len(curve.time) > 0
    longest = lifetimes(trace, known)
    figures = {
        "memory": memory.figure(
            curve, list(found.steps), found.span, category_curves(trace, known) if len(known.time) else None
        )
        if has_curve
        else None,
        "lifetimes": None if longest is None else lifetimes_figure.figure(longest, found.span[0]),
    }
    use, segments = memory.use(found), segments_at_peak(trace, known)
    return _page(
        "memory",
        view,
        figures,
        note=memory.note(curve if has_curve else None, found.span[0]),
        peak=use.peak,
        lifetimes_note="" if longest is None else lifetimes_figure.note(longest),
        leak=memory.leak_note(use.growth),
        survivors=use.growth.survivors,
        alive=use.alive[:ALIVE_LIMIT],
        map=Markup(blockmap.svg(segments)) if segments else "",
        map_note=blockmap.fragments(segments) if segments else "",
        begin=found.span[0],
        data=[(word, f"{_data(view)}/memory?part={part}") for word, part in MEMORY_PARTS],
    )


def gil_page(view: TraceView) -> str:
    """Who waited for the GIL, who held it meanwhile, and in which ops."""
    trace, found = view.trace, study(view.trace)
    return _page(
        "gil",
        view,
        {"gil": gil.figure(trace, found.waits, found.span) if any(wait.wait_ns for wait in found.waits) else None},
        note=gil.note(trace, found.threads),
        use=gil.use(found),
        ops=gil.by_op(found.averages("op")),
        data=[(word, f"{_data(view)}/gil?part={part}") for word, part in GIL_PARTS],
    )


def steps_page(view: TraceView) -> str:
    """Every step, what it was made of, and what was different in those that stand out."""
    found = study(view.trace)
    has_steps = len(found.steps) > 1
    figures = {
        "steps": stepfigures.over_time(found.parts, found.outliers, f"/traces/{view.id}") if has_steps else None,
        "boxes": stepfigures.boxes(found.parts) if has_steps else None,
    }
    return _page(
        "steps",
        view,
        figures,
        steps=found.steps,
        outliers=stepfigures.outlier_rows(found.outliers),
        data=[("Steps", f"{_data(view)}/steps")],
    )


def ranks_page(view: TraceView) -> str:
    """The ranks of a run beside each other, and how far apart they arrived at collectives."""
    found = study(view.trace)
    several, begin = found.ranks, found.span[0]
    if several is None:
        return _page("ranks", view, found=None, note="")
    figures = {
        "shares": ranks.shares_figure(several),
        "skew": ranks.skew_figure(several, begin, f"/traces/{view.id}") if several.skews else None,
    }
    return _page(
        "ranks",
        view,
        figures,
        found=several,
        note=ranks.note(several),
        uncertainty=ranks.uncertainty(several),
        apart=ranks.furthest(several, begin),
        data=[("Ranks", f"{_data(view)}/ranks")],
    )


def graph_page(view: TraceView) -> str:
    """The autograd graph of a step. Raises StepNotFound where the trace has not the one asked for."""
    found = study(view.trace)
    step = _chosen(found, view.step)
    picture = graph.picture(view.trace, stepchoice.window(step, found.span))
    return _page("graph", view, graph=picture, choices=stepchoice.choices(found.steps, step))


def doctor_page(view: TraceView) -> str:
    """What is odd in the trace's file, what that means, examples on the timeline, and a repaired file."""
    found = study(view.trace)
    return _page(
        "doctor",
        view,
        meaning=doctor.meaning(view.health),
        findings_of_file=doctor.oddities(view.id, view.health, found.span),
    )


def findings_part(view: TraceView) -> str:
    """What to do first, for a page that was made before it was known."""
    return render("trace/findings.html", findings=findings(view.id, study(view.trace).advice))


def _chosen(found: Study, asked: int | None) -> Step | None:
    step = stepchoice.chosen(found.steps, asked)
    if asked is not None and step is None:
        raise StepNotFound(asked, [known.number for known in found.steps])
    return step


def _data(view: TraceView) -> str:
    """Where the numbers of a page are had alone."""
    return f"/api/v1/traces/{view.id}"


def _page(
    name: str,
    view: TraceView,
    figures: Figures | None = None,
    data: Sequence[tuple[str, str]] = (),
    **shown: object,
) -> str:
    """The page of a tab; `data` are names and addresses of what it shows."""
    found = study(view.trace)
    return render(
        f"trace/{name}.html",
        figures,
        section="Runs",
        project=view.run.project,
        view=view,
        tabs=[tab for tab in TABS if tab.name != "ranks" or name == "ranks" or found.is_of_ranks],
        tab=next(tab for tab in TABS if tab.name == name),
        cards=cards(found),
        findings=findings(view.id, found.advice)
        if found.is_advised or len(view.trace.slices) <= ADVISED_AT_ONCE
        else None,
        data=data,
        **shown,
    )
