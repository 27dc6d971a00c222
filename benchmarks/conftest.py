"""The benchmarks of perflab: `python -m pytest benchmarks -q`.

Where PyTorch is installed each is measured beside it, in one process, in turn, on one thread each.
"""

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from perflab.benchmarks.beside import Clock, Measure, Table

# read when numpy, torch and the runtime are loaded, which nothing above does
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
# torch.profiler writes a line to stderr at each start and stop otherwise
os.environ["KINETO_LOG_LEVEL"] = "5"

Mlp = Callable[..., Callable[[], Any]]
CLOCK = Clock()
TABLE = pytest.StashKey[Table]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TABLE] = Table()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "measure" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.benchmark(timer=CLOCK))


@pytest.fixture(scope="session")
def torch() -> ModuleType | None:
    """PyTorch on one thread; None where it is not installed."""
    if find_spec("torch") is None:
        return None
    module = import_module("torch")
    module.set_num_threads(1)
    return module


@pytest.fixture
def measure(benchmark: BenchmarkFixture, torch: ModuleType | None, request: pytest.FixtureRequest) -> Measure:
    return Measure(benchmark, CLOCK, request.config.stash[TABLE], import_module("perflab.runtime"), torch)


@pytest.fixture
def mlp() -> Mlp:
    """Makes the training step of a network of linear layers, on perflab.runtime or PyTorch."""
    return make_mlp


def make_mlp(library: ModuleType, batch: int, *widths: int) -> Callable[[], Any]:
    """A step of a network of linear layers with relu between them: cross entropy over the last width, SGD.

    (32, 64, 64, 10) is `mlp_tiny`: inputs 32x64, Linear 64-64, relu, Linear 64-10.
    """
    nn, functional, optim = (import_module(f"{library.__name__}.{name}") for name in ("nn", "nn.functional", "optim"))
    layers = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    # not above: numpy reads the environment that this file sets
    np = import_module("numpy")
    random = np.random.default_rng(0)
    x = library.from_numpy(random.standard_normal((batch, widths[0])).astype(np.float32))
    y = library.from_numpy(random.integers(0, widths[-1], batch))

    def step() -> Any:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    table = config.stash[TABLE]
    if not table.figures:
        return
    peer = f"torch {import_module('torch').__version__}" if find_spec("torch") else "torch (not installed)"
    terminalreporter.section("perflab beside PyTorch: least / median of short samples in turn, one thread each")
    for line in table.lines(peer):
        terminalreporter.write_line(line)
