"""Making tensors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _core
from .device import CPU, as_device
from .errors import ArgumentError, DeviceError, DTypeError
from .ops.cast import copy_, moved
from .pinned import pinning
from .spec import DType, as_dtype

Tensor = _core.Tensor


def shape_of(sizes: Sequence[Any]) -> tuple[int, ...]:
    """The shape that positional sizes mean: `(2, 3)` of `f(2, 3)` and of `f((2, 3))`."""
    if len(sizes) == 1 and not isinstance(sizes[0], int | np.integer):
        sizes = sizes[0]
    return tuple(int(n) for n in sizes)


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of the data: numbers, nested lists of them, an array, or a tensor.

    Without `dtype`, Python's floats become the default dtype, its ints int64, and arrays keep theirs.
    """
    return copied(_to_array(data, dtype), device).requires_grad_(requires_grad)


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor of the data. It shares the memory of an array or a tensor where it can and `copy` is not True.

    With `copy=False` ArgumentError says that it cannot share.
    """
    where = obj.device if device is None and isinstance(obj, Tensor) else as_device(device)
    wanted = None if dtype is None else as_dtype(dtype)
    shares = isinstance(obj, Tensor | np.ndarray) and (wanted is None or as_dtype(obj.dtype) is wanted)
    shares = shares and where == getattr(obj, "device", CPU)
    if copy:
        return obj.to(where, wanted, copy=True) if isinstance(obj, Tensor) else tensor(obj, dtype=dtype, device=where)
    if copy is False and not shares:
        raise ArgumentError(f"asarray: {type(obj).__name__} must be copied to become a tensor: leave out copy=False")
    if isinstance(obj, Tensor):
        return obj if shares else obj.to(where, wanted)
    return moved(_core.from_numpy(_to_array(obj, dtype)), where.number)  # type: ignore[no-any-return]


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the array's memory: a change of one shows in the other."""
    if not isinstance(array, np.ndarray):
        raise DTypeError(f"from_numpy takes a NumPy array, not {type(array).__name__}: use tensor for other data")
    return _core.from_numpy(array)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """asarray, as PyTorch spells it."""
    return asarray(data, dtype=dtype, device=device)


