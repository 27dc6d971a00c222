"""Devices: when they computed, communicated and copied, when they were idle, and who kept them waiting.

All times are of unions of intervals: two kernels at once on two streams are one moment of computing.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..trace import Int64s, Trace
from .collectives import COMMUNICATION
from .enclosing import nearest
from .intervals import Cover
from .ops import KERNELS, launchers, of_category, op_slices
from .parts import is_sync, named, part_covers
from .threads import threads

_OURS = re.compile(r"(cuda|sim):\d+")  # our devices' processes; those of torch are known by their numbers
SAMPLED = "cudaTimesOneOpIn"  # metadata: only one op in so many has its time on the device
_COPIES = ("gpu_memcpy", "gpu_memset", "Memcpy", "Memset")

Cause: TypeAlias = Literal["sync", "data_wait", "gil_wait", "gc", "host", "queue", "unknown"]


@dataclass(frozen=True, slots=True)
class IdleCause:
    """Why a device was idle, all gaps of one cause and owner together.

    sync: the host had waited for the device to run dry. data_wait, gil_wait, gc: the launching thread was in that for
    most of the gap. host: it was busy otherwise, and launched late. queue: the work had been launched before, and
    waited for another stream or for the device itself. unknown: no arrow tells who launched it.
    `owner`: the op that launched what ended the gap.
    """

    cause: Cause
    owner: str
    count: int
    ns: int


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """One device from the begin of its first work to the end of its last, in ns.

    `busy_ns` and `idle_ns` add up to `span_ns`. Exposed is what went on while nothing was computed.
    """

    name: str
    span_ns: int
    busy_ns: int
    idle_ns: int
    compute_ns: int
    communication_ns: int
    copy_ns: int
    exposed_communication_ns: int
    exposed_copy_ns: int
    idle: tuple[IdleCause, ...]  # by falling time


def device_use(trace: Trace) -> list[DeviceUse]:
    """Every device of a trace by its work, the busiest first; kernels that run inside of ops are not on one.

    None where the times of ops are only sampled: what looks idle there may not have been.
    """
    if trace.metadata.get(SAMPLED, 1) != 1:
        return []
    rows = device_rows(trace)
    pids: dict[int | str, int] = {}
    device = np.array([pids.setdefault(track.pid, len(pids)) for track in trace.tracks], dtype=np.int64)
    of_row = device[trace.slices.track[rows]] if len(rows) else rows
    names = {track.pid: track.process for track in trace.tracks if _OURS.fullmatch(track.process)}
    found = [
        _use(trace, names.get(pid, str(pid)), rows[of_row == number])
        for pid, number in pids.items()
        if np.any(of_row == number)
    ]
    return sorted(found, key=lambda use: -use.busy_ns)


def device_rows(trace: Trace) -> Int64s:
    """The slices that are work of devices."""
    is_op = op_slices(trace)
    rows = np.flatnonzero(of_category(trace, (*KERNELS, *_COPIES)) & ~is_op)
    return rows[nearest(trace, trace.slices.parent[rows], is_op) < 0]


def _use(trace: Trace, name: str, rows: Int64s) -> DeviceUse:
    slices = trace.slices
    copies = of_category(trace, _COPIES)[rows]
    talks = named(trace, COMMUNICATION)[rows] & ~copies
    compute, communication, copy = (
        Cover.union(slices.start[rows[chosen]], slices.duration[rows[chosen]])
        for chosen in (~(copies | talks), talks, copies)
    )
    busy = compute | communication | copy
    return DeviceUse(
        name=name,
        span_ns=int(busy.end[-1] - busy.start[0]) if len(busy) else 0,
        busy_ns=busy.total,
        idle_ns=busy.gaps.total,
        compute_ns=compute.total,
        communication_ns=communication.total,
        copy_ns=copy.total,
        exposed_communication_ns=(communication - compute).total,
        exposed_copy_ns=(copy - compute).total,
        idle=_idle(trace, rows, busy.gaps),
    )


def _idle(trace: Trace, rows: Int64s, gaps: Cover) -> tuple[IdleCause, ...]:
    """The gaps by cause and owner."""
    slices = trace.slices
    begin, end = gaps.start, gaps.end
    ended_by = rows[np.searchsorted(slices.start[rows], end)]
    launch = launchers(trace)[ended_by]
    known = launch >= 0
    launched = np.where(known, slices.start[np.maximum(launch, 0)], 0)
    cause = np.where(known, "host", "unknown").astype("<U9")
    for thread in np.unique(threads(trace)[slices.track[launch[known]]]).tolist():
        here = known & (threads(trace)[slices.track[np.maximum(launch, 0)]] == thread)
        covers = part_covers(trace, thread)
        for part in ("gc", "gil_wait", "data_wait"):
            cause[here & (2 * covers[part].within(begin, end) > end - begin)] = part
        syncs = np.flatnonzero(is_sync(trace) & (threads(trace)[slices.track] == thread))
        cause[here & (cause == "host") & _ran_dry(slices.start[syncs], slices.end[syncs], begin, launched)] = "sync"
    cause[known & (launched <= begin)] = "queue"
    op = nearest(trace, launch, op_slices(trace))
    owner = np.where(op >= 0, slices.name[np.maximum(op, 0)], slices.name[ended_by])
    found: dict[tuple[str, int], list[int]] = {}
    for key, ns in zip(zip(cause.tolist(), owner.tolist(), strict=True), (end - begin).tolist(), strict=True):
        found.setdefault(key, []).append(ns)
    causes = [IdleCause(why, trace.strings[name], len(ns), sum(ns)) for (why, name), ns in found.items()]  # type: ignore[arg-type]
    return tuple(sorted(causes, key=lambda cause: -cause.ns))


def _ran_dry(start: Int64s, end: Int64s, begin: Int64s, launched: Int64s) -> NDArray[np.bool_]:
    """Whether one of the synchronisations was under way when each gap began, and over when its end was launched."""
    if not len(start):
        return np.zeros(len(begin), dtype=bool)
    place = np.searchsorted(start, begin, side="right") - 1
    under_way = (place >= 0) & (end[np.maximum(place, 0)] >= begin)
    dry: NDArray[np.bool_] = under_way & (end[np.maximum(place, 0)] <= launched)
    return dry
