"""The negative logarithm of the probability that a softmax gives to chosen classes."""

from typing import Any

import numpy as np

from ..errors import IndexOutOfRange
from ..op import sample
from ..registry import primitive
from ..spec import Indices
from .compare import ne
from .pointwise import where
from .reduce import sum
from .shape import unsqueeze
from .softmax import softmax


def _classes(xp: Any, a: Any, target: Any, axis: int, ignore_index: int) -> tuple[Any, Any]:
    """The targets on their own axis, with 0 for those that are ignored, and which count."""
    counts = xp.expand_dims(target != ignore_index, axis)
    target = xp.expand_dims(target, axis)
    wrong = counts & ((target < 0) | (target >= a.shape[axis]))
    if wrong.any():
        raise IndexOutOfRange(
            f"cross_entropy: target {target[wrong][0]} is not one of the {a.shape[axis]} classes, 0 to "
            f"{a.shape[axis] - 1}, nor ignore_index, {ignore_index}"
        )
    return xp.where(counts, target, 0), counts


_TARGETS = np.array([2, 0])
_SAMPLES: tuple[tuple[Any, Any, Any, dict[str, int]], ...] = (
    ((2, 3), (2,), _TARGETS, {"axis": 1}),
    ((2, 3), (2,), np.array([-100, 1]), {"axis": -1}),
    ((3,), (), np.array(1), {"axis": 0, "ignore_index": 2}),
    ((2, 3, 2), (2, 2), np.array([[2, 1], [1, 0]]), {"axis": 1, "ignore_index": 0}),
    ((0, 3), (0,), np.zeros(0, np.int64), {"axis": 1}),
)


@primitive(
    rule="softmax_nll",
    kinds="f",
    flops=lambda a, target, out, **_: 4 * a.size,
    samples=tuple(sample(a, target, **given) for a, _, target, given in _SAMPLES),
    public=False,
)
def softmax_nll(xp, a, target: Indices, *, axis: int, ignore_index: int = -100):
    """The negative logarithm of the probability that softmax(a) gives to each target; 0 where that is ignore_index.

    >>> softmax_nll(tensor([[0.0, 0.0]]), tensor([1]), axis=1).tolist()
    [0.6931471824645996]
    """
    target, counts = _classes(xp, a, target, axis, ignore_index)
    shifted = a - xp.max(a, axis=axis, keepdims=True)
    losses = xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True)) - xp.take_along_axis(shifted, target, axis)
    return xp.squeeze(xp.where(counts, losses, 0), axis)


@softmax_nll.vjp
def _(ct, a, target, *, axis, ignore_index):
    return softmax_nll_grad(a, ct, target, axis=axis, ignore_index=ignore_index), None


@primitive(
    rule="softmax_nll_grad",
    kinds="f",
    flops=lambda a, g, target, out, **_: 6 * a.size,
    samples=(
        *(sample(a, g, target, **({"ignore_index": -100} | given)) for a, g, target, given in _SAMPLES),
        sample((2, 3), (), _TARGETS, axis=1, ignore_index=-100),
    ),
    public=False,
)
def softmax_nll_grad(xp, a, g, target: Indices, *, axis: int, ignore_index: int):
    """softmax_nll's gradient for a. g is that of its result, or one number for all of it.

    >>> softmax_nll_grad(tensor([[0.0, 0.0]]), tensor([1.0]), tensor([1]), axis=1, ignore_index=-100).tolist()
    [[0.5, -0.5]]
    """
    target, counts = _classes(xp, a, target, axis, ignore_index)
    e = xp.exp(a - xp.max(a, axis=axis, keepdims=True))
    out = e / xp.sum(e, axis=axis, keepdims=True)
    xp.put_along_axis(out, target, xp.take_along_axis(out, target, axis) - 1, axis)
    return xp.where(counts, out, 0) * (g if g.ndim == 0 else xp.expand_dims(g, axis))


@softmax_nll_grad.vjp
def _(ct, a, g, target, *, axis: int, ignore_index: int):
    whole = softmax_nll_grad(a, 1.0, target, axis=axis, ignore_index=ignore_index)
    s = softmax(a, axis)
    bent = s * (ct - sum(s * ct, axis=axis, keepdims=True))
    bent = where(unsqueeze(ne(target, ignore_index), axis), bent, 0)
    by_g = sum(whole * ct, axis=axis)
    if g.ndim == 0:
        return bent * g, sum(by_g), None
    return bent * unsqueeze(g, axis), by_g, None
