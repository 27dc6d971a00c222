"""Vectors for indices."""

from ... import _core
from ..._core import Tensor
from ...spec import DType, float32
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter


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
        return F.embedding(input, self.weight)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"
