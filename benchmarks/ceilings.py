"""Measures what this machine can do at most, for the roofline of `perflab report`.

Both are the best of many short runs with a thread for each core: a float32 product of matrices that fit the caches, by
numpy's BLAS, and STREAM's triad a = b + s c over arrays far larger than the caches (McCalpin, "Memory Bandwidth and
Machine Balance in Current High Performance Computers", 1995), which numpy does in two passes of 2 and 3 arrays.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from perflab.profiler.ceilings import Ceilings

from .machine import this_machine

SIDE = 1024  # of the matrices
BYTES = 256 * 2**20  # of the three arrays together
SECONDS = 1.0  # of measuring each


def measure(side: int = SIDE, size: int = BYTES, seconds: float = SECONDS) -> Ceilings:
    """The ceilings of the machine that runs this process."""
    machine = this_machine()
    return Ceilings(
        fingerprint=machine.fingerprint,
        machine=str(machine),
        flops_per_s=2 * side**3 / _least(_product(side), seconds),
        bytes_per_s=_triad(size, seconds),
    )


def _product(side: int) -> Callable[[], object]:
    a, b = (np.random.default_rng(seed).random((side, side), dtype=np.float32) for seed in (0, 1))
    out = np.empty_like(a)
    return lambda: np.matmul(a, b, out=out)


def _triad(size: int, seconds: float) -> float:
    """Bytes a second, all threads together: each works on its share of the arrays."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    length = max(size // 3 // 8 // cores, 1)
    shares = [tuple(np.full(length, value) for value in (0.0, 1.0, 2.0)) for _ in range(cores)]

    def share(number: int) -> None:
        a, b, c = shares[number]
        np.multiply(c, 3.0, out=a)
        np.add(a, b, out=a)

    with ThreadPoolExecutor(cores) as pool:
        least = _least(lambda: list(pool.map(share, range(cores))), seconds)
    return 5 * 8 * length * cores / least


def _least(work: Callable[[], object], seconds: float) -> float:
    """Seconds of the fastest run; at least three, the first is not counted."""
    work()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)
