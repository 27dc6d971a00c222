"""Bits of integers, and logic, element by element; no gradients."""

from typing import Any

from ..registry import pointwise


@pointwise(source="{a} & {b}", kinds="bi", differentiable=False)
def bitwise_and(xp, a, b):
    """The bits that are set in both, of ints or bools.

    >>> bitwise_and(tensor([6]), 3).tolist()
    [2]
    """
    return xp.bitwise_and(a, b)


@pointwise(source="{a} | {b}", kinds="bi", differentiable=False)
def bitwise_or(xp, a, b):
    """The bits that are set in one or both, of ints or bools.

    >>> bitwise_or(tensor([6]), 3).tolist()
    [7]
    """
    return xp.bitwise_or(a, b)


@pointwise(source="{a} ^ {b}", kinds="bi", differentiable=False)
def bitwise_xor(xp, a, b):
    """The bits that are set in one alone, of ints or bools.

    >>> bitwise_xor(tensor([6]), 3).tolist()
    [5]
    """
    return xp.bitwise_xor(a, b)


@pointwise(source="~{a}", kinds="bi", differentiable=False, aliases=("bitwise_not",))
def bitwise_invert(xp, a):
    """Every bit turned over; of bools, the other one.

    >>> bitwise_invert(tensor([5])).tolist()
    [-6]
    """
    return xp.bitwise_invert(a)


@pointwise(source="{a} << {b}", kinds="i", differentiable=False, domain=(0, 3))
def bitwise_left_shift(xp, a, b):
    """The bits of a moved up by b places; b is 0 or more.

    >>> bitwise_left_shift(tensor([3]), 2).tolist()
    [12]
    """
    return xp.left_shift(a, b)


@pointwise(source="{a} >> {b}", kinds="i", differentiable=False, domain=(0, 3))
def bitwise_right_shift(xp, a, b):
    """The bits of a moved down by b places, those of the sign following; b is 0 or more.

    >>> bitwise_right_shift(tensor([-12]), 2).tolist()
    [-3]
    """
    return xp.right_shift(a, b)


def _truth(a: Any) -> Any:
    """For NumPy's logical functions, which CuPy has not of complex numbers."""
    return a != 0 if a.dtype.kind == "c" else a


@pointwise(source="{a} && {b}", dtype="bool", kinds="bifc")
def logical_and(xp, a, b):
    """Whether both differ from 0.

    >>> logical_and(tensor([True, True]), tensor([True, False])).tolist()
    [True, False]
    """
    return xp.logical_and(_truth(a), _truth(b))


@pointwise(source="{a} || {b}", dtype="bool", kinds="bifc")
def logical_or(xp, a, b):
    """Whether one or both differ from 0.

    >>> logical_or(tensor([False, True]), tensor([False, False])).tolist()
    [False, True]
    """
    return xp.logical_or(_truth(a), _truth(b))


@pointwise(source="({a} != 0) != ({b} != 0)", dtype="bool", kinds="bifc")
def logical_xor(xp, a, b):
    """Whether one alone differs from 0.

    >>> logical_xor(tensor([True, True]), tensor([True, False])).tolist()
    [False, True]
    """
    return xp.logical_xor(_truth(a), _truth(b))


@pointwise(source="!{a}", dtype="bool", kinds="bifc")
def logical_not(xp, a):
    """Whether a is 0 or False.

    >>> logical_not(tensor([True, False])).tolist()
    [False, True]
    """
    return xp.logical_not(_truth(a))
