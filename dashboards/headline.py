"""The numbers and the sentence at the head of a page."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from perflab.profiler.analysis.diff import TraceDiff

from . import units
from .project_views import OverviewView
from .views import CompareView, VerdictRow

CULPRITS = 3
WORTH_NAMING = 0.02
# Of a step or of the peak; what changes by less gets no colour of better or worse.
NOTICEABLE = 0.01


@dataclass(frozen=True)
class Stat:
    """One headline number with a note under it; `tone` is `worse`, `better` or empty."""

    label: str
    value: str
    note: str
    tone: str = ""


@dataclass(frozen=True)
class Part:
    """A piece of a sentence, set off where it has a `tone`."""

    text: str
    tone: str = ""


def overview_stats(view: OverviewView) -> list[Stat]:
    """How many series got worse, better, drift or are stale, and how much was measured."""
    counts = Counter(row.state for row in view.series)
    scope = f"in {min(len(view.commits), view.lately)} commits"
    newest = view.commits[-1].created if view.commits else None
    return [
        Stat("got worse", units.whole(counts["worse"]), scope, "worse" if counts["worse"] else ""),
        Stat("got better", units.whole(counts["better"]), scope, "better" if counts["better"] else ""),
        Stat("drift", units.whole(counts["drift"]), "step by step", "worse" if counts["drift"] else ""),
        Stat("stale", units.whole(counts["stale"] + len(view.missing)), "not measured any more"),
        Stat("series", units.whole(len(view.series)), f"{units.whole(counts['steady'])} steady"),
        Stat("commits measured", units.whole(len(view.commits)), f"newest {newest:%Y-%m-%d %H:%M}" if newest else ""),
    ]


def compare_stats(diff: TraceDiff) -> list[Stat]:
    """Step time, op count, peak memory and GIL wait of both sides, head after base."""
    base_ops, head_ops = sum(op.base_count for op in diff.ops), sum(op.head_count for op in diff.ops)
    step, peak = diff.base_step_ns, diff.peak_bytes_base
    waits = (diff.gil_wait_ns_base, diff.gil_wait_ns_head)
    return [
        _pair("step time", step, diff.head_step_ns, units.duration, NOTICEABLE * step),
        _pair("ops a step", base_ops, head_ops, units.whole, 0),
        _recorded("peak memory", peak, diff.peak_bytes_head, units.size),
        _pair("waiting for the GIL", *waits, units.duration, NOTICEABLE * step),
    ]


def _recorded(label: str, base: float, head: float, words: units.Words) -> Stat:
    """What a trace may lack, and then has none of."""
    if bool(base) == bool(head):
        return _pair(label, base, head, words, NOTICEABLE * base)
    value = " → ".join(words(side) if side else units.NONE for side in (base, head))
    return Stat(label, value, f"{'head' if base else 'base'} did not record it")


def _pair(label: str, base: float, head: float, words: units.Words, noticeable: float) -> Stat:
    value = f"{words(base)} → {words(head)}"
    if words(base) == words(head):
        return Stat(label, words(head), "no difference" if head else "none recorded")
    tone = "" if abs(head - base) < noticeable else "worse" if head > base else "better"
    change = f"{units.signed(words(head - base))}, {units.change(base, head)}" if base else units.signed(words(head))
    return Stat(label, value, change, tone)


def compare_sentence(view: CompareView) -> list[Part]:
    """What a reader needs first: how the verdicts fell, how much a step changed, and which ops it came from."""
    diff = view.diff
    parts = _verdict_parts(view.verdicts) if view.judged else []
    if diff is None or not (diff.base_step_ns and diff.head_step_ns):
        return parts
    change = diff.head_step_ns - diff.base_step_ns
    words = f"{units.duration(diff.base_step_ns)} → {units.duration(diff.head_step_ns)}"
    ratio = units.ratio(diff.head_step_ns / diff.base_step_ns)
    tone = "worse" if change > 0 else "better" if change < 0 else ""
    parts += [Part("A step of the trace takes "), Part(f"{ratio} the time", tone), Part(f" ({words})")]
    candidates = [*((op.name, op.self_ns) for op in diff.ops), *((line.name, line.ns) for line in diff.beside)]
    culprits = sorted((ns * (1 if change > 0 else -1), name) for name, ns in candidates)[: -CULPRITS - 1 : -1]
    named = [
        f"{name} {units.signed(units.duration(ns if change > 0 else -ns))}"
        for ns, name in culprits
        if ns >= WORTH_NAMING * abs(change) and ns > 0
    ]
    if named:
        parts.append(Part(f"; the largest parts: {', '.join(named)}"))
    parts.append(Part("."))
    return parts


def _verdict_parts(verdicts: Sequence[VerdictRow]) -> list[Part]:
    if not verdicts:
        return [Part("No benchmark was measured on both sides. ")]
    parts: list[Part] = []
    for word, plural, tone in (("regression", "regressions", "worse"), ("improvement", "improvements", "better")):
        count = sum(row.verdict == word for row in verdicts)
        if count:
            parts += [Part(f"{count} {word if count == 1 else plural}", tone), Part(", ")]
    judged = len(verdicts)
    if not parts:
        return [Part(f"No regression among {judged} {'benchmark' if judged == 1 else 'benchmarks'}. ")]
    parts[-1] = Part(f" among {judged} {'benchmark' if judged == 1 else 'benchmarks'}. ")
    return parts
