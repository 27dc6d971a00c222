"""Probabilities along an axis."""

from typing import Any

from ..op import sample
from ..registry import primitive
from .cast import astype
from .pointwise import exp
from .reduce import sum

_SAMPLES = (sample((2, 3)), sample((2, 3, 2), axis=1), sample((4,), axis=0), sample((0, 3)))


def _largest(xp: Any, a: Any, axis: int) -> Any:
    return xp.max(a, axis=axis, keepdims=True) if a.size else 0  # of nothing there is none


@primitive(
    rule="same_axis", dtype="float", flops=lambda a, out, axis: 5 * out.size, samples=_SAMPLES, autocast="float32"
)
def softmax(xp, a, *, axis: int = -1):
    """exp(a), divided by its sum along the axis.

    >>> softmax(tensor([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    e = xp.exp(a - _largest(xp, a, axis))
    return e / xp.sum(e, axis=axis, keepdims=True)


@softmax.vjp
def _(ct, out, *, axis: int):
    g = ct * out
    return g - out * sum(g, axis=axis, keepdims=True)


@primitive(
    rule="same_axis", dtype="float", flops=lambda a, out, axis: 5 * out.size, samples=_SAMPLES, autocast="float32"
)
def log_softmax(xp, a, *, axis: int = -1):
    """The logarithm of softmax, accurate for small probabilities too.

    >>> log_softmax(tensor([7.0])).tolist()
    [0.0]
    """
    shifted = a - _largest(xp, a, axis)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


@log_softmax.vjp
def _(ct, out, *, axis: int):
    return ct - exp(out) * sum(ct, axis=axis, keepdims=True)


@softmax.keywords
@log_softmax.keywords
def _(op, a, *args, dtype=None, **kwargs):
    return op(a if dtype is None else astype(a, dtype), *args, **kwargs)
