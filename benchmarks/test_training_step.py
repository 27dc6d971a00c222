"""A whole training step of a small network: forward, cross entropy, backward and optimizer."""

from collections.abc import Callable
from typing import Any

import pytest

from perflab.benchmarks.beside import Measure

Mlp = Callable[..., Callable[[], Any]]

SMALL, MEDIUM = (32, 64, 64, 10), (256, 784, 512, 512, 10)


@pytest.mark.parametrize("name, sizes, goal", [("mlp_tiny", SMALL, 0.3), ("mlp_medium", MEDIUM, None)])
def test_step(measure: Measure, mlp: Mlp, name: str, sizes: tuple[int, ...], goal: float | None) -> None:
    measure.beside(
        f"{name} training step", "step()", lambda library: {"step": mlp(library, *sizes)}, at_most=goal, collect=True
    )
