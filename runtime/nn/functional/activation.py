"""Activations, element by element. `inplace` writes the result into the input."""

from collections.abc import Callable

from ..._core import Tensor, lowered
from ...errors import ArgumentError, ShapeError
from ...op import sample
from ...ops import activation, pointwise, rectifier
from ...ops import softmax as probabilities
from ...ops.cast import copy, copy_
from ...ops.compare import gt
from ...ops.index import take_along
from ...ops.part import place
from ...ops.pointwise import abs, log, where
from ...ops.reduce import argmax
from ...ops.shape import reshape, split_every
from ...random import rand
from ...registry import composite

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772

Unary = Callable[[Tensor], Tensor]

sigmoid: Unary = pointwise.sigmoid
tanh: Unary = pointwise.tanh
logsigmoid: Unary = rectifier.log_sigmoid
softmax: Callable[..., Tensor] = probabilities.softmax
log_softmax: Callable[..., Tensor] = probabilities.log_softmax


def _placed(function: Callable[..., Tensor], input: Tensor, inplace: bool, **attributes: float) -> Tensor:
    if not inplace:
        return function(input, **attributes)
    written: Tensor = copy_(input, function(copy(input), **attributes))  # the gradient needs the input as it was
    return written


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0)."""
    return _placed(pointwise.relu, input, inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """input between 0 and 6."""
    return _placed(rectifier.hardtanh, input, inplace, min_val=0.0, max_val=6.0)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """input between min_val and max_val."""
    if min_val > max_val:
        raise ArgumentError(f"hardtanh: min_val {min_val} is above max_val {max_val}")
    return _placed(rectifier.hardtanh, input, inplace, min_val=min_val, max_val=max_val)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where it is positive, else negative_slope * input (Maas and others, 2013)."""
    return _placed(rectifier.leaky_relu, input, inplace, negative_slope=negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is positive, else alpha * (exp(input) - 1) (Clevert and others, 2015)."""
    return _placed(rectifier.elu, input, inplace, alpha=alpha)


@composite(samples=(sample((2, 3)),), public=False)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with the constants that keep mean 0 and variance 1 from layer to layer (Klambauer and others, 2017).

    >>> selu(tensor([0.0, 1.0])).tolist()
    [0.0, 1.0507010221481323]
    """
    return _placed(lambda x: _SELU_SCALE * rectifier.elu(x, alpha=_SELU_ALPHA), input, inplace)


@composite(samples=(sample((2, 3)), sample((2, 3), alpha=0.5)), public=False)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is positive, else alpha * (exp(input / alpha) - 1) (Barron, 2017).

    >>> celu(tensor([0.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    if alpha == 0:
        raise ArgumentError("celu: alpha must not be 0")
    return _placed(lambda x: alpha * rectifier.elu(x / alpha), input, inplace)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """input times the probability that a standard normal number is below it (Hendrycks and Gimpel, 2016).

    approximate: "none", or "tanh" for their approximation. Raises ArgumentError for anything else.
    """
    if approximate == "none":
        out: Tensor = activation.gelu(input)
    elif approximate == "tanh":
        out = activation.gelu_tanh(input)
    else:
        raise ArgumentError(f"gelu: approximate is none or tanh, not {approximate!r}")
    return out


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input times its sigmoid (Elfwing and others, 2017)."""
    return _placed(activation.silu, input, inplace)


@composite(samples=(sample((2, 3)),), public=False)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input times tanh(softplus(input)) (Misra, 2019).

    >>> mish(tensor([0.0])).tolist()
    [0.0]
    """
    return _placed(lambda x: x * pointwise.tanh(rectifier.softplus(x)), input, inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta; input itself where beta * input is above the threshold."""
    out: Tensor = rectifier.softplus(input, beta=beta, threshold=threshold)
    return out


@composite(samples=(sample((2, 3)),), public=False)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """input / 6 + 1 / 2 between 0 and 1.

    >>> hardsigmoid(tensor([-4.0, 0.0, 4.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return _placed(lambda x: rectifier.hardtanh(x + 3, min_val=0.0, max_val=6.0) / 6, input, inplace)


@composite(samples=(sample((2, 3)),), public=False)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input times hardsigmoid(input) (Howard and others, 2019).

    >>> hardswish(tensor([0.0, 4.0])).tolist()
    [0.0, 4.0]
    """
    return _placed(lambda x: x * rectifier.hardtanh(x + 3, min_val=0.0, max_val=6.0) / 6, input, inplace)


@composite(samples=(sample((2, 3)),), public=False)
def softsign(input: Tensor) -> Tensor:
    """input / (1 + abs(input)).

    >>> softsign(tensor([-1.0, 0.0])).tolist()
    [-0.5, 0.0]
    """
    out: Tensor = input / (1 + abs(input))
    return out


@composite(samples=(sample((2, 3)),), public=False)
def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input).

    >>> tanhshrink(tensor([0.0])).tolist()
    [0.0]
    """
    out: Tensor = input - pointwise.tanh(input)
    return out


@composite(samples=(sample((2, 3)),), public=False)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input, but 0 from -lambd to lambd.

    >>> hardshrink(tensor([-0.3, 0.7])).tolist()
    [0.0, 0.699999988079071]
    """
    out: Tensor = where(abs(input) > lambd, input, 0)
    return out


@composite(samples=(sample((2, 3)),), public=False)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input, nearer to 0 by lambd; 0 from -lambd to lambd.

    >>> softshrink(tensor([-0.3, 0.75])).tolist()
    [0.0, 0.25]
    """
    if lambd < 0:
        raise ArgumentError(f"softshrink: lambd is at least 0, not {lambd}")
    out: Tensor = input - rectifier.hardtanh(input, min_val=-lambd, max_val=lambd)
    return out


@composite(samples=(sample((2, 3), threshold=0.2, value=-1.0),), public=False)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """input where it is above the threshold, else value.

    >>> threshold(tensor([0.1, 0.5]), 0.25, -1.0).tolist()
    [-1.0, 0.5]
    """
    return _placed(lambda x: where(gt(x, threshold), x, value), input, inplace)


@composite(samples=(sample((2, 3, 2), (3,)), sample((2, 3), (1,)), sample((3,), (1,))), public=False)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input where it is positive, else weight * input; weight is one number, or one for each channel (axis 1).

    >>> prelu(tensor([-1.0, 2.0]), tensor([0.25])).tolist()
    [-0.25, 2.0]
    """
    input, weight = lowered(input), lowered(weight)
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.ndim > 1 or weight.numel() not in (1, channels):
        raise ShapeError(f"prelu: a weight is one number or one for each of {channels} channels, not {weight.shape}")
    slope = reshape(weight, (-1, *[1] * (input.ndim - 2))) if weight.numel() > 1 else weight
    out: Tensor = where(input > 0, input, slope * input)
    return out


@composite(samples=(sample((2, 4)), sample((4, 3), dim=0)), public=False)
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of the axis times the sigmoid of the second (Dauphin and others, 2016).

    >>> glu(tensor([3.0, 0.0])).tolist()
    [1.5]
    """
    size = input.shape[place(dim, input.ndim, "glu")]
    if size % 2:
        raise ShapeError(f"glu: axis {dim} is divided in two, but has size {size}")
    first, second = split_every(input, size // 2, dim)
    out: Tensor = first * pointwise.sigmoid(second)
    return out


@composite(samples=(sample((2, 3)),), public=False)
def softmin(input: Tensor, dim: int = -1) -> Tensor:
    """softmax(-input).

    >>> softmin(tensor([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    out: Tensor = probabilities.softmax(-input, dim)
    return out


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """A random choice along the axis with the probabilities softmax(logits), softened (Jang and others, 2016).

    tau: the smaller, the nearer to 0 and 1. hard: exactly 0 and 1, with the gradient of the soft choice.
    """
    noise = -log(-log(rand(logits.shape, dtype=logits.dtype, device=logits.device)))
    soft: Tensor = probabilities.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = soft.detach() == take_along(soft.detach(), argmax(soft.detach(), axis=dim, keepdims=True), dim)
    out: Tensor = chosen.astype(soft.dtype) - soft.detach() + soft
    return out
