"""Comparisons, element by element: bool results, no gradients."""

from typing import Any

from ..registry import composite, pointwise
from .reduce import all


@pointwise(source="{a} == {b}", dtype="bool", kinds="bifc", aliases=("equal",))
def eq(xp, a, b):
    """Whether a equals b, element by element.

    >>> eq(tensor([1, 2]), 2).tolist()
    [False, True]
    """
    return xp.equal(a, b)


@pointwise(source="{a} != {b}", dtype="bool", kinds="bifc", aliases=("not_equal",))
def ne(xp, a, b):
    """Whether a differs from b, element by element.

    >>> ne(tensor([1, 2]), 2).tolist()
    [True, False]
    """
    return xp.not_equal(a, b)


@pointwise(source="{a} < {b}", dtype="bool", aliases=("less",))
def lt(xp, a, b):
    """Whether a is less than b, element by element.

    >>> lt(tensor([1, 2]), 2).tolist()
    [True, False]
    """
    return xp.less(a, b)


@pointwise(source="{a} <= {b}", dtype="bool", aliases=("less_equal",))
def le(xp, a, b):
    """Whether a is at most b, element by element.

    >>> le(tensor([1, 3]), 2).tolist()
    [True, False]
    """
    return xp.less_equal(a, b)


@pointwise(source="{a} > {b}", dtype="bool", aliases=("greater",))
def gt(xp, a, b):
    """Whether a is greater than b, element by element.

    >>> gt(tensor([1, 3]), 2).tolist()
    [False, True]
    """
    return xp.greater(a, b)


@pointwise(source="{a} >= {b}", dtype="bool", aliases=("greater_equal",))
def ge(xp, a, b):
    """Whether a is at least b, element by element.

    >>> ge(tensor([1, 2]), 2).tolist()
    [False, True]
    """
    return xp.greater_equal(a, b)


@pointwise(source="isfinite({a}) != 0", dtype="bool", kinds="bifc")
def isfinite(xp, a):
    """Whether a is neither infinite nor NaN, element by element.

    >>> isfinite(tensor([1.0, float("inf"), float("nan")])).tolist()
    [True, False, False]
    """
    return xp.isfinite(a)


@pointwise(source="isinf({a}) != 0", dtype="bool", kinds="bifc")
def isinf(xp, a):
    """Whether a is infinite, element by element.

    >>> isinf(tensor([1.0, float("inf"), float("nan")])).tolist()
    [False, True, False]
    """
    return xp.isinf(a)


@pointwise(source="isnan({a}) != 0", dtype="bool", kinds="bifc")
def isnan(xp, a):
    """Whether a is NaN, element by element.

    >>> isnan(tensor([1.0, float("inf"), float("nan")])).tolist()
    [False, False, True]
    """
    return xp.isnan(a)


@pointwise(
    source="isfinite({a}) && isfinite({b}) ? fabs({a} - {b}) <= {atol} + {rtol} * fabs({b})"
    " : {a} == {b} || ({equal_nan} && {a} != {a} && {b} != {b})",
    flops=5,
    dtype="bool",
    kinds="bifc",
)
def isclose(xp, a, b, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False):
    """Whether abs(a - b) <= atol + rtol * abs(b), element by element; infinities must be equal.

    >>> isclose(tensor([1.0, 2.0]), tensor([1.000001, 2.1])).tolist()
    [True, False]
    """
    return xp.isclose(a, b, rtol, atol, equal_nan)


@composite(samples=())
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether isclose holds for all elements, as a bool.

    >>> allclose(tensor([1.0, 2.0]), tensor([1.000001, 2.0]))
    True
    """
    return bool(all(isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)))
