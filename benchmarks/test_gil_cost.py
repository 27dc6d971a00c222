"""What tracing the GIL costs: a release and an acquisition in C, alone and beside another thread; a start and stop."""

import ctypes
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from perflab.benchmarks.beside import Figure, Measure, Sampler, statement
from perflab.benchmarks.quantity import SECONDS, quantity
from perflab.profiler.gil import GilRecorder

pytestmark = pytest.mark.perflab(counters="off")

PAIRS = 20_000
ROUNDS = 100
SOURCE = """
void* PyEval_SaveThread(void);
void PyEval_RestoreThread(void*);
void pairs(long n) { while (n-- > 0) PyEval_RestoreThread(PyEval_SaveThread()); }
"""


@pytest.fixture
def pairs(tmp_path: Path) -> Callable[[int], None]:
    """Releases and acquires the GIL in a loop in C."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler to compile the loop with")
    (tmp_path / "pairs.c").write_text(SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", "pairs.so", "pairs.c"], cwd=tmp_path, check=True)
    found = ctypes.PyDLL(str(tmp_path / "pairs.so")).pairs
    found.argtypes, found.restype = [ctypes.c_long], None
    return found


def traced(sampler: Sampler) -> Sampler:
    """The same sample while the GIL is traced; starting and stopping that is outside of the time taken."""

    def sample() -> float:
        recorder = GilRecorder()
        try:
            return sampler()
        finally:
            recorder.stop()

    return sample


def compare(measure: Measure, what: str, sampler: Sampler, *, transitions: int, rounds: int = ROUNDS) -> None:
    """A line of what a transition costs untraced, and how much more traced."""
    times = measure.in_turn({"traced": traced(sampler), "not": sampler}, rounds)
    more = (times["traced"].least - times["not"].least) / transitions
    measure.benchmark.extra_info["more a transition"] = more
    plain, words = quantity(times["not"].least, SECONDS), quantity(more, SECONDS, signed=True)
    measure.table.figures.append(
        Figure(f"{what}, {plain}: more a transition", words, goal="<= 15 ns", met=more <= 15e-9)
    )


def test_a_release_and_an_acquisition(measure: Measure, pairs: Callable[[int], None]) -> None:
    def sample() -> float:
        begin = time.perf_counter()
        pairs(PAIRS)
        return (time.perf_counter() - begin) / PAIRS

    compare(measure, "GIL released and acquired in C", sample, transitions=2)


def test_a_read_of_nothing(measure: Measure) -> None:
    file = os.open("/dev/null", os.O_RDONLY)
    try:
        sampler = statement("read(file, 1)", {"read": os.read, "file": file})
        compare(measure, "os.read of nothing", sampler, transitions=2)
    finally:
        os.close(file)


def test_two_threads_in_turn(measure: Measure, pairs: Callable[[int], None]) -> None:
    """Contended at nearly every pair. No goal: what two threads make of it differs from run to run."""

    def sample() -> float:
        threads = [threading.Thread(target=pairs, args=(PAIRS,)) for _ in range(2)]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return (time.perf_counter() - begin) / (2 * PAIRS)

    times = measure.in_turn({"traced": traced(sample), "not": sample}, 30)
    words = " and ".join(quantity(times[name].median, SECONDS) for name in ("not", "traced"))
    measure.table.figures.append(Figure("the same in two threads at once, a pair: not traced and traced", words))


def test_a_start_and_stop(measure: Measure) -> None:
    times = measure.in_turn({"perflab": statement("GilRecorder().stop()", {"GilRecorder": GilRecorder})}, ROUNDS)
    measure.table.figures.append(Figure("tracing the GIL: a start and stop", str(times["perflab"])))
