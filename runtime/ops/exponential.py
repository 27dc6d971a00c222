"""Exponentials, logarithms and roots, element by element, and the error function."""

import math
from typing import Any

import numpy as np

from ..op import sample
from ..registry import composite, pointwise
from ..spec import Axes, complex128, float64
from .cast import astype
from .grads import unbroadcast
from .pointwise import abs, exp, log, pow, sigmoid, where
from .reduce import amax, sum


@pointwise(source="expm1({a})", dtype="float", kinds="fc", autocast="float32")
def expm1(xp, a):
    """exp(a) - 1, accurate near 0 too.

    >>> expm1(tensor([0.0])).tolist()
    [0.0]
    """
    if a.dtype.kind == "c":  # NumPy's gives NaN at the infinities and keeps -0
        return xp.where(xp.isfinite(a.real) & (a != 0), xp.expm1(a), xp.exp(a) - 1)
    return xp.expm1(a)


@expm1.vjp
def _(ct, out):
    return ct * (out + 1)


@pointwise(source="log1p({a})", dtype="float", kinds="fc", domain=(-0.7, 2.0), autocast="float32")
def log1p(xp, a):
    """log(1 + a), accurate near 0 too.

    >>> log1p(tensor([0.0])).tolist()
    [0.0]
    """
    return xp.log1p(a)


@log1p.vjp
def _(ct, a):
    return ct / (1 + a)


@pointwise(source="log2({a})", dtype="float", kinds="fc", domain=(0.2, 3.0), autocast="float32")
def log2(xp, a):
    """The logarithm to base 2, element by element.

    >>> log2(tensor([8.0])).tolist()
    [3.0]
    """
    return xp.log2(a)


@log2.vjp
def _(ct, a):
    return ct / (a * math.log(2))


@pointwise(source="exp2({a})", dtype="float", autocast="float32")
def exp2(xp, a):
    """2 to the power of a, element by element.

    >>> exp2(tensor([3.0, -1.0])).tolist()
    [8.0, 0.5]
    """
    return xp.exp2(a)


@exp2.vjp
def _(ct, out):
    return ct * (out * math.log(2))


@composite(samples=(sample((2, 3), (2, 3)), sample((), ())))
def ldexp(a: Any, b: Any) -> Any:
    """a * 2 ** b, element by element.

    >>> ldexp(tensor([1.5]), tensor([2])).tolist()
    [6.0]
    """
    return a * exp2(b)


@pointwise(source="log10({a})", dtype="float", kinds="fc", domain=(0.2, 3.0), autocast="float32")
def log10(xp, a):
    """The logarithm to base 10, element by element.

    >>> log10(tensor([1.0])).tolist()
    [0.0]
    """
    return xp.log10(a)


@log10.vjp
def _(ct, a):
    return ct / (a * math.log(10))


@pointwise(
    source="{a} == {b} ? {a} + 0.69314718055994531 : fmax({a}, {b}) + log1p(exp(-fabs({a} - {b})))"
    " + ({a} != {a} || {b} != {b} ? {a} + {b} : 0)",
    flops=4,
    dtype="float",
    kinds="f",
)
def logaddexp(xp, a, b):
    """log(exp(a) + exp(b)) without overflow in between.

    >>> logaddexp(tensor([1000.0]), tensor([0.0])).tolist()
    [1000.0]
    """
    return xp.logaddexp(a, b)


@logaddexp.vjp
def _(ct, a, b):
    # Both infinite and equal: their difference would be NaN.
    apart = where(a == b, 0, a - b)
    return unbroadcast(ct * sigmoid(apart), a), unbroadcast(ct * sigmoid(-apart), b)


@pointwise(source="1 / sqrt({a})", flops=2, dtype="float", kinds="fc", domain=(0.2, 3.0), autocast="float32")
def rsqrt(xp, a):
    """1 / sqrt(a), element by element.

    >>> rsqrt(tensor([4.0])).tolist()
    [0.5]
    """
    return 1 / xp.sqrt(a)


