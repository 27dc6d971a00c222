"""nn.functional beside torch.nn.functional: the same call on the same numbers gives the same values and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime.nn import functional as F

pytestmark = pytest.mark.torch

# A name, the call, and its inputs: shapes of floats that need gradients, or arrays that do not.
Case = tuple[Callable[..., Any], list[Any]]
IMAGE = (2, 4, 7, 6)
CASES: dict[str, Case] = {
    "gelu": (lambda F, x: F.gelu(x), [(3, 5)]),
    "gelu tanh": (lambda F, x: F.gelu(x, approximate="tanh"), [(3, 5)]),
    "silu": (lambda F, x: F.silu(x), [(3, 5)]),
    "conv2d": (lambda F, x, w, b: F.conv2d(x, w, b), [IMAGE, (6, 4, 3, 2), (6,)]),
    "conv2d strides": (
        lambda F, x, w: F.conv2d(x, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
        [IMAGE, (6, 2, 3, 2)],
    ),
    "conv2d same": (lambda F, x, w: F.conv2d(x, w, padding="same", dilation=(1, 3)), [IMAGE, (2, 4, 3, 2)]),
    "conv2d valid": (lambda F, x, w: F.conv2d(x, w, padding="valid"), [IMAGE, (2, 4, 3, 2)]),
    "conv2d without a batch": (lambda F, x, w, b: F.conv2d(x, w, b), [(4, 7, 6), (2, 4, 3, 2), (2,)]),
    "max_pool2d": (lambda F, x: F.max_pool2d(x, 2), [IMAGE]),
    "max_pool2d windows": (
        lambda F, x: F.max_pool2d(x, (3, 2), stride=2, padding=1, dilation=(2, 1), ceil_mode=True),
        [IMAGE],
    ),
    "max_pool2d indices": (lambda F, x: F.max_pool2d(x, 3, 2, ceil_mode=True, return_indices=True), [(4, 7, 6)]),
    "layer_norm": (lambda F, x, w, b: F.layer_norm(x, (4, 3), w, b, 1e-3), [(2, 5, 4, 3), (4, 3), (4, 3)]),
    "layer_norm plain": (lambda F, x: F.layer_norm(x, (3,)), [(5, 3)]),
    "cross_entropy": (lambda F, x, y: F.cross_entropy(x, y), [(4, 3), np.array([2, 0, 1, 2])]),
    "cross_entropy ignore": (
        lambda F, x, y: F.cross_entropy(x, y, ignore_index=1, reduction="sum"),
        [(4, 3), np.array([2, 0, 1, 2])],
    ),
    "cross_entropy pixels": (
        lambda F, x, y: F.cross_entropy(x, y, reduction="none"),
        [(2, 3, 2, 2), np.array([[[0, 1], [2, -100]], [[0, 0], [1, 1]]])],
    ),
    "cross_entropy one": (lambda F, x, y: F.cross_entropy(x, y), [(3,), np.array(1)]),
}


def several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning")  # torch says that it may copy
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_agree(name: str) -> None:
    torch = pytest.importorskip("torch")
    call, inputs = CASES[name]
    random = np.random.default_rng(0)
    arrays = [random.normal(size=x) if isinstance(x, tuple) else x for x in inputs]
    floating = [a.dtype.kind == "f" and isinstance(x, tuple) for a, x in zip(arrays, inputs, strict=True)]
    ours = [rt.tensor(a, requires_grad=f) for a, f in zip(arrays, floating, strict=True)]
    theirs = [torch.tensor(a, requires_grad=f) for a, f in zip(arrays, floating, strict=True)]
    outs, wanted = several(call(F, *ours)), several(call(torch.nn.functional, *theirs))
    assert len(outs) == len(wanted)
    for out, want in zip(outs, wanted, strict=True):
        assert str(out.dtype).split(".")[1] == str(want.dtype).split(".")[1]
        np.testing.assert_allclose(out.detach().numpy(), want.detach().numpy(), rtol=1e-9, atol=1e-11)
    weight = random.normal(size=outs[0].shape)
    (outs[0] * rt.tensor(weight)).sum().backward()
    (wanted[0] * torch.tensor(weight)).sum().backward()
    for mine, other in zip(ours, theirs, strict=True):
        if other.requires_grad:
            assert mine.grad is not None
            np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-8, atol=1e-10)
