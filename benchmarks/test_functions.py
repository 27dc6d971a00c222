"""Ops beside the ten of test_op_overhead.py that models often use, on sizes that models have."""

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from perflab.benchmarks.beside import Measure

OPS = {
    "cumsum": "square.cumsum(1)",
    "power": "positive ** 2.5",
    "erf": "erf(square)",
    "randn": "randn(1000000)",
    "mask": "square[mask]",
    "gather": "square.gather(1, places)",
    "transposed product": "a @ b.T",
    "batch_norm": "batch_norm(images, None, None, scale, shift, True).backward(images_grad)",
    "avg_pool2d": "avg_pool2d(images, 2).backward(pooled_grad)",
    "leaky_relu": "leaky_relu(square)",
    "call of a module": "module(a)",
}
SHAPES = {
    "square": (1000, 1000),
    "a": (64, 64),
    "b": (64, 64),
    "images": (32, 32, 28, 28),
    "images_grad": (32, 32, 28, 28),
    "pooled_grad": (32, 32, 14, 14),
    "scale": (32,),
    "shift": (32,),
}


def names(library: ModuleType) -> Mapping[str, Any]:
    """The tensors and functions that the statements use."""
    random = np.random.default_rng(0)
    nn, functional = (import_module(f"{library.__name__}.{name}") for name in ("nn", "nn.functional"))
    tensors = {
        name: library.from_numpy(random.standard_normal(shape).astype(np.float32)) for name, shape in SHAPES.items()
    }
    for name in ("images", "scale", "shift"):
        tensors[name].requires_grad_()
    tensors["positive"] = library.abs(tensors["square"])
    tensors["mask"] = tensors["square"] > 0
    tensors["places"] = library.from_numpy(random.integers(0, 1000, (1000, 1000)))
    functions = {name: getattr(functional, name) for name in ("batch_norm", "avg_pool2d", "leaky_relu")}
    return {**tensors, **functions, "erf": library.erf, "randn": library.randn, "module": nn.Identity()}


@pytest.mark.parametrize("op", OPS)
def test_function(measure: Measure, op: str) -> None:
    goal = 0.75 if op == "transposed product" else 1.0
    measure.beside(op, OPS[op], names, at_most=goal, rounds=20)
