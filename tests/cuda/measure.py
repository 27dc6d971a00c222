"""What perflab costs on this GPU, beside PyTorch and CuPy where they are there. Run by run_on_gpu.sh.

Samples of all are taken in turn; a figure is the least of them. The arguments are parts, each of which can run in a
process of its own: kernels (compiles them all, so that no other part has to), ops, and the models.
"""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from types import ModuleType
from typing import Any

from perflab import runtime as rt
from perflab.benchmarks.models import make_step
from perflab.profiler import profile
from perflab.runtime.cuda import build, sources

Call = Callable[[], Any]
LIBRARIES = ("perflab", "PyTorch", "CuPy")
FAKE = os.environ.get("FAKE") == "1"
ROUNDS = int(os.environ.get("ROUNDS", "3" if FAKE else "15"))
failed: list[str] = []
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


def attempt(what: str, measure: Callable[[], dict[str, float]]) -> None:
    """A row, or why there is none: the others are measured all the same."""
    try:
        row(what, measure())
    except Exception as error:
        print(f"{what:38}failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}", flush=True)
        failed.append(what)


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

    def scalars() -> dict[str, tuple[Call, Call]]:
        calls = both(add)
        if cupy:
            x = cupy.ones(1, cupy.float32)
            calls["CuPy"] = (lambda: x + x, cupy.cuda.Device().synchronize)
        return calls

    def large(name: str) -> Callable[[Any, Any], Call]:
        def make(library: Any, where: dict[str, Any]) -> Call:
            a = library.zeros(ELEMENTS, **where)
            return lambda: getattr(a, name)()

        return make

    def softmax(library: Any, where: dict[str, Any]) -> Call:
        a = library.zeros((2 * SIDE, SIDE // 2), **where)
        return lambda: library.softmax(a, -1)

    def product(library: Any, where: dict[str, Any]) -> Call:
        a = library.zeros((SIDE, SIDE), **where)
        return lambda: a @ a

    def memory(library: Any, where: dict[str, Any]) -> Call:
        return lambda: library.empty(1 << 18, **where)

    def blocks() -> dict[str, tuple[Call, Call]]:
        calls = both(memory)
        if cupy:
            calls["CuPy"] = (lambda: cupy.empty(1 << 18, cupy.float32), cupy.cuda.Device().synchronize)
        return calls

    attempt("a + b, 1 element: to launch", lambda: launched(scalars(), 200))
    attempt("a + b, 1 element: launched and run", lambda: least(scalars(), 200))
    for name in ("exp", "sum"):
        attempt(f"{name}, {ELEMENTS} float32", lambda name=name: least(both(large(name)), 10))
    attempt(f"softmax, {2 * SIDE} x {SIDE // 2}", lambda: least(both(softmax), 10))
    attempt(f"matmul, {SIDE} x {SIDE}", lambda: least(both(product), 10))
    attempt("empty, 1 MiB, and its return", lambda: launched(blocks(), 1000))


def kernels() -> None:
    """Compile every kernel for this GPU, as many at once as there are processors, into the cache on disk."""
    begin = perf_counter()
    arch = build.architecture(*rt.cuda.get_device_capability())
    wanted = list(sources.all_kernels())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        size = sum(map(len, pool.map(lambda kernel: build.machine_code(kernel, arch), wanted)))
    print(f"{len(wanted)} kernels for {arch}, {size >> 10} KiB, in {perf_counter() - begin:.1f} s")


def model(name: str, torch: ModuleType | None) -> None:
    """A model's losses, its training step, and that under a profiler."""
    same_losses(name)
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


def same_losses(name: str) -> None:
    """A step gives on the GPU what it gives on the CPU."""
    on = {device: make_step(rt, name, device) for device in ("cpu", "cuda")}
    for _ in range(5):
        a, b = (step().item() for step in on.values())
        if not abs(a - b) <= 1e-2 * abs(a):
            print(f"{name}: WRONG: the loss is {b} on the GPU and {a} on the CPU", flush=True)
            failed.append(name)
            return
    print(f"{name}: losses as on the CPU", flush=True)


def main(parts: list[str]) -> None:
    if FAKE:
        with TemporaryDirectory() as folder:
            sys.path.insert(0, str(Path(__file__).parents[1]))
            import_module("cuda.fake").install(Path(folder))
            report(parts, None, None)
    else:
        report(parts, imported("torch"), imported("cupy"))
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def report(parts: list[str], torch: ModuleType | None, cupy: ModuleType | None) -> None:
    if torch and not torch.cuda.is_available():
        torch = None
    for part in parts:
        if part == "kernels":
            kernels()
        elif part == "ops":
            beside = f"PyTorch {torch.__version__}" if torch else "no PyTorch"
            print(f"{rt.cuda.get_device_name()}; perflab beside {beside}")
            print(f"{'microseconds, the least of samples':38}{'  '.join(f'{name:>9}' for name in LIBRARIES)}    ratio")
            ops(torch, cupy)
        else:
            model(part, torch)


if __name__ == "__main__":
    main(sys.argv[1:])
