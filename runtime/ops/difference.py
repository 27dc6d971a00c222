"""Differences between neighbours."""

import builtins
from typing import Any

from ..op import sample
from ..registry import composite
from .part import place
from .reduce import sum
from .shape import concat, reshape


@composite(samples=(sample((2, 4)), sample((5, 3), axis=0, n=2)))
def diff(a: Any, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Every element less the one before it along the axis, n times over.

    prepend, append: what is joined to a first.

    >>> diff(tensor([1, 4, 9, 16])).tolist()
    [3, 5, 7]
    """
    joined = [part for part in (prepend, a, append) if part is not None]
    if len(joined) > 1:
        a = concat(joined, axis=axis)
    before = (builtins.slice(None),) * place(axis, a.ndim, "diff")
    for _ in range(n):
        a = a[(*before, builtins.slice(1, None))] - a[(*before, builtins.slice(None, -1))]
    return a


@composite(samples=(sample((2, 4)), sample((3, 2), axis=0, dx=0.5), sample((2, 3), (3,))))
def trapezoid(y: Any, x: Any = None, *, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by the trapezoidal rule, of values y at places x, or at distances dx.

    >>> trapezoid(tensor([1.0, 2.0, 4.0])).tolist()
    4.5
    """
    at = place(axis, y.ndim, "trapezoid")
    before = (builtins.slice(None),) * at
    sums = y[(*before, builtins.slice(1, None))] + y[(*before, builtins.slice(None, -1))]
    if x is None:
        return sum(sums, axis=at) * (0.5 * dx)
    steps = diff(x, axis=-1 if x.ndim == 1 else axis)
    if x.ndim == 1:
        steps = reshape(steps, (-1,) + (1,) * (y.ndim - 1 - at))
    return sum(sums * steps, axis=at) * 0.5
