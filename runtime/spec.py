"""Element types, and a tensor's outside: shape and dtype without data."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .errors import DTypeError


class DType:
    """An element type. There is one object for each: compare with `is` or `==`.

    `code` is its number in the core and its place in promotion; `kind` is b, i or f; `numpy` is numpy's dtype.
    """

    __slots__ = ("code", "itemsize", "kind", "name", "numpy")

    def __init__(self, code: int, name: str) -> None:
        self.code = code
        self.name = name
        self.numpy = np.dtype(name)
        self.kind = self.numpy.kind
        self.itemsize = self.numpy.itemsize

    @property
    def is_floating_point(self) -> bool:
        """Whether it is float32 or float64."""
        return self.kind == "f"

    def __repr__(self) -> str:
        return f"perflab.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


# In the order of the core's codes (core/dtype.h).
bool_ = DType(0, "bool")
int32 = DType(1, "int32")
int64 = DType(2, "int64")
float32 = DType(3, "float32")
float64 = DType(4, "float64")
DTYPES = (bool_, int32, int64, float32, float64)

_KNOWN: dict[Any, DType] = {d.name: d for d in DTYPES} | {bool: bool_, int: int64, float: float32}
_KNOWN |= {d.numpy: d for d in DTYPES} | {d.numpy.type: d for d in DTYPES}


def as_dtype(what: object) -> DType:
    """The DType that `what` means: a DType, its name, a numpy dtype or scalar type; bool, int (int64), float (float32).

    Raises DTypeError for anything else.
    """
    if isinstance(what, DType):
        return what
    try:
        return _KNOWN[what]
    except (KeyError, TypeError):
        shown = what.__name__ if isinstance(what, type) else str(what)
        raise DTypeError(f"unknown dtype {shown}: use one of {', '.join(d.name for d in DTYPES)}") from None


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
