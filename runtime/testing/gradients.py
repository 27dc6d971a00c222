"""First and second gradients against finite differences in float64, and in 16-bit floats against those in float64."""

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .. import creation
from .._core import Tensor
from ..op import Op, Sample
from ..spec import float64
from .inputs import Arrays, Entry, call, fill, floating, tensors


def weights(outs: tuple[Tensor, ...]) -> Arrays:
    """One random factor for each element of the results."""
    return [np.random.default_rng(1).normal(size=out.shape) for out in outs]


def weighted(outs: tuple[Tensor, ...], factors: Arrays) -> Any:
    """The results' elements, each times its factor, added up; integers, such as places, have no part in it."""
    terms = [
        (out * creation.tensor(w.astype(out.dtype.numpy), device=out.device)).sum()
        for out, w in zip(outs, factors, strict=True)
        if out.dtype.kind == "f"
    ]
    return reduce(add, terms) if terms else creation.tensor(0.0)


def differences(f: Callable[[Arrays], float], arrays: Arrays, i: int) -> np.ndarray[Any, Any]:
    """The gradient of f with respect to input i, by central differences."""
    gradient, step = np.zeros_like(arrays[i]), 1e-5
    for at in np.ndindex(arrays[i].shape):
        up, down = arrays[i].copy(), arrays[i].copy()
        up[at] += step
        down[at] -= step
        sides = [f([*arrays[:i], moved, *arrays[i + 1 :]]) for moved in (up, down)]
        gradient[at] = (sides[0] - sides[1]) / (2 * step)
    return gradient


def precise(entry: Entry, sample: Sample, arrays: Arrays) -> Arrays | None:
    """The factors of the results, None where these are not float64: differences would drown in rounding."""
    outs = call(entry, sample, tensors(arrays))
    kinds = {out.dtype for out in outs if out.dtype.kind == "f"}
    return weights(outs) if kinds == {float64} else None


def differentiable(entry: Entry, sample: Sample) -> bool:
    """Whether a gradient flows from the results to an input."""
    if isinstance(entry, Op) and not entry.has_gradient:
        return False
    arrays = fill(entry, sample, float64)
    if any(out.dtype.kind == "c" for out in call(entry, sample, tensors(arrays))):
        return False  # it would be refused
    return any(out.requires_grad for out in call(entry, sample, tensors(arrays, set(floating(entry, arrays)))))


def check_gradient(entry: Entry, sample: Sample) -> bool:
    """Of each input alone, and of all at once."""
    arrays = fill(entry, sample, float64)
    every, factors = floating(entry, arrays), precise(entry, sample, arrays)
    if not every or factors is None:
        return False

    def loss(values: Arrays) -> float:
        return float(weighted(call(entry, sample, tensors(values)), factors).item())

    wanted = {i: differences(loss, arrays, i) for i in every}
    sloped = not np.isnan(loss(arrays))  # a mean of nothing has no slope, but a backward pass
    for requiring in [set(every), *({i} for i in every if len(every) > 1)]:
        inputs = tensors(arrays, requiring)
        value = weighted(call(entry, sample, inputs), factors)
        if value.requires_grad:
            value.backward()
        for i in requiring:
            if sloped:
                np.testing.assert_allclose(gradient(inputs[i]), wanted[i], rtol=1e-6, atol=1e-8)
    return True


def gradient(x: Tensor) -> np.ndarray[Any, Any]:
    return np.zeros(x.shape, x.dtype.numpy) if x.grad is None else x.grad.detach().numpy()


def check_second_gradient(entry: Entry, sample: Sample) -> bool:
    """Of the first gradient's projection on random directions."""
    arrays = fill(entry, sample, float64)
    every, factors = floating(entry, arrays), precise(entry, sample, arrays)
    if not every or factors is None:
        return False
    directions = [np.random.default_rng(2 + i).normal(size=arrays[i].shape) for i in every]

    def slope(inputs: list[Tensor]) -> Any:
        """The loss's derivative along the directions, as part of a graph; None where it is 0."""
        value = weighted(call(entry, sample, inputs), factors)
        if not value.requires_grad:
            return None
        value.backward(create_graph=True)
        terms = [
            (g * creation.tensor(d)).sum()
            for i, d in zip(every, directions, strict=True)
            if (g := inputs[i].grad) is not None
        ]
        return reduce(add, terms) if terms else None

    def number(values: Arrays) -> float:
        found = slope(tensors(values, set(every)))
        return 0.0 if found is None else float(found.item())

    inputs = tensors(arrays, set(every))
    found = slope(inputs)
    for x in inputs:
        x.grad = None
    if found is not None and found.requires_grad:
        found.backward()
    for i in every:
        np.testing.assert_allclose(gradient(inputs[i]), differences(number, arrays, i), rtol=1e-6, atol=1e-7)
    return True
