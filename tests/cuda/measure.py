"""What perflab costs on this GPU, beside PyTorch and CuPy where they are there. Run by run_on_gpu.sh.

Samples of all are taken in turn; a figure is the least of them.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from types import ModuleType
from typing import Any

from perflab import runtime as rt
from perflab.benchmarks.models import make_step
from perflab.profiler import profile

Call = Callable[[], Any]
LIBRARIES = ("perflab", "PyTorch", "CuPy")
ROUNDS = int(os.environ.get("ROUNDS", "15"))
FAKE = os.environ.get("FAKE") == "1"
MODELS = ("mlp_tiny",) if FAKE else ("mlp_tiny", "mlp_medium", "transformer")
ELEMENTS, SIDE = (1 << 12, 64) if FAKE else (1 << 24, 2048)


def imported(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


def least(calls: dict[str, tuple[Call, Call]], repeat: int) -> dict[str, float]:
    """Seconds a call, by library. Each is a call and what waits for the device."""
    best = dict.fromkeys(calls, float("inf"))
    for call, wait in calls.values():  # compiles, fills the caches
        for _ in range(3):
            call()
        wait()
    for _ in range(ROUNDS):
        for name, (call, wait) in calls.items():
            begin = perf_counter()
            for _ in range(repeat):
                call()
            wait()
            best[name] = min(best[name], (perf_counter() - begin) / repeat)
    return best


def launched(calls: dict[str, tuple[Call, Call]], repeat: int) -> dict[str, float]:
    """The same without the wait: what the caller's thread spends. The device is waited for between samples."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, (call, wait) in calls.items():
            wait()
            begin = perf_counter()
            for _ in range(repeat):
                call()
            best[name] = min(best[name], (perf_counter() - begin) / repeat)
            wait()
    return best


def row(what: str, times: dict[str, float], note: str = "") -> None:
    cells = [f"{times[name] * 1e6:9.2f}" if name in times else f"{'-':>9}" for name in LIBRARIES]
    ratio = f"{times['perflab'] / times['PyTorch']:7.2f}" if "PyTorch" in times else f"{'-':>7}"
    print(f"{what:38}{'  '.join(cells)}  {ratio}  {note}".rstrip(), flush=True)


def ops(torch: ModuleType | None, cupy: ModuleType | None) -> None:
    def both(make: Callable[[Any, Any], Call]) -> dict[str, tuple[Call, Call]]:
        found: dict[str, tuple[Call, Call]] = {"perflab": (make(rt, {"device": "cuda"}), rt.cuda.synchronize)}
        if torch:
            found["PyTorch"] = (make(torch, {"device": "cuda"}), torch.cuda.synchronize)
        return found

    def add(library: Any, where: dict[str, Any]) -> Call:
        a, b = library.ones(1, **where), library.ones(1, **where)
        return lambda: a + b

    calls = both(add)
    if cupy:
        x = cupy.ones(1, cupy.float32)
        calls["CuPy"] = (lambda: x + x, cupy.cuda.Device().synchronize)
    row("a + b, 1 element: to launch", launched(calls, 200))
    row("a + b, 1 element: launched and run", least(calls, 200))
    for name in ("exp", "sum"):

        def large(library: Any, where: dict[str, Any], name: str = name) -> Call:
            a = library.zeros(ELEMENTS, **where)
            return lambda: getattr(a, name)()

        row(f"{name}, {ELEMENTS} float32", least(both(large), 10))

    def softmax(library: Any, where: dict[str, Any]) -> Call:
        a = library.zeros((2 * SIDE, SIDE // 2), **where)
        return lambda: library.softmax(a, -1)

    def product(library: Any, where: dict[str, Any]) -> Call:
        a = library.zeros((SIDE, SIDE), **where)
        return lambda: a @ a

    row(f"softmax, {2 * SIDE} x {SIDE // 2}", least(both(softmax), 10))
    row(f"matmul, {SIDE} x {SIDE}", least(both(product), 10))

    def memory(library: Any, where: dict[str, Any]) -> Call:
        return lambda: library.empty(1 << 18, **where)

    calls = both(memory)
    if cupy:
        calls["CuPy"] = (lambda: cupy.empty(1 << 18, cupy.float32), cupy.cuda.Device().synchronize)
    row("empty, 1 MiB, and its return", launched(calls, 1000))


def steps(torch: ModuleType | None) -> None:
    for name in MODELS:
        calls: dict[str, tuple[Call, Call]] = {"perflab": (make_step(rt, name, "cuda"), rt.cuda.synchronize)}
        if torch:
            calls["PyTorch"] = (make_step(torch, name, "cuda"), torch.cuda.synchronize)
        row(f"training step, {name}", least(calls, 10))
        slowdown(name, calls, torch)


def slowdown(name: str, calls: dict[str, tuple[Call, Call]], torch: ModuleType | None) -> None:
    """A step under the profiler of each library, by that without."""
    plain = least(calls, 10)
    with profile():
        under = least({"perflab": calls["perflab"]}, 10)
    if torch:
        kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=kinds):
            under |= least({"PyTorch": calls["PyTorch"]}, 10)
    ratios = ", ".join(f"{who} {under[who] / plain[who]:.2f}" for who in under)
    row(f"  the same, profiled: {name}", under, f"slower by: {ratios}")


def same_losses() -> None:
    """A step gives on the GPU what it gives on the CPU."""
    for name in MODELS:
        on = {device: make_step(rt, name, device) for device in ("cpu", "cuda")}
        for _ in range(5):
            a, b = (step().item() for step in on.values())
            if not abs(a - b) <= 1e-2 * abs(a):
                raise SystemExit(f"{name}: the loss is {b} on the GPU and {a} on the CPU")
    print(f"losses of {', '.join(MODELS)}: as on the CPU")


def main() -> None:
    if FAKE:
        with TemporaryDirectory() as folder:
            sys.path.insert(0, str(Path(__file__).parents[1]))
            fake = import_module("cuda.fake")
            fake.install(Path(folder))
            report(None, None)
        return
    report(imported("torch"), imported("cupy"))


def report(torch: ModuleType | None, cupy: ModuleType | None) -> None:
    if torch and not torch.cuda.is_available():
        torch = None
    print(f"{rt.cuda.get_device_name()}; perflab beside {(torch and f'PyTorch {torch.__version__}') or 'no PyTorch'}")
    same_losses()
    print(f"{'microseconds, the least of samples':38}{'  '.join(f'{name:>9}' for name in LIBRARIES)}    ratio")
    ops(torch, cupy)
    steps(torch)


if __name__ == "__main__":
    main()
