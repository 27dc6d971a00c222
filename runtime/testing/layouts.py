"""Inputs that lie in memory otherwise than one element after the other: results and gradients are the same."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import Tensor
from ..op import Sample
from ..spec import float64
from .gradients import differentiable, gradient, weighted, weights
from .inputs import (
    Arrays,
    Entry,
    call,
    column_major,
    fill,
    floating,
    given,
    natural,
    repeated,
    reversed_,
    strided,
    tensors,
)
from .values import check_values

Layout = Callable[[np.ndarray[Any, Any]], Tensor]


def check_same_gradients(entry: Entry, sample: Sample, arrays: Arrays, inputs: list[Tensor]) -> None:
    """Those of `inputs` are those of contiguous tensors with the values of `arrays`."""
    every = floating(entry, arrays)
    packed = tensors(arrays, set(every))
    laid_out = [x.detach().requires_grad_(i in every) for i, x in enumerate(inputs)]
    for leaves in (packed, laid_out):
        outs = call(entry, sample, leaves)
        value = weighted(outs, weights(outs))
        if value.requires_grad:
            value.backward()
    for i in every:
        np.testing.assert_allclose(gradient(laid_out[i]), gradient(packed[i]), rtol=1e-10, atol=1e-10)


def check_layouts(entry: Entry, sample: Sample) -> bool:
    """Inputs with gaps, backwards, and column by column."""
    arrays, wide = fill(entry, sample, natural(entry)), fill(entry, sample, float64)
    flows = differentiable(entry, sample)
    layouts: tuple[Layout, ...] = (strided, reversed_, column_major)
    for layout in layouts:
        check_values(entry, sample, arrays, [layout(a) for a in arrays])
        if flows:
            check_same_gradients(entry, sample, wide, [layout(a) for a in wide])
    return any(a.size > 1 for a in arrays)


def check_repeated(entry: Entry, sample: Sample) -> bool:
    """Inputs are one row, seen again and again through a stride of 0: of arrays that a sample gives, those that are."""
    done = False
    for dtype in (natural(entry), *([float64] if differentiable(entry, sample) else [])):
        arrays = fill(entry, sample, dtype)
        inputs = tensors(arrays)
        for i, (a, spec) in enumerate(zip(arrays, given(entry, sample), strict=True)):
            if a.size > 1 and (isinstance(spec, tuple) or np.array_equal(a, np.broadcast_to(a[:1], a.shape))):
                inputs[i] = repeated(a)
                arrays[i] = np.broadcast_to(a[:1], a.shape)
                done |= a.shape[0] > 1
        check_values(entry, sample, arrays, inputs)
        if dtype is float64:
            check_same_gradients(entry, sample, arrays, inputs)
    return done
