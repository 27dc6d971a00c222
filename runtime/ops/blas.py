"""Products of vectors and matrices, each for its own numbers of axes: PyTorch's names, most of them BLAS's."""

from typing import Any

from .._core import lowered
from ..errors import ShapeError
from ..op import sample
from ..registry import composite
from .linalg import matmul
from .products import tensordot, vecdot


def _refuse(name: str, *operands: tuple[Any, int]) -> None:
    """Raise ShapeError unless each tensor has its number of axes."""
    if any(tensor.ndim != axes for tensor, axes in operands):
        wanted = " and ".join(str(axes) for _, axes in operands)
        shapes = " and ".join(str(tensor.shape) for tensor, _ in operands)
        raise ShapeError(f"{name}: it takes {wanted} axes, not shapes {shapes}: matmul takes any")


@composite(samples=(sample((2, 3), (3, 4)), sample((0, 2), (2, 1))))
def mm(a: Any, b: Any) -> Any:
    """The product of two matrices, (n, m) and (m, p).

    >>> mm(tensor([[1.0, 2.0]]), tensor([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    _refuse("mm", (a, 2), (b, 2))
    return matmul(a, b)


@composite(samples=(sample((5, 2, 3), (5, 3, 4)),))
def bmm(a: Any, b: Any) -> Any:
    """The products of a batch of matrices, (k, n, m) and (k, m, p).

    >>> bmm(ones(2, 1, 3), ones(2, 3, 1)).tolist()
    [[[3.0]], [[3.0]]]
    """
    _refuse("bmm", (a, 3), (b, 3))
    if a.shape[0] != b.shape[0]:
        raise ShapeError(f"bmm: the batches of {a.shape} and {b.shape} differ: matmul broadcasts them")
    return matmul(a, b)


@composite(samples=(sample((2, 3), (3,)),))
def mv(a: Any, vector: Any) -> Any:
    """The product of a matrix and a vector, (n, m) and (m,).

    >>> mv(tensor([[1.0, 2.0], [0.0, 1.0]]), tensor([3.0, 4.0])).tolist()
    [11.0, 4.0]
    """
    _refuse("mv", (a, 2), (vector, 1))
    return matmul(a, vector)


@composite(samples=(sample((3,), (3,)),))
def dot(a: Any, b: Any) -> Any:
    """The sum of the products of two vectors.

    >>> dot(tensor([1.0, 2.0]), tensor([3.0, 4.0])).tolist()
    11.0
    """
    _refuse("dot", (a, 1), (b, 1))
    return matmul(a, b)


@composite(samples=(sample((3,), (3,)),))
def vdot(a: Any, b: Any) -> Any:
    """The sum of conj(a) * b of two vectors.

    >>> vdot(tensor([1.0, 2.0]), tensor([3.0, 4.0])).tolist()
    11.0
    """
    _refuse("vdot", (a, 1), (b, 1))
    return vecdot(a, b)


@composite(samples=(sample((2, 3), (4, 3)), sample((3,), ())))
def inner(a: Any, b: Any) -> Any:
    """The sum of products over the last axes of both; of a number, the multiple.

    >>> inner(tensor([[1.0, 2.0], [0.0, 1.0]]), tensor([3.0, 4.0])).tolist()
    [11.0, 4.0]
    """
    return a * b if a.ndim == 0 or b.ndim == 0 else tensordot(a, b, axes=((-1,), (-1,)))


@composite(samples=(sample((4,), (2, 3), (3, 4)), sample((2, 4), (2, 3), (3, 4), beta=0.5, alpha=2.0)), in_place=True)
def addmm(a: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta * a + alpha * (mat1 @ mat2) of two matrices; a broadcasts.

    >>> addmm(tensor([1.0]), tensor([[1.0, 2.0]]), tensor([[3.0], [4.0]]), beta=2).tolist()
    [[13.0]]
    """
    return _plus(a, mm(mat1, mat2), beta, alpha)


@composite(samples=(sample((2,), (2, 3), (3,)),), in_place=True)
def addmv(a: Any, mat: Any, vector: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta * a + alpha * (mat @ vector); a broadcasts.

    >>> addmv(tensor([1.0]), tensor([[1.0, 2.0]]), tensor([3.0, 4.0])).tolist()
    [12.0]
    """
    return _plus(a, mv(mat, vector), beta, alpha)


@composite(samples=(sample((1, 4), (5, 2, 3), (5, 3, 4), alpha=0.5),), in_place=True)
def baddbmm(a: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta * a + alpha * (batch1 @ batch2) of two batches of matrices; a broadcasts.

    >>> baddbmm(tensor([1.0]), ones(2, 1, 3), ones(2, 3, 1)).tolist()
    [[[4.0]], [[4.0]]]
    """
    return _plus(a, bmm(batch1, batch2), beta, alpha)


def _plus(a: Any, product: Any, beta: float, alpha: float) -> Any:
    """beta * a + alpha * product. With a beta of 0, what a holds does not count, NaN neither."""
    scaled, a = product if alpha == 1 else product * alpha, lowered(a)
    return scaled if beta == 0 else scaled + (a if beta == 1 else a * beta)
