"""Synthetic traces of a small training loop, made by arithmetic alone, so that every number in a figure can be checked."""

from collections.abc import Callable
from random import Random

import pytest

from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Trace, Track

MAIN = Track(100, 100, "main", "python")
ENGINE = Track(100, 101, "engine", "python")
GIL = Track(100, 100, "main: GIL", "python")

FORWARD = (("embedding", 18_000), ("matmul", 260_000), ("add", 21_000), ("tanh", 64_000), ("matmul", 410_000))
LOSS = (("log_softmax", 150_000), ("gather", 9_000), ("mean", 6_000))
SHAPES = {"matmul": [[256, 128], [128, 512]], "embedding": [[65, 128], [256]], "tanh": [[256, 512]]}


class TrainingLoop:
    """Writes the slices of a training loop on one thread: steps, annotations, ops with their kernel, backward nodes."""

    def __init__(self, seed: int) -> None:
        self.builder = TraceBuilder({"commit": "0" * 40, "baseTimeNanoseconds": 0})
        self.now = 0
        self.allocated = 3 * 2**20
        self._random = Random(seed)

    def op(self, name: str, duration: int) -> int:
        duration = round(duration * self._random.uniform(0.92, 1.15))
        args = {"Input Dims": SHAPES[name], "Input type": ["float32"] * len(SHAPES[name])} if name in SHAPES else {}
        handle = self.builder.slice(name, self.now, duration, track=MAIN, category="cpu_op", args=args)
        kernel = round(duration * 0.8)
        self.builder.slice(f"{name}_f32", self.now + duration - kernel, kernel, track=MAIN, category="kernel")
        self.memory(duration * 3)
        self.now += duration + 2_000
        return handle

    def memory(self, change: int) -> None:
        self.allocated += change
        self.builder.instant(
            "[memory]",
            self.now,
            track=MAIN,
            category="cpu_instant_event",
            args={
                "Addr": 4096,
                "Bytes": change,
                "Total Allocated": self.allocated,
                "Total Reserved": 16 * 2**20,
            },
        )
        self.builder.counter("Allocated", self.now, self.allocated, track=MAIN)
        self.builder.counter("Reserved", self.now, 16 * 2**20, track=MAIN)

    def annotation(self, name: str, work: Callable[[], None]) -> None:
        start = self.now
        work()
        self.builder.slice(name, start, self.now - start, track=MAIN, category="user_annotation")
        self.now += 1_000

    def step(self, number: int, forward: tuple[tuple[str, int], ...], gil: bool) -> None:
        self.annotation(f"ProfilerStep#{number}", lambda: self._step(forward, gil))

    def _step(self, forward: tuple[tuple[str, int], ...], gil: bool) -> None:
        before = self.allocated
        handles: list[int] = []
        self.annotation("forward", lambda: handles.extend(self.op(*op) for op in (*forward, *LOSS)))
        self.annotation("backward", lambda: self._backward(forward, handles, gil))
        self.annotation("optimizer", lambda: handles.append(self.op("adamw", 120_000)))
        self.memory(before - self.allocated)

    def _backward(self, forward: tuple[tuple[str, int], ...], handles: list[int], gil: bool) -> None:
        for (name, duration), handle in zip(reversed(forward), reversed(handles[: len(forward)]), strict=True):
            start = self.now
            self.op(name, duration * 2)
            node = self.builder.slice(
                f"{name.title()}Backward", start, self.now - start, track=MAIN, category="autograd"
            )
            self.builder.flow("fwdbwd", handle, node)
            if gil:
                self.builder.slice("waiting", start, 7_000, track=GIL, category="gil", args={"reason": "hook"})
                self.builder.slice("holding", start + 7_000, 9_000, track=GIL, category="gil", args={"reason": "hook"})
            self.now += 1_500


MakeTrace = Callable[..., Trace]


@pytest.fixture(scope="session")
def training_trace() -> MakeTrace:
    """Makes a trace of `steps` steps; `slow` looks characters up by a one-hot matmul, `gil` adds waits for the GIL."""

    def make(steps: int = 5, *, slow: bool = False, gil: bool = True, seed: int = 1) -> Trace:
        loop = TrainingLoop(seed)
        first = (("one_hot", 190_000), ("matmul", 350_000)) if slow else (FORWARD[0],)
        for number in range(steps):
            loop.step(number + 2, (*first, *FORWARD[1:]), gil)
        return loop.builder.build()

    return make
