"""What several files' tests of the profiler need."""

from collections.abc import Iterator

import pytest

from .fake_core import FakeCore, fake_core


@pytest.fixture
def core() -> Iterator[FakeCore]:
    with fake_core() as fake:
        yield fake
