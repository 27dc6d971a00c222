"""What an op costs on small float32 tensors, without and with gradient recording, and a chain of ten with backward."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from perflab.benchmarks.beside import Measure

OPS = {
    "add": "a + b",
    "mul": "a * b",
    "relu": "relu(a)",
    "matmul": "a @ b",
    "sum": "a.sum()",
    "exp": "exp(a)",
    "softmax": "softmax(a, -1)",
    "reshape": "a.reshape(size)",
    "slice": "a[low:high]",
}
MODES = ("no grad", "grad")
# At most these parts of PyTorch's time: on one element in both modes, on 64x64 without gradients.
TINY = {op: 0.2 if op == "softmax" else 0.12 for op in OPS}
SMALL = {"add": 0.35, "mul": 0.35, "exp": 0.35, "relu": 0.3, "sum": 0.25, "softmax": 0.65, "matmul": 0.75}
SIDES = (1, 64)


def names(library: ModuleType, side: int, grad: bool) -> dict[str, Any]:
    """The tensors and functions that the statements use."""
    random = np.random.default_rng(0)
    arrays = {name: random.standard_normal((side, side)).astype(np.float32) * np.float32(0.1) for name in "abxwm"}
    arrays["bias"] = random.standard_normal(side).astype(np.float32) * np.float32(0.1)
    tensors = {name: library.from_numpy(array) for name, array in arrays.items()}
    if grad:
        for name in "abxw":
            tensors[name].requires_grad_()
        tensors["bias"].requires_grad_()
    low, high = (0, 1) if side == 1 else (8, 16)
    functions = {"relu": library.relu, "exp": library.exp, "softmax": library.softmax}
    return {**tensors, **functions, "size": side * side, "low": low, "high": high}


def chain_names(library: ModuleType, side: int, grad: bool) -> Mapping[str, Any]:
    """With `chain`, ten ops from x to a scalar, and `step`, the chain and its gradients."""
    space = names(library, side, grad)
    x, w, bias, m, size = (space[name] for name in ("x", "w", "bias", "m", "size"))
    relu, exp, softmax = library.relu, library.exp, library.softmax

    def chain() -> Any:
        h = x @ w
        h = h + bias
        h = relu(h)
        h = h * m
        h = exp(h)
        h = h + x
        h = softmax(h, -1)
        h = h * x
        h = h.reshape(size)
        return h.sum()

    def step() -> None:
        x.grad = w.grad = bias.grad = None
        chain().backward()

    return {"chain": chain, "step": step}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("op", OPS)
def test_op(measure: Measure, op: str, side: int, mode: str) -> None:
    goal = TINY[op] if side == 1 else SMALL.get(op) if mode == "no grad" else None
    measure.beside(
        f"{OPS[op]}, {side}x{side}, {mode}", OPS[op], lambda library: names(library, side, mode == "grad"), at_most=goal
    )


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("what", ["forward, no grad", "forward, grad", "forward + backward"])
def test_chain_of_ten_ops(measure: Measure, what: str, side: int) -> None:
    text = "step()" if what == "forward + backward" else "chain()"
    goal = None if text == "chain()" else 0.06 if side == 1 else 0.25
    measure.beside(
        f"chain of 10 ops, {side}x{side}, {what}",
        text,
        lambda library: chain_names(library, side, grad=what != "forward, no grad"),
        at_most=goal,
    )
