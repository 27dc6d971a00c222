"""Rounding, remainders and signs, element by element. What jumps between steps has a gradient of 0."""

from ..errors import ArgumentError
from ..registry import pointwise
from ..spec import Spec
from .cast import copy_
from .grads import flat, unbroadcast
from .pointwise import div, positive


@pointwise(source="floor({a})", kinds="if")
def floor(xp, a):
    """The largest integer that is not above a, element by element; ints stay.

    >>> floor(tensor([1.5, -1.5])).tolist()
    [1.0, -2.0]
    """
    return xp.floor(a)


@floor.vjp
def _(ct, a: Spec):
    return flat(a)


@pointwise(source="ceil({a})", kinds="if")
def ceil(xp, a):
    """The smallest integer that is not below a, element by element; ints stay.

    >>> ceil(tensor([1.5, -1.5])).tolist()
    [2.0, -1.0]
    """
    return xp.ceil(a)


@ceil.vjp
def _(ct, a: Spec):
    return flat(a)


@pointwise(source="trunc({a})", kinds="if", aliases=("fix",))
def trunc(xp, a):
    """a without its fraction, element by element; ints stay.

    >>> trunc(tensor([1.5, -1.5])).tolist()
    [1.0, -1.0]
    """
    return xp.trunc(a)


@trunc.vjp
def _(ct, a: Spec):
    return flat(a)


@pointwise(source="rint({a})", kinds="ifc")
def round(xp, a):
    """The nearest integer, the even one of two equally near; ints stay.

    >>> round(tensor([0.5, 1.5, -1.7])).tolist()
    [0.0, 2.0, -2.0]
    """
    return xp.round(a)


@round.vjp
def _(ct, a: Spec):
    return flat(a)


@round.keywords
def _(op, a, *, decimals=0):
    rounded = round(a * 10.0**decimals) / 10.0**decimals if a.dtype.is_floating_point else positive(a)
    return rounded if op is round else copy_(a, rounded)


@pointwise(source="{a} - trunc({a})", flops=2, kinds="f")
def frac(xp, a):
    """The fraction of a, with its sign.

    >>> frac(tensor([1.5, -1.25])).tolist()
    [0.5, -0.25]
    """
    return a - xp.trunc(a)


@frac.vjp
def _(ct):
    return ct


@pointwise(source="{a} != {a} ? {a} : ({a} > 0) - ({a} < 0)", kinds="ifc", aliases=("sgn",))
def sign(xp, a):
    """1, 0 or -1, as a is above 0, 0 or below; of complex numbers a / abs(a).

    >>> sign(tensor([2.5, 0.0, -3.0])).tolist()
    [1.0, 0.0, -1.0]
    """
    return xp.sign(a)


@sign.vjp
def _(ct, a: Spec):
    return flat(a)


@pointwise(source="signbit({a}) != 0", dtype="bool", kinds="f")
def signbit(xp, a):
    """Whether the sign is negative, that of -0.0 too.

    >>> signbit(tensor([0.0, -0.0, -1.0])).tolist()
    [False, True, True]
    """
    return xp.signbit(a)


@pointwise(source="copysign({a}, {b})", kinds="f", domain=(0.3, 2.0))
def copysign(xp, a, b):
    """The size of a with the sign of b, element by element.

    >>> copysign(tensor([1.0, 2.0]), tensor([-0.0, 3.0])).tolist()
    [-1.0, 2.0]
    """
    return xp.copysign(a, b)


@copysign.vjp
def _(ct, a, b: Spec, out):
    return unbroadcast(ct * (sign(a) * sign(out)), a), flat(b)


@pointwise(source="nextafter({a}, {b})", kinds="f", differentiable=False)
def nextafter(xp, a, b):
    """The next number that the dtype has after a, on the way to b. It has no gradient.

    >>> nextafter(tensor([1.0]), tensor([2.0])).tolist()
    [1.0000001192092896]
    """
    return xp.nextafter(a, b)


@pointwise(source="floor({a} / {b})", flops=2, kinds="if", domain=(0.6, 1.9))
def floor_divide(xp, a, b):
    """The largest integer that is not above a / b, element by element; an int divided by 0 gives 0.

    >>> floor_divide(tensor([7, -7]), 2).tolist()
    [3, -4]
    """
    return xp.floor(xp.divide(a, b)) if a.dtype.kind == "f" else xp.floor_divide(a, b)


@floor_divide.vjp
def _(ct, a: Spec, b: Spec):
    return flat(a), flat(b)


@div.keywords
def _(op, a, b, *, rounding_mode=None):
    if rounding_mode is None:
        return op(a, b)
    if rounding_mode == "floor":
        rounded = floor_divide(a, b)
    elif rounding_mode == "trunc":
        whole = fmod(a, b)
        rounded = trunc(div(a, b)) if whole.dtype.kind == "f" else floor_divide(a - whole, b)
    else:
        raise ArgumentError(f"div: rounding_mode is None, 'floor' or 'trunc', not {rounding_mode!r}")
    return rounded if op is div else copy_(a, rounded)


@pointwise(
    source="fmod({a}, {b}) + (fmod({a}, {b}) != 0 && (fmod({a}, {b}) < 0) != ({b} < 0) ? {b} : 0)",
    flops=3,
    kinds="if",
    domain=(0.6, 1.9),
)
def remainder(xp, a, b):
    """What floor_divide leaves of a, with the sign of b; of an int divided by 0, 0.

    >>> remainder(tensor([7, -7]), 3).tolist()
    [1, 2]
    """
    return xp.remainder(a, b)


@remainder.vjp
def _(ct, a, b):
    return unbroadcast(ct, a), unbroadcast(-ct * floor_divide(a, b), b)


@pointwise(source="fmod({a}, {b})", flops=3, kinds="if", domain=(0.6, 1.9))
def fmod(xp, a, b):
    """What is left of a when the truncated quotient times b is taken away, with the sign of a.

    >>> fmod(tensor([7, -7]), 3).tolist()
    [1, -1]
    """
    return xp.fmod(a, b)


@fmod.vjp
def _(ct, a, b):
    return unbroadcast(ct, a), unbroadcast(-ct * trunc(a / b), b)


@pointwise(source="{a} != {a} ? {a} : {a} < 0 ? 0 : {a} > 0 ? 1 : {values}", flops=3, kinds="bif", differentiable=False)
def heaviside(xp, a, values):
    """0 where a is negative, 1 where it is positive, `values` where it is 0. No gradient.

    >>> heaviside(tensor([-2.0, 0.0, 3.0]), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    return xp.where(a != a, a, xp.where(a < 0, 0, xp.where(a > 0, 1, values)))
