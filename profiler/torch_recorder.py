"""torch's own recorder, run while a profile records: its ops, its memory, its devices.

torch has one recorder for the process, which records the thread that started it and the backward threads of its
passes, and which only that thread may stop. So all profiles of that thread share it, each with its own part; when one
of them ends while others go on, it stops and starts anew.
"""

import os
import tempfile
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ProfilerError
from .importers import read
from .torch_clock import Readings
from .torch_modules import MODULES, Part
from .trace import Json, Trace

if TYPE_CHECKING:
    from torch.profiler import profile as TorchProfile

CLOCK_PART = "perflab clock"  # the name of the parts by which the clocks are compared
READINGS = 16  # at the begin, and as many at the end
_MISSING = "torch=True records PyTorch's ops, and PyTorch is not installed: pip install 'perflab[torch]'"
_NO_KINETO = "torch=True needs a build of PyTorch with Kineto: torch.profiler.kineto_available() is False here"
# Why PyTorch's ops are not all in the trace.
_TAKEN = "the program started torch.profiler: PyTorch's ops from then on are in its trace alone"
_ALREADY = "torch.profiler records on this thread already: PyTorch's ops are in its trace alone"
_THREAD = "a profile of another thread has torch's recorder: PyTorch's ops are in its trace alone"
_ELSEWHERE = "the profile ended on another thread than it began on, where torch's recorder cannot be stopped"


@dataclass(frozen=True, eq=False)
class TorchPiece:
    """One run of torch's recorder, and our clock's readings (ticks) at its begin and at its end."""

    profiler: "TorchProfile"
    first: Readings
    last: Readings

    @cached_property
    def trace(self) -> Trace:
        """What torch recorded, on its own clock; read when it is first asked for."""
        with tempfile.TemporaryDirectory(prefix="perflab-") as folder:
            path = Path(folder) / "torch.json"
            self.profiler.export_chrome_trace(str(path))
            return read(path, mask=False).trace


@dataclass(eq=False)
class TorchRecord:
    """What torch recorded between two ticks, and why that may not be all."""

    began: int
    ended: int = 0
    pieces: list[TorchPiece] = field(default_factory=list)
    trouble: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there are no ops."""
        return not any(len(piece.trace.select(category="cpu_op")) > 2 * READINGS for piece in self.pieces)

    @property
    def notes(self) -> dict[str, Json]:
        """For the trace's metadata."""
        return {"torchTrouble": self.trouble} if self.trouble else {}


class TorchRecorder:
    """Has torch's ops recorded until stop(); `ticks` reads our clock, `module` makes a part for the call of a module.

    Raises ProfilerError where torch is not installed, or has no recorder. Where it cannot record now, the record and a
    RuntimeWarning say why.
    """

    def __init__(
        self, ticks: Callable[[], int], *, shapes: bool, memory: bool, module: Callable[[str], Part] | None = None
    ) -> None:
        self._ticks = ticks
        self._record = _RECORDER.begin(ticks, shapes, memory)
        self._modules = module is not None
        if module is not None:
            MODULES.watch(module)

    def stop(self) -> TorchRecord:
        """What was recorded."""
        if self._modules:
            MODULES.leave()
        self._record.ended = self._ticks()
        _RECORDER.end(self._record)
        if self._record.trouble:
            warnings.warn(f"profile: {self._record.trouble}", RuntimeWarning, stacklevel=4)
        return self._record


class _Run:
    """torch's recorder while it is on."""

    def __init__(self, ticks: Callable[[], int], shapes: bool, memory: bool) -> None:
        torch = _torch()
        self.thread = threading.get_ident()
        self._ticks, self._options = ticks, (shapes, memory)
        self._part = torch._C._profiler._RecordFunctionFast(CLOCK_PART)
        self._profiler = torch.profiler.profile(
            record_shapes=shapes, profile_memory=memory, experimental_config=_config(torch)
        )
        self._profiler.start()
        self._first = self._readings()

    def stop(self) -> TorchPiece:
        last = self._readings()
        self._profiler.stop()
        return TorchPiece(self._profiler, self._first, last)

    def again(self) -> "_Run":
        """Another one like it."""
        return _Run(self._ticks, *self._options)

    def _readings(self) -> Readings:
        ticks, part, rows = self._ticks, self._part, []
        for _ in range(READINGS):
            before = ticks()
            with part:
                between = ticks()
            rows.append((before, between, ticks()))
        return np.array(rows, dtype=np.int64)


class _SharedRecorder:
    """torch's recorder, for all profiles that want its ops at once."""

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._open: list[TorchRecord] = []
        self._run: _Run | None = None
        self._prepare: Callable[..., object] | None = None  # of torch.profiler, while ours stands in its place

    def begin(self, ticks: Callable[[], int], shapes: bool, memory: bool) -> TorchRecord:
        """A record, to which what is recorded from now on belongs."""
        with self._lock:
            if self._is_mine() and not self._open:
                self._stop()  # left on by a profile that ended on another thread
            if self._run is not None and not self._is_mine():
                return TorchRecord(ticks(), trouble=_THREAD)
            if self._run is None and _torch().autograd._profiler_enabled():
                return TorchRecord(ticks(), trouble=_ALREADY)
            if self._run is None:
                self._start(_Run(ticks, shapes, memory))
            record = TorchRecord(ticks())
            self._open.append(record)
            return record

    def end(self, record: TorchRecord) -> None:
        """Give the record its pieces."""
        with self._lock:
            if record not in self._open:
                return
            if self._run is not None and not self._is_mine():
                record.trouble = _ELSEWHERE
                self._open.remove(record)
                return
            run = self._run
            self._stop()
            self._open.remove(record)
            if run is not None and self._open:
                self._start(run.again())

    def _is_mine(self) -> bool:
        """Whether it is on, and this thread started it."""
        return self._run is not None and self._run.thread == threading.get_ident()

    def _start(self, run: _Run) -> None:
        """From now on it is on, and gives way where the program starts torch.profiler: two at once end in a crash."""
        self._run = run
        theirs = _torch().autograd.profiler.profile
        self._prepare = prepare = theirs._prepare_trace

        def give_way(profiler: object) -> object:
            self._give_way()
            return prepare(profiler)

        theirs._prepare_trace = give_way

    def _stop(self) -> None:
        run = self._leave()
        if run is not None:
            piece = run.stop()
            for record in self._open:
                record.pieces.append(piece)

    def _leave(self) -> _Run | None:
        """It is no longer ours; the run that was."""
        run, self._run = self._run, None
        if run is not None:
            _torch().autograd.profiler.profile._prepare_trace = self._prepare
        return run

    def _give_way(self) -> None:
        with self._lock:
            for record in self._open:
                record.trouble = _TAKEN
            if self._is_mine():
                self._stop()
            else:  # and cannot be stopped from here: what it recorded is lost
                self._leave()


_RECORDER = _SharedRecorder()


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ProfilerError(_MISSING) from error
    import torch.autograd.profiler
    import torch.profiler

    if not torch.profiler.kineto_available():
        raise ProfilerError(_NO_KINETO)
    return torch


def _config(torch: Any) -> Any:
    """As much as is needed for a trace; releases before 2.11 know no such option."""
    try:
        return torch._C._profiler._ExperimentalConfig(trace_only=True)
    except TypeError:
        return None
