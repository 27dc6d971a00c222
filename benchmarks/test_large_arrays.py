"""Ops on float32 arrays that no cache holds: fresh results, and results in a buffer that is kept.

PyTorch is measured twice: as it is, and in a process of its own with huge pages for its memory.
"""

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from perflab.benchmarks.beside import Measure
from perflab.benchmarks.peer import Peer

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
KEPT = {
    "add": ("add(a, b, out=kept)", 1.0),
    "exp": ("exp(a, out=kept)", 1.0),
    "softmax": ("softmax(square, -1, out=kept_square)", 1.0),
    "layer_norm": ("layer_norm_into(square, weight, bias, kept_square)", 1.0),
}
HUGE_PAGES = {"THP_MEM_ALLOC_ENABLE": "1"}
SHAPES = {
    "a": (LENGTH,),
    "b": (LENGTH,),
    "kept": (LENGTH,),
    "square": (SIDE, SIDE),
    "kept_square": (SIDE, SIDE),
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
    if "layer_norm_into" in text:
        functions["layer_norm_into"] = layer_norm_into(library)
    return {**tensors, **functions, "add": library.add, "exp": library.exp, "softmax": library.softmax}


def layer_norm_into(library: ModuleType) -> Any:
    """layer_norm with a buffer for the result; PyTorch's writes mean and 1 / standard deviation of each row as well."""
    if library.__name__ != "torch":
        op = import_module(f"{library.__name__}.ops.norm").layer_norm
        return lambda x, weight, bias, out: op(x, weight, bias, out=out)
    op, rows = library.ops.aten.native_layer_norm.out, [library.empty(SIDE, 1) for _ in range(2)]
    return lambda x, weight, bias, out: op(x, [SIDE], weight, bias, 1e-5, out0=out, out1=rows[0], out2=rows[1])


def measure_beside(measure: Measure, what: str, text: str, goal: float) -> None:
    def make(library: ModuleType) -> Mapping[str, Any]:
        return names(library, text)

    if measure.torch is None or measure.benchmark.disabled:
        return measure.beside(what, text, make, at_most=goal)
    measure.table.settings = "torch, huge pages; ratio"
    with Peer("torch", f"{names.__module__}:names", text, HUGE_PAGES) as peer:
        measure.beside(what, text, make, at_most=goal, rounds=12, other=peer)


@pytest.mark.parametrize("op", FRESH)
def test_fresh_result(measure: Measure, op: str) -> None:
    measure_beside(measure, f"{op}, large, fresh result", *FRESH[op])


@pytest.mark.parametrize("op", KEPT)
def test_result_in_a_kept_buffer(measure: Measure, op: str) -> None:
    measure_beside(measure, f"{op}, large, kept buffer", *KEPT[op])
