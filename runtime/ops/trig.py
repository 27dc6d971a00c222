"""Trigonometric and hyperbolic functions, element by element. Angles are in radians."""

import math

from ..op import sample
from ..registry import composite, pointwise
from .grads import unbroadcast
from .pointwise import sqrt


@pointwise(source="sin({a})", dtype="float", kinds="fc")
def sin(xp, a):
    """The sine, element by element.

    >>> sin(tensor([0.0])).tolist()
    [0.0]
    """
    return xp.sin(a)


@sin.vjp
def _(ct, a):
    return ct * cos(a)


@pointwise(source="cos({a})", dtype="float", kinds="fc")
def cos(xp, a):
    """The cosine, element by element.

    >>> cos(tensor([0.0])).tolist()
    [1.0]
    """
    return xp.cos(a)


@cos.vjp
def _(ct, a):
    return -ct * sin(a)


@pointwise(source="tan({a})", dtype="float", kinds="fc", domain=(-1.2, 1.2), autocast="float32")
def tan(xp, a):
    """The tangent, element by element.

    >>> tan(tensor([0.0])).tolist()
    [0.0]
    """
    return xp.tan(a)


@tan.vjp
def _(ct, out):
    return ct * (1 + out * out)


@pointwise(source="asin({a})", dtype="float", kinds="fc", domain=(-0.9, 0.9), aliases=("arcsin",), autocast="float32")
def asin(xp, a):
    """The angle whose sine is a, between -pi/2 and pi/2; NaN beyond -1 and 1.

    >>> asin(tensor([0.0])).tolist()
    [0.0]
    """
    return xp.arcsin(a)


@asin.vjp
def _(ct, a):
    return ct / sqrt(1 - a * a)


@pointwise(source="acos({a})", dtype="float", kinds="fc", domain=(-0.9, 0.9), aliases=("arccos",), autocast="float32")
def acos(xp, a):
    """The angle whose cosine is a, between 0 and pi; NaN beyond -1 and 1.

    >>> acos(tensor([1.0])).tolist()
    [0.0]
    """
    return xp.arccos(a)


@acos.vjp
def _(ct, a):
    return -ct / sqrt(1 - a * a)


@pointwise(source="atan({a})", dtype="float", kinds="fc", aliases=("arctan",))
def atan(xp, a):
    """The angle whose tangent is a, between -pi/2 and pi/2.

    >>> atan(tensor([0.0])).tolist()
    [0.0]
    """
    return xp.arctan(a)


@atan.vjp
def _(ct, a):
    return ct / (1 + a * a)


@pointwise(source="atan2({a}, {b})", dtype="float", kinds="f", domain=(0.3, 2.0), aliases=("arctan2",))
def atan2(xp, a, b):
    """The angle of the point with the coordinates x = b and y = a, between -pi and pi.

    >>> atan2(tensor([0.0]), tensor([2.0])).tolist()
    [0.0]
    """
    return xp.arctan2(a, b)


@atan2.vjp
def _(ct, a, b):
    scaled = ct / (a * a + b * b)
    return unbroadcast(scaled * b, a), unbroadcast(-scaled * a, b)


@pointwise(source="hypot({a}, {b})", dtype="float", kinds="f", domain=(0.3, 2.0))
def hypot(xp, a, b):
    """sqrt(a**2 + b**2), element by element, without overflow in between.

    >>> hypot(tensor([3.0]), tensor([4.0])).tolist()
    [5.0]
    """
    return xp.hypot(a, b)


@hypot.vjp
def _(ct, a, b, out):
    return unbroadcast(ct * (a / out), a), unbroadcast(ct * (b / out), b)


@pointwise(source="sinh({a})", dtype="float", kinds="fc", autocast="float32")
def sinh(xp, a):
    """The hyperbolic sine, element by element.

    >>> sinh(tensor([0.0])).tolist()
    [0.0]
    """
    return xp.sinh(a)


@sinh.vjp
def _(ct, a):
    return ct * cosh(a)


@pointwise(source="cosh({a})", dtype="float", kinds="fc", autocast="float32")
def cosh(xp, a):
    """The hyperbolic cosine, element by element.

    >>> cosh(tensor([0.0])).tolist()
    [1.0]
    """
    return xp.cosh(a)


@cosh.vjp
def _(ct, a):
    return ct * sinh(a)


@pointwise(source="asinh({a})", dtype="float", kinds="fc", aliases=("arcsinh",))
def asinh(xp, a):
    """The number whose hyperbolic sine is a.

    >>> asinh(tensor([0.0])).tolist()
    [0.0]
    """
    return xp.arcsinh(a)


@asinh.vjp
def _(ct, a):
    return ct / sqrt(a * a + 1)


@pointwise(source="acosh({a})", dtype="float", kinds="fc", domain=(1.3, 3.0), aliases=("arccosh",))
def acosh(xp, a):
    """The number, 0 or more, whose hyperbolic cosine is a; NaN below 1.

    >>> acosh(tensor([1.0])).tolist()
    [0.0]
    """
    return xp.arccosh(a)


@acosh.vjp
def _(ct, a):
    return ct / sqrt(a * a - 1)


@pointwise(source="atanh({a})", dtype="float", kinds="fc", domain=(-0.9, 0.9), aliases=("arctanh",))
def atanh(xp, a):
    """The number whose hyperbolic tangent is a; NaN beyond -1 and 1.

    >>> atanh(tensor([0.0])).tolist()
    [0.0]
    """
    return xp.arctanh(a)


@atanh.vjp
def _(ct, a):
    return ct / (1 - a * a)


@composite(samples=(sample((2, 3)),))
def deg2rad(a):
    """Degrees as radians.

    >>> deg2rad(tensor([0.0, 180.0])).tolist()
    [0.0, 3.1415927410125732]
    """
    return a * (math.pi / 180)


@composite(samples=(sample((2, 3)),))
def rad2deg(a):
    """Radians as degrees.

    >>> rad2deg(tensor([0.0])).tolist()
    [0.0]
    """
    return a * (180 / math.pi)
