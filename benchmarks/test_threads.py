"""Two threads against one, in turn: large work gains, small work loses nothing."""

from collections.abc import Iterator
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
LARGE = {"exp 4096x4096": "exp(large)", "matmul 4096x4096x64": "large @ tall"}


@pytest.fixture(autouse=True)
def one_thread_afterwards(measure: Measure) -> Iterator[None]:
    yield
    measure.ours.set_num_threads(1)


@pytest.mark.parametrize("what", [*SMALL, *LARGE])
def test_two_threads(measure: Measure, what: str) -> None:
    random = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return measure.ours.from_numpy(random.standard_normal(shape).astype(np.float32))

    space = {"small": normal(64, 64), "middle": normal(600, 600), "exp": measure.ours.exp}
    space["softmax"] = measure.ours.softmax
    if what in LARGE:
        space |= {"large": normal(4096, 4096), "tall": normal(4096, 64)}
    sample = statement((SMALL | LARGE)[what], space)

    def on(threads: int) -> Sampler:
        def sampler() -> float:
            measure.ours.set_num_threads(threads)
            return sample()

        return sampler

    times = measure.in_turn({"two": on(2), "one": on(1)}, rounds=30)
    ratio = times["two"].least / times["one"].least
    met = ratio <= 1.05
    measure.table.figures.append(
        Figure(f"{what}, two threads / one", str(times["two"]), "", f"{ratio:.3f}", "<= 1.05", met)
    )
    measure.benchmark.extra_info["ratio"] = ratio
