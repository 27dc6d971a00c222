"""Collections of Python's cyclic garbage: noted as they happen, and put on the timeline of their threads."""

import gc
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .analysis.garbage import CATEGORY, COLLECTED, GENERATION
from .builder import TraceBuilder
from .trace import Int64s

_LIMIT = 200_000  # further ones are not noted


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection, in ticks; `collected` objects were freed, `uncollectable` ones could not be."""

    thread: int
    began: int
    ended: int
    generation: int
    collected: int
    uncollectable: int


class GarbageRecorder:
    """Notes every collection until stop(); `ticks` reads the clock, `after` is called with when each was over."""

    def __init__(self, ticks: Callable[[], int], after: Callable[[int], object]) -> None:
        self._ticks, self._after = ticks, after
        self._began = 0
        self._collections: list[Collection] = []
        gc.callbacks.append(self._note)

    def read(self) -> list[Collection]:
        """What was noted so far, in the order of time."""
        return list(self._collections)

    def forget(self, tick: int) -> None:
        """Collections that ended before `tick` are not wanted any longer."""
        self._collections = [one for one in self._collections if one.ended >= tick]

    def stop(self) -> None:
        """Note no more."""
        gc.callbacks.remove(self._note)

    def _note(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":  # there is never more than one at a time
            self._began = self._ticks()
        elif self._began and len(self._collections) < _LIMIT:
            ended, began, self._began = self._ticks(), self._began, 0
            counts = (info["generation"], info["collected"], info["uncollectable"])
            self._collections.append(Collection(threading.get_native_id(), began, ended, *counts))
            self._after(ended)


class GarbageTrack:
    """Adds collections to a builder, stretch by stretch, on the tracks of their threads."""

    def __init__(
        self,
        collections: Sequence[Collection],
        builder: TraceBuilder,
        ns: Callable[[Int64s], Int64s],
        tracks: Callable[[int], int],
    ) -> None:
        self._builder, self._collections = builder, collections
        self._start, end = (
            ns(np.array([getattr(one, name) for one in collections], dtype=np.int64)) for name in ("began", "ended")
        )
        self._duration = end - self._start
        self._track = np.array([tracks(one.thread) for one in collections], dtype=np.int32)
        self._added = 0

    def add(self, until: float) -> None:
        """Those that begin before `until`, and did not before."""
        first, self._added = self._added, int(np.searchsorted(self._start, until))
        new, found = slice(first, self._added), self._collections[first : self._added]
        if not found:
            return
        builder = self._builder
        names = [builder.string(f"gc generation {one.generation}") for one in found]
        handle = builder.slices(
            self._start[new], self._duration[new], self._track[new], np.array(names), builder.string(CATEGORY)
        )
        handles = np.arange(handle, handle + len(found))
        for key, values in (
            (GENERATION, [one.generation for one in found]),
            (COLLECTED, [one.collected for one in found]),
            ("Uncollectable", [one.uncollectable for one in found]),
        ):
            builder.slice_args(key, handles, np.array(values, dtype=np.int64))
