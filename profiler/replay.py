"""Replays: what another configuration of the caching allocator would have reserved for the same history.

The engine is the allocator that the runtime uses, over a device of paper: it hands out addresses and no memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perflab.runtime import _core
from perflab.runtime.alloc_conf import parse_alloc_conf
from perflab.runtime.errors import ArgumentError, OutOfMemoryError

from .errors import ReplayError
from .memory_history import UNKNOWN, Kind, MemoryHistory
from .trace import Float64s, Int64s, Json

RECORDED, DEFAULTS = "as recorded", "defaults"
_ENDLESS = 1 << 44  # bytes: more than any device has


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What an allocator had of the device while it served a history, from the beginning of the recording on.

    `allocated` is what was in use, as it was asked for: the same for every configuration. Where the device had not
    enough, `refused` is what was asked for then, and the curves end there; else it is 0.
    """

    conf: str
    time: Int64s  # ns
    allocated: Int64s  # bytes
    reserved: Int64s  # bytes
    device_allocations: int  # how often the device gave memory
    refused: int = 0  # bytes

    @property
    def peak_reserved(self) -> int:
        return int(self.reserved.max(initial=0))

    @property
    def peak_allocated(self) -> int:
        return int(self.allocated.max(initial=0))

    @property
    def fragmentation(self) -> Float64s:
        """The share of what was reserved that nothing was in, at each moment."""
        return 1 - self.allocated / np.maximum(self.reserved, 1)

    @property
    def peak_fragmentation(self) -> float:
        """That share when most was reserved."""
        return float(self.fragmentation[np.argmax(self.reserved)]) if len(self.time) else 0.0

    @property
    def mean_fragmentation(self) -> float:
        """That share over time."""
        held = np.diff(self.time, append=self.time[-1:])
        return float(np.average(self.fragmentation, weights=held if held.any() else None)) if len(held) else 0.0

    def facts(self) -> dict[str, Json]:
        """The same as JSON has it."""
        return {
            "conf": self.conf,
            "peak_reserved_bytes": self.peak_reserved,
            "peak_allocated_bytes": self.peak_allocated,
            "peak_fragmentation": self.peak_fragmentation,
            "mean_fragmentation": self.mean_fragmentation,
            "device_allocations": self.device_allocations,
            "refused_bytes": self.refused,
            "time_ns": self.time.tolist(),
            "allocated_bytes": self.allocated.tolist(),
            "reserved_bytes": self.reserved.tolist(),
        }


def replays(history: MemoryHistory, confs: Sequence[str] = (), capacity: int | None = None) -> list[Replay]:
    """What the allocator that was recorded had, where the recording tells it, then ours by default and by each of
    `confs`; see `replay`."""
    found = [recorded(history), *(replay(history, conf, capacity) for conf in ("", *confs))]
    return [one for one in found if one is not None]


def recorded(history: MemoryHistory) -> Replay | None:
    """What the allocator that was recorded had; None where the recording does not tell."""
    if history.device_allocations == UNKNOWN:
        return None
    return _since(history, RECORDED, history.reserved, history.device_allocations)


def replay(history: MemoryHistory, conf: str = "", capacity: int | None = None) -> Replay:
    """What our allocator would have had by `conf`, which is as in PERFLAB_ALLOC_CONF, on a device of `capacity` bytes.

    What was there before the recording began is allocated first, and so lies as close as it can. Where the history gave
    cached memory back to the device, the replay empties its cache. Without a capacity the device has no end. Raises
    ReplayError for a configuration that there is not.
    """
    try:
        options = parse_alloc_conf(conf)
    except ArgumentError as error:
        raise ReplayError(str(error)) from None
    engine = _core.AllocatorReplay(_ENDLESS if capacity is None else capacity, options)
    blocks: dict[int, int] = {}
    reserved: list[int] = []
    before = refused = 0
    rows = zip(*(column.tolist() for column in (history.kind, history.id, history.bytes, history.stream)), strict=True)
    for row, (kind, number, size, stream) in enumerate(rows):
        if row == history.earlier:
            before = engine.stats()["num_device_alloc"]
        if kind == Kind.ALLOC:
            try:
                blocks[number] = engine.allocate(size, stream)
            except OutOfMemoryError:
                refused = size
                break
        elif kind == Kind.FREE:
            engine.free(blocks.pop(number))
        else:
            engine.empty_cache()
        reserved.append(engine.reserved)
    taken = engine.stats()["num_device_alloc"] - before
    return _since(history, conf or DEFAULTS, np.array(reserved, dtype=np.int64), taken, refused)


def _since(history: MemoryHistory, conf: str, reserved: Int64s, device_allocations: int, refused: int = 0) -> Replay:
    """From the beginning of the recording on."""
    kept = slice(history.earlier, len(reserved))
    return Replay(conf, history.time[kept], history.allocated[kept], reserved[kept], device_allocations, refused)
