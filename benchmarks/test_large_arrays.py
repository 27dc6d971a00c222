"""Ops on float32 arrays that no cache holds: fresh results, and results in a buffer that is kept."""

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from perflab.benchmarks.beside import Measure

LENGTH, SIDE = 10_000_000, 4096
# The statement and at most what part of PyTorch's time it may take.
FRESH = {
    "add": ("a + b", 0.5),
    "exp": ("exp(a)", 0.5),
    "sum": ("a.sum()", 0.5),
    "softmax": ("softmax(square, -1)", 0.5),
    "layer_norm": ("layer_norm(square, [4096], weight, bias)", 0.5),
    "matmul 1024": ("small @ small", 1.05),
    "matmul 2048": ("large @ large", 1.05),
    "conv2d": ("conv2d(images, kernel, padding=1)", 1.6),
}
KEPT = {"add": ("add(a, b, out=kept)", 1.0), "exp": ("exp(a, out=kept)", 1.0)}
SHAPES = {
    "a": (LENGTH,),
    "b": (LENGTH,),
    "kept": (LENGTH,),
    "square": (SIDE, SIDE),
    "weight": (SIDE,),
    "bias": (SIDE,),
    "small": (1024, 1024),
    "large": (2048, 2048),
    "images": (32, 64, 56, 56),
    "kernel": (64, 64, 3, 3),
}


def names(library: ModuleType, text: str) -> Mapping[str, Any]:
    """The tensors and functions that the statement uses."""
    functional = import_module(f"{library.__name__}.nn.functional")
    random = np.random.default_rng(0)
    tensors = {
        name: library.from_numpy(random.random(shape, np.float32) - np.float32(0.5))
        for name, shape in SHAPES.items()
        if name in text
    }
    functions = {"conv2d": functional.conv2d, "layer_norm": functional.layer_norm}
    return {**tensors, **functions, "add": library.add, "exp": library.exp, "softmax": library.softmax}


@pytest.mark.parametrize("op", FRESH)
def test_fresh_result(measure: Measure, op: str) -> None:
    text, goal = FRESH[op]
    measure.beside(f"{op}, large, fresh result", text, lambda library: names(library, text), at_most=goal, rounds=12)


@pytest.mark.parametrize("op", KEPT)
def test_result_in_a_kept_buffer(measure: Measure, op: str) -> None:
    text, goal = KEPT[op]
    measure.beside(f"{op}, large, kept buffer", text, lambda library: names(library, text), at_most=goal, rounds=12)