def empty(
    shape: Any,
    *sizes: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor whose elements are whatever the memory held: `empty(2, 3)` or `empty((2, 3))`.

    pin_memory: on the CPU, in pinned memory. DeviceError says where there is no device to pin it for.
    """
    where = as_device(device).number
    if pin_memory and where:
        raise DeviceError(f"empty: memory of the CPU is pinned, not that of {as_device(device)}: leave pin_memory out")
    owner = pinning(None).number if pin_memory else 0
    return _core.empty(shape_of((shape, *sizes)), _chosen(dtype), where, owner).requires_grad_(requires_grad)


def zeros(shape: Any, *sizes: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros: `zeros(2, 3)` or `zeros((2, 3))`."""
    whole = shape_of((shape, *sizes))
    return full(whole, 0, dtype=_chosen(dtype), device=device, requires_grad=requires_grad)


def ones(shape: Any, *sizes: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones: `ones(2, 3)` or `ones((2, 3))`."""
    whole = shape_of((shape, *sizes))
    return full(whole, 1, dtype=_chosen(dtype), device=device, requires_grad=requires_grad)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with one value everywhere; without `dtype`, of the dtype that tensor(fill_value) has."""
    found = as_dtype(type(fill_value)) if dtype is None else as_dtype(dtype)
    where = as_device(device).number
    made = _core.empty(shape_of((shape,)), found, where)
    if where:
        copy_(made, full((), fill_value, dtype=found))
        return made.requires_grad_(requires_grad)
    with _fitting(found):
        np.asarray(made)[...] = fill_value
    return made.requires_grad_(requires_grad)


def empty_like(like: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """An empty tensor in the shape and, without `dtype`, the dtype and device of `like`."""
    chosen, where = like.dtype if dtype is None else dtype, like.device if device is None else device
    return empty(like.shape, dtype=chosen, device=where, requires_grad=requires_grad)


def full_like(
    like: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """One value everywhere, in the shape and, without `dtype`, the dtype and device of `like`."""
    chosen, where = like.dtype if dtype is None else dtype, like.device if device is None else device
    return full(like.shape, fill_value, dtype=chosen, device=where, requires_grad=requires_grad)


def zeros_like(like: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros in the shape and, without `dtype`, the dtype and device of `like`."""
    return full_like(like, 0, dtype=dtype, device=device, requires_grad=requires_grad)


def ones_like(like: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones in the shape and, without `dtype`, the dtype and device of `like`."""
    return full_like(like, 1, dtype=dtype, device=device, requires_grad=requires_grad)


def arange(
    start: float | None = None,
    stop: float | None = None,
    step: float = 1,
    *,
    end: float | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, ... before stop; `arange(n)` starts at 0. Of ints, int64; else the default dtype.

    end: PyTorch's name for stop.
    """
    stop = end if stop is None else stop
    if step == 0:
        raise ArgumentError("arange: a step of 0 never arrives: use another")
    if start is None and stop is None:
        raise ArgumentError("arange: say where it stops: arange(n), or arange(start, stop, step)")
    first, end = (0, start) if stop is None else (start or 0, stop)
    values = np.arange(first, end, step)
    return converted(values, dtype, device).requires_grad_(requires_grad)


def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers, from base to the power start to base to the power end, in equal ratios."""
    return converted(np.logspace(start, end, steps, base=base), dtype, device).requires_grad_(requires_grad)


def linspace(
    start: complex,
    stop: complex | None = None,
    num: int | None = None,
    *,
    end: complex | None = None,
    steps: int | None = None,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
    requires_grad: bool = False,
) -> Tensor:
    """num numbers at equal distances from start to stop, which is one of them unless `endpoint` is False.

    end and steps: PyTorch's names for stop and num.
    """
    stop, num = end if stop is None else stop, steps if num is None else num
    if stop is None or num is None:
        raise ArgumentError("linspace: say where it stops and how many numbers there are: linspace(0, 1, 5)")
    return converted(np.linspace(start, stop, num, endpoint=endpoint), dtype, device).requires_grad_(requires_grad)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix with ones on diagonal k, zeros elsewhere; square without n_cols. k > 0 lies above the main diagonal."""
    return copied(np.eye(n_rows, n_cols, k, dtype=_chosen(dtype).numpy), device).requires_grad_(requires_grad)


# --- methods of Tensor, which keep its dtype


def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with a copy of the data, in this one's dtype where `dtype` is not given."""
    chosen, where = self.dtype if dtype is None else dtype, self.device if device is None else device
    return tensor(data, dtype=chosen, device=where, requires_grad=requires_grad)


def _new(make: Any) -> Any:
    def method(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> Tensor:
        chosen, where = self.dtype if dtype is None else dtype, self.device if device is None else device
        made: Tensor = make(*args, dtype=chosen, device=where, **kwargs)
        return made

    method.__name__ = f"new_{make.__name__}"
    method.__doc__ = f"{make.__name__} in this tensor's dtype, where `dtype` is not given."
    return method


METHODS = (new_tensor, _new(empty), _new(zeros), _new(ones), _new(full))


def copied(array: np.ndarray[Any, Any], device: Any = None) -> Tensor:
    """A tensor with a copy of the array, in memory of the runtime's own allocator, which traces show."""
    made = _core.empty(array.shape, as_dtype(array.dtype))
    np.asarray(made)[...] = array
    if _core.is_recording():
        _core.record_inputs((made,))
    return made if device is None else moved(made, as_device(device).number)


def converted(values: np.ndarray[Any, Any], dtype: Any, device: Any = None) -> Tensor:
    """A tensor with a copy of NumPy's numbers; without `dtype`, floats are of the default one."""
    return copied(values.astype((_default(values) if dtype is None else as_dtype(dtype)).numpy), device)


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
