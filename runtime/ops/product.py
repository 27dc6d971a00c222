"""The product over axes."""

from ..op import sample
from ..registry import primitive
from ..spec import Axes, DType
from .cumulative import running_product
from .reduce import expand_reduced


@primitive(
    rule="reduce",
    dtype="sum",
    kinds="bifc",
    flops=lambda a, out, axis, keepdims, dtype: a.size,
    samples=(
        sample((2, 3)),
        sample((2, 3), axis=1),
        sample((2, 3, 4), axis=(0, -1), keepdims=True),
        sample(()),
        sample((0, 3), axis=0),
        sample([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0]], axis=1),
    ),
    autocast="float32",
)
def prod(xp, a, *, axis: Axes = None, keepdims: bool = False, dtype: DType | None = None):
    """The product over the axes, of all elements by default; the result's dtype is that of sum.

    >>> prod(tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [3.0, 8.0]
    """
    return xp.prod(a, axis=axis, keepdims=keepdims)


@prod.vjp
def _(ct, a, *, axis: Axes, keepdims: bool):
    axes = range(a.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    gradient = expand_reduced(ct, a, axis=axis, keepdims=keepdims)
    left = a  # the product over the axes so far
    for i in axes:  # the others along each axis; not out / a, which a zero would spoil
        before = running_product(left, axis=i, exclusive=True)
        after = running_product(left, axis=i, reverse=True, exclusive=True)
        gradient = gradient * before * after
        left = prod(left, axis=i, keepdims=True)
    return gradient
