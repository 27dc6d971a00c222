"""The clocks of a Perfetto trace, put on one by the snapshots that hold what several of them say at one moment.

How they are meant: https://perfetto.dev/docs/concepts/clock-sync
"""

from collections import defaultdict, deque
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from ..trace import Int32s, Int64s
from .findings import Findings
from .perfetto_packets import Packet

REALTIME, BOOTTIME = 1, 6
FURTHEST = 4 * 10**18  # ns; the sum of two fits 64 bits
_NAMES = {0: "unknown", 1: "REALTIME", 2: "REALTIME_COARSE", 3: "MONOTONIC", 4: "MONOTONIC_COARSE", 5: "MONOTONIC_RAW",
          6: "BOOTTIME"}  # fmt: skip
_OF_SEQUENCE = range(64, 128)  # ids that each sequence of packets has for itself
Key: TypeAlias = tuple[int, int]  # sequence, or 0, and id


@dataclass(slots=True)
class _Unit:
    """How the times of a clock are written."""

    multiplier: int  # ns
    is_incremental: bool
    last: int  # ns


class Clocks:
    """Takes snapshots and times, and gives times on the clock of the trace."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._units: dict[Key, _Unit] = {}
        self._snapshots: list[dict[int, int]] = []  # ns by the number of the clock
        self._primary = 0  # id of the clock that is the trace's, where a snapshot says so

    def snapshot(self, snapshot: Packet, sequence: int) -> None:
        """Take in what clocks say at one moment."""
        self._primary = self._primary or snapshot.primary_trace_clock
        told = {}
        for clock in snapshot.clocks:
            key = _key(clock.clock_id, sequence)
            time = clock.timestamp * (clock.unit_multiplier_ns or 1)
            if clock.unit_multiplier_ns > 1 or clock.is_incremental:
                self._units[key] = _Unit(clock.unit_multiplier_ns or 1, clock.is_incremental, time)
            if time < FURTHEST:
                told[self._number(key)] = time
        self._snapshots.append(told)

    def read(self, time: int, clock: int, sequence: int) -> tuple[int, int] | None:
        """A packet's time in ns and the number of its clock; None where it is out of reach."""
        key = _key(clock or BOOTTIME, sequence)
        unit = self._units.get(key)
        if unit is not None:
            time = time * unit.multiplier + (unit.last if unit.is_incremental else 0)
            unit.last = time
        return (time, self._number(key)) if time < FURTHEST else None

    def _number(self, key: Key) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def aligned(self, time: Int64s, clock: Int32s, findings: Findings) -> Int64s:
        """Times on the trace's clock. Those of a clock that nothing ties to it stay as they are, and are found."""
        target = self._target()
        aligned = time.copy()
        for key, number in self._numbers.items():
            rows = np.flatnonzero(clock == number)
            if number == target or not len(rows):
                continue
            path = self._path(number, target)
            if path is None:
                findings.add("other-clock", len(rows), [_name(key)])
                continue
            times = time[rows]
            for source, to in pairwise(path):
                times = self._moved(times, source, to)
            aligned[rows] = times
        return aligned

    def base_ns(self) -> int:
        """The epoch time of the zero of the trace's clock, 0 where nothing tells."""
        real, target = self._numbers.get((0, REALTIME)), self._target()
        if real is None or real == target:
            return 0
        both = [told for told in self._snapshots if real in told and target in told]
        return max(both[0][real] - both[0][target], 0) if both else 0

    def _target(self) -> int:
        """The number of the clock that snapshots name, or BOOTTIME, or the first that there is."""
        for key in ((0, self._primary), (0, BOOTTIME)):
            if key in self._numbers:
                return self._numbers[key]
        return 0

    def _path(self, source: int, target: int) -> list[int] | None:
        """Clocks from one to the other, each in a snapshot with the next."""
        holding = defaultdict(list)
        for place, told in enumerate(self._snapshots):
            for number in told:
                holding[number].append(place)
        came_from, waiting, seen = {source: source}, deque([source]), set[int]()
        while waiting and target not in came_from:
            number = waiting.popleft()
            for place in holding[number]:
                if place not in seen:
                    seen.add(place)
                    for other in self._snapshots[place]:
                        if other not in came_from:
                            came_from[other] = number
                            waiting.append(other)
        if target not in came_from:
            return None
        path = [target]
        while path[-1] != source:
            path.append(came_from[path[-1]])
        return path[::-1]

    def _moved(self, times: Int64s, source: int, target: int) -> Int64s:
        """Each time by what the last snapshot before it says of the two clocks; the first counts before all."""
        pairs = sorted((told[source], told[target]) for told in self._snapshots if source in told and target in told)
        known = np.array(pairs, dtype=np.int64)
        place = np.maximum(np.searchsorted(known[:, 0], times, side="right") - 1, 0)
        return np.clip(times + (known[:, 1] - known[:, 0])[place], -FURTHEST, FURTHEST)


def _key(clock: int, sequence: int) -> Key:
    return (sequence if clock in _OF_SEQUENCE else 0, clock)


def _name(key: Key) -> str:
    return f"clock {_NAMES.get(key[1], key[1])}" + (f" of sequence {key[0]}" if key[0] else "")
