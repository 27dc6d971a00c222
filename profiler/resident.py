"""The resident memory of the process over time."""

import os
import time

_REST_NS = 10_000_000  # a reading takes a microsecond: as much as a small op
_PAGE = os.sysconf("SC_PAGE_SIZE")
PEAK = "peakResidentBytes"  # metadata: the most that it had, where that was while it was recorded


class _File:
    """Open as long as somebody has it: a collection of garbage may read in another thread when it is to be closed."""

    def __init__(self, path: str) -> None:
        self.number = -1
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self) -> None:
        if self.number >= 0:
            os.close(self.number)


class ResidentMemory:
    """Samples the memory that the system has given this process, where Linux says it: (tick, bytes)."""

    def __init__(self) -> None:
        self._samples: list[tuple[int, int]] = []
        self._next = 0
        self._most = _most()
        try:
            self._file: _File | None = _File("/proc/self/statm")
        except OSError:
            self._file = None

    def sample(self, tick: int) -> None:
        """Read it, unless it was read a moment ago."""
        now = time.monotonic_ns()
        file = self._file
        if file is not None and now >= self._next:
            self._next = now + _REST_NS
            self._samples.append((tick, int(os.pread(file.number, 100, 0).split()[1]) * _PAGE))

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
        self._file = None


def _most() -> int:
    """Of this program alone; getrusage() also counts what its process had before it began this one."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0
