"""What dtypes are, what they hold, and what they become together (array API 2024.12, "Data Type Functions")."""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from . import _core
from ._core import Tensor
from .errors import ArgumentError, DTypeError
from .spec import DType, as_dtype, complex64, complex128, float64


@dataclass(frozen=True, slots=True)
class finfo:
    """The limits of a float dtype, or of the floats that a complex dtype is made of.

    >>> finfo(float32).eps
    1.1920928955078125e-07
    """

    dtype: DType
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    resolution: float

    def __init__(self, dtype: Any) -> None:
        given = _dtype_of(dtype)
        if given.kind not in "fc":
            raise DTypeError(f"finfo is of floats, not of {given.name}: use iinfo")
        limits: Any = ml_dtypes.finfo(given.numpy)  # type: ignore[no-untyped-call]
        found = as_dtype(limits.dtype)
        for name, value in (("dtype", found), ("bits", found.itemsize * 8)):
            object.__setattr__(self, name, value)
        for name in ("eps", "max", "min", "smallest_normal", "resolution"):
            object.__setattr__(self, name, float(getattr(limits, name)))

    @property
    def tiny(self) -> float:
        """PyTorch's name of smallest_normal."""
        return self.smallest_normal


@dataclass(frozen=True, slots=True)
class iinfo:
    """The limits of an integer dtype.

    >>> iinfo(int8).max
    127
    """

    dtype: DType
    bits: int
    max: int
    min: int

    def __init__(self, dtype: Any) -> None:
        given = _dtype_of(dtype)
        if given.kind != "i":
            raise DTypeError(f"iinfo is of integers, not of {given.name}: use finfo")
        limits = np.iinfo(given.numpy)
        for name, value in (
            ("dtype", given),
            ("bits", given.itemsize * 8),
            ("max", int(limits.max)),
            ("min", int(limits.min)),
        ):
            object.__setattr__(self, name, value)


def promote_types(type1: Any, type2: Any) -> DType:
    """The smallest dtype that holds both; of mixed kinds, that of the winning kind: `promote_types(int64, float32)` is
    float32. Raises DTypeError for uint64 with a signed integer, which nothing holds.
    """
    a, b = as_dtype(type1), as_dtype(type2)
    found = _core.promote_dtypes(a, b)
    if found is None:
        raise DTypeError(f"no dtype holds both {a.name} and {b.name}: convert one of them with astype first")
    return found


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype of what an operation makes of tensors, dtypes and Python numbers; numbers count by their kind alone.

    >>> result_type(int8, 2.5)
    perflab.float32
    """
    numbers = [a for a in arrays_and_dtypes if isinstance(a, bool | int | float | complex)]
    dtypes = [_dtype_of(a) for a in arrays_and_dtypes if not isinstance(a, bool | int | float | complex)]
    if not dtypes and not numbers:
        raise ArgumentError("result_type needs a tensor, a dtype or a number: none was given")
    found = dtypes[0] if dtypes else None
    for dtype in dtypes[1:]:
        found = promote_types(found, dtype)
    for number in numbers:
        found = _with_number(found, as_dtype(type(number)))
    assert found
    return found


def _with_number(found: DType | None, number: DType) -> DType:
    order = "bifc"
    if found is None or order.index(number.kind) > order.index(found.kind):
        if number.kind == "c" and found is not None and found.kind == "f":
            return complex128 if found is float64 else complex64
        return number
    return found


def can_cast(from_: Any, to: Any) -> bool:
    """Whether promotion with `to` leaves `to`: `can_cast(float32, float64)` is True, the other way False."""
    return _core.promote_dtypes(_dtype_of(from_), as_dtype(to)) is as_dtype(to)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: another dtype, one of the names "bool", "signed integer", "unsigned integer",
    "integral", "real floating", "complex floating", "numeric", or a tuple of these.
    """
    given = as_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(given, k) for k in kind)
    if kind not in _KINDS:
        return given is as_dtype(kind)
    return (
        given.kind in _KINDS[kind]
        and (kind != "signed integer" or given.is_signed)
        and (kind != "unsigned integer" or not given.is_signed)
    )


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "i",
    "integral": "i",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "ifc",
}


def _dtype_of(what: Any) -> DType:
    return what.dtype if isinstance(what, Tensor) else as_dtype(what)
