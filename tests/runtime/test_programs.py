"""Programs of PyTorch's users run here as they are, but for the library's name."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from perflab import runtime as rt

from .programs import PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program: Callable[[Any], list[float]]) -> None:
    rt.manual_seed(0)
    numbers = program(rt)
    assert numbers and all(math.isfinite(x) for x in numbers)
