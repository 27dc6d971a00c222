"""Dropout as modules: they do nothing after eval()."""

from collections.abc import Callable

from ..._core import Tensor
from .. import functional as F
from ..functional.dropout import check_probability
from ..module import Module


class _Dropout(Module):
    _function: Callable[..., Tensor]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        check_probability(type(self).__name__, p)
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Each element is 0 with probability p and else divided by 1 - p."""

    _function = staticmethod(F.dropout)


class Dropout1d(_Dropout):
    """Dropout of whole channels of (N, channels, length)."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """Dropout of whole channels of (N, channels, rows, columns)."""

    _function = staticmethod(F.dropout2d)


class AlphaDropout(_Dropout):
    """Dropout after selu, which keeps mean 0 and variance 1."""

    _function = staticmethod(F.alpha_dropout)
