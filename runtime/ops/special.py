"""Special functions, element by element: around the gamma function, the inverse of erf, sinc."""

import math
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..op import sample
from ..registry import composite, pointwise, primitive
from .pointwise import exp, where
from .trig import sin

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)  # B2, B4, ...
_SAMPLES = (sample((2, 3)), sample(()), sample((0, 2)))


def _lgamma_of(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # at the poles, and beyond 2e305
        return math.inf


_lgamma, _erf, _erfc = (np.frompyfunc(f, 1, 1) for f in (_lgamma_of, math.erf, math.erfc))  # NumPy has none


@pointwise(source="lgamma({a})", dtype="float", kinds="f", domain=(0.2, 3.0), autocast="float32")
def lgamma(xp, a):
    """The logarithm of the gamma function's absolute value, element by element: log((a - 1)!) of whole numbers.

    >>> lgamma(tensor([1.0, 2.0, 0.0])).tolist()
    [0.0, 0.0, inf]
    """
    return xp.asarray(_lgamma(a), a.dtype)


@lgamma.vjp
def _(ct, a):
    return ct * derivative_of_lgamma(a, n=0)


def _far(xp: Any, x: Any, n: int) -> Any:
    """The n-th derivative of digamma at x of 16 + n or more (Abramowitz and Stegun, 6.3.18 and 6.4.11)."""
    if n == 0:
        tail = sum(b / (2 * k * x ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1))
        return xp.log(x) - 0.5 / x - tail
    weights = (b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) for k, b in enumerate(_BERNOULLI, 1))
    terms = (weight / x ** (2 * k) for k, weight in enumerate(weights, 1))
    return (-1) ** (n + 1) * (math.factorial(n - 1) + math.factorial(n) / (2 * x) + sum(terms)) / x**n


def _beyond_half(xp: Any, x: Any, n: int) -> Any:
    """The same at x of 1/2 or more, carried there by psi(x + 1) = psi(x) + 1 / x."""
    near = xp.zeros_like(x)
    for _ in range(16 + n):
        small = x < 16 + n
        near = xp.where(small, near + xp.where(small, x, 1) ** (-n - 1.0), near)
        x = xp.where(small, x + 1, x)
    return _far(xp, x, n) - (-1) ** n * math.factorial(n) * near


def _polygamma(xp: Any, a: Any, n: int) -> Any:
    x = xp.asarray(a, xp.float64)
    # Mirrored at 1/2: psi(x) = psi(1 - x) - pi cot(pi x). The derivatives of the cotangent c are polynomials in c.
    powers = np.polynomial.Polynomial([0, 1])
    for _ in range(n):
        powers = -np.polynomial.Polynomial([1, 0, 1]) * powers.deriv()
    turned = math.pi * (x - xp.round(x))  # tan has the period 1 of pi x, and keeps its digits near 0
    cotangent, turns = 1 / xp.tan(turned), 0.0
    for factor in powers.coef[::-1].tolist():
        turns = turns * cotangent + factor
    mirrored = (-1) ** n * _beyond_half(xp, 1 - x, n) - math.pi ** (n + 1) * turns
    found = xp.where(x < 0.5, mirrored, _beyond_half(xp, x, n))
    pole = (x <= 0) & (x == xp.round(x))
    at_pole = xp.inf if n % 2 else xp.where(x == 0, xp.copysign(xp.inf, -x), xp.nan)
    return xp.where(pole, at_pole, found)


@primitive(
    rule="same",
    dtype="float",
    kinds="f",
    flops=lambda a, out, n: 50 * a.size,
    samples=(sample((2, 3), n=0), sample((), n=1), sample((0, 2), n=2)),
    domain=(0.2, 3.0),
    public=False,
    autocast="float32",
)
def derivative_of_lgamma(xp, a, *, n: int):
    """digamma, or its n-th derivative.

    >>> derivative_of_lgamma(tensor([1.0]), n=0).tolist()
    [-0.5772156715393066]
    """
    return xp.asarray(_polygamma(xp, a, n), a.dtype)


@derivative_of_lgamma.vjp
def _(ct, a, *, n: int):
    return ct * derivative_of_lgamma(a, n=n + 1)


@composite(samples=_SAMPLES)
def digamma(a: Any) -> Any:
    """The derivative of lgamma, element by element; NaN at -1, -2, ...

    >>> digamma(tensor([1.0])).tolist()
    [-0.5772156715393066]
    """
    return derivative_of_lgamma(a, n=0)


@composite(samples=(), method=False)
def polygamma(n: int, a: Any) -> Any:
    """The n-th derivative of digamma, element by element.

    >>> polygamma(1, tensor([1.0])).tolist()
    [1.644934058189392]
    """
    if n < 0:
        raise ArgumentError(f"polygamma: n is the number of a derivative, from 0, not {n}")
    return derivative_of_lgamma(a, n=n)


def _erfinv(y: Any) -> Any:
    """By Halley's method, from Winitzki's estimate; the sign apart."""
    size = np.minimum(np.abs(np.asarray(y, np.float64)), 1)
    small, rest = size < 0.5, 1 - size
    log = np.log(np.maximum(rest * (1 + size), 1e-300))
    middle = 2 / (np.pi * 0.147) + log / 2
    far = np.sqrt(np.maximum(np.sqrt(middle * middle - log / 0.147) - middle, 0))
    x = np.where(size < 0.01, size * (math.sqrt(math.pi) / 2), far)
    for _ in range(3):  # where the difference from 1 has more digits, with erfc
        off = np.where(small, size - np.asarray(_erf(x), np.float64), np.asarray(_erfc(x), np.float64) - rest)
        off = off / (2 / math.sqrt(math.pi) * np.exp(-x * x))
        x = x + off / (1 + x * off)
    return np.copysign(np.where(rest == 0, np.inf, x), y)


@pointwise(source=None, flops=50, dtype="float", kinds="f", domain=(-0.9, 0.9), autocast="float32")
def erfinv(xp, a):
    """The number whose erf is a, element by element: infinite at -1 and 1, NaN beyond.

    >>> erfinv(tensor([0.0, 1.0])).tolist()
    [0.0, inf]
    """
    return xp.asarray(xp.where(xp.abs(a) <= 1, _erfinv(a), xp.nan), a.dtype)


@erfinv.vjp
def _(ct, out):
    return ct * (0.5 * math.sqrt(math.pi) * exp(out * out))


@composite(samples=_SAMPLES)
def sinc(a: Any) -> Any:
    """sin(pi a) / (pi a), element by element, and 1 at 0.

    >>> sinc(tensor([0.0, 0.5])).tolist()
    [1.0, 0.6366197466850281]
    """
    zero = a == 0
    angle = where(zero, 1, a * math.pi)
    return where(zero, 1, sin(angle) / angle)
