"""Memory over time."""

from dataclasses import dataclass

import numpy as np

from ..trace import Int64s, Trace
from .ops import MEMORY


@dataclass(frozen=True, slots=True)
class MemoryCurve:
    """Bytes in use and bytes reserved at each change; times ascend. Empty where the trace knows no memory."""

    time: Int64s  # ns
    allocated: Int64s
    reserved: Int64s
    peak_index: int  # of the first highest value of `allocated`, -1 where empty
    peak_bytes: int


def memory_curve(trace: Trace) -> MemoryCurve:
    """The curve of the counters `Allocated` and `Reserved`, else of the totals in torch's `[memory]` instants.

    Where a trace has several devices, the curve is of the one with the highest peak.
    """
    time, value = trace.counter("Allocated")
    if len(time):
        allocated = value.astype(np.int64)
        reserved = _at(time, *trace.counter("Reserved"))
    else:
        time, allocated, reserved = _from_instants(trace)
    if not len(time):
        return MemoryCurve(time, allocated, reserved, -1, 0)
    peak = int(np.argmax(allocated))
    return MemoryCurve(time, allocated, reserved, peak, int(allocated[peak]))


def _at(time: Int64s, change: Int64s, value: np.ndarray) -> Int64s:
    """The value that held at each time, 0 before the first change."""
    place = np.searchsorted(change, time, side="right") - 1
    held = np.where(place >= 0, value[np.maximum(place, 0)], 0) if len(change) else np.zeros(len(time))
    return held.astype(np.int64)


def _from_instants(trace: Trace) -> tuple[Int64s, Int64s, Int64s]:
    instants, args = trace.instants, trace.instant_args
    count = len(instants)
    rows = np.flatnonzero(instants.name == trace.string_id(MEMORY))
    if "Total Allocated" not in args or not len(rows):
        empty = np.empty(0, dtype=np.int64)
        return empty, empty, empty
    device = np.zeros(count, dtype=np.int64)
    for key in ("Device Type", "Device Id"):
        if key in args:
            device = device * 1024 + args[key].dense(count)
    allocated = args["Total Allocated"].dense(count)
    reserved = args["Total Reserved"].dense(count) if "Total Reserved" in args else np.zeros(count, dtype=np.int64)
    highest = rows[np.argmax(allocated[rows])]
    rows = rows[device[rows] == device[highest]]
    return instants.time[rows], allocated[rows], reserved[rows]
