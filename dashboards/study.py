"""What the trace page says of a whole trace, whichever step is looked at. A large trace takes seconds to study."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import plotly.graph_objects as go

from perflab.profiler.analysis.advice import Advice, advise
from perflab.profiler.analysis.averages import key_averages
from perflab.profiler.analysis.blocks import blocks
from perflab.profiler.analysis.contention import blocked, convoys, gil_threads
from perflab.profiler.analysis.gil import gil_waits
from perflab.profiler.analysis.growth import growth
from perflab.profiler.analysis.lifetimes import lifetimes
from perflab.profiler.analysis.memory import MemoryPeak, category_curves, memory_curve, memory_peak
from perflab.profiler.analysis.parts import WORDS, PartShare, part_shares, step_parts
from perflab.profiler.analysis.steps import Step, steps
from perflab.profiler.trace import Trace

from . import gil, headline, memory, optable
from . import lifetimes as lifetimes_figure
from .outline import Outline, outline


@dataclass(frozen=True)
class Study:
    """The parts of the page by their names in its template; `figures` are JSON."""

    span: tuple[int, int]
    steps: Sequence[Step]
    figures: Mapping[str, str]
    timeline: Outline
    stats: Sequence[headline.Stat]
    advice: Sequence[Advice]
    parts: Sequence[tuple[str, PartShare]]
    ops: Sequence[optable.OpRow]
    extent: str
    memory_note: str
    memory_peak: MemoryPeak | None
    memory_leak: str
    lifetimes_note: str
    gil_rows: Sequence[gil.GilRow]
    gil_blocked: Sequence[gil.BlockedRow]
    gil_note: str
    gil_convoys: Sequence[str]


_DONE: WeakKeyDictionary[Trace, Study] = WeakKeyDictionary()


def study(trace: Trace) -> Study:
    """The study of a trace, kept as long as the trace is."""
    found = _DONE.get(trace)
    if found is None:
        found = _DONE[trace] = _study(trace)
    return found


def _study(trace: Trace) -> Study:
    span, found = trace.span(), steps(trace)
    averages = key_averages(trace)
    waits, use = gil_waits(trace), gil_threads(trace)
    curve = memory_curve(trace)
    recorded = curve if len(curve.time) else None
    figures: dict[str, go.Figure] = {}
    known = blocks(trace)
    longest = lifetimes(trace, known)
    if recorded is not None:
        figures["memory"] = memory.figure(
            recorded, found, span, category_curves(trace, known) if len(known.time) else None
        )
    if longest is not None:
        figures["lifetimes"] = lifetimes_figure.figure(longest, span[0])
    if waits:
        figures["gil"] = gil.figure(trace, waits, span)
    length = max(span[1] - span[0], 1)
    return Study(
        span=span,
        steps=found,
        figures={key: figure.to_json(validate=False) for key, figure in figures.items()},
        timeline=outline(trace, found),
        stats=headline.trace_stats(length, found, averages, recorded, waits),
        advice=advise(trace),
        parts=[(WORDS[part.part], part) for part in part_shares(step_parts(trace))],
        ops=optable.rows(averages),
        extent=f"{len(found)} steps" if len(found) > 1 else "the trace",
        memory_note=memory.note(recorded, span[0]),
        memory_peak=memory_peak(trace, known),
        memory_leak=memory.leak_note(growth(trace, known)),
        lifetimes_note=lifetimes_figure.note(longest) if longest is not None else "",
        gil_rows=gil.rows(trace, use, length),
        gil_blocked=gil.blocked_rows(trace, blocked(trace)),
        gil_note=gil.note(trace, use),
        gil_convoys=gil.convoy_notes(trace, convoys(trace)),
    )
