"""Making tensors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _core
from .errors import ArgumentError, DTypeError
from .spec import DType, as_dtype, bfloat16

Tensor = _core.Tensor


def shape_of(sizes: Sequence[Any]) -> tuple[int, ...]:
    """The shape that positional sizes mean: `(2, 3)` of `f(2, 3)` and of `f((2, 3))`."""
    if len(sizes) == 1 and not isinstance(sizes[0], int | np.integer):
        sizes = sizes[0]
    return tuple(int(n) for n in sizes)


def tensor(data: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of the data: numbers, nested lists of them, an array, or a tensor.

    Without `dtype`, Python's floats become the default dtype, its ints int64, and arrays keep theirs.
    """
    return copied(_to_array(data, dtype)).requires_grad_(requires_grad)


def asarray(data: Any, *, dtype: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor of the data, which shares the memory of an array or a tensor where it can and `copy` is not True."""
    if copy:
        return tensor(data, dtype=dtype)
    if isinstance(data, Tensor):
        if dtype is None or data.dtype is as_dtype(dtype):
            return data
        converted: Tensor = data.astype(dtype)
        return converted
    return _shared(_to_array(data, dtype))


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the array's memory: a change of one shows in the other."""
    if not isinstance(array, np.ndarray):
        raise DTypeError(f"from_numpy takes a NumPy array, not {type(array).__name__}: use tensor for other data")
    return _shared(array)


def _shared(array: np.ndarray[Any, Any]) -> Tensor:
    if array.dtype != bfloat16.numpy:
        return _core.from_numpy(array)
    return _core.reinterpret(_core.from_numpy(array.view(np.uint16)), bfloat16)  # the buffer protocol lacks bfloat16


def empty(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor whose elements are whatever the memory held."""
    return _core.empty(shape_of(shape), _chosen(dtype)).requires_grad_(requires_grad)


def zeros(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros: `zeros(2, 3)` or `zeros((2, 3))`."""
    return _filled(shape_of(shape), 0, _chosen(dtype), requires_grad)


def ones(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones: `ones(2, 3)` or `ones((2, 3))`."""
    return _filled(shape_of(shape), 1, _chosen(dtype), requires_grad)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with one value everywhere; without `dtype`, of the dtype that tensor(fill_value) has."""
    found = as_dtype(type(fill_value)) if dtype is None else as_dtype(dtype)
    return _filled(shape_of((shape,)), fill_value, found, requires_grad)


def zeros_like(like: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape and, without `dtype`, the dtype of `like`."""
    return _filled(like.shape, 0, like.dtype if dtype is None else as_dtype(dtype), requires_grad)


def ones_like(like: Tensor, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape and, without `dtype`, the dtype of `like`."""
    return _filled(like.shape, 1, like.dtype if dtype is None else as_dtype(dtype), requires_grad)


def arange(start: float, stop: float | None = None, step: float = 1, *, dtype: Any = None) -> Tensor:
    """start, start + step, ... before stop; `arange(n)` starts at 0. Of ints, int64; else the default dtype."""
    if step == 0:
        raise ArgumentError("arange: a step of 0 never arrives: use another")
    first, end = (0, start) if stop is None else (start, stop)
    values = np.arange(first, end, step)
    return copied(values.astype(_default(values).numpy if dtype is None else as_dtype(dtype).numpy))


def copied(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor with a copy of the array, in memory of the runtime's own allocator, which traces show."""
    made = _core.empty(array.shape, as_dtype(array.dtype))
    np.asarray(made)[...] = array
    return made


def _filled(shape: tuple[int, ...], value: Any, dtype: DType, requires_grad: bool) -> Tensor:
    made = _core.empty(shape, dtype)
    with _fitting(dtype):
        np.asarray(made)[...] = value
    return made.requires_grad_(requires_grad)


def _chosen(dtype: Any) -> DType:
    return as_dtype(float if dtype is None else dtype)


def _default(values: np.ndarray[Any, Any]) -> DType:
    kinds = {"f": float, "c": complex}
    return as_dtype(kinds.get(values.dtype.kind, values.dtype))


@contextmanager
def _fitting(dtype: DType) -> Iterator[None]:
    try:
        yield
    except OverflowError as e:
        raise ArgumentError(f"{e}: choose a dtype wider than {dtype.name}") from None


def _to_array(data: Any, dtype: Any) -> np.ndarray[Any, Any]:
    known = isinstance(data, np.ndarray | np.generic | Tensor)
    wanted = None if dtype is None else as_dtype(dtype)
    try:
        if wanted and not known:
            with _fitting(wanted):
                return np.asarray(data, wanted.numpy)
        array = np.asarray(data.detach() if isinstance(data, Tensor) else data)
    except ValueError as e:
        raise ArgumentError(f"tensor: the nested lists differ in length: {e}") from None
    if wanted is None and array.size == 0 and not known:
        wanted = as_dtype(float)
    elif wanted is None:
        wanted = as_dtype(array.dtype) if known else _default(array)
    return np.asarray(array, wanted.numpy)
