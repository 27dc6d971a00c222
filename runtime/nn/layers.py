"""Layers."""

import math

from .. import _core
from .._core import Tensor
from ..ops.index import take
from ..ops.pointwise import relu, sigmoid, tanh
from ..ops.shape import transpose
from ..ops.softmax import log_softmax, softmax
from ..spec import DType, float32
from . import init
from .module import Module, Parameter


class Linear(Module):
    """input @ weight.mT + bias: (..., in_features) to (..., out_features)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, dtype: DType = float32) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(_core.empty((out_features, in_features), dtype))
        self.bias = Parameter(_core.empty((out_features,), dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's initial values: uniform within 1 / sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        out: Tensor = input @ transpose(self.weight, -2, -1)
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Embedding(Module):
    """A table of vectors: indices of any shape to (*shape, embedding_dim)."""

    def __init__(self, num_embeddings: int, embedding_dim: int, *, dtype: DType = float32) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.weight = Parameter(_core.empty((num_embeddings, embedding_dim), dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's initial values: normal with mean 0 and variance 1."""
        init.normal_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        rows: Tensor = take(self.weight, input, 0)
        return rows

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


class ReLU(Module):
    """max(input, 0), element by element."""

    def forward(self, input: Tensor) -> Tensor:
        out: Tensor = relu(input)
        return out


class Tanh(Module):
    """The hyperbolic tangent, element by element."""

    def forward(self, input: Tensor) -> Tensor:
        out: Tensor = tanh(input)
        return out


class Sigmoid(Module):
    """1 / (1 + exp(-input)), element by element."""

    def forward(self, input: Tensor) -> Tensor:
        out: Tensor = sigmoid(input)
        return out


class Softmax(Module):
    """Probabilities along an axis."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        out: Tensor = softmax(input, self.dim)
        return out

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """Logarithms of probabilities along an axis."""

    def forward(self, input: Tensor) -> Tensor:
        out: Tensor = log_softmax(input, self.dim)
        return out
