"""Writing a long recording as Chrome JSON: events a second, and how far memory grows meanwhile."""

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from perflab.benchmarks.beside import Figure, Measure
from perflab.benchmarks.quantity import BYTES, SECONDS, quantity
from perflab.profiler import profile

OPS = 1_000_000
TORCH_OPS = 100_000
MIB = 2**20


def resident() -> tuple[int, int]:
    """Bytes of this process in memory: now, and at most since the peak was last forgotten."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, peak = (int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    return now, peak


def cost(work: Callable[[], object]) -> tuple[float, int]:
    """Seconds that it takes, and bytes by which memory grows meanwhile, at most."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before, begin = resident()[0], time.perf_counter()
    work()
    return time.perf_counter() - begin, resident()[1] - before


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_export_of_a_million_ops(measure: Measure, tmp_path: Path) -> None:
    """Each op is two events, itself and its kernel."""
    ones, path = measure.ours.ones((1, 1)), tmp_path / "ours.json"
    with profile(profile_memory=False) as session:
        for _ in range(OPS):
            ones + ones
    made = cost(lambda: session.trace)
    grown = []

    def export() -> float:
        seconds, growth = cost(lambda: session.export_chrome_trace(path))
        grown.append(growth)
        return seconds

    seconds = measure.in_turn({"perflab": export}, rounds=3)["perflab"].least
    with path.open("rb") as file:
        events = sum(line.startswith(b'{"ph":') for line in file)
    rate, growth = events / seconds, max(grown)
    measure.benchmark.extra_info |= {"events a second": rate, "memory growth": growth, "making the trace": made}
    theirs = f"{torch_events_a_second(measure, tmp_path):,.0f} /s" if measure.torch else ""
    what = f"writing {OPS:,} ops as {events:,} events, {quantity(path.stat().st_size, BYTES)} of JSON"
    words = [quantity(growth, BYTES), f"{quantity(made[0], SECONDS)}, {quantity(made[1], BYTES)}"]
    measure.table.figures += [
        Figure(what, f"{rate:,.0f} /s", theirs, goal=">= 500,000 /s", met=rate >= 500_000),
        Figure("memory growth meanwhile", words[0], goal="< 200 MiB", met=growth < 200 * MIB),
        Figure("making the trace before that", words[1]),
    ]


def torch_events_a_second(measure: Measure, folder: Path) -> float:
    """PyTorch's export, of fewer ops since it holds 1.5 KB for each; one event an op."""
    torch = measure.torch
    assert torch is not None
    ones = torch.ones((1, 1))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as session:
        for _ in range(TORCH_OPS):
            ones + ones
    begin = time.perf_counter()
    session.export_chrome_trace(str(folder / "torch.json"))
    return TORCH_OPS / (time.perf_counter() - begin)
