"""Sums of products of three tensors, element by element, as optimizers use them."""

from typing import Any

from ..op import sample
from ..registry import composite, pointwise
from .grads import unbroadcast


@pointwise(source="{a} + {weight} * ({b} - {a})", flops=3, kinds="fc")
def lerp(xp, a, b, weight):
    """a + weight * (b - a): a where the weight is 0, b where it is 1.

    >>> lerp(tensor([0.0, 2.0]), tensor([4.0, 4.0]), 0.5).tolist()
    [2.0, 3.0]
    """
    return a + weight * (b - a)


@lerp.vjp
def _(ct, a, b, weight):
    by_b = ct * weight
    return unbroadcast(ct - by_b, a), unbroadcast(by_b, b), unbroadcast(ct * (b - a), weight)


@composite(samples=(sample((2, 3), (2, 3), (3,)), sample((), (), (), value=0.5)), in_place=True)
def addcmul(a: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """a + value * tensor1 * tensor2.

    >>> addcmul(tensor([1.0]), tensor([2.0]), tensor([3.0]), value=2).tolist()
    [13.0]
    """
    return a + value * (tensor1 * tensor2)


@composite(samples=(sample((2, 3), (2, 3), [[0.5, 1.0, 2.0]]),), in_place=True)
def addcdiv(a: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """a + value * tensor1 / tensor2.

    >>> addcdiv(tensor([1.0]), tensor([6.0]), tensor([3.0]), value=2).tolist()
    [5.0]
    """
    return a + value * (tensor1 / tensor2)
