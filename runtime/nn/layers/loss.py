"""Losses as modules."""

from ..._core import Tensor
from .. import functional as F
from ..module import Module


class CrossEntropyLoss(Module):
    """functional.cross_entropy with its options kept."""

    def __init__(self, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__()
        self.ignore_index = ignore_index
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        loss: Tensor = F.cross_entropy(input, target, ignore_index=self.ignore_index, reduction=self.reduction)
        return loss
