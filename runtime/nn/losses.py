"""Losses as modules."""

from .._core import Tensor
from . import functional as F
from .module import Module


class CrossEntropyLoss(Module):
    """functional.cross_entropy with its reduction kept."""

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        loss: Tensor = F.cross_entropy(input, target, reduction=self.reduction)
        return loss
