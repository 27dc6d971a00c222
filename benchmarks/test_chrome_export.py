"""Writing a long recording as Chrome JSON: ops a second, and how far memory grows meanwhile; and reading it again."""

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from perflab.benchmarks.beside import Figure, Measure
from perflab.benchmarks.quantity import BYTES, SECONDS, quantity
from perflab.profiler import chrome, profile

pytestmark = pytest.mark.perflab(counters="off")

OPS = 1_000_000
TORCH_OPS = 100_000


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
    """From the end of a recording of ops, kernels and memory to the whole file: what a user waits for."""
    ones, path = measure.ours.ones((1, 1)), tmp_path / "ours.json"
    with profile() as session:
        for _ in range(OPS):
            ones + ones
    grown = []

    def export() -> float:
        path.unlink(missing_ok=True)
        seconds, growth = cost(lambda: session.export_chrome_trace(path))
        grown.append(growth)
        return seconds

    times = measure.in_turn({"perflab": export}, rounds=5)["perflab"]
    with path.open("rb") as file:
        events = sum(line.startswith(b'{"ph":') for line in file)
    made = cost(lambda: session.trace)
    read = cost(lambda: chrome.read(path))
    rate, lines, growth = OPS / times.least, events / times.least, max(grown)
    measure.benchmark.extra_info |= {
        "ops a second": rate, "events a second": lines, "memory growth": growth, "making the trace": made
    }  # fmt: skip
    theirs = f"{torch_ops_a_second(measure, tmp_path):,.0f} /s" if measure.torch else ""
    what = f"export of {OPS:,} recorded ops, {quantity(path.stat().st_size, BYTES)} of JSON: ops"
    whole = f"{quantity(made[0], SECONDS)}, {quantity(made[1], BYTES)}"
    measure.table.figures += [
        Figure(what, f"{rate:,.0f} /s", theirs, goal=">= 500,000 /s", met=rate >= 500_000),
        Figure(f"the same as {events:,} JSON events", f"{lines:,.0f} /s"),
        Figure("memory growth from the end of recording", quantity(growth, BYTES), goal="< 200 MB", met=growth < 200e6),
        Figure("making a whole trace of it instead", whole),
        Figure(
            "reading the file: a million events",
            quantity(read[0] / events * 1e6, SECONDS),
            goal="<= 1.5 s",
            met=read[0] / events <= 1.5e-6,
        ),
    ]


def torch_ops_a_second(measure: Measure, folder: Path) -> float:
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
