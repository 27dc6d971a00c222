"""How a tensor prints: PyTorch's way of showing values."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from ._core import Tensor
from .errors import ArgumentError
from .spec import as_dtype, bool_, int64


@dataclass
class PrintOptions:
    """precision: digits after the point; threshold: elements up to which all are shown, else the first and last
    edgeitems of each axis; linewidth in characters; sci_mode: powers of ten always or never, None: where they help.
    """

    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=sys.maxsize),
}
_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors print, as PrintOptions says; what is None stays. profile: "default", "short" or "full" comes first.

    sci_mode goes back to None, where powers of ten help, unless it is given.
    """
    if profile is not None and profile not in _PROFILES:
        raise ArgumentError(f"set_printoptions: profile is one of {', '.join(_PROFILES)}, not {profile!r}")
    global _options
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options = replace(
        _options if profile is None else _PROFILES[profile],
        sci_mode=sci_mode,
        **{name: value for name, value in given.items() if value is not None},
    )


def show(tensor: Tensor, name: str = "") -> str:
    """`tensor([1.5000, 2.0000], requires_grad=True)`: values in four decimals, whole numbers as `2.`, very large or
    small ones in powers of ten; the dtype where the values do not imply it; summarised beyond 1000 elements. All
    this as set_printoptions has it.
    name: what stands before the values instead of the name of the tensor's type.
    """
    implied = (bool_, int64, as_dtype(float), as_dtype(complex))
    notes = [f"size={tensor.shape}"] if 0 in tensor.shape and tensor.ndim != 1 else []
    if tensor.dtype not in implied or (0 in tensor.shape and tensor.dtype is not as_dtype(float)):
        notes.append(f"dtype={tensor.dtype!r}")
    if not tensor.is_cpu:
        notes.insert(0, f"device='{tensor.device}'")
    if tensor.grad_fn is not None:
        notes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    name = name or ("tensor" if type(tensor) is Tensor else type(tensor).__name__)
    return f"{name}({', '.join([_values(tensor, len(name) + 1), *notes])})"


def _values(tensor: Tensor, indent: int) -> str:
    array = np.asarray(tensor.detach())
    if tensor.dtype.kind == "f":
        array = array.astype(np.float64)
    return np.array2string(
        array,
        max_line_width=_options.linewidth + 2,  # what closes a line is not counted
        separator=", ",
        prefix=" " * indent,
        threshold=_options.threshold,
        edgeitems=_options.edgeitems,
        formatter=_formatter(_shown(array)),
    ).replace(", ..., ", ",  ..., ")


def _shown(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements that a summary shows."""
    edge = _options.edgeitems
    if array.size > _options.threshold:
        for axis, n in enumerate(array.shape):
            if n > 2 * edge:
                array = np.take(array, [*range(edge), *range(n - edge, n)], axis)
    return array.ravel()


def _formatter(shown: np.ndarray[Any, Any]) -> Any:
    if shown.dtype.kind == "f":
        return {"float_kind": _padded(_float_format(shown), shown)}
    if shown.dtype.kind == "c":
        real, imaginary = _float_format(shown.real), _float_format(shown.imag)

        def both(z: Any) -> str:
            sign = "-" if np.signbit(z.imag) else "+"
            return f"{real(z.real)}{sign}{imaginary(abs(z.imag))}j"

        return {"complex_kind": _padded(both, shown)}
    if shown.dtype.kind == "b":
        return {"bool": _padded(str, shown)}
    return None


def _padded(write: Callable[[Any], str], shown: np.ndarray[Any, Any]) -> Callable[[Any], str]:
    width = max((len(write(x)) for x in shown if np.isfinite(x)), default=0)
    return lambda x: write(x).rjust(width)


def _float_format(shown: np.ndarray[Any, Any]) -> Callable[[float], str]:
    sizes = [abs(float(x)) for x in shown if isfinite(x) and x != 0]
    least, most = min(sizes, default=1.0), max(sizes, default=1.0)
    whole = all(x == int(x) for x in sizes)
    digits, powers = _options.precision, _options.sci_mode
    if powers is None:
        powers = most > 1e8 or most / least > 1000 or (least < 1e-4 and not whole)
    if powers:
        return lambda x: f"{x:.{digits}e}"
    if whole:
        return lambda x: f"{x:.0f}." if isfinite(x) else f"{x:.0f}"
    return lambda x: f"{x:.{digits}f}"
