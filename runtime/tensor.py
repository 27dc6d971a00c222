"""Tensor's methods that are not hot; the type itself, its operators and the ops' methods are the core's."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core, random, registry
from ._core import Tensor
from .creation import copied
from .errors import AutogradError
from .spec import DType, as_dtype, bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, uint8, uint16


def numpy(self: Tensor) -> np.ndarray[Any, Any]:
    """The tensor as a NumPy array that shares its memory; AutogradError when it requires grad (use detach())."""
    if self.requires_grad:
        raise AutogradError("numpy() of a tensor that requires grad: use detach().numpy()")
    if self.dtype is bfloat16:  # which the buffer protocol lacks
        return np.asarray(memoryview(_core.reinterpret(self, uint16))).view(bfloat16.numpy)
    return np.asarray(memoryview(self))


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


def tolist(self: Tensor) -> Any:
    """The elements as Python numbers in nested lists; of a 0-d tensor the number itself."""
    return numpy(self.detach()).tolist()


def _repr(self: Tensor) -> str:
    values = np.array2string(numpy(self.detach()), separator=", ", prefix="tensor(", threshold=1000, precision=4)
    implied = (bool_, int64, as_dtype(float), as_dtype(complex))  # a printed value shows them by itself
    notes = [f"dtype={self.dtype!r}"] if self.dtype not in implied else []
    if 0 in self.shape and self.ndim != 1:
        notes.insert(0, f"shape={self.shape}")
    if self.grad_fn is not None:
        notes.append(f"grad_fn=<{self.grad_fn.name()}>")
    elif self.requires_grad:
        notes.append("requires_grad=True")
    return f"tensor({', '.join([values, *notes])})"


def _iterate(self: Tensor) -> Iterator[Tensor]:
    return (self[i] for i in range(len(self)))


def contiguous(self: Tensor) -> Tensor:
    """The tensor itself where its elements lie in C order without gaps, else a copy that does."""
    return self if self.is_contiguous() else self.copy()


def to(self: Tensor, target: Any = None, *, dtype: Any = None, copy: bool = False) -> Tensor:
    """The tensor in another dtype: a dtype, or that of another tensor. The tensor itself where nothing changes and
    `copy` is not set.
    """
    wanted = target if dtype is None else dtype
    found = wanted.dtype if isinstance(wanted, Tensor) else self.dtype if wanted is None else as_dtype(wanted)
    if found is self.dtype and not copy:
        return self
    converted: Tensor = self.astype(found)
    return converted


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


def zero_(self: Tensor) -> Tensor:
    """Set every element to 0, in place."""
    zeroed: Tensor = self.fill_(0)
    return zeroed


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
    values = np.array(numpy(self.detach()), order="C")
    return _unpickled, (type(self), values, self.requires_grad), self.__dict__ or None


def _unpickled(kind: type[Tensor], values: np.ndarray[Any, Any], requires_grad: bool) -> Tensor:
    return _restored(kind, copied(values), requires_grad)


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
    for name, op in (
        ("add_", "add"),
        ("sub_", "sub"),
        ("mul_", "mul"),
        ("div_", "div"),
        ("copy_", "assign"),
        ("fill_", "assign"),
    ):
        setattr(Tensor, name, _core.inplace(registry.OPS[op].handle))
    for method in random.IN_PLACE:
        setattr(Tensor, method.__name__, method)
    own = {
        "numpy": numpy,
        "tolist": tolist,
        "contiguous": contiguous,
        "zero_": zero_,
        "to": to,
        "is_floating_point": is_floating_point,
        "is_complex": is_complex,
        **{name: _conversion(name, dtype) for name, dtype in _CONVERSIONS.items()},
        "__array__": _array,
        "__deepcopy__": _deepcopy,
        "__reduce_ex__": _reduce,
        "__repr__": _repr,
        "__iter__": _iterate,
        "__float__": lambda self: float(self.item()),
        "__int__": lambda self: int(self.item()),
        "__init_subclass__": classmethod(_reject_del),
        "mT": property(lambda self: self.transpose(-2, -1), doc="The last two axes swapped."),
        "T": property(_transposed, doc="The axes of a matrix swapped."),
    }
    for name, value in own.items():
        setattr(Tensor, name, value)


def _transposed(self: Tensor) -> Tensor:
    if self.ndim != 2:
        raise ValueError(f"T is for 2 axes, this tensor has shape {self.shape}: use mT or permute")
    swapped: Tensor = self.transpose(0, 1)
    return swapped


_install()
