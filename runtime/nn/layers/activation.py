"""Activations as modules."""

from ..._core import Tensor
from .. import functional as F
from ..module import Module


class ReLU(Module):
    """max(input, 0), element by element."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input)


class Tanh(Module):
    """The hyperbolic tangent, element by element."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Sigmoid(Module):
    """1 / (1 + exp(-input)), element by element."""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class SiLU(Module):
    """input times its sigmoid."""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input)


class GELU(Module):
    """functional.gelu with its approximation kept."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softmax(Module):
    """Probabilities along an axis."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """Logarithms of probabilities along an axis."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)
