"""Two threads against one, in turn: large work gains, small work loses nothing. PyTorch has two threads too."""

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from perflab.benchmarks.beside import Figure, Measure, Sampler, statement

# a sample holds as many calls as fit in its time
pytestmark = pytest.mark.perflab(counters="off")

SMALL = {
    "add 64x64": "small + small",
    "matmul 64x64": "small @ small",
    "exp 600x600": "exp(middle)",
    "softmax 600x600": "softmax(middle, -1)",
    "matmul 600x600": "middle @ middle",
}
LARGE = {
    "exp 4096x4096": "exp(large)",
    "sum 4096x4096": "large.sum()",
    "softmax 4096x4096": "softmax(large, -1)",
    "matmul 4096x4096x64": "large @ tall",
}


def names(library: ModuleType, large: bool) -> Mapping[str, Any]:
    """The tensors and functions that the statements use."""
    random = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return library.from_numpy(random.standard_normal(shape).astype(np.float32))

    functions = {"exp": library.exp, "softmax": library.softmax}
    tensors = {"large": normal(4096, 4096), "tall": normal(4096, 64)} if large else {}
    return {**functions, **tensors, "small": normal(64, 64), "middle": normal(600, 600)}


@pytest.fixture(autouse=True)
def one_thread_afterwards(measure: Measure) -> Iterator[None]:
    yield
    measure.ours.set_num_threads(1)
    if measure.torch:
        measure.torch.set_num_threads(1)


@pytest.mark.parametrize("what", [*SMALL, *LARGE])
def test_two_threads(measure: Measure, what: str) -> None:
    def on(threads: int, library: ModuleType) -> Sampler:
        sample = statement((SMALL | LARGE)[what], names(library, what in LARGE))

        def sampler() -> float:
            library.set_num_threads(threads)
            return sample()

        return sampler

    samplers = {"two": on(2, measure.ours), "one": on(1, measure.ours)}
    if measure.torch:
        samplers["torch"] = on(2, measure.torch)
    times = measure.in_turn(samplers, rounds=30)
    two, torch = times["two"], times.get("torch")
    if torch:
        measure.figure(f"{what}, two threads", str(two), str(torch), f"{two.least / torch.least:.3f}")
    ratio = two.least / times["one"].least
    measure.table.figures.append(
        Figure(f"{what}, two threads / one", str(two), "", f"{ratio:.3f}", "<= 1.05", ratio <= 1.05)
    )
    measure.benchmark.extra_info["ratio"] = ratio
