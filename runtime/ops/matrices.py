"""What the ops on matrices share: checks, dtypes and counts."""

from typing import Any

from ..errors import ShapeError
from ..spec import DType, Spec, complex64, float32, float64


def real_of(a: Spec) -> DType:
    """The dtype of the sizes of a's elements."""
    if a.dtype.kind != "c":
        return a.dtype
    return float32 if a.dtype is complex64 else float64


def matrices(op: str, a: Spec, *, square: bool = False) -> tuple[tuple[int, ...], int, int]:
    """The shape of the batch, rows and columns; ShapeError where a holds no (square) matrices."""
    if a.ndim < 2 or (square and a.shape[-1] != a.shape[-2]):
        raise ShapeError(f"{op}: it takes {'square ' * square}matrices in the last two axes, not shape {a.shape}")
    return a.shape[:-2], a.shape[-2], a.shape[-1]


def cubed(a: Spec, *rest: Spec, out: Any, **_: Any) -> int:
    """The order of an algorithm on n x n matrices: n ** 3 each."""
    return a.size * a.shape[-1]
