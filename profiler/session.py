"""profile() and record_function(): the part of the profiler that records with the runtime."""

import functools
import os
import platform
import threading
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

import numpy as np

from perflab.runtime import _core

from . import chrome
from .analysis.averages import Averages, key_averages
from .analysis.groups import GroupBy
from .conversion import to_pages, to_trace
from .errors import ProfileStateError
from .family import FAMILY
from .identity import identity
from .recorder import RECORDER
from .recording import Recording
from .ring import Ring, RingSteps
from .schedule import ProfilerAction, Schedule, always
from .stack_track import StackRecord
from .torch_recorder import TorchRecorder
from .trace import Json, Trace
from .window import Window

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
    what happens in the process while it records, and its own steps. Any thread may stop them. Forked children are
    recorded too (docs/recording.md); there the profile itself does nothing. `with_stack`: this thread's Python stack is
    sampled each millisecond, for pyinstrument (ProfilerError where it is not installed); the samples of a thread that
    is not the main one are lost where another thread stops the profile. `record_stacks`: each op and allocation has
    Python's whole stack, each backward slice the line of its forward op. `max_events`: so many of 64 bytes are kept,
    further ones are counted and told; of profiles inside each other the limit of the outermost holds. `ring` keeps the
    last steps alone (see `Ring`), with no schedule, stacks or torch (ValueError). `budget`: the share of the time that
    recording may take (0.02); where events cost more between two steps, stacks and then shapes are left out, of all
    profiles that run, and the trace says so. `torch`: torch's own recorder runs too, for this thread and its backward
    passes, and what it records lies in the same trace on the same clock (ProfilerError where PyTorch is not installed);
    see docs/torch.md. `with_modules`: calls of torch's modules are there, too, and ops belong to them.
    """

    def __init__(
        self,
        *,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[["profile"], object] | None = None,
        record_shapes: bool = True,
        profile_memory: bool = True,
        with_stack: bool = False,
        record_stacks: bool = False,
        torch: bool = False,
        with_modules: bool = False,
        metadata: Mapping[str, Json] | None = None,
        max_events: int = 10_000_000,
        ring: Ring | None = None,
        budget: float | None = None,
    ) -> None:
        if max_events < 1:
            raise ValueError(f"profile: max_events is {max_events}; keep at least one")
        if budget is not None and not 0 < budget < 1:
            raise ValueError(f"profile: budget is {budget}; it is a share of the time, such as 0.02")
        if with_modules and not torch:
            raise ValueError("profile: with_modules is of torch's modules: say torch=True, too")
        if ring is not None and (schedule is not None or with_stack or torch):
            raise ValueError("profile: a ring keeps the last steps of all; leave out schedule=, with_stack= and torch=")
        self.step_num = 0
        self._schedule = schedule or always
        self._on_trace_ready = on_trace_ready
        self._shapes = record_shapes
        self._memory = profile_memory
        self._with_stack = with_stack
        self._record_stacks = record_stacks
        self._torch, self._modules = torch, with_modules
        self._metadata = {**(metadata or {}), **identity(), "versions": _versions()}
        self._max_events = max_events
        self._budget = budget
        self._ring = RingSteps(ring, self.dump) if ring else None
        self._lock, self._saving = threading.RLock(), threading.RLock()
        self._action = ProfilerAction.NONE
        self._window: Window | None = None
        self._recording: Recording | None = None
        self._trace: Trace | None = None
        self._stacks: StackRecord | None = None
        self._step_began = self._thread = 0  # tick, and in which thread the steps are
        self._pid = 0  # of the process in which it runs; 0: it does not

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop(f"{kind.__name__}: {error}" if kind is not None and issubclass(kind, Exception) else "")

    def start(self) -> None:
        """Begin step 0."""
        RECORDER.costs()  # now, as nothing is recorded yet
        if self._ring is not None:
            self._ring.start()
        if not self._pid:
            FAMILY.enter()
        try:
            self._change_to(self._schedule(self.step_num))
        except BaseException:
            if not self._pid:
                FAMILY.leave()
            if self._ring is not None:
                self._ring.stop()
            raise
        self._pid = os.getpid()
        self._thread = threading.get_native_id()
        self._step_began = _core.recorder_ticks()

    def step(self) -> None:
        """The step is over and the next one begins. Raises ProfileStateError before start() and after stop()."""
        if not self._pid:
            raise ProfileStateError("step() belongs inside the profile's with block: this profile is not running")
        if self._pid != os.getpid():
            return
        window, ended = self._window, _core.recorder_ticks()
        if window is not None:
            window.mark_step(self.step_num, self._step_began, ended)
            if self._ring is not None:
                self._ring.add(window, self.step_num, self._step_began, ended)
        self._thread = threading.get_native_id()
        self.step_num += 1
        self._change_to(self._schedule(self.step_num))
        self._step_began = _core.recorder_ticks()

    def dump(self, reason: str = "dump() was called") -> None:
        """Make what was recorded so far the trace, call `on_trace_ready`, and go on; any thread may call it.

        `reason` goes into the trace's metadata. Raises ProfileStateError where nothing is recorded now, or stacks are.
        """
        window = self._window
        if window is None or self._action not in _RECORDED or self._pid != os.getpid():
            raise ProfileStateError("dump() saves what is being recorded, and nothing is now")
        if self._with_stack or self._torch:
            raise ProfileStateError("dump() cannot read what with_stack and torch record: leave them out")
        if self._ring is not None:
            window.forget(self._ring.begin)
        self._save(window.take({**self._metadata, "reason": reason}))

    def stop(self) -> None:
        """End the window, if one is open. The step that is under way gets no mark: it is not whole."""
        self._stop("")

    def _stop(self, reason: str) -> None:
        if self._pid and self._pid != os.getpid():
            return
        if self._pid:
            FAMILY.leave()
        self._pid = 0
        if self._ring is not None:
            self._ring.stop()
            if self._window is not None:
                self._window.forget(self._ring.begin)
        self._change_to(ProfilerAction.NONE, reason)

    def begin_steps(self) -> None:
        """Step 0 begins now: what came before belongs to no step."""
        self._step_began = _core.recorder_ticks()

    def record_torch(self) -> None:
        """Torch's ops are recorded from now on, as with `torch=True`: for a program that has just imported it."""
        self._torch = True
        if self._window is not None:
            self._window.record_torch(self._begin_torch)

    @property
    def trace(self) -> Trace:
        """The trace of the last window. Raises ProfileStateError before one has ended."""
        with self._saving:
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

    def _change_to(self, action: ProfilerAction, reason: str = "") -> None:
        with self._lock:
            before, self._action, window = self._action, action, self._window
            goes_on = before is ProfilerAction.RECORD and action in _RECORDED
            if window is not None and (goes_on or before is action is ProfilerAction.WARMUP):
                window.sample_memory()
                return
            self._window = None
        try:
            if window is not None and before in _RECORDED:
                self._save(window.end(self._metadata | ({"reason": reason} if reason else {})))
            elif window is not None:
                window.close()
        finally:
            if action is not ProfilerAction.NONE:
                self._open(action)

    def _open(self, action: ProfilerAction) -> None:
        window = Window(self._max_events, self._begin_torch, self._with_stack, self._record_stacks, self._budget)
        with self._lock:
            if self._action is action and self._window is None:
                self._window = window
                return
        window.close()  # another thread was faster

    def _begin_torch(self) -> TorchRecorder | None:
        if not self._torch:
            return None
        module = _core.Annotation if self._modules else None
        return TorchRecorder(_core.recorder_ticks, shapes=self._shapes, memory=self._memory, module=module)

    def _save(self, recording: Recording) -> None:
        with self._saving:
            if not self._pid and (self._recording or self._trace) and recording.is_between_steps(self._thread):
                return  # the loop ended with a window: what came after it must not take its place
            self._recording, self._trace, self._stacks = recording, None, recording.stack
            if self._on_trace_ready is not None:
                self._on_trace_ready(self)


_RECORDED = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


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
