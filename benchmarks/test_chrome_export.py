"""Writing a long recording as Chrome JSON: ops a second, and how far memory grows meanwhile."""

import gc
import time
from pathlib import Path

from perflab.benchmarks.beside import Figure, Measure
from perflab.benchmarks.quantity import BYTES, quantity
from perflab.profiler import profile

OPS = 1_000_000
TORCH_OPS = 100_000
MIB = 2**20


def resident() -> tuple[int, int]:
    """Bytes of this process in memory: now, and at most since `forget_peak`."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, peak = (int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
    return now, peak


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def test_export_of_a_million_ops(measure: Measure, tmp_path: Path) -> None:
    ones = measure.ours.ones((1, 1))
    with profile() as session:
        for _ in range(OPS):
            ones + ones
    grown = []

    def export() -> float:
        gc.collect()
        forget_peak()
        before, begin = resident()[0], time.perf_counter()
        session.export_chrome_trace(str(tmp_path / "ours.json"))
        seconds = time.perf_counter() - begin
        grown.append(resident()[1] - before)
        return seconds

    seconds = measure.in_turn({"perflab": export}, rounds=3)["perflab"].least
    size, growth = (tmp_path / "ours.json").stat().st_size, max(grown)
    measure.benchmark.extra_info |= {"ops a second": OPS / seconds, "bytes": size, "memory growth": growth}
    theirs = f"{torch_ops_a_second(measure, tmp_path):,.0f} /s" if measure.torch else ""
    what = f"export of {OPS:,} ops to {quantity(size, BYTES)} of JSON"
    rate = OPS / seconds
    measure.table.figures.append(Figure(what, f"{rate:,.0f} /s", theirs, goal=">= 500,000 /s", met=rate >= 500_000))
    words = quantity(growth, BYTES)
    measure.table.figures.append(Figure("memory growth meanwhile", words, goal="< 200 MiB", met=growth < 200 * MIB))


def torch_ops_a_second(measure: Measure, folder: Path) -> float:
    """PyTorch's export, of fewer ops since it holds 1.5 KB for each."""
    torch = measure.torch
    assert torch is not None
    ones = torch.ones((1, 1))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as session:
        for _ in range(TORCH_OPS):
            ones + ones
    begin = time.perf_counter()
    session.export_chrome_trace(str(folder / "torch.json"))
    return TORCH_OPS / (time.perf_counter() - begin)
