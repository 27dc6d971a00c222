"""The doctor: what is wrong with a trace, what that means for its numbers, and what to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .analysis.functions import SAMPLED
from .analysis.ranks import rank_of
from .importers import Import
from .importers.findings import EXAMPLES, Example, Finding, Findings, worst_first
from .importers.launches import of_category, unlinked
from .pages import ANNOTATIONS
from .trace import Int64s, Trace

Verdict: TypeAlias = Literal["healthy", "usable with care", "incomplete"]

_PAUSE_NS = 1_000_000_000
_PAUSE = 10  # times what the rest of the trace spans


@dataclass(frozen=True, slots=True)
class Report:
    """What the doctor says of one trace. It is incomplete after an error, usable with care after a warning."""

    format: str
    verdict: Verdict
    slices: int
    tracks: int
    findings: tuple[Finding, ...]  # the worst first

    @property
    def sentence(self) -> str:
        """The verdict with the worst finding, on one line."""
        if self.verdict == "healthy":
            return "healthy"
        worst = self.findings[0]
        others = sum(finding.severity != "note" for finding in self.findings) - 1
        return f"{self.verdict}: {worst.what}" + (f" (and {others} more)" if others else "")


def examine(found: Import) -> Report:
    """Look a read trace over."""
    trace = found.trace
    checks = Findings()
    checks.add("empty", int(not (len(trace.slices) or len(trace.instants) or len(trace.counters))))
    known = {finding.kind: finding.count for finding in found.findings}
    crossing = _lanes(trace)[trace.slices.track] > 0
    annotations = of_category(trace, ANNOTATIONS)
    for kind, rows in (
        ("overlap", np.flatnonzero(crossing & ~annotations)),
        ("straddle", np.flatnonzero(crossing & annotations)),
        ("duplicates", _duplicates(trace)),
        ("unlinked-kernels", unlinked(trace)),
        ("before-zero", np.flatnonzero(trace.slices.start < 0)),
    ):
        checks.add(kind, len(rows), _told(trace, rows))
    empty = np.flatnonzero(trace.slices.duration == 0)
    instant = len(empty) - known.get("no-duration", 0) - known.get("negative-duration", 0)
    checks.add("zero-duration", max(instant, 0), _told(trace, empty))
    ranks = sorted({rank for track in trace.tracks if (rank := rank_of(track)) is not None})
    if len(ranks) > 1 and "joined" not in known:
        checks.add("several-ranks", len(ranks), [f"rank {rank}" for rank in ranks])
    _look_for_pause(trace, checks)
    findings = worst_first((*found.findings, *checks.listed()))
    severities = {finding.severity for finding in findings}
    verdict: Verdict = (
        "incomplete" if "error" in severities else "usable with care" if "warning" in severities else "healthy"
    )
    return Report(found.format, verdict, len(trace.slices), len(trace.tracks), findings)


def _lanes(trace: Trace) -> NDArray[np.int64]:
    return np.array([track.lane for track in trace.tracks], dtype=np.int64)


def _duplicates(trace: Trace) -> Int64s:
    """Rows that repeat another one. Slices of 0 ns are left out: many can begin at once. So are sampled functions: one
    that calls itself is seen to begin and end with its call."""
    slices = trace.slices
    same = (np.diff(slices.start) == 0) & (np.diff(slices.duration) == 0) & (slices.duration[1:] > 0)
    same &= slices.category[1:] != trace.string_id(SAMPLED)
    rows = np.flatnonzero(np.append(same, False) | np.append(False, same))  # sorted by both, so twins are neighbours
    threads = {track: number for number, track in enumerate({(t.pid, t.tid): None for t in trace.tracks})}
    thread = np.array([threads[track.pid, track.tid] for track in trace.tracks], dtype=np.int64)
    keys = np.stack(
        (
            slices.start[rows],
            slices.duration[rows],
            thread[slices.track[rows]],
            slices.name[rows],
            slices.category[rows],
        )
    )
    order = np.lexsort(keys)
    twins = np.all(np.diff(keys[:, order], axis=1) == 0, axis=0) if len(rows) else np.empty(0, dtype=bool)
    return np.sort(rows[order[1:][twins]])


def _look_for_pause(trace: Trace, checks: Findings) -> None:
    slices = trace.slices
    if len(slices) < 2:
        return
    gaps = slices.start[1:] - np.maximum.accumulate(slices.end)[:-1]
    at = int(np.argmax(gaps))
    gap, (begin, end) = int(gaps[at]), trace.span()
    if gap >= _PAUSE_NS and gap >= _PAUSE * (end - begin - gap):
        told = f"after {trace.name_of([at])[0]!r}, before {trace.name_of([at + 1])[0]!r}"
        checks.add(
            "clock-jump",
            1,
            [(told, int(slices.end[: at + 1].max()))],
            gap=f"{gap / 1e9:,.1f} s",
            share=f"{gap / (end - begin):.1%}",
        )


def _told(trace: Trace, rows: Int64s) -> Iterator[Example]:
    for row in rows[:EXAMPLES].tolist():
        track = trace.tracks[trace.slices.track[row]]
        start = int(trace.slices.start[row])
        yield f"{trace.name_of([row])[0]!r} at {start:,} ns on {track.name or track.tid}", start
