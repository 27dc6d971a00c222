"""Ranks of one run beside each other: who computed, who communicated, and who kept the others waiting.

A collective can begin to move data once the last rank has arrived; until then the others wait in it. The skew of a
collective is the time between its first rank's arrival and its last's. All of it holds as far as the ranks stand on
one clock: `ClockFit` says how far that is known.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ..trace import Int64s, Trace, Track
from .collectives import COMMUNICATION, Key, Part, collective_parts, common
from .devices import device_rows
from .intervals import Cover
from .ops import op_slices
from .parts import named

_RANK = re.compile(r"\brank[ _:#-]*(\d+)", re.IGNORECASE)
CLOCKS = "rankClocks"  # in the metadata of a joined trace: see ClockFit


@dataclass(frozen=True, slots=True)
class RankUse:
    """One rank, in ns.

    Attributes:
        compute_ns, communication_ns: of unions of intervals.
        exposed_ns: communication while the rank computed nothing.
        waited_ns: in collectives, before the last rank of each arrived.
        delayed_ns: how long all ranks together waited for this one, because it arrived last.
        last: how many collectives it was the last to arrive at.
    """

    rank: int
    span_ns: int
    compute_ns: int
    communication_ns: int
    exposed_ns: int
    waited_ns: int
    delayed_ns: int
    last: int


@dataclass(frozen=True, slots=True)
class CollectiveSkew:
    """One collective: when its first rank arrived, how much later its last did, which that was, and how long it took
    from then on, in ns."""

    kind: str
    group: str
    start_ns: int
    skew_ns: int
    last: int
    transfer_ns: int


@dataclass(frozen=True, slots=True)
class CollectiveKind:
    """All collectives of one kind and process group. `last`: the rank that most often arrived last."""

    kind: str
    group: str
    count: int
    skew_ns: int  # median
    most_skew_ns: int
    transfer_ns: int  # of all together
    waited_ns: int  # by all ranks together
    last: int


@dataclass(frozen=True, slots=True)
class ClockFit:
    """How the ranks came onto one clock.

    Attributes:
        method: "collectives" where they were moved so that collectives end together, "agreed" where the clocks that
            the files name put these ends together already, "unknown" where nothing tells.
        collectives: that were looked at.
        uncertainty_ns: ends of collectives are apart by no more in 95 of 100 cases.
        moved_ns: by rank, how much later it stands than its own clock says.
    """

    method: str
    collectives: int
    uncertainty_ns: int
    moved_ns: dict[str, int]


@dataclass(frozen=True, slots=True)
class Ranks:
    """A run of several ranks; `skews` in the order of their ends."""

    uses: tuple[RankUse, ...]
    kinds: tuple[CollectiveKind, ...]
    skews: tuple[CollectiveSkew, ...]
    clock: ClockFit | None

    @property
    def straggler(self) -> RankUse | None:
        """The rank that the others waited for longest; None where nobody waited."""
        worst = max(self.uses, key=lambda use: use.delayed_ns, default=None)
        return worst if worst is not None and worst.delayed_ns else None


def rank_of(track: Track) -> int | None:
    """The rank that a track's process is called after."""
    found = _RANK.search(track.process)
    return int(found[1]) if found else None


def ranks(trace: Trace) -> Ranks | None:
    """The ranks of a trace; None where it has fewer than two."""
    told = [rank_of(track) for track in trace.tracks]
    numbers = sorted({rank for rank in told if rank is not None})
    if len(numbers) < 2:
        return None
    of_row = np.array([-1 if rank is None else rank for rank in told], dtype=np.int64)[trace.slices.track]
    found = common({str(rank): collective_parts(trace, of_row == rank) for rank in numbers})
    skews = tuple(_skew(key, parts) for key, parts in found.items())
    waited, delayed = _waits(found)
    arrived_last = Counter(skew.last for skew in skews)
    uses = _uses(trace, numbers, of_row, found)
    return Ranks(
        uses=tuple(
            RankUse(rank, *use, waited[rank], delayed[rank], arrived_last[rank])
            for rank, use in zip(numbers, uses, strict=True)
        ),
        kinds=_kinds(found, skews),
        skews=skews,
        clock=_fit(trace),
    )


