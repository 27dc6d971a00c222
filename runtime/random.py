"""Random tensors. The same seed gives the same numbers on every machine: NumPy's Philox generator makes them."""

from typing import Any

import numpy as np

from . import _core
from .creation import copied, shape_of
from .spec import as_dtype, float32, int64

_generator = np.random.Generator(np.random.Philox(0))


def manual_seed(seed: int) -> None:
    """Start the numbers of rand, randn and randint, and the initial values of layers, from `seed`."""
    global _generator
    _generator = np.random.Generator(np.random.Philox(seed))


def generator() -> np.random.Generator:
    """The generator that the next random tensor draws from."""
    return _generator


def rand(*shape: Any, dtype: Any = float32, requires_grad: bool = False) -> _core.Tensor:
    """Uniform in [0, 1): `rand(2, 3)` or `rand((2, 3))`; float32 or float64."""
    made = copied(np.asarray(_generator.random(shape_of(shape), dtype=as_dtype(dtype).numpy)))
    return made.requires_grad_(requires_grad)


def randn(*shape: Any, dtype: Any = float32, requires_grad: bool = False) -> _core.Tensor:
    """Normal with mean 0 and variance 1: `randn(2, 3)` or `randn((2, 3))`; float32 or float64."""
    made = copied(np.asarray(_generator.standard_normal(shape_of(shape), dtype=as_dtype(dtype).numpy)))
    return made.requires_grad_(requires_grad)


def randint(low: int, high: Any = None, size: Any = None, *, dtype: Any = int64) -> _core.Tensor:
    """Integers from low to high - 1, all as likely: `randint(0, 10, (2, 3))`, or `randint(10, (2, 3))` from 0."""
    if size is None:
        low, high, size = 0, low, high
    return copied(np.asarray(_generator.integers(low, high, shape_of((size,)), dtype=as_dtype(dtype).numpy)))
