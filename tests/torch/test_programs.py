"""The programs of tests/programs.py are valid PyTorch; those without chance give the same numbers in both."""

from collections.abc import Callable
from typing import Any

import pytest

from perflab import runtime as rt

from ..runtime.programs import PROGRAMS, adam_by_hand, averages_and_inner_steps

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program_is_pytorch(program: Callable[[Any], list[float]]) -> None:
    torch.manual_seed(0)
    numbers = program(torch)
    if program in (adam_by_hand, averages_and_inner_steps):
        assert program(rt) == pytest.approx(numbers, rel=1e-5, abs=1e-6)
