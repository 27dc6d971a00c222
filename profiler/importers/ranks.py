"""Several files of one run, one for each rank, become one trace.

Ranks stand on one clock by the epoch time that each file gives to its zero. How far the clocks of their machines differ
nobody can say from that, and the finding says so.
"""

from collections.abc import Sequence
from functools import partial

from ..builder import TraceBuilder
from ..merge import add
from ..trace import Json, Trace, Track
from .findings import Findings

_BASE = "baseTimeNanoseconds"


def joined(traces: Sequence[tuple[str, Trace]], findings: Findings) -> Trace:
    """One trace of several, given with the names of their files; processes are called after their rank."""
    bases = [_base(trace) for _, trace in traces]
    if min(bases) == 0 < max(bases):  # some count from 1970 themselves
        bases = [0] * len(traces)
    builder = TraceBuilder({"ranks": len(traces), _BASE: min(bases)} if min(bases) else {"ranks": len(traces)})
    numbers = [_rank(trace) for _, trace in traces]
    if None in numbers or len(set(numbers)) < len(numbers):
        numbers = list(range(len(traces)))
    begins = []
    for (name, trace), base, rank in sorted(zip(traces, bases, numbers, strict=True), key=lambda one: str(one[2])):
        add(builder, trace, base - min(bases), partial(_track, f"rank {rank}"))
        begins.append((f"rank {rank}: {name}", base + trace.span()[0]))
    spread = max(begin for _, begin in begins) - min(begin for _, begin in begins)
    findings.add("joined", len(traces), [name for name, _ in begins], spread=f"{spread / 1e6:,.3f} ms")
    return builder.build()


def _base(trace: Trace) -> int:
    base = trace.metadata.get(_BASE)
    return base if isinstance(base, int) and base > 0 else 0


def _rank(trace: Trace) -> Json:
    told = trace.metadata.get("distributedInfo")
    rank = told.get("rank") if isinstance(told, dict) else None
    return rank if isinstance(rank, int) else None


def _track(rank: str, track: Track) -> Track:
    return Track(f"{rank}: {track.pid}", track.tid, track.name, f"{rank} {track.process}".strip())
