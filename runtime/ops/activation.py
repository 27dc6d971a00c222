"""Activations: smooth and bent functions between layers, element by element."""

import math
from typing import Any

import numpy as np

from ..registry import pointwise
from .grads import unbroadcast
from .pointwise import exp, sigmoid, tanh

_erf = np.frompyfunc(math.erf, 1, 1)  # NumPy has none


def _normal_cdf(xp: Any, a: Any) -> Any:
    """The probability that a standard normal number is below a."""
    return 0.5 * (1 + xp.asarray(_erf(a * math.sqrt(0.5)), a.dtype))


_DENSITY = 1 / math.sqrt(2 * math.pi)


@pointwise(source="0.5 * {a} * (1 + erf({a} * 0.70710678118654752))", flops=5, dtype="float", public=False)
def gelu(xp, a):
    """a times the probability that a standard normal number is below a (Hendrycks and Gimpel, 2016).

    >>> gelu(tensor([0.0, 1.0])).tolist()
    [0.0, 0.8413447141647339]
    """
    return a * _normal_cdf(xp, a)


@gelu.vjp
def _(ct, a):
    return gelu_grad(ct, a)


@pointwise(
    source="{g} * (0.5 * (1 + erf({a} * 0.70710678118654752)) + {a} * (0.39894228040143268 * exp(-0.5 * {a} * {a})))",
    flops=11,
    dtype="float",
    public=False,
)
def gelu_grad(xp, g, a):
    """gelu's gradient, g being that of its result.

    >>> gelu_grad(ones(1), zeros(1)).tolist()
    [0.5]
    """
    return g * (_normal_cdf(xp, a) + a * (_DENSITY * xp.exp(-0.5 * a * a)))


@gelu_grad.vjp
def _(ct, g, a):
    by_a = ct * g * ((2 - a * a) * (_DENSITY * exp(-0.5 * (a * a))))
    return unbroadcast(gelu_grad(ct, a), g), unbroadcast(by_a, a)


# tanh(INNER * (a + CUBIC * a ** 3)) is near erf(a / sqrt(2)).
_INNER, _CUBIC = math.sqrt(2 / math.pi), 0.044715


@pointwise(
    source="0.5 * {a} * (1 + tanh(0.79788456080286536 * ({a} + 0.044715 * {a} * {a} * {a})))",
    flops=9,
    dtype="float",
    public=False,
)
def gelu_tanh(xp, a):
    """gelu, approximated through tanh.

    >>> gelu_tanh(tensor([0.0])).tolist()
    [0.0]
    """
    return 0.5 * a * (1 + xp.tanh(_INNER * (a + _CUBIC * a * a * a)))


@gelu_tanh.vjp
def _(ct, a):
    return gelu_tanh_grad(ct, a)


@pointwise(
    source="{g} * (0.5 * (1 + tanh(0.79788456080286536 * ({a} + 0.044715 * {a} * {a} * {a})))"
    " + 0.5 * {a} * (1 - pow(tanh(0.79788456080286536 * ({a} + 0.044715 * {a} * {a} * {a})), 2))"
    " * (0.79788456080286536 * (1 + 3 * 0.044715 * {a} * {a})))",
    flops=18,
    dtype="float",
    public=False,
)
def gelu_tanh_grad(xp, g, a):
    """gelu_tanh's gradient, g being that of its result.

    >>> gelu_tanh_grad(ones(1), zeros(1)).tolist()
    [0.5]
    """
    t = xp.tanh(_INNER * (a + _CUBIC * a * a * a))
    return g * (0.5 * (1 + t) + 0.5 * a * (1 - t * t) * (_INNER * (1 + 3 * _CUBIC * a * a)))


@gelu_tanh_grad.vjp
def _(ct, g, a):
    t = tanh(_INNER * (a + _CUBIC * (a * a * a)))
    inner = _INNER * (1 + 3 * _CUBIC * (a * a))  # the derivative of tanh's argument
    bent = (1 - t * t) * (inner + 0.5 * a * (6 * _CUBIC * _INNER * a) - a * t * (inner * inner))
    return unbroadcast(gelu_tanh_grad(ct, a), g), unbroadcast(ct * g * bent, a)


@pointwise(source="{a} / (1 + exp(-{a}))", flops=4, dtype="float", aliases=("swish",), public=False)
def silu(xp, a):
    """a times its sigmoid (Elfwing and others, 2017).

    >>> silu(tensor([0.0])).tolist()
    [0.0]
    """
    return a / (1 + xp.exp(-a))


@silu.vjp
def _(ct, a):
    return silu_grad(ct, a)


@pointwise(
    source="{g} * (1 / (1 + exp(-{a})) * (1 + {a} * (1 - 1 / (1 + exp(-{a})))))", flops=8, dtype="float", public=False
)
def silu_grad(xp, g, a):
    """silu's gradient, g being that of its result.

    >>> silu_grad(ones(1), zeros(1)).tolist()
    [0.5]
    """
    s = 1 / (1 + xp.exp(-a))
    return g * (s * (1 + a * (1 - s)))


@silu_grad.vjp
def _(ct, g, a):
    s = sigmoid(a)
    bent = s * (1 - s) * (2 + a * (1 - 2 * s))
    return unbroadcast(silu_grad(ct, a), g), unbroadcast(ct * g * bent, a)
