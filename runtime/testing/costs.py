"""The bytes that a node keeps and the cost that an op states, against the arrays there are."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _core
from ..op import Op, Sample
from ..program import trace
from ..spec import Spec
from .inputs import call, fill, floating, natural, tensors


def attributes_of(op: Op, sample: Sample) -> dict[str, Any]:
    return {a.name: sample.attributes.get(a.name, a.preset) for a in op.attributes}


def check_saved(op: Op, sample: Sample) -> bool:
    """A node holds what the gradient declares to keep, and no more."""
    arrays = fill(op, sample, natural(op))
    leaves = tensors(arrays, set(floating(op, arrays)))
    with _no_collection():
        before = _core.live_stats()["allocated_bytes"]
        inputs = [x.copy() for x in leaves]
        outs = call(op, sample, inputs)
        node = outs[0].grad_fn if outs else None
        if node is None:
            return False
        mask = 1 if op.rest else sum(1 << i for i in floating(op, arrays))
        saves = trace(op, [a.ndim for a in arrays], len(outs), mask, attributes_of(op, sample))["saves"]
        nbytes = {i: a.nbytes for i, a in enumerate(arrays)} | {
            -1 - k: out.numel() * out.dtype.itemsize for k, out in enumerate(outs)
        }
        del inputs, outs
        held = _core.live_stats()["allocated_bytes"] - before
        assert held == sum(nbytes[which] for which, shape_alone in saves if not shape_alone)
        del node
    return True


@contextmanager
def _no_collection() -> Iterator[None]:
    """What the collector would free meanwhile is not counted; collecting first would take longer than the check."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def check_cost(op: Op, sample: Sample) -> bool:
    """Bytes read and written are those of the inputs and results, or what the op says instead; a view moves none."""
    arrays = fill(op, sample, natural(op))
    inputs = tensors(arrays)
    outs = call(op, sample, inputs)
    specs = [Spec(x.shape, x.dtype) for x in inputs], [Spec(o.shape, o.dtype) for o in outs]
    cost = op.cost(*specs, **attributes_of(op, sample))
    if op.view:
        assert (cost.flops, cost.read, cost.write) == (0, 0, 0)
        memory = inputs[0].numpy()
        assert all(np.shares_memory(memory, out.numpy()) for out in outs if out.numel())
        return True
    assert cost.flops >= 0
    assert cost.write == sum(out.numpy().nbytes for out in outs)
    if op.read is None:
        assert cost.read == sum(a.nbytes for i, a in enumerate(arrays) if not op.input(i).like)
    else:
        assert 0 <= cost.read <= sum(a.nbytes for a in arrays) + cost.write
    return True
