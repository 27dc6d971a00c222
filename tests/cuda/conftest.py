from pathlib import Path

import pytest

from .fake import build
from .shim import Shim, compiler


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Shim:
    """Every CUDA kernel, compiled for the host."""
    if compiler() is None:
        pytest.skip("no C++ compiler to compile the kernels for the host with")
    return Shim(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(scope="session")
def fake_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CUDA driver over host memory, as a library."""
    if compiler() is None:
        pytest.skip("no C++ compiler to build the fake driver with")
    return build(tmp_path_factory.mktemp("driver"))
