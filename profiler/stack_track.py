"""Samples of Python's stack, and the flame track that they become beside their thread."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .builder import TraceBuilder
from .importers.speedscope import stretches
from .trace import Int64s, Json

if TYPE_CHECKING:
    from pyinstrument.session import Session

_RECORDING = "(recording)\0\0"  # the frame that stands for the profiler's own at the end of a stack


def _frames_of(*names: str) -> tuple[str, ...]:
    """What is in frames of these files beside this one."""
    return tuple(f"\0{Path(__file__).with_name(name)}\0" for name in names)


# In frames that run a program or a cell, which begins above them.
_RUNS = _frames_of("program.py", "notebook.py")
_RECORDS = _frames_of(
    "session.py", "window.py", "recorder.py", "stacks.py", "gil.py", "family.py", "threads.py", "garbage.py",
    "resident.py", "torch_recorder.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StackRecord:
    """What was sampled of a thread from the tick `began` on."""

    thread: int
    began: int
    session: "Session"


class StackTrack:
    """Adds the slices of a record to a builder, stretch by stretch: each from the sample at which a function was first
    on the stack to the one at which it was last."""

    def __init__(
        self,
        record: StackRecord,
        builder: TraceBuilder,
        ns: Callable[[Int64s], Int64s],
        tracks: Callable[[int], int],
    ) -> None:
        frames: dict[str, int] = {}
        samples = []
        for stack, seconds in record.session.frame_records:
            # function, file and line by NUL; behind \x01 the line that ran; the first is the thread
            inner = [frame.split("\x01")[0] for frame in stack if "\0<thread>\0" not in frame]
            begins = [place + 1 for place, frame in enumerate(inner) if any(runs in frame for runs in _RUNS)]
            inner = _without_recording(inner[max(begins, default=0) :])
            samples.append(([frames.setdefault(frame, len(frames)) for frame in inner], round(seconds * 1e9)))
        began = int(ns(np.array([record.began]))[0])
        found = np.array(stretches(samples, began), dtype=np.int64).reshape(-1, 3)
        self._frame, self._start, self._end = found[np.argsort(found[:, 1], kind="stable")].T
        parts = [[*frame.split("\0"), "", ""][:3] for frame in frames]
        self._names = np.array([builder.string(name) for name, _, _ in parts], dtype=np.int64)
        self._files: list[Json] = [file for _, file, _ in parts]
        self._lines = np.array([int(line) if line.isdecimal() else 0 for _, _, line in parts], dtype=np.int64)
        self._builder, self._track = builder, tracks(record.thread)
        self._added = 0

    def add(self, until: float) -> None:
        """The slices that begin before `until`, and did not before."""
        first, self._added = self._added, int(np.searchsorted(self._start, until))
        frame, start, end = (column[first : self._added] for column in (self._frame, self._start, self._end))
        builder = self._builder
        category = builder.string("python_function")
        handles = builder.slices(start, end - start, self._track, self._names[frame], category) + np.arange(len(frame))
        builder.slice_args("file", handles, frame, table=self._files)
        builder.slice_args("line", handles, self._lines[frame])


def _without_recording(stack: list[str]) -> list[str]:
    """The profiler's own frames at the end of a stack as one."""
    own = len(stack)
    while own and any(records in stack[own - 1] for records in _RECORDS):
        own -= 1
    return stack if own == len(stack) else [*stack[:own], _RECORDING]
