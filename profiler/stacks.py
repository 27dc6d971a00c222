"""Python's stack, sampled each millisecond, as a session of pyinstrument.

The main thread's is sampled by the runtime (core/py_sampler.h), which costs the program next to nothing. On other
threads, and where the interpreter cannot be asked to call back, pyinstrument's sampler looks at each call and return.
"""

import atexit
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING, Protocol

from perflab.runtime import _core

from .errors import ProfilerError
from .recording import Clock
from .stack_track import StackRecord

if TYPE_CHECKING:
    from pyinstrument.session import Session

_INTERVAL_S = 0.001
_TRIES = 3
# Frames of a session: function, file and line by NUL, then what may differ from call to call.
_CLASS, _LINE = "\x01c", "\x01l"
_LOCAL = "<locals>"


class _Sampler(Protocol):
    """Runs from its making on."""

    @property
    def may_stop(self) -> bool:
        """Whether stop() can be called on this thread."""

    def spent_ns(self) -> float:
        """About what its samples took so far."""

    def stop(self) -> None:
        """Once."""

    def session(self) -> "Session | None":
        """What was sampled until stop(); None where that could not be."""


class StackRecorder:
    """Samples the stack of the thread that calls start(), until stop().

    Raises ProfilerError where pyinstrument is not installed.
    """

    def __init__(self) -> None:
        try:
            import pyinstrument  # noqa: F401
        except ImportError as error:
            raise ProfilerError("with_stack needs pyinstrument: pip install 'perflab[stacks]'") from error
        self._sampler: _Sampler | None = None
        self._thread = self._began = 0
        self._is_over = False

    @property
    def may_stop(self) -> bool:
        """Whether it runs, and can be stopped on this thread."""
        return self._sampler is not None and not self._is_over and self._sampler.may_stop

    def start(self, tick: int) -> None:
        """Begin, now."""
        self._thread, self._began = threading.get_native_id(), tick
        self._sampler = _sampler(tick)

    def spent_ns(self) -> float:
        """About what the samples took so far."""
        return self._sampler.spent_ns() if self._sampler is not None else 0.0

    def stop(self) -> None:
        """End; the second time in vain. Warns where it cannot be stopped on this thread: then the samples are lost."""
        if self._sampler is not None and not self._is_over:
            self._is_over = True
            self._sampler.stop()

    def read(self) -> StackRecord | None:
        """What was sampled until stop()."""
        session = self._sampler.session() if self._sampler is not None else None
        return StackRecord(self._thread, self._began, session) if session is not None else None


def _sampler(tick: int) -> _Sampler:
    if threading.current_thread() is threading.main_thread():
        try:
            return _OfMainThread(tick)
        except ValueError:  # the interpreter cannot be asked to call back
            pass
    return _OfThread()


class _OfMainThread:
    """The runtime's sampler. Any thread may stop it."""

    may_stop = True

    def __init__(self, tick: int) -> None:
        from pyinstrument.stack_sampler import build_call_stack

        self._start_stack = build_call_stack(sys._getframe(1), "initial", None)
        self._tick, self._start_time, self._start_cpu_time = tick, time.time(), time.process_time()
        self._duration = self._cpu_time = 0.0
        self._core = _core.StackSampler(_INTERVAL_S)
        atexit.register(self.stop)  # its thread must not call an interpreter that ends

    def spent_ns(self) -> float:
        return self._core.spent * Clock(*_core.recorder_clock()).ns_per_tick

    def stop(self) -> None:
        self._core.stop()
        atexit.unregister(self.stop)
        self._duration, self._cpu_time = time.time() - self._start_time, time.process_time() - self._start_cpu_time

    def session(self) -> "Session":
        from pyinstrument.session import Session

        texts = [
            [self._start_stack[0], *(_frame(*frame) for frame in reversed(stack))] for stack in self._core.stacks()
        ]
        records, before, clock = [], self._tick, Clock(*_core.recorder_clock())
        for tick, number in self._core.samples():
            records.append((texts[number - 1], max(tick - before, 0) * clock.ns_per_tick / 1e9))
            before = tick
        return Session(
            frame_records=records,
            start_time=self._start_time,
            duration=self._duration,
            min_interval=_INTERVAL_S,
            max_interval=_INTERVAL_S,
            sample_count=len(records),
            start_call_stack=self._start_stack,
            target_description=f"Profile of {' '.join(sys.argv)}",
            cpu_time=self._cpu_time,
            sys_path=sys.path,
            sys_prefixes=Session.current_sys_prefixes(),
        )


def _frame(file: str, line: int, qualname: str, first_line: int) -> str:
    """As pyinstrument writes a frame; the class is the one that defines the method."""
    outer, _, name = qualname.rpartition(".")
    owner = outer.rpartition(".")[2]
    of_class = f"{_CLASS}{owner}" if owner and owner != _LOCAL else ""
    return f"{name}\0{file}\0{first_line}{of_class}{_LINE}{line}"


class _OfThread:
    """Pyinstrument's sampler, which the thread has to stop that it samples."""

    def __init__(self) -> None:
        from pyinstrument import Profiler
        from pyinstrument.stack_sampler import build_call_stack

        self._profiler = Profiler(_INTERVAL_S, async_mode="disabled")
        self._session: Session | None = None
        self._thread = threading.get_ident()
        frame, began = sys._getframe(1), time.monotonic_ns()
        for _ in range(_TRIES):
            build_call_stack(frame, "initial", None)
        self._started_ns, self._stopped_ns = time.monotonic_ns(), 0
        self._sample_ns = (self._started_ns - began) / _TRIES  # what one takes, with the stack of now
        self._profiler.start()

    @property
    def may_stop(self) -> bool:
        return self._thread == threading.get_ident()

    def spent_ns(self) -> float:
        """As if Python ran all the time."""
        return ((self._stopped_ns or time.monotonic_ns()) - self._started_ns) / (_INTERVAL_S * 1e9) * self._sample_ns

    def stop(self) -> None:
        if not self.may_stop:
            warnings.warn(
                "with_stack: the samples are lost, as the profile was stopped on another thread than that which"
                " started it, and that is not the main one",
                RuntimeWarning,
                stacklevel=3,
            )
            return
        self._stopped_ns = time.monotonic_ns()
        self._session = self._profiler.stop()

    def session(self) -> "Session | None":
        return self._session
