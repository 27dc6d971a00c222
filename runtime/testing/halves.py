"""float16 and bfloat16: results rounded once, and gradients within what their digits allow."""

import numpy as np

from ..op import Sample
from ..promotion import finfo
from ..registry import Composite
from .gradients import differentiable, gradient, weighted, weights
from .inputs import Entry, call, fill, floating, tensors
from .values import HALVES, check_values, defined


def check_halves(entry: Entry, sample: Sample) -> bool:
    """Values against the reference in float32; gradients against those in float64 of the same numbers."""
    done = False
    for dtype in HALVES:
        arrays = fill(entry, sample, dtype)
        if not defined(entry, arrays):
            continue
        steps = 4 if isinstance(entry, Composite) else 1  # a composite rounds after each
        check_values(entry, sample, arrays, tensors(arrays), slack=steps)
        done = True
        if not differentiable(entry, sample):
            continue
        every = set(floating(entry, arrays))
        wide = [a.astype(np.float64) if i in every else a for i, a in enumerate(arrays)]
        inputs = tensors(arrays, every), tensors(wide, every)
        for given in inputs:
            outs = call(entry, sample, given)
            value = weighted(outs, [w.astype(dtype.numpy).astype(np.float64) for w in weights(outs)])
            value.backward()
        for i in every:
            got, want = (gradient(given[i]).astype(np.float64) for given in inputs)
            tolerance = 16 * finfo(dtype).eps
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max(initial=1))
    return done
