"""What every page of a trace begins with: step time, where it goes, peak memory, and what to do first."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from urllib.parse import urlencode

from perflab.profiler.analysis.advice import Advice
from perflab.profiler.analysis.memory import MemoryCurve
from perflab.profiler.analysis.parts import WORDS, PartShare, part_shares
from perflab.profiler.analysis.steps import Step

from . import theme, units
from .headline import Stat
from .study import Study

BARS = 96


@dataclass(frozen=True)
class Bar:
    """Steps side by side: the height of the longest of them, as a share of that of all."""

    height: float
    label: str
    is_slow: bool


@dataclass(frozen=True)
class Part:
    """A part of a step; `share` of the whole, times in ns."""

    word: str
    colour: str
    share: float
    mean_ns: float
    least_ns: int
    most_ns: int


@dataclass(frozen=True)
class Cards:
    """The cards; `memory` is None where the trace knows of none."""

    step: Stat
    bars: Sequence[Bar]
    parts: Sequence[Part]
    memory: Stat | None


@dataclass(frozen=True)
class Link:
    """Where the evidence can be seen."""

    text: str
    address: str


@dataclass(frozen=True)
class Finding:
    """One thing to do, what it could save, and where to see that it is so."""

    title: str
    saving: str
    evidence: str
    action: str
    links: Sequence[Link]


def cards(found: Study) -> Cards:
    """The cards of a trace."""
    return Cards(
        step=step_stat(found.span_ns, found.steps),
        bars=bars(found.steps),
        parts=[_part(share) for share in part_shares(found.parts)],
        memory=_memory(found.curve) if len(found.curve.time) else None,
    )


def step_stat(span_ns: int, steps: Sequence[Step]) -> Stat:
    """The median step and its spread, or how long the trace is where it has no steps."""
    if not steps:
        return Stat("span", units.duration(span_ns), "no steps were marked")
    durations = [step.duration for step in steps]
    if len(steps) == 1:
        return Stat("step", units.duration(durations[0]), "one step")
    low, _, high = quantiles(durations, n=4, method="inclusive")
    spread = f"middle half {units.duration(low)} to {units.duration(high)}, longest {units.duration(max(durations))}"
    return Stat("step, median", units.duration(median(durations)), f"{units.whole(len(steps))} steps, {spread}")


def bars(steps: Sequence[Step]) -> list[Bar]:
    """The durations of steps in their order, BARS of them at most: each the longest of its neighbours."""
    if len(steps) < 2:
        return []
    group = -(-len(steps) // BARS)
    longest = [max(steps[at : at + group], key=lambda step: step.duration) for at in range(0, len(steps), group)]
    top, middle = max(step.duration for step in steps), median(step.duration for step in steps)
    return [
        Bar(
            step.duration / max(top, 1),
            f"step {step.number}: {units.duration(step.duration)}",
            step.duration > 1.5 * middle,
        )
        for step in longest
    ]


def _part(share: PartShare) -> Part:
    colour = theme.PARTS[share.part]
    return Part(WORDS[share.part], colour, share.share, share.mean_ns, share.least_ns, share.most_ns)


def _memory(curve: MemoryCurve) -> Stat:
    end = f"{units.size(int(curve.allocated[-1]))} at the end"
    reserved = int(curve.reserved[curve.peak_index])
    if reserved:
        end = f"{units.size(reserved)} reserved, {units.share(curve.fragmentation)} of it unused; {end}"
    return Stat("peak memory", units.size(curve.peak_bytes), end)


def findings(trace: int, advice: Sequence[Advice]) -> list[Finding]:
    """What to do first, with links to where trace `trace` shows it."""
    return [
        Finding(
            one.title,
            units.size(one.saving_bytes) if one.saving_bytes else units.duration(one.saving_ns),
            units.typeset(one.evidence),
            one.action,
            list(_links(trace, one)),
        )
        for one in advice
    ]


def _links(trace: int, one: Advice) -> Sequence[Link]:
    at = f"/traces/{trace}"
    if one.saving_bytes:
        return [Link("memory", f"{at}/memory#leaks")]
    query: dict[str, str | int] = {} if one.step is None else {"step": one.step}
    if one.name:
        query["find"] = one.name
    where = " in ".join([*([one.name] if one.name else []), *([f"step {one.step}"] if one.step is not None else [])])
    return [Link(where or "timeline", f"{at}?{urlencode(query)}" if query else at)]
