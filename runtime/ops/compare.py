"""Comparisons, element by element: bool results, no gradients."""

from ..registry import pointwise


@pointwise(source="{a} == {b}", dtype="bool", aliases=("equal",))
def eq(xp, a, b):
    """Whether a equals b, element by element.

    >>> eq(tensor([1, 2]), 2).tolist()
    [False, True]
    """
    return xp.equal(a, b)


@pointwise(source="{a} != {b}", dtype="bool", aliases=("not_equal",))
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
