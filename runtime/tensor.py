"""Tensor's methods that are not hot; the type itself, its operators and the ops' methods are the core's."""

import copy
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import creation, interchange, pinned, random, registry, sim, subscript  # noqa: F401  (it gives the core its hooks)
from ._core import Tensor, inplace
from .creation import copied
from .device import CPU, Device, as_device, device_of
from .errors import ArgumentError, AutogradError, ShapeError
from .ops import arrange, order, scatter, search, statistics
from .ops.cast import copy_, moved
from .spec import DTYPES, DType, as_dtype, bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from .storage import UntypedStorage
from .text import show

_DTYPE_NAMES = {d.name for d in DTYPES}


def tolist(self: Tensor) -> Any:
    """The elements as Python numbers in nested lists; of a 0-d tensor the number itself."""
    return interchange.numpy(self.detach()).tolist()


def _iterate(self: Tensor) -> Iterator[Tensor]:
    return (self[i] for i in range(len(self)))


def view(self: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape, `view(2, 3)` or `view((2, 3))`, or as another dtype, `view(int32)`.

    Raises ShapeError where only a copy could have that shape: use reshape.
    """
    if len(shape) == 1 and isinstance(shape[0], DType | str | type):
        cast: Tensor = registry.OPS["bitcast"].handle(self, as_dtype(shape[0]))
        return cast
    seen: Tensor = self.reshape(*shape)
    if seen.data_ptr() != self.data_ptr():
        raise ShapeError(f"view: the elements of shape {self.shape} do not lie in that order: reshape copies them")
    return seen


def repeat(self: Tensor, *sizes: Any) -> Tensor:
    """The tensor laid out so many times along each axis, `repeat(2, 3)` or `repeat((2, 3))`: what tile does."""
    tiled: Tensor = arrange.tile(self, *sizes)
    return tiled


def contiguous(self: Tensor) -> Tensor:
    """The tensor itself where its elements lie in C order without gaps, else a copy that does."""
    return self if self.is_contiguous() else self.copy()


def to(
    self: Tensor, *targets: Any, dtype: Any = None, device: Any = None, copy: bool = False, non_blocking: bool = False
) -> Tensor:
    """The tensor in another dtype or place: `to(dtype)`, `to("sim:0")`, `to(device, dtype)`; `to(other)` takes both of
    another tensor.

    The tensor itself where nothing changes and `copy` is not set. non_blocking: a copy from or to a device is not
    waited for. To the CPU it goes into pinned memory: synchronize before the values are used. Pinned memory that it
    reads must stay as it is until then; memory that is not pinned is read at once.
    """
    for target in targets:
        if isinstance(target, Tensor):
            dtype, device = target.dtype, target.device
        elif isinstance(target, Device) or (isinstance(target, str) and target not in _DTYPE_NAMES):
            device = target
        else:
            dtype = target
    found = self.dtype if dtype is None else as_dtype(dtype)
    result: Tensor = self if found is self.dtype else self.astype(found)
    if device is not None:
        result = moved(result, as_device(device).number, non_blocking)
    return result.clone() if copy and result is self else result


def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on a device: itself where it is there already. Raises ArgumentError for one that is not there."""
    if stream is not None:
        raise ArgumentError("to_device: choose the stream with the device's stream(): leave stream away")
    return to(self, as_device(device))


def _conversion(name: str, dtype: DType) -> Any:
    def convert(self: Tensor) -> Tensor:
        return to(self, dtype)

    convert.__name__ = name
    convert.__doc__ = f"The tensor as {dtype.name}: itself where it is that already."
    return convert


_CONVERSIONS = {
    "bool": bool_,
    "byte": uint8,
    "char": int8,
    "short": int16,
    "int": int32,
    "long": int64,
    "half": float16,
    "bfloat16": bfloat16,
    "float": float32,
    "double": float64,
}


def is_floating_point(self: Tensor) -> bool:
    """Whether the elements are floats."""
    return self.dtype.is_floating_point


def is_complex(self: Tensor) -> bool:
    """Whether the elements are complex."""
    return self.dtype.is_complex


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor shares with its base and its views."""
    return UntypedStorage(self)


def clamp_(self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Keep every element between two bounds, in place."""
    if min is None and max is None:
        raise ArgumentError("clamp_: give min, max or both")
    if min is not None:
        self.clamp_min_(min)
    if max is not None:
        self.clamp_max_(max)
    return self


def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one axis."""
    return self.shape if dim is None else self.shape[dim]


def fill_diagonal_(self: Tensor, fill_value: Any) -> Tensor:
    """Set the elements of a matrix's main diagonal, in place."""
    if self.ndim != 2:
        raise ShapeError(f"fill_diagonal_: it takes a matrix, not shape {self.shape}")
    self.diagonal().fill_(fill_value)
    return self


def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over the axes that broadcasting from this size would have made: `sum_to_size(1, 3)`."""
    shape = creation.shape_of(size)
    lead = self.ndim - len(shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(shape, self.shape[lead:], strict=True)):
        raise ShapeError(f"sum_to_size: shape {self.shape} is not what {shape} broadcasts to")
    axes = (*range(lead), *(lead + i for i, n in enumerate(shape) if n != self.shape[lead + i]))
    summed: Tensor = (self.sum(axes, keepdims=True) if axes else self).reshape(shape)
    return summed


def numel(input: Tensor) -> int:
    """How many elements there are."""
    return input.numel()


def is_tensor(obj: Any) -> bool:
    """Whether it is a Tensor."""
    return isinstance(obj, Tensor)


def _spread(function: Any) -> Any:
    def method(
        self: Tensor,
        axis: Any = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: float | None = None,
        dim: Any = None,
        keepdims: bool = False,
    ) -> Tensor:
        if isinstance(axis, bool):  # x.std(False)
            axis, unbiased = None, axis
        correction = (1 if unbiased else 0) if correction is None else correction
        axis = dim if axis is None else axis
        spread: Tensor = function(self, axis=axis, correction=correction, keepdims=keepdim or keepdims)
        return spread

    method.__name__ = function.__name__
    method.__doc__ = "The function of this name with PyTorch's default for methods, a correction of 1."
    return method


def zero_(self: Tensor) -> Tensor:
    """Set every element to 0, in place."""
    zeroed: Tensor = self.fill_(0)
    return zeroed


def _index(self: Tensor) -> int:
    if self.dtype.kind not in "bi" or self.numel() != 1:
        raise TypeError(f"only a tensor with one integer is an index, not {self.dtype.name} of shape {self.shape}")
    return int(self.item())


def _contains(self: Tensor, value: Any) -> bool:
    return bool((self == value).any())


def _namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ArgumentError(f"the array API {api_version} is not served: ask for 2024.12")
    return sys.modules[__package__]


def _copy(self: Tensor) -> Tensor:
    made = _restored(type(self), self.data, self.requires_grad)
    made.__dict__.update(self.__dict__)
    return made


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if self.grad_fn is not None:
        raise AutogradError(f"deepcopy of what {self.grad_fn.name()} computed: copy leaves alone, or detach() first")
    made = _restored(type(self), self.detach().copy(), self.requires_grad)
    memo[id(self)] = made
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    return made


def _reduce(self: Tensor, protocol: int) -> tuple[Any, ...]:
    values = np.array(interchange.numpy(self.detach()), order="C")
    return _unpickled, (type(self), values, self.requires_grad, self.device), self.__dict__ or None


def _unpickled(kind: type[Tensor], values: np.ndarray[Any, Any], requires_grad: bool, device: Device = CPU) -> Tensor:
    return _restored(kind, copied(values, device), requires_grad)


def _restored(kind: type[Tensor], data: Tensor, requires_grad: bool) -> Tensor:
    return (data if kind is Tensor else kind(data)).requires_grad_(requires_grad)


def _reject_del(cls: type[Tensor]) -> None:
    if "__del__" in cls.__dict__:
        raise TypeError(
            f"{cls.__name__}: a subclass of Tensor may not define __del__, the core keeps tensors alive through it"
        )


def _install() -> None:
    for name, method in registry.methods().items():
        setattr(Tensor, name, method)
    for name, method in registry.in_place_methods().items():
        setattr(Tensor, name, method)
    for method in (*random.IN_PLACE, *scatter.IN_PLACE, *creation.METHODS):
        setattr(Tensor, method.__name__, method)
    own = {
        "numpy": interchange.numpy,
        "copy_": copy_,
        "abs_": inplace(registry.OPS["abs"].handle),
        "absolute_": inplace(registry.OPS["abs"].handle),
        "fill_": copy_,
        "clamp_": clamp_,
        "tolist": tolist,
        "contiguous": contiguous,
        "view": view,
        # PyTorch's methods, where the functions of these names are the array API's
        "sort": order.ordered,
        "nonzero": lambda self, *, as_tuple=False: search.nonzero(self, as_tuple=as_tuple),
        "repeat": repeat,
        "view_as": lambda self, other: view(self, other.shape),
        "bernoulli": random.bernoulli,
        "multinomial": random.multinomial,
        "type": lambda self, dtype: to(self, dtype),
        "var": _spread(statistics.var),
        "std": _spread(statistics.std),
        "size": size,
        "dim": lambda self: self.ndim,
        "ndimension": lambda self: self.ndim,
        "nelement": lambda self: self.numel(),
        "type_as": lambda self, other: to(self, other.dtype),
        "fill_diagonal_": fill_diagonal_,
        "is_same_size": lambda self, other: self.shape == other.shape,
        "is_signed": lambda self: not self.dtype.name.startswith(("bool", "uint")),
        "get_device": lambda self: -1 if self.device.index is None else self.device.index,
        "sum_to_size": sum_to_size,
        "is_cuda": property(lambda self: self.device.type == "cuda", doc="Whether the memory is on a GPU."),
        "zero_": zero_,
        "to": to,
        "to_device": to_device,
        "cpu": lambda self: moved(self, 0),
        "cuda": _cuda,
        "is_cpu": property(lambda self: self._device == 0, doc="Whether the memory is on the CPU."),
        "untyped_storage": untyped_storage,
        "record_stream": sim.record_stream,
        "pin_memory": pinned.pin_memory,
        "is_pinned": pinned.is_pinned,
        "is_floating_point": is_floating_point,
        "is_complex": is_complex,
        **{name: _conversion(name, dtype) for name, dtype in _CONVERSIONS.items()},
        "__array__": interchange.array,
        "__array_ufunc__": None,  # NumPy's arrays and scalars leave operators with tensors to them
        "__array_namespace__": _namespace,
        "__dlpack__": interchange.dlpack,
        "__cuda_array_interface__": property(interchange.cuda_array),
        "__dlpack_device__": interchange.dlpack_device,
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
        "__reduce_ex__": _reduce,
        "__repr__": show,
        "__iter__": _iterate,
        "__index__": _index,
        "__contains__": _contains,
        "__complex__": lambda self: complex(self.item()),
        "__float__": lambda self: float(self.item()),
        "__int__": lambda self: int(self.item()),
        "__init_subclass__": classmethod(_reject_del),
        "device": property(lambda self: device_of(self._device), doc="Where the memory is."),
        "mT": property(lambda self: self.transpose(-2, -1), doc="The last two axes swapped."),
        "mH": property(lambda self: self.adjoint(), doc="The last two axes swapped, complex elements conjugated."),
        "H": property(lambda self: _transposed(self).adjoint().mT, doc="T, complex elements conjugated."),
        "T": property(_transposed, doc="The axes of a matrix swapped."),
    }
    for name, value in own.items():
        setattr(Tensor, name, value)


def _cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on a CUDA device, by default the current one."""
    chosen = f"cuda:{device}" if isinstance(device, int) else device or "cuda"
    return to(self, as_device(chosen), non_blocking=non_blocking)


def _transposed(self: Tensor) -> Tensor:
    if self.ndim != 2:
        raise ValueError(f"T is for 2 axes, this tensor has shape {self.shape}: use mT or permute")
    swapped: Tensor = self.transpose(0, 1)
    return swapped


_install()
