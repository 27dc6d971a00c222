"""Replays: what another configuration of the caching allocator would have reserved for the same history."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .memory_history import UNKNOWN, MemoryHistory
from .replay_engine import Engine, OutOfMemory
from .trace import Float64s, Int64s, Json

RECORDED, DEFAULTS = "as recorded", "defaults"


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
    return _of(history, RECORDED, history.reserved[history.earlier :], history.device_allocations)


def replay(history: MemoryHistory, conf: str = "", capacity: int | None = None) -> Replay:
    """What our allocator would have had by `conf`, which is as in PERFLAB_ALLOC_CONF, on a device of `capacity` bytes.

    By default it begins with the segments that were there before the recording, where the recording tells them, and
    with their blocks where they were. Another configuration would not have come to these: it begins with the blocks
    alone, close together. Where the history gave cached memory back to the device, the replay empties its cache.
    Without a capacity the device has no end. Raises ReplayError for a configuration that there is not.
    """
    engine = Engine(conf, capacity)
    reserved: list[int] = []
    before = refused = 0
    try:
        engine.begin(history, as_it_was=not conf)
        before = engine.device_allocations
        for request in history.requests(slice(history.earlier, None)):
            engine.apply(*request)
            reserved.append(engine.reserved)
    except OutOfMemory as error:
        refused = error.bytes
    taken = engine.device_allocations - before
    return _of(history, conf or DEFAULTS, np.array(reserved, dtype=np.int64), taken, refused)


def _of(history: MemoryHistory, conf: str, reserved: Int64s, device_allocations: int, refused: int = 0) -> Replay:
    """From the beginning of the recording on."""
    kept = slice(history.earlier, history.earlier + len(reserved))
    return Replay(conf, history.time[kept], history.allocated[kept], reserved, device_allocations, refused)
