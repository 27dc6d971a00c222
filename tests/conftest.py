import gc
import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from perflab.runtime.presence import missing_for_cuda

# No test asserts a time, and a busy machine is slow.
settings.register_profile("perflab", deadline=None)
settings.load_profile("perflab")

# A pytest that a test starts is no worker of the pytest-xdist that runs the test.
for name in [name for name in os.environ if name.startswith("PYTEST_XDIST_")]:
    del os.environ[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, with the way out, what this machine cannot run."""
    on_gpu = [item for item in items if item.get_closest_marker("cuda")]
    if on_gpu and (missing := missing_for_cuda()):
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason=missing))
    if find_spec("torch") is None:
        for item in items:
            if item.get_closest_marker("torch"):
                item.add_marker(pytest.mark.skip(reason="PyTorch is not installed: make test-torch"))


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: the collector need not look through them each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def root() -> Path:
    """The top folder of the checkout."""
    return Path(__file__).parent.parent
