"""The benchmarks of perflab: `python -m pytest benchmarks -q`.

Where PyTorch is installed each is measured beside it, in one process, in turn, on one thread each.
"""

import os
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from perflab.benchmarks.beside import Clock, Measure, Table

# read when numpy, torch and the runtime are loaded, which nothing above does
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
# torch.profiler writes a line to stderr at each start and stop otherwise
os.environ["KINETO_LOG_LEVEL"] = "5"

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
    ours = import_module("perflab.runtime")
    ours.set_num_threads(1)
    return Measure(benchmark, CLOCK, request.config.stash[TABLE], ours, torch)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    table = config.stash[TABLE]
    if not table.figures:
        return
    peer = f"torch {import_module('torch').__version__}" if find_spec("torch") else "torch (not installed)"
    terminalreporter.section("perflab beside PyTorch: least / median of short samples in turn, one thread each")
    for line in table.lines(peer):
        terminalreporter.write_line(line)
