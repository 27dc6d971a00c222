"""Inputs made of a sample, and a call with them."""

from typing import Any

import numpy as np

from .. import creation
from .._core import Tensor
from ..op import Op, Sample
from ..ops.shape import expand
from ..random import get_rng_state, manual_seed, set_rng_state
from ..registry import Composite
from ..spec import DType, as_dtype, float32, int64

Entry = Op | Composite
Arrays = list[np.ndarray[Any, Any]]


def is_list(entry: Entry, sample: Sample) -> bool:
    return isinstance(sample.inputs[0], list) if isinstance(entry, Composite) else entry.rest is not None


def internal(entry: Entry) -> bool:
    """Whether only other ops call it, and with what fits."""
    return isinstance(entry, Op) and not entry.public and "::" not in entry.name


def given(entry: Entry, sample: Sample) -> list[Any]:
    """The sample's inputs, shapes and arrays."""
    return list(sample.inputs[0] if is_list(entry, sample) else sample.inputs)


def fill(entry: Entry, sample: Sample, dtype: DType, seed: int = 0) -> Arrays:
    """The sample's inputs: shapes filled with values of the op's domain, arrays as they are."""
    random = np.random.default_rng(seed)
    low, high = (-2.0, 2.0) if isinstance(entry, Composite) else entry.domain

    def values(spec: Any) -> np.ndarray[Any, Any]:
        if not isinstance(spec, tuple):
            return np.asarray(spec)
        if dtype.kind == "c":
            return np.asarray(random.uniform(low, high, spec) + 1j * random.uniform(low, high, spec), dtype.numpy)
        if dtype.kind == "f":
            return np.asarray(random.uniform(low, high, spec), dtype.numpy)
        return np.asarray(
            random.integers(int(low) if dtype.is_signed else max(0, int(low)), int(high) + 1, spec), dtype.numpy
        )

    return [values(spec) for spec in given(entry, sample)]


def natural(entry: Entry) -> DType:
    """A dtype that the op is defined for."""
    return float32 if isinstance(entry, Composite) or "f" in entry.kinds else int64


def floating(entry: Entry, arrays: Arrays) -> list[int]:
    """The inputs that may have a gradient."""
    return [
        i
        for i, a in enumerate(arrays)
        if as_dtype(a.dtype).kind == "f" and (isinstance(entry, Composite) or entry.input(i).cast)
    ]


def tensors(arrays: Arrays, requiring: set[int] | None = None) -> list[Tensor]:
    return [creation.tensor(a, requires_grad=i in (requiring or ())) for i, a in enumerate(arrays)]


def call(entry: Entry, sample: Sample, inputs: list[Any], device: str = "cpu") -> tuple[Tensor, ...]:
    """The results of a call; one that draws random numbers draws the same ones each time.

    device: where tensors among the attributes are; the inputs are there.
    """
    attributes = {
        k: creation.tensor(v, device=device) if isinstance(v, np.ndarray) else v for k, v in sample.attributes.items()
    }
    arguments = (inputs,) if is_list(entry, sample) else inputs
    if isinstance(entry, Op):
        out = entry.handle(*arguments, **attributes)
    else:
        state = get_rng_state()
        manual_seed(0)
        out = entry.handle(*arguments, **attributes)
        set_rng_state(state)
    return tuple(out) if isinstance(out, tuple | list) else (out,)


# --- the same values, otherwise laid out


def strided(a: np.ndarray[Any, Any]) -> Tensor:
    """With gaps between all elements."""
    wide = np.zeros([2 * n for n in a.shape], a.dtype)
    gaps: Any = (..., *(slice(None, None, 2) for _ in a.shape))
    view = wide[gaps]
    view[...] = a
    return creation.from_numpy(view)


def reversed_(a: np.ndarray[Any, Any]) -> Tensor:
    """Backwards along every axis."""
    back: Any = (..., *(slice(None, None, -1) for _ in a.shape))
    return creation.from_numpy(np.array(a[back])[back])


def column_major(a: np.ndarray[Any, Any]) -> Tensor:
    return creation.from_numpy(np.array(a, order="F"))


def repeated(a: np.ndarray[Any, Any]) -> Tensor:
    """Seen again and again through a stride of 0: all is as the first along axis 0."""
    seen: Tensor = expand(creation.tensor(np.array(a[:1])), a.shape)
    return seen