@rsqrt.vjp
def _(ct, out):
    return ct * (-0.5 * (out * out * out))


@pointwise(source="log({a} / (1 - {a}))", flops=3, dtype="float", kinds="f", domain=(0.1, 0.9))
def logit(xp, a):
    """log(a / (1 - a)), the inverse of sigmoid; NaN beyond 0 and 1.

    >>> logit(tensor([0.5])).tolist()
    [0.0]
    """
    return xp.log(a / (1 - a))


@logit.vjp
def _(ct, a):
    return ct / (a * (1 - a))


@pointwise(source="{a} == 0 && {b} == {b} ? 0 : {a} * log({b})", flops=2, dtype="float", kinds="f", domain=(0.2, 2.0))
def xlogy(xp, a, b):
    """a * log(b), and 0 where a is 0, unless b is NaN.

    >>> xlogy(tensor([0.0, 2.0]), tensor([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    return xp.where((a == 0) & (b == b), a.dtype.type(0), a * xp.log(b))


@xlogy.vjp
def _(ct, a, b):
    by_a = where(a == 0, where(b > 0, ct * log(b), 0), ct * log(b))
    return unbroadcast(by_a, a), unbroadcast(ct * (a / b), b)


_erf, _erfc = np.frompyfunc(math.erf, 1, 1), np.frompyfunc(math.erfc, 1, 1)  # NumPy has none
_SLOPE = 2 / math.sqrt(math.pi)


@pointwise(source="erf({a})", dtype="float", kinds="f")
def erf(xp, a):
    """The error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to a.

    >>> erf(tensor([0.0, 10.0])).tolist()
    [0.0, 1.0]
    """
    return xp.asarray(_erf(a), a.dtype)


@erf.vjp
def _(ct, a):
    return ct * (_SLOPE * exp(-(a * a)))


@pointwise(source="erfc({a})", dtype="float", kinds="f")
def erfc(xp, a):
    """1 - erf(a), accurate for large a too.

    >>> erfc(tensor([0.0])).tolist()
    [1.0]
    """
    return xp.asarray(_erfc(a), a.dtype)


@erfc.vjp
def _(ct, a):
    return ct * (-_SLOPE * exp(-(a * a)))


@composite(samples=(sample((2, 3), axis=1), sample((2, 3, 4), axis=(0, -1), keepdims=True)))
def logsumexp(a: Any, axis: Axes = None, keepdims: bool = False, *, dim: Axes = None, keepdim: bool = False) -> Any:
    """log(sum(exp(a))) over the axes, of all elements by default, without overflow in between.

    >>> logsumexp(tensor([1000.0, 0.0]), axis=0).tolist()
    1000.0
    """
    axis, keepdims = dim if axis is None else axis, keepdims or keepdim
    top = amax(a.detach(), axis=axis, keepdims=True)
    top = where(abs(top) < math.inf, top, 0)  # an infinite one would give NaN
    total = log(sum(exp(a - top), axis=axis, keepdims=keepdims))
    return total + top.reshape(total.shape)


@composite(
    samples=(sample(np.array([[0.5, 2.0, 1.5]]), np.array([2.0, -1.0, 0.3])), sample(np.array(3.0), np.array(2.0)))
)
def float_power(a: Any, exponent: Any) -> Any:
    """a to the power of the exponent, computed in float64, or complex128: so that integers have negative powers too.

    >>> float_power(tensor([2, 4]), -1).tolist()
    [0.5, 0.25]
    """
    tensors = [x for x in (a, exponent) if hasattr(x, "dtype")]
    wide = complex128 if any(x.dtype.is_complex for x in tensors) else float64
    a, exponent = (astype(x, wide, copy=False) if hasattr(x, "dtype") else x for x in (a, exponent))
    return pow(a, exponent)
