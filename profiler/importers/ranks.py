"""Several files of one run, one for each rank, become one trace.

Ranks stand on one clock: that of the epoch time which each file gives to its zero, mended by the ends of collectives.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from ..analysis.collectives import Part, collective_parts
from ..analysis.ranks import CLOCKS
from ..builder import TraceBuilder
from ..merge import add
from ..quantity import NANOSECONDS, quantity
from ..trace import Json, Trace, Track
from .clocks import fitted
from .findings import Findings
from .launches import RANK

_BASE = "baseTimeNanoseconds"
_LATEST = 3 * 10**18  # ns since 1970, in 2065; later ones are damage, and what is moved must fit 64 bits


def joined(traces: Sequence[tuple[str, Trace]], findings: Findings) -> Trace:
    """One trace of several, given with the names of their files; processes are called after their rank."""
    bases = [_base(trace) for _, trace in traces]
    if min(bases) == 0 < max(bases):  # some count from 1970 themselves
        bases = [0] * len(traces)
    first = min(bases)
    numbers = [_rank(trace) for _, trace in traces]
    told = [number for number in numbers if number is not None]
    findings.add("same-rank", sum(told.count(number) > 1 for number in told))
    if len(set(told)) < len(numbers):
        numbers = list(range(len(traces)))
    ranks = sorted(zip(numbers, traces, bases, strict=True), key=lambda rank: str(rank[0]))
    fit = fitted(
        {
            str(rank): {
                key: Part(part.start + base - first, part.end + base - first)
                for key, part in collective_parts(trace).items()
            }
            for rank, (_, trace), base in ranks
        }
    )
    metadata: dict[str, Json] = {"ranks": len(traces), CLOCKS: asdict(fit)}
    builder = TraceBuilder(metadata | {_BASE: first} if first else metadata)
    begins = []
    for rank, (name, trace), base in ranks:
        shift = base - first + fit.moved_ns[str(rank)]
        add(builder, trace, shift, partial(_track, f"rank {rank}"))
        begins.append((f"rank {rank}: {name}", shift + trace.span()[0]))
    spread = max(begin for _, begin in begins) - min(begin for _, begin in begins)
    findings.add("joined", len(traces), [name for name, _ in begins], spread=f"{spread / 1e6:,.3f} ms")
    within = quantity(fit.uncertainty_ns, NANOSECONDS)
    if fit.method == "collectives":
        moved = [(abs(move), f"rank {rank} by {quantity(move, NANOSECONDS, signed=True)}")
                 for rank, move in fit.moved_ns.items() if move]  # fmt: skip
        told = [text for _, text in sorted(moved, reverse=True)]
        findings.add("clocks-aligned", len(moved), told, collectives=f"{fit.collectives:,}", within=within)
    elif fit.method == "agreed":
        findings.add("clocks-agree", fit.collectives, within=within)
    else:
        findings.add("clocks-unknown", len(traces))
    return builder.build()


def _base(trace: Trace) -> int:
    base = trace.metadata.get(_BASE)
    return base if isinstance(base, int) and 0 < base < _LATEST else 0


def _rank(trace: Trace) -> Json:
    told = trace.metadata.get("distributedInfo")
    rank = told.get("rank") if isinstance(told, dict) else None
    return rank if type(rank) is int and rank >= 0 else None


def _track(rank: str, track: Track) -> Track:
    return Track(f"{rank}{RANK}{track.pid}", track.tid, track.name, f"{rank} {track.process}".strip())
