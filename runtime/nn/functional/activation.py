"""Activations, element by element."""

from collections.abc import Callable

from ..._core import Tensor
from ...errors import ArgumentError
from ...ops import activation, pointwise
from ...ops import softmax as probabilities

relu: Callable[[Tensor], Tensor] = pointwise.relu
sigmoid: Callable[[Tensor], Tensor] = pointwise.sigmoid
tanh: Callable[[Tensor], Tensor] = pointwise.tanh
silu: Callable[[Tensor], Tensor] = activation.silu
softmax: Callable[..., Tensor] = probabilities.softmax
log_softmax: Callable[..., Tensor] = probabilities.log_softmax


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
