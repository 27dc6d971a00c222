"""The triangles of matrices."""

from ..op import sample
from ..registry import primitive

_SAMPLES = (sample((3, 4)), sample((2, 3, 3), k=1), sample((4, 3), k=-1), sample((0, 2)))


@primitive(rule="matrices", kinds="bifc", flops=lambda a, out, k: 0, samples=_SAMPLES, in_place=True)
def tril(xp, a, *, k: int = 0):
    """The matrices in the last two axes with zeros above diagonal k; 0 is the main one, k > 0 lie above it.

    >>> tril(tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """
    return xp.tril(a, k)


@tril.vjp
def _(ct, *, k):
    return tril(ct, k=k)


@primitive(rule="matrices", kinds="bifc", flops=lambda a, out, k: 0, samples=_SAMPLES, in_place=True)
def triu(xp, a, *, k: int = 0):
    """The matrices in the last two axes with zeros below diagonal k; 0 is the main one, k > 0 lie above it.

    >>> triu(tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    return xp.triu(a, k)


@triu.vjp
def _(ct, *, k):
    return triu(ct, k=k)
