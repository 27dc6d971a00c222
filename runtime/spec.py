"""Element types, and a tensor's outside: shape and dtype without data."""

from dataclasses import dataclass
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from . import _core
from .errors import DTypeError


class DType:
    """An element type. There is one object for each: compare with `is` or `==`.

    `code` is its number in the core; `kind` is b (bool), i (integer, signed or not), f (float) or c (complex), and
    kinds win over each other in this order; `numpy` is numpy's dtype, of bfloat16 that of the package ml_dtypes.
    """

    __slots__ = ("code", "itemsize", "kind", "name", "numpy")

    def __init__(self, code: int, name: str) -> None:
        self.code = code
        self.name = name
        self.numpy = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
        self.kind = "f" if name == "bfloat16" else self.numpy.kind.replace("u", "i")
        self.itemsize = self.numpy.itemsize

    @property
    def is_floating_point(self) -> bool:
        """Whether it is one of the floats: float16, bfloat16, float32, float64."""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Whether it is complex64 or complex128."""
        return self.kind == "c"

    @property
    def is_signed(self) -> bool:
        """Whether it has negative numbers."""
        return self.kind != "b" and self.numpy.kind != "u"

    def __repr__(self) -> str:
        return f"perflab.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


# In the order of the core's codes (core/dtype.h).
bool_ = DType(0, "bool")
uint8 = DType(1, "uint8")
uint16 = DType(2, "uint16")
uint32 = DType(3, "uint32")
uint64 = DType(4, "uint64")
int8 = DType(5, "int8")
int16 = DType(6, "int16")
int32 = DType(7, "int32")
int64 = DType(8, "int64")
float16 = DType(9, "float16")
bfloat16 = DType(10, "bfloat16")
float32 = DType(11, "float32")
float64 = DType(12, "float64")
complex64 = DType(13, "complex64")
complex128 = DType(14, "complex128")
DTYPES = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64,
    complex128,
)  # fmt: skip

_KNOWN: dict[Any, DType] = {d.name: d for d in DTYPES}
_KNOWN |= {d.numpy: d for d in DTYPES} | {d.numpy.type: d for d in DTYPES}


def as_dtype(what: object) -> DType:
    """The DType that `what` means: a DType, its name, a numpy dtype or scalar type, or a Python type: bool, int
    (int64), float (the default dtype), complex (the complex dtype of that width).

    Raises DTypeError for anything else.
    """
    if isinstance(what, DType):
        return what
    try:
        return _KNOWN[what]
    except (KeyError, TypeError):
        shown = what.__name__ if isinstance(what, type) else str(what)
        raise DTypeError(f"unknown dtype {shown}: use one of {', '.join(d.name for d in DTYPES)}") from None


def set_default_dtype(dtype: object) -> None:
    """Make a float dtype the one of Python's floats, of floats made of ints, and of tensors created without a dtype.

    It is float32 at first. Raises DTypeError for what is no float dtype.
    """
    chosen = as_dtype(dtype)
    _core.set_default_dtype(chosen)
    _KNOWN[float] = chosen
    _KNOWN[complex] = complex128 if chosen is float64 else complex64


def get_default_dtype() -> DType:
    """The dtype that set_default_dtype chose."""
    return _core.default_dtype()


# Annotations of an op's parameters. An input without one is a tensor that takes part in promotion and has a gradient.
Axes = int | tuple[int, ...] | None


class Indices(np.ndarray[Any, Any]):
    """Annotation of an op's input: integers that choose elements. Not cast, no gradient."""


class Mask(np.ndarray[Any, Any]):
    """Annotation of an op's input: booleans. Not cast, no gradient."""


@dataclass(frozen=True, slots=True)
class Spec:
    """Shape and dtype, without data. As an annotation of an input or of what a gradient keeps: only these are read."""

    shape: tuple[int, ...]
    dtype: DType

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call of an op has to do at least.

    flops: a multiply-add counts 2, a comparison 1, exp and its kin 1.
    read, write: bytes of inputs and outputs; a view moves none.
    """

    flops: int
    read: int
    write: int


_core.set_dtypes(DTYPES)
_KNOWN |= {bool: bool_, int: int64}
set_default_dtype(float32)
