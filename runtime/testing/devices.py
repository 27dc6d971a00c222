"""Results on a device against those on the CPU."""

import numpy as np

from ..op import Op, Sample
from .gradients import differentiable, weighted, weights
from .inputs import Arrays, Entry, call, fill, floating, natural, tensors

_DEVICE = "sim:0"  # it runs the same kernels, so that all bits agree


def moves(entry: Entry) -> str:
    moving = isinstance(entry, Op) and (entry.rule or "").startswith("transfer")
    return "its results are on another device than its inputs" if moving else ""


def check_device(entry: Entry, sample: Sample) -> bool:
    """The same values, and the same gradients of their weighted sum, where the inputs are."""
    arrays = fill(entry, sample, natural(entry))
    here, there = _run(entry, sample, arrays, "cpu"), _run(entry, sample, arrays, _DEVICE)
    assert len(here) == len(there)
    for want, got in zip(here, there, strict=True):
        np.testing.assert_array_equal(got, want, strict=True)
    return True


def _run(entry: Entry, sample: Sample, arrays: Arrays, device: str) -> Arrays:
    requiring = set(floating(entry, arrays)) if differentiable(entry, sample) else set()
    inputs = [t.to(device).detach().requires_grad_(i in requiring) for i, t in enumerate(tensors(arrays))]
    outs = call(entry, sample, inputs, device)
    assert {out.device for out in outs} <= {inputs[0].device} if inputs else True
    sums = weighted(outs, weights(outs))
    if sums.requires_grad:
        sums.backward()
    gradients = [inputs[i].grad for i in sorted(requiring)]
    return [t.detach().numpy() for t in (*outs, *(g for g in gradients if g is not None))]
