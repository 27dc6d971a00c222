"""The resident memory of the process over time."""

import os
import time

_REST_NS = 10_000_000  # a reading takes a microsecond: as much as a small op
_PAGE = os.sysconf("SC_PAGE_SIZE")
PEAK = "peakResidentBytes"  # metadata: the most that it had, where that was while it was recorded


class ResidentMemory:
    """Samples the memory that the system has given this process, where Linux says it: (tick, bytes)."""

    def __init__(self) -> None:
        self._samples: list[tuple[int, int]] = []
        self._next = 0
        self._most = _most()
        try:
            self._file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = -1

    def sample(self, tick: int) -> None:
        """Read it, unless it was read a moment ago."""
        now = time.monotonic_ns()
        if self._file >= 0 and now >= self._next:
            self._next = now + _REST_NS
            self._samples.append((tick, int(os.pread(self._file, 100, 0).split()[1]) * _PAGE))

    def read(self, tick: int) -> list[tuple[int, int]]:
        """All samples, with one of now."""
        self._next = 0
        self.sample(tick)
        return list(self._samples)

    def peak(self) -> int:
        """The most bytes that it ever had, if that was later than this was made; else, or where unknown, 0."""
        most = _most()
        return most if most > self._most else 0

    def forget(self, tick: int) -> None:
        """Samples before `tick` are not wanted any longer."""
        self._samples = [sample for sample in self._samples if sample[0] >= tick]

    def stop(self) -> None:
        """No more samples."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _most() -> int:
    """Of this program alone; getrusage() also counts what its process had before it began this one."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0
