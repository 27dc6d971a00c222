"""profile() and record_function(): the part of the profiler that records with the runtime."""

import functools
import itertools
import os
import platform
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

import numpy as np

from perflab.runtime import _core
from perflab.runtime.spec import DTYPES

from . import chrome
from .analysis.averages import Averages, key_averages
from .analysis.groups import GroupBy
from .costs import cost
from .errors import ProfileStateError
from .events import STEP_MARK
from .garbage import GarbageRecorder
from .gil import GilRecorder
from .recording import Clock, Events, Recording, to_pages, to_trace
from .resident import ResidentMemory
from .schedule import ProfilerAction, Schedule, always
from .stacks import StackRecord, StackRecorder
from .torch_recorder import TorchRecorder
from .trace import Json, Trace

_MAX_EVENTS = 10_000_000  # of 64 bytes each; further ones are counted as dropped

P = ParamSpec("P")
R = TypeVar("R")


class profile:
    """Records what happens inside it.

        with profile(schedule=schedule(wait=1, warmup=1, active=5), on_trace_ready=save) as prof:
            for batch in batches:
                train(batch)
                prof.step()

    Without a schedule everything from beginning to end is recorded; with one, the steps that it names. At the end of
    each recorded window `on_trace_ready(prof)` is called, and `trace` is that of the window. `metadata` (commit,
    branch, project, machine, ...) goes into the trace. The GIL is recorded for every thread of the process; where that
    cannot be, a RuntimeWarning says why. Profiles may run inside each other and in several threads at once: each sees
    what happens in the process while it records, and its own steps. `with_stack`: pyinstrument samples this thread's
    Python stack each millisecond (ProfilerError where it is not installed); it starts and stops on this thread then.
    `torch`: torch's own recorder runs too, for this thread and its backward passes, and what it records lies in the
    same trace on the same clock (ProfilerError where PyTorch is not installed); see docs/torch.md.
    """

    def __init__(
        self,
        *,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[["profile"], object] | None = None,
        record_shapes: bool = True,
        profile_memory: bool = True,
        with_stack: bool = False,
        torch: bool = False,
        metadata: Mapping[str, Json] | None = None,
    ) -> None:
        self.step_num = 0
        self._schedule = schedule or always
        self._on_trace_ready = on_trace_ready
        self._shapes = record_shapes
        self._memory = profile_memory
        self._with_stack = with_stack
        self._torch = torch
        self._metadata = {**(metadata or {}), "versions": _versions()}
        self._action = ProfilerAction.NONE
        self._window: _Window | None = None
        self._recording: Recording | None = None
        self._trace: Trace | None = None
        self._stacks: StackRecord | None = None
        self._step_began = 0
        self._running = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Begin step 0."""
        self._change_to(self._schedule(self.step_num))
        self._running = True
        self._step_began = _core.recorder_ticks()

    def step(self) -> None:
        """The step is over and the next one begins. Raises ProfileStateError before start() and after stop()."""
        if not self._running:
            raise ProfileStateError("step() belongs inside the profile's with block: this profile is not running")
        if self._window is not None:
            self._window.mark_step(self.step_num, self._step_began)
        self.step_num += 1
        self._change_to(self._schedule(self.step_num))
        self._step_began = _core.recorder_ticks()

    def stop(self) -> None:
        """End the window, if one is open. The step that is under way gets no mark: it is not whole."""
        self._running = False
        self._change_to(ProfilerAction.NONE)

    @property
    def trace(self) -> Trace:
        """The trace of the last window. Raises ProfileStateError before one has ended."""
        if self._recording is not None:
            self._trace = to_trace(self._take_recording(), shapes=self._shapes, memory=self._memory)
        if self._trace is None:
            raise ProfileStateError(
                "there is no trace yet: read it in on_trace_ready or after the with block,"
                " and check that the loop reaches the schedule's active steps"
            )
        return self._trace

    def _take_recording(self) -> Recording:
        """The recording, which nobody holds any longer."""
        assert self._recording is not None
        recording, self._recording = self._recording, None
        return recording

    def key_averages(self, group_by: GroupBy = "op") -> Averages:
        """Averages over the last window: by op, or by another of the words of `GroupBy`."""
        return key_averages(self.trace, group_by)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the last window as Chrome JSON, compressed where the name ends in `.gz`."""
        if self._recording is None:
            chrome.write(self.trace, path)
        else:  # what is only written need not be made whole
            chrome.write(to_pages(self._recording, shapes=self._shapes, memory=self._memory), path)

    def export_stacks(self, path: str | os.PathLike[str]) -> None:
        """Write the samples of `with_stack` over the last window as pyinstrument's own file, for `pyinstrument --load`.

        Raises ProfileStateError where there are none.
        """
        if self._stacks is None:
            raise ProfileStateError("there are no samples yet: say profile(with_stack=True), and call this afterwards")
        self._stacks.session.save(path)

    def _change_to(self, action: ProfilerAction) -> None:
        before, self._action = self._action, action
        records = action in _RECORDED
        if (before is ProfilerAction.RECORD and records) or (before is action is ProfilerAction.WARMUP):
            assert self._window is not None
            self._window.sample_memory()
            return
        window, self._window = self._window, None
        if window is not None and before in _RECORDED:
            self._save(window.end(self._metadata))
        elif window is not None:
            window.discard()
        if action is not ProfilerAction.NONE:
            self._window = _Window(self._begin_torch(), self._with_stack)

    def _begin_torch(self) -> TorchRecorder | None:
        if not self._torch:
            return None
        return TorchRecorder(_core.recorder_ticks, shapes=self._shapes, memory=self._memory)

    def _save(self, recording: Recording) -> None:
        if (self._recording or self._trace) and recording.is_empty:
            return  # the loop ended with a window: what came after it must not take its place
        self._recording, self._trace, self._stacks = recording, None, recording.stack
        if self._on_trace_ready is not None:
            self._on_trace_ready(self)


