"""The GIL's records as slices: beside each thread a track of when it waited for the GIL and when it held it.

An arrow leads from each wait to the hold during which the thread began to wait.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .analysis.gil import FLOW, HELD, IGNORED, THREAD, WAIT, of_reason
from .builder import TraceBuilder
from .events import GIL_HOLD, GIL_WAITING
from .stretches import Stretch
from .trace import Int64s, Json

_PAGE = 1 << 14


@dataclass(frozen=True, slots=True)
class GilRecord:
    """What was traced: `holds` of dtype GIL_HOLD, or None where the GIL cannot be traced.

    `notes` is what a reader must know, for the trace's metadata; `threads` are names by thread id.
    """

    holds: NDArray[np.void] | None = None
    notes: dict[str, Json] = field(default_factory=dict)
    threads: dict[int, str] = field(default_factory=dict)


class GilTrack:
    """Adds the slices of the GIL's records to a builder, stretch by stretch.

    `acquisitions` are the events of perflab's own, which know why. Where there is no more, they are the records.
    """

    def __init__(
        self,
        record: GilRecord,
        acquisitions: Stretch,
        strings: list[str],
        builder: TraceBuilder,
        ns: Callable[[Int64s], Int64s],
        tracks: Callable[[int], int],
        first_flow: int,
    ) -> None:
        holds, reason = _own(acquisitions) if record.holds is None else _explained(record.holds, acquisitions)
        self._builder = builder
        self._thread = holds["thread"].astype(np.int64)
        self._wait, self._acquired, self._released = (ns(holds[name]) for name in ("wait", "acquired", "released"))
        self._ignored = np.where(holds["requested"] > 0, self._released - ns(holds["requested"]), -1)
        known, of_thread = np.unique(self._thread, return_inverse=True)
        self._track = np.array([tracks(thread) for thread in known.tolist()], dtype=np.int64)[of_thread]
        self._held = np.flatnonzero(holds["flags"] & GIL_WAITING == 0)
        waited = np.flatnonzero(self._wait < self._acquired)
        self._waited = waited[np.argsort(self._wait[waited], kind="stable")]
        self._holder = _holders(holds, self._held, self._waited)
        self._by_holder = np.argsort(self._holder, kind="stable")
        self._flow = first_flow + np.arange(len(self._waited))
        names = [[builder.string(of_reason(what, text)) for text in strings] for what in (WAIT, HELD)]
        self._wait_name, self._held_name = (np.array(ids, dtype=np.int64)[reason] for ids in names)
        self._waits_added = self._holds_added = 0

    @property
    def arrows(self) -> int:
        """How many there are."""
        return len(self._flow)

    @property
    def cuts(self) -> list[int]:
        """Moments (ns) between which not too many holds begin."""
        return self._acquired[self._held[::_PAGE]].tolist()  # type: ignore[no-any-return]

    def add(self, until: float) -> None:
        """The slices that begin before `until`, and did not before."""
        first, self._waits_added = self._waits_added, _place(self._wait[self._waited], until)
        self._add_waits(np.arange(first, self._waits_added))
        first, self._holds_added = self._holds_added, _place(self._acquired[self._held], until)
        self._add_holds(first, self._holds_added)

    def _add_waits(self, places: Int64s) -> None:
        rows = self._waited[places]
        handles = self._add(rows, self._wait, self._acquired, self._wait_name)
        tied = self._holder[places] >= 0
        self._builder.flow_ends(handles[tied], self._flow[places[tied]], self._builder.string(FLOW), False)

    def _add_holds(self, first: int, end: int) -> None:
        rows = self._held[first:end]
        handles = self._add(rows, self._acquired, self._released, self._held_name)
        requested = self._ignored[rows] >= 0
        self._builder.slice_args(IGNORED, handles[requested], self._ignored[rows[requested]])
        low, high = np.searchsorted(self._holder[self._by_holder], (first, end))
        waits = self._by_holder[low:high]
        targets, asked = handles[self._holder[waits] - first], self._wait[self._waited[waits]]
        self._builder.flow_ends(targets, self._flow[waits], self._builder.string(FLOW), True, asked)

    def _add(self, rows: Int64s, start: Int64s, end: Int64s, name: Int64s) -> Int64s:
        first = self._builder.slices(
            start[rows],
            end[rows] - start[rows],
            self._track[rows],
            name[rows],
            self._builder.string("gil"),
        )
        handles = np.arange(first, first + len(rows))
        self._builder.slice_args(THREAD, handles, self._thread[rows])
        return handles


def _place(times: Int64s, until: float) -> int:
    return len(times) if until == np.inf else int(np.searchsorted(times, until))


def _holders(holds: NDArray[np.void], held: Int64s, waited: Int64s) -> Int64s:
    """For each record that waited the place among the `held` of the one that held it then, -1 where none did."""
    if not len(held):
        return np.full(len(waited), -1)
    acquired, released, thread = (holds[name][held] for name in ("acquired", "released", "thread"))
    wait = holds["wait"][waited]
    place = np.searchsorted(acquired, wait, side="right") - 1
    # a hold may end at the tick at which the next one begins
    place -= (place > 0) & (thread[place] == holds["thread"][waited])
    known = (place >= 0) & (released[place] >= wait) & (thread[place] != holds["thread"][waited])
    return np.where(known, place, -1)


def _own(acquisitions: Stretch) -> tuple[NDArray[np.void], Int64s]:
    """Records of perflab's acquisitions, and the string ids of why they were made."""
    acquisitions = acquisitions.at(np.argsort(acquisitions["t1"], kind="stable"))
    holds = np.zeros(len(acquisitions), dtype=GIL_HOLD)
    for name, column in (("wait", "t0"), ("acquired", "t1"), ("released", "t2")):
        holds[name] = acquisitions[column]
    holds["thread"] = acquisitions.thread
    return holds, acquisitions["name"].astype(np.int64)


def _explained(holds: NDArray[np.void], acquisitions: Stretch) -> tuple[NDArray[np.void], Int64s]:
    """The records and the string ids of why they were made, 0 where nobody said."""
    reason = np.zeros(len(holds), dtype=np.int64)
    for thread in np.unique(acquisitions.thread).tolist():
        rows = np.flatnonzero((holds["thread"] == thread) & (holds["flags"] & GIL_WAITING == 0))
        own = acquisitions.at(acquisitions.thread == thread)
        place = np.searchsorted(holds["acquired"][rows], own["t1"], side="right") - 1
        known = place >= 0
        known[known] = holds["acquired"][rows[place[known]]] >= own["t0"][known]
        reason[rows[place[known]]] = own["name"][known]
    return holds, reason
