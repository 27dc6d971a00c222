"""Streams and events: the orders in which a device works."""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from .. import _core
from ..device import Device
from ..errors import ArgumentError, DeviceError
from . import devices
from .devices import index_of


class Event:
    """A place in a stream. enable_timing: elapsed_time can be asked."""

    def __init__(self, enable_timing: bool = False) -> None:
        self._index = index_of()
        self._timed = enable_timing
        self.cuda_event = _core.cuda_new_event(self._index, enable_timing)
        self._recorded = False
        weakref.finalize(self, _core.cuda_drop_event, self._index, self.cuda_event)

    def record(self, stream: "Stream | None" = None) -> None:
        """Mark the place that the stream, by default the current one, has come to with what it was given so far."""
        at = stream or current_stream(self._index)
        if at._index != self._index:
            raise DeviceError(f"an event of cuda:{self._index} cannot be recorded in a stream of cuda:{at._index}")
        _core.cuda_record_event(self._index, self.cuda_event, at.cuda_stream)
        self._recorded = True

    def wait(self, stream: "Stream | None" = None) -> None:
        """Let what the stream is given from now on wait for the event."""
        at = stream or current_stream(self._index)
        _core.cuda_stream_waits(at._index, at.cuda_stream, self.cuda_event)

    def query(self) -> bool:
        """Whether the stream has passed it."""
        return _core.cuda_event_passed(self._index, self.cuda_event)

    def synchronize(self) -> None:
        """Wait until the stream has passed it."""
        _core.cuda_synchronize_event(self._index, self.cuda_event)

    def elapsed_time(self, end_event: "Event") -> float:
        """Milliseconds on the device from this event to another. Both were made with enable_timing and have passed."""
        if not (self._timed and end_event._timed and self._recorded and end_event._recorded):
            raise ArgumentError("elapsed_time: make both events with enable_timing=True, and record both")
        return _core.cuda_elapsed_ms(self._index, self.cuda_event, end_event.cuda_event)


class Stream:
    """An order in which a device works. Streams come from 32 of each device and priority, in turn, as in PyTorch.

    priority: below 0, before others. As a context manager, it is the current stream.
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        self._index = index_of(device)
        self.cuda_stream = _core.cuda_new_stream(self._index, priority < 0)
        self._before: list[int] = []

    @classmethod
    def _of(cls, index: int, handle: int) -> Self:
        stream = cls.__new__(cls)
        stream._index, stream.cuda_stream, stream._before = index, handle, []
        return stream

    @property
    def device(self) -> Device:
        """The device whose work it orders."""
        return Device(f"cuda:{self._index}")

    @property
    def _handle(self) -> int:
        return self.cuda_stream

    @property
    def _row(self) -> int:
        return _core.cuda_row(self._index)

    def query(self) -> bool:
        """Whether all that it was given is done."""
        return _core.cuda_stream_done(self._index, self.cuda_stream)

    def synchronize(self) -> None:
        """Wait until all that it was given is done."""
        _core.cuda_synchronize_stream(self._index, self.cuda_stream)

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, a new one by default, and return it."""
        if event is None:
            with devices.device(self._index):
                event = Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let what it is given from now on wait for the event."""
        event.wait(self)

    def wait_stream(self, stream: "Stream") -> None:
        """Let what it is given from now on wait for what the other stream has been given."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Self:
        self._before.append(_core.current_stream(self._row))
        _core.set_current_stream(self._row, self.cuda_stream)
        return self

    def __exit__(self, *error: object) -> None:
        _core.set_current_stream(self._row, self._before.pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self._index, self.cuda_stream) == (other._index, other.cuda_stream)

    def __hash__(self) -> int:
        return hash((self._index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<cuda.Stream cuda:{self._index}, {self.cuda_stream:#x}>"


def current_stream(device: Any = None) -> Stream:
    """The stream that takes this thread's work on the device."""
    index = index_of(device)
    return Stream._of(index, _core.current_stream(_core.cuda_row(index)))


def default_stream(device: Any = None) -> Stream:
    """The stream that is current where no other was chosen."""
    return Stream._of(index_of(device), 0)


def stream(stream: Stream | None) -> Any:
    """A context manager within which the stream is current, as PyTorch spells it; None changes nothing."""
    return stream if stream is not None else _unchanged()


@contextmanager
def _unchanged() -> Iterator[None]:
    yield