_RECORDED = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


@dataclass(frozen=True, eq=False, slots=True)
class _Share:
    """A window's part of the recorder: what ends from `tick` on. `first`: nothing was recorded before it."""

    number: int
    tick: int
    dropped: int
    first: bool


class _SharedRecorder:
    """The recorder, for all windows that are open at once: each takes its own part, and none empties it."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # there the recorder is off

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._open: set[_Share] = set()
        self._several = False  # of them, at some time since the recorder went on
        self._kept: list[tuple[int, Events]] = []

    def begin(self) -> _Share:
        with self._lock:
            first = not self._open
            if first:
                if _core.is_recording():
                    raise ProfileStateError("something else records with perflab's runtime; end it first")
                _core.recorder_start(_MAX_EVENTS)
            self._several = not first
            share = _Share(next(self._numbers), _core.recorder_ticks(), _core.recorder_dropped(), first)
            self._open.add(share)
            return share

    def end(self, share: _Share) -> tuple[list[tuple[int, Events]], int]:
        """The window's events by thread, and how many were dropped; nothing in a forked child."""
        with self._lock:
            if share not in self._open:
                return [], 0
            self._open.remove(share)
            if not self._open:
                _core.recorder_stop()
            self._kept += _core.recorder_drain()
            events = _part(self._kept, share) if self._several else self._kept
            oldest = min((other.tick for other in self._open), default=None)
            self._kept = [one for one in self._kept if oldest is not None and one[1]["t2"].max(initial=0) >= oldest]
            return events, _core.recorder_dropped() - share.dropped


def _part(recorded: list[tuple[int, Events]], share: _Share) -> list[tuple[int, Events]]:
    """Without what ended before, and without the steps of other profiles."""
    parts = []
    for thread, events in recorded:
        other = (events["kind"] == STEP_MARK) & (events["sequence"] != share.number)
        if not share.first:
            other |= events["t2"] < share.tick
        parts.append((thread, events[~other] if other.any() else events))
    return parts


_RECORDER = _SharedRecorder()


class _Window:
    """A stretch of time in which the recorder is on."""

    def __init__(self, torch: TorchRecorder | None, with_stack: bool) -> None:
        self._torch = torch
        self._stack = StackRecorder() if with_stack else None
        self._share = _RECORDER.begin()
        memory = _core.memory_stats()
        self._allocated = memory["allocated_bytes"]
        self._reserved = [(_core.recorder_ticks(), memory["reserved_bytes"])]
        self._resident = ResidentMemory()
        self._resident.sample(_core.recorder_ticks())
        self._garbage = GarbageRecorder(_core.recorder_ticks)
        self._gil = GilRecorder()
        if self._stack is not None:
            self._stack.start(_core.recorder_ticks())

    def mark_step(self, number: int, began: int) -> None:
        _core.recorder_push(STEP_MARK, number, began, _core.recorder_ticks(), self._share.number)

    def sample_memory(self) -> None:
        now = _core.recorder_ticks()
        self._reserved.append((now, _core.memory_stats()["reserved_bytes"]))
        self._resident.sample(now)

    def discard(self) -> None:
        if self._stack is not None:
            self._stack.stop()
        self._gil.stop()
        self._garbage.stop()
        self._resident.stop(0)
        _RECORDER.end(self._share)
        if self._torch is not None:
            self._torch.stop()

    def end(self, metadata: dict[str, Json]) -> Recording:
        stack = self._stack.stop() if self._stack is not None else None
        self.sample_memory()
        gil = self._gil.stop()
        collections = self._garbage.stop()
        resident = self._resident.stop(_core.recorder_ticks())
        events, dropped = _RECORDER.end(self._share)
        torch = self._torch.stop() if self._torch is not None else None
        return Recording(
            events=events,
            clock=Clock(*_core.recorder_clock()),
            pid=os.getpid(),
            ops=_core.op_names(),
            dtypes=[dtype.name for dtype in DTYPES],
            strings=_core.interned(),
            shapes=_core.shapes(),
            threads=gil.threads,
            cost=cost,
            allocated_bytes=self._allocated,
            reserved=self._reserved,
            resident=resident,
            collections=collections,
            stack=stack,
            torch=torch,
            gil=gil,
            metadata=metadata
            | gil.notes
            | (torch.notes if torch else {})
            | ({"droppedEvents": dropped} if dropped else {}),
        )


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    try:
        versions["perflab"] = version("perflab")
    except PackageNotFoundError:  # imported from a source tree that is not installed
        pass
    return versions


class record_function(_core.Annotation):
    """Names a part of the program on the timeline: `with record_function("forward"):` or `@record_function("load")`.

    Raises TypeError where the name is no str.
    """

    __slots__ = ()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Each call of `function` is a part of that name."""

        @functools.wraps(function)
        def named(*args: P.args, **kwargs: P.kwargs) -> R:
            with record_function(self.name):
                return function(*args, **kwargs)

        return named
