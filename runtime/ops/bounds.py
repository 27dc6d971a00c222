"""Values kept between bounds, or replaced where they are not finite."""

import math
from typing import Any

from ..op import sample
from ..promotion import finfo
from ..registry import composite, pointwise
from .compare import isnan
from .grads import unbroadcast
from .pointwise import positive, where


@pointwise(source="{a} < {b} || {b} != {b} ? {b} : {a}", domain=(-2.0, 2.0))
def clamp_min(xp, a, b):
    """a, but no less than b; where they are equal the gradient is a's.

    >>> clamp_min(tensor([-1.0, 2.0]), 0).tolist()
    [0.0, 2.0]
    """
    return xp.maximum(a, b)


@clamp_min.vjp
def _(ct, a, b):
    return unbroadcast(where(a >= b, ct, 0), a), unbroadcast(where(a < b, ct, 0), b)


@pointwise(source="{a} > {b} || {b} != {b} ? {b} : {a}")
def clamp_max(xp, a, b):
    """a, but no more than b; where they are equal the gradient is a's.

    >>> clamp_max(tensor([-1.0, 2.0]), 1).tolist()
    [-1.0, 1.0]
    """
    return xp.minimum(a, b)


@clamp_max.vjp
def _(ct, a, b):
    return unbroadcast(where(a <= b, ct, 0), a), unbroadcast(where(a > b, ct, 0), b)


@pointwise(source="fmax({a}, {b})")
def fmax(xp, a, b):
    """The larger of a and b, element by element; where one is NaN, the other. Of equal ones the gradient is a's.

    >>> fmax(tensor([1.0, float("nan")]), 2).tolist()
    [2.0, 2.0]
    """
    return xp.fmax(a, b)


@fmax.vjp
def _(ct, a, b):
    by_a = where(a >= b, ct, where(b != b, ct, 0))
    return unbroadcast(by_a, a), unbroadcast(ct - by_a, b)


@pointwise(source="fmin({a}, {b})")
def fmin(xp, a, b):
    """The smaller of a and b, element by element; where one is NaN, the other. Of equal ones the gradient is a's.

    >>> fmin(tensor([1.0, float("nan")]), 2).tolist()
    [1.0, 2.0]
    """
    return xp.fmin(a, b)


@fmin.vjp
def _(ct, a, b):
    by_a = where(a <= b, ct, where(b != b, ct, 0))
    return unbroadcast(by_a, a), unbroadcast(ct - by_a, b)


@composite(samples=(sample((2, 3), min=-0.5, max=0.5), sample((2, 3), (3,), (2, 1))), aliases=("clamp",))
def clip(a: Any, min: Any = None, max: Any = None) -> Any:
    """a, but no less than min and no more than max: numbers, tensors, or None for no bound. The upper bound goes first.

    >>> clip(tensor([-3.0, 0.5, 2.0]), -1, 1).tolist()
    [-1.0, 0.5, 1.0]
    """
    low = positive(a) if min is None else clamp_min(a, min)
    return low if max is None else clamp_max(low, max)


@composite(samples=(sample((2, 3)),), in_place=True)
def nan_to_num(a: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """a with NaN replaced by `nan` and the infinities by `posinf` and `neginf`, by default the dtype's ends.

    >>> nan_to_num(tensor([1.0, float("nan"), float("inf")]), posinf=9.0).tolist()
    [1.0, 0.0, 9.0]
    """
    if not a.dtype.is_floating_point:
        return positive(a)
    most = finfo(a.dtype).max
    high = most if posinf is None else posinf
    low = -most if neginf is None else neginf
    return where(isnan(a), nan, where(a == math.inf, high, where(a == -math.inf, low, a)))
