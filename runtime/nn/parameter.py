"""Parameter: a tensor that a module learns."""

import copy
from typing import Any, Self

from .._core import Tensor
from ..text import show


class Parameter(Tensor):
    """A tensor that a module learns: a leaf that requires grad, and shares the memory of `data`."""

    def __new__(cls, data: Tensor, requires_grad: bool = True) -> Self:
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter takes a Tensor, not {type(data).__name__}: wrap the data in tensor(...)")
        made = super().__new__(cls, data)
        made.requires_grad_(requires_grad)
        return made

    def __repr__(self) -> str:
        return f"Parameter containing:\n{show(self, 'tensor')}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = type(self)(self.detach().copy(), self.requires_grad)
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made
