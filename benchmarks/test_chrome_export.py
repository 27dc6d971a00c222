"""Writing a long recording as Chrome JSON: ops a second, and how far memory grows meanwhile; and reading it again."""

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    session = recorded(measure.ours, OPS, profile())
    grown = []

    def export_to(path: Path) -> Callable[[], float]:
        def export() -> float:
            path.unlink(missing_ok=True)
            seconds, growth = cost(lambda: session.export_chrome_trace(path))
            grown.append(growth)
            return seconds

        return export

    plain, packed = (tmp_path / name for name in ("ours.json", "ours.json.gz"))
    times = measure.in_turn({path.name: export_to(path) for path in (plain, packed)}, rounds=5)
    events = events_in(plain)
    rates = {name: events / sample.least for name, sample in times.items()}
    made = cost(lambda: session.trace)
    read = min(cost(lambda path=path: chrome.read(path))[0] for path in (plain, packed))  # type: ignore[misc]
    growth = max(grown)
    measure.benchmark.extra_info |= {"events a second": rates, "memory growth": growth, "making the trace": made}
    whole = plain.stat().st_size / events
    plain.unlink()
    packed.unlink()
    size = bytes_an_event(measure.ours, tmp_path)
    theirs = torch_export(measure, tmp_path) if measure.torch else ("", "")
    measure.table.figures += [
        goal(
            f"export of {OPS:,} recorded ops, {events:,} JSON events: events",
            f"{rates[plain.name]:,.0f} /s", ">= 2,000,000 /s", rates[plain.name] >= 2e6, theirs[0],
        ),
        goal("the same, compressed", f"{rates[packed.name]:,.0f} /s", ">= 1,000,000 /s", rates[packed.name] >= 1e6),
        goal("JSON of an event with shapes and memory", quantity(whole, BYTES), "<= 120 B", whole <= 120),
        goal("JSON of an event of ops and kernels alone", quantity(size, BYTES), "<= 120 B", size <= 120, theirs[1]),
        goal("memory growth from the end of recording", quantity(growth, BYTES), "< 64 MB", growth < 64e6),
        Figure(
            "making a whole trace of it instead", f"{quantity(made[0], SECONDS)}, {quantity(made[1], BYTES)}"
        ),
        goal(
            "reading the file: a million events",
            quantity(read / events * 1e6, SECONDS), "<= 1.5 s", read / events <= 1.5e-6,
        ),
    ]  # fmt: skip


def goal(what: str, ours: str, goal: str, met: bool, peer: str = "") -> Figure:
    return Figure(what, ours, peer, goal=goal, met=met)


def recorded(runtime: Any, count: int, session: profile) -> profile:
    ones = runtime.ones((1, 1))
    with session:
        for _ in range(count):
            ones + ones
    return session


def events_in(path: Path) -> int:
    with path.open("rb") as file:
        return sum(line.startswith(b'{"ph":') for line in file)


def bytes_an_event(runtime: Any, folder: Path) -> float:
    """With what PyTorch records by default: no shapes, no memory."""
    path = folder / "small.json"
    recorded(runtime, TORCH_OPS, profile(record_shapes=False, profile_memory=False)).export_chrome_trace(path)
    return path.stat().st_size / events_in(path)


def torch_export(measure: Measure, folder: Path) -> tuple[str, str]:
    """PyTorch's events a second and bytes an event, of fewer ops since it holds 1.5 KB for each; one event an op."""
    torch = measure.torch
    assert torch is not None
    path = folder / "torch.json"
    ones = torch.ones((1, 1))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as session:
        for _ in range(TORCH_OPS):
            ones + ones
    begin = time.perf_counter()
    session.export_chrome_trace(str(path))
    seconds = time.perf_counter() - begin
    return f"{TORCH_OPS / seconds:,.0f} /s", quantity(path.stat().st_size / TORCH_OPS, BYTES)
