"""Ring mode: a profile that keeps its last steps, and dumps them when something happens."""

import signal
import statistics
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .errors import ProfileStateError
from .trace import Json

_JUDGED = 100  # steps that the median is taken of
_LEAST = 5


@dataclass(frozen=True, slots=True)
class Ring:
    """For `profile(ring=Ring(...))`: keep the last `steps` whole steps and the one under way, and forget the others.

    They are dumped: they become the profile's trace, its metadata say the `reason`, and `on_trace_ready` is called.
    That happens when the profile ends, by an exception too; after a step that took more than `slower` times the median
    of the up to 100 steps before it; when the process gets `signal`, in a thread made for it; and by `profile.dump()`.
    The profile goes on. After a slow step's dump no other slow step is told while the ring still holds the first.

    Raises ValueError where `steps` is less than 1 or `slower` is not above 1.
    """

    steps: int
    slower: float | None = None
    signal: int | None = None

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"Ring: steps is {self.steps}; keep at least one")
        if self.slower is not None and not self.slower > 1:
            raise ValueError(f"Ring: slower is {self.slower}; it is how many times the median, above 1")


class Forgetful(Protocol):
    """What forgets: a window."""

    def forget(self, tick: int) -> None: ...


class RingSteps:
    """The steps that a ring holds, by the ticks at which they began; calls `dump` with a reason."""

    def __init__(self, ring: Ring, dump: Callable[[str], None]) -> None:
        self._ring, self._dump = ring, dump
        self._begins: deque[int] = deque(maxlen=ring.steps)
        self._durations: deque[int] = deque(maxlen=_JUDGED)
        self._since_forgotten = self._since_slow = 0
        self._handler: Json = None  # of the signal, before

    @property
    def begin(self) -> int:
        """Where the oldest step begins, 0 before there is one."""
        return self._begins[0] if self._begins else 0

    def start(self) -> None:
        """Begin anew, and listen to the signal. Raises ProfileStateError where this is not the main thread."""
        self._begins.clear()
        self._durations.clear()
        self._since_forgotten, self._since_slow = 0, self._ring.steps
        if self._ring.signal is not None:
            try:
                self._handler = signal.signal(self._ring.signal, self._on_signal)
            except ValueError as error:
                raise ProfileStateError(f"Ring: signal={self._ring.signal}: {error}") from None

    def stop(self) -> None:
        """The signal's handler is that of before, where this is the main thread and nobody has set another."""
        number = self._ring.signal
        if number is not None and signal.getsignal(number) == self._on_signal:
            if threading.current_thread() is threading.main_thread():
                signal.signal(number, self._handler)

    def add(self, window: Forgetful, number: int, began: int, ended: int) -> None:
        """A step is over: dump it where it was slow, and now and then forget what is too old."""
        duration, usual = ended - began, self._usual()
        self._begins.append(began)
        self._durations.append(duration)
        self._since_slow += 1
        if usual and self._since_slow >= self._ring.steps and duration > usual * (self._ring.slower or 0):
            self._since_slow = 0
            self._dump(f"step {number} took {duration / usual:.1f} times the median")
        self._since_forgotten += 1
        if self._since_forgotten >= self._ring.steps:  # each time would cost more
            self._since_forgotten = 0
            window.forget(self.begin)

    def _usual(self) -> float:
        known = self._ring.slower is not None and len(self._durations) >= _LEAST
        return statistics.median(self._durations) if known else 0.0

    def _on_signal(self, number: int, _frame: object) -> None:
        reason = f"signal {signal.Signals(number).name}"
        # this thread may be in the midst of anything
        threading.Thread(target=self._dump, args=(reason,), name="perflab dump").start()