def _fit(trace: Trace) -> ClockFit | None:
    told = trace.metadata.get(CLOCKS)
    try:
        return ClockFit(**told) if isinstance(told, dict) else None
    except TypeError:  # another perflab wrote it
        return None


def _last(parts: Mapping[str, Part]) -> tuple[int, int]:
    """Which rank arrived last, and when."""
    rank = max(parts, key=lambda rank: (parts[rank].start, -int(rank)))
    return int(rank), parts[rank].start


def _skew(key: Key, parts: Mapping[str, Part]) -> CollectiveSkew:
    last, arrived = _last(parts)
    first = min(part.start for part in parts.values())
    ended = max(part.end for part in parts.values())
    return CollectiveSkew(key.kind, key.group, first, arrived - first, last, max(ended - arrived, 0))


def _waits(found: Mapping[Key, Mapping[str, Part]]) -> tuple[Counter[int], Counter[int]]:
    """By rank: how long it waited, and how long it was waited for."""
    waited, delayed = Counter[int](), Counter[int]()
    for parts in found.values():
        last, arrived = _last(parts)
        for rank, part in parts.items():
            wait = max(min(arrived, part.end) - part.start, 0)
            waited[int(rank)] += wait
            delayed[last] += wait
    return waited, delayed


def _kinds(found: Mapping[Key, Mapping[str, Part]], skews: Sequence[CollectiveSkew]) -> tuple[CollectiveKind, ...]:
    grouped: dict[tuple[str, str], list[tuple[CollectiveSkew, Mapping[str, Part]]]] = defaultdict(list)
    for skew, parts in zip(skews, found.values(), strict=True):
        grouped[skew.kind, skew.group].append((skew, parts))
    kinds = []
    for (kind, group), of_kind in grouped.items():
        waits = sum(
            max(min(skew.start_ns + skew.skew_ns, part.end) - part.start, 0)
            for skew, parts in of_kind
            for part in parts.values()
        )
        sizes = [skew.skew_ns for skew, _ in of_kind]
        last = Counter(skew.last for skew, _ in of_kind).most_common(1)[0][0]
        transfer = sum(skew.transfer_ns for skew, _ in of_kind)
        kinds.append(CollectiveKind(kind, group, len(of_kind), int(median(sizes)), max(sizes), transfer, waits, last))
    return tuple(sorted(kinds, key=lambda kind: -kind.waited_ns))


def _uses(
    trace: Trace, numbers: Sequence[int], of_row: Int64s, found: Mapping[Key, Mapping[str, Part]]
) -> list[tuple[int, int, int, int]]:
    """Span, compute, communication and what of it is exposed, by rank."""
    slices = trace.slices
    talks = named(trace, COMMUNICATION)
    works: NDArray[np.bool_] = np.zeros(len(slices), dtype=bool)
    works[device_rows(trace)] = True
    if not works.any():  # a run on CPUs: ops compute, and the backend's ranges communicate
        works = op_slices(trace)
    uses = []
    for rank in numbers:
        own = of_row == rank
        computing = own & works & ~talks
        communicating = own & works & talks
        parts = [of_rank[str(rank)] for of_rank in found.values() if str(rank) in of_rank]
        ranges = Cover.union(
            np.array([part.start for part in parts], dtype=np.int64),
            np.array([part.end - part.start for part in parts], dtype=np.int64),
        )
        compute = Cover.union(slices.start[computing], slices.duration[computing])
        communication = Cover.union(slices.start[communicating], slices.duration[communicating]) | ranges
        end = slices.end[own]
        span = int(end.max() - slices.start[own].min()) if len(end) else 0
        uses.append((span, compute.total, communication.total, (communication - compute).total))
    return uses
