"""Timelines of traces that were looked at, and their tiles as they are sent."""

import gzip
from functools import lru_cache
from threading import Lock

import orjson

from perflab.dashboards.tiles import tile
from perflab.dashboards.timeline import Timeline

from .lab import RECENT_TRACES, LocalLab

RECENT_TILES = 512


class Timelines:
    """Makes a timeline when it is first asked for, and keeps the last ones. Raises NotFound for an unknown trace."""

    def __init__(self, lab: LocalLab) -> None:
        # A page asks for several tiles at once: the first to come reads the trace, the others wait for it.
        self._lock = Lock()
        self._recent = lru_cache(RECENT_TRACES)(lambda id: Timeline(lab.read_trace(id)))
        self._tiles = lru_cache(RECENT_TILES)(self._made)

    def of(self, id: int) -> Timeline:
        """The timeline of a trace."""
        with self._lock:
            return self._recent(id)

    def tile(self, id: int, start: int, end: int, width: int) -> bytes:
        """A tile as gzipped JSON."""
        return self._tiles(id, start, end, width)

    def _made(self, id: int, start: int, end: int, width: int) -> bytes:
        text = orjson.dumps(tile(self.of(id), start, end, width), option=orjson.OPT_SERIALIZE_NUMPY)
        return gzip.compress(text, compresslevel=1)
