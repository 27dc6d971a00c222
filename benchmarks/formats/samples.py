"""Samples of benchmarks, gathered one by one."""

from ..errors import BenchmarkFormatError
from ..result import Benchmark, Key, Result, number


class Samples:
    """Gathers samples: the same benchmark again is more of the same process."""

    def __init__(self) -> None:
        self._benchmarks: dict[Key, Benchmark] = {}
        self._values: dict[Key, list[float]] = {}

    def add(self, benchmark: Benchmark, *values: object, scale: float = 1.0) -> None:
        """Add samples, given in units that `scale` of make one of the benchmark's; raises BenchmarkFormatError for
        what is no number."""
        key = benchmark.key
        self._benchmarks.setdefault(key, benchmark)
        self._values.setdefault(key, []).extend(number(value, benchmark.name) / scale for value in values)

    def results(self) -> tuple[Result, ...]:
        """One result for each benchmark, in the order in which they came; raises BenchmarkFormatError for none."""
        if not self._values:
            raise BenchmarkFormatError("no benchmark in it has a result; did all fail, or were all skipped? Run again")
        return tuple(Result(self._benchmarks[key], tuple(values)) for key, values in self._values.items())
