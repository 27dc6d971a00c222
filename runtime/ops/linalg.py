"""Matrix products."""

from ..op import sample
from ..registry import primitive
from .grads import unbroadcast
from .shape import squeeze, unsqueeze


@primitive(
    rule="matmul",
    kinds="ifc",
    flops=lambda a, b, out: 2 * out.size * a.shape[-1],
    samples=(
        sample((2, 3), (3, 4)),
        sample((5, 2, 3), (3, 4)),
        sample((2, 1, 2, 3), (4, 3, 2)),
        sample((3,), (3,)),
        sample((2, 3), (3,)),
        sample((3,), (3, 4)),
        sample((3,), (5, 3, 2)),
        sample((5, 2, 3), (3,)),
        sample((0, 3), (3, 4)),
        sample((2, 0), (0, 4)),
    ),
    autocast="lower",
)
def matmul(xp, a, b):
    """The matrix product over the last two axes; leading axes broadcast.

    A 1-d tensor is a row on the left and a column on the right.

    >>> matmul(tensor([[1.0, 2.0]]), tensor([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    return xp.matmul(a, b)


@matmul.vjp
def _(ct, a, b):
    if a.ndim == b.ndim == 2:
        return ct @ b.mT, a.mT @ ct
    if a.ndim == b.ndim == 1:
        return ct * b, ct * a
    if a.ndim == 1:
        return unbroadcast(squeeze(b @ unsqueeze(ct, -1), -1), a), unsqueeze(a, -1) * unsqueeze(ct, -2)
    if b.ndim == 1:
        return unsqueeze(ct, -1) * b, unbroadcast(squeeze(a.mT @ unsqueeze(ct, -1), -1), b)
    return unbroadcast(ct @ b.mT, a), unbroadcast(a.mT @ ct, b)
