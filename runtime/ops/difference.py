"""Differences between neighbours."""

import builtins
from typing import Any

from ..op import sample
from ..registry import composite
from .part import place
from .shape import concat


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
