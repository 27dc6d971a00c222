"""What recording may take, and what is left out to keep to it."""

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from .trace import Json

_STRETCH_NS = 10_000_000  # looked at together

Shed: TypeAlias = tuple[str, Callable[[], bool]]  # a detail, and what leaves it out; False: it is not there


class Budget:
    """Keeps what recording takes below a share of the time, by what events cost, as long as there is detail to shed.

    `spent`: ns that recording took so far. `details` are shed one after the other, each when a stretch of time between
    steps took more than its share.
    """

    def __init__(self, share: float, spent: Callable[[], float], details: Sequence[Shed]) -> None:
        self._share, self._spent, self._details = share, spent, list(details)
        self._began = self._looked = time.monotonic_ns()
        self._first = self._before = spent()
        self._shed: list[str] = []

    def look(self) -> None:
        """A step is over."""
        now = time.monotonic_ns()
        if now - self._looked < _STRETCH_NS:
            return
        spent = self._spent()
        if spent - self._before > self._share * (now - self._looked):
            self._shed_one()
        self._looked, self._before = now, self._spent()

    def _shed_one(self) -> None:
        while self._details:
            name, leave_out = self._details.pop(0)
            if leave_out():
                self._shed.append(name)
                return

    def notes(self) -> dict[str, Json]:
        """For the trace's metadata: the budget, what recording took by what events cost, and what was shed."""
        elapsed = max(time.monotonic_ns() - self._began, 1)
        share = round((self._spent() - self._first) / elapsed, 4)
        return {"budget": self._share, "recordingShare": share, "shed": list(self._shed)}
