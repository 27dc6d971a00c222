"""Vectors for indices."""

from typing import Any, Self

from ..._core import Tensor
from ...autograd import no_grad
from ...creation import empty
from ...errors import ShapeError
from ...spec import DType
from .. import functional as F
from .. import init
from ..functional.sparse import row_of_padding
from ..module import Module
from ..parameter import Parameter


class _Table(Module):
    """A table of vectors; the row padding_idx gets no gradient and starts as zeros."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Tensor | None,
        *,
        device: Any,
        dtype: DType | None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else row_of_padding(padding_idx, num_embeddings)
        shape = (num_embeddings, embedding_dim)
        if weight is None:
            self.weight = Parameter(empty(shape, device=device, dtype=dtype))
            self.reset_parameters()
        elif weight.shape == shape:
            self.weight = Parameter(weight)
        else:
            raise ShapeError(f"{type(self).__name__}: a weight of shape {shape} is needed, not {weight.shape}")

    @no_grad()
    def reset_parameters(self) -> None:
        """PyTorch's initial values: normal with mean 0 and variance 1."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight[self.padding_idx].fill_(0)

    @classmethod
    def _of(cls, embeddings: Tensor, freeze: bool, **options: object) -> Self:
        if embeddings.ndim != 2:
            raise ShapeError(f"{cls.__name__}: a table has 2 axes, not {embeddings.shape}")
        made = cls(*embeddings.shape, _weight=embeddings, **options)  # type: ignore[arg-type, call-arg]
        made.weight.requires_grad_(not freeze)
        return made


class Embedding(_Table):
    """A table of vectors: indices of any shape to (*shape, embedding_dim)."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        _weight: Tensor | None = None,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, _weight, device=device, dtype=dtype)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Self:
        """A layer with this table, which is shared, not copied; freeze: it does not learn."""
        return cls._of(embeddings, freeze, padding_idx=padding_idx)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class EmbeddingBag(_Table):
    """functional.embedding_bag with its table: sums, means or maxima of bags of vectors."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        mode: str = "mean",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        _weight: Tensor | None = None,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, _weight, device=device, dtype=dtype)
        self.mode = mode
        self.include_last_offset = include_last_offset

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        *,
        mode: str = "mean",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """A layer with this table, which is shared, not copied; freeze: it does not learn."""
        options = {"mode": mode, "include_last_offset": include_last_offset, "padding_idx": padding_idx}
        return cls._of(embeddings, freeze, **options)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"
