"""The tables of traces as files of Parquet: made when a question first mentions them, then kept beside the blobs."""

import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Event

from perflab.profiler.errors import QuestionStopped
from perflab.profiler.trace import Trace
from perflab.profiler.trace_tables import VERSION, write

from .blobs import Blobs


class TraceFiles:
    """Finds and makes them."""

    def __init__(self, blobs: Blobs, read: Callable[[str], Trace]) -> None:
        """`read` gives the trace that is kept by a name."""
        self._blobs = blobs
        self._read = read

    def paths(self, names: dict[int, str], table: str, scratch: Path, stop: Event | None = None) -> dict[int, Path]:
        """The file of a table for each trace; those that lie nowhere as a file are put in `scratch`."""
        found = {}
        for number, name in names.items():
            if stop is not None and stop.is_set():
                raise QuestionStopped("nobody waits for the answer any more; ask again")
            found[number] = self._path(name, table, scratch)
        return found

    def _path(self, trace: str, table: str, scratch: Path) -> Path:
        name = f"{trace}.{table}.{VERSION}.parquet"
        if (kept := self._kept(name, scratch)) is not None:
            return kept
        made = scratch / name
        write(self._read(trace), table, made)
        with open(made, "rb") as source:
            self._blobs.keep_derived(name, lambda target: shutil.copyfileobj(source, target))
        return made

    def _kept(self, name: str, scratch: Path) -> Path | None:
        file = self._blobs.open_derived(name)
        if file is None:
            return None
        with file:
            at = getattr(file, "name", None)
            if isinstance(at, str) and Path(at).is_file():
                return Path(at)
            with open(scratch / name, "wb") as copy:
                shutil.copyfileobj(file, copy)
        return scratch / name
