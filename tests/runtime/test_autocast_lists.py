"""The families of autocast are those of PyTorch's lists ("Autocast Op Reference"), for what is here of them.

Where its lists for CPU and CUDA differ, an op that either of them runs in float32 does so here. Not as there: 1 / x,
which is a division as any other, and quantile.
"""

from collections.abc import Callable
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import Tensor, autocast, nn
from perflab.runtime.nn import functional as F

FULL = rt.rand(4, 6, generator=rt.Generator().manual_seed(0)) * 0.8 + 0.1
HALF = FULL.to(rt.bfloat16)
SQUARE = FULL[:, :4] + 4 * rt.eye(4)
IMAGE = rt.ones(2, 4, 8, 8)
TARGET = rt.tensor([0, 5, 2, 1])

LOWER: dict[str, Callable[[], Any]] = {
    "__matmul__": lambda: FULL @ FULL.mT,
    "matmul": lambda: rt.matmul(FULL, FULL.mT),
    "mm": lambda: rt.mm(FULL, FULL.mT),
    "bmm": lambda: rt.bmm(IMAGE[0], IMAGE[0]),
    "mv": lambda: rt.mv(FULL, FULL[0]),
    "addmm": lambda: rt.addmm(SQUARE, FULL, FULL.mT),
    "addmv": lambda: rt.addmv(FULL[:, 0], FULL, FULL[0]),
    "baddbmm": lambda: rt.baddbmm(IMAGE[0], IMAGE[0], IMAGE[0]),
    "einsum": lambda: rt.einsum("ij,kj->ik", FULL, FULL),
    "linear": lambda: F.linear(FULL, FULL, FULL[:, 0]),
    "Linear": lambda: nn.Linear(6, 3)(FULL),
    "conv1d": lambda: F.conv1d(IMAGE[0], rt.ones(2, 8, 3), rt.ones(2)),
    "conv2d": lambda: F.conv2d(IMAGE, rt.ones(2, 4, 3, 3), rt.ones(2)),
    "conv_transpose1d": lambda: F.conv_transpose1d(IMAGE[0], rt.ones(8, 2, 3), rt.ones(2)),
    "conv_transpose2d": lambda: F.conv_transpose2d(IMAGE, rt.ones(4, 2, 3, 3), rt.ones(2)),
    "prelu": lambda: F.prelu(FULL, rt.ones(1)),
    "scaled_dot_product_attention": lambda: F.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE),
    "MultiheadAttention": lambda: nn.MultiheadAttention(6, 2)(FULL, FULL, FULL)[0],
    "LSTMCell": lambda: nn.LSTMCell(6, 5)(FULL)[1],
    "GRUCell": lambda: nn.GRUCell(6, 5)(FULL),
    "RNNCell": lambda: nn.RNNCell(6, 5)(FULL),
    "LSTM": lambda: nn.LSTM(6, 5)(FULL)[0],
}
FLOAT32: dict[str, Callable[[], Any]] = {
    "__pow__": lambda: HALF**2,
    "__rpow__": lambda: 2.0**HALF,
    "acos": lambda: rt.acos(HALF),
    "asin": lambda: rt.asin(HALF),
    "binary_cross_entropy": lambda: F.binary_cross_entropy(HALF, HALF),
    "binary_cross_entropy_with_logits": lambda: F.binary_cross_entropy_with_logits(HALF, HALF),
    "cholesky": lambda: rt.linalg.cholesky(SQUARE.to(rt.bfloat16)),
    "cosh": lambda: rt.cosh(HALF),
    "cosine_embedding_loss": lambda: F.cosine_embedding_loss(HALF, HALF, rt.ones(4)),
    "cosine_similarity": lambda: F.cosine_similarity(HALF, HALF),
    "cross_entropy": lambda: F.cross_entropy(HALF, TARGET),
    "cumprod": lambda: rt.cumprod(HALF, 0),
    "cumsum": lambda: rt.cumsum(HALF, 0),
    "exp": lambda: rt.exp(HALF),
    "expm1": lambda: rt.expm1(HALF),
    "group_norm": lambda: F.group_norm(IMAGE.to(rt.bfloat16), 2),
    "huber_loss": lambda: F.huber_loss(HALF, HALF),
    "inverse": lambda: rt.linalg.inv(SQUARE.to(rt.bfloat16)),
    "kl_div": lambda: F.kl_div(HALF, HALF),
    "l1_loss": lambda: F.l1_loss(HALF, HALF),
    "layer_norm": lambda: F.layer_norm(HALF, (6,)),
    "linalg_det": lambda: rt.linalg.det(SQUARE.to(rt.bfloat16)),
    "linalg_eigvalsh": lambda: rt.linalg.eigvalsh(SQUARE.to(rt.bfloat16)),
    "linalg_solve": lambda: rt.linalg.solve(SQUARE.to(rt.bfloat16), HALF),
    "linalg_svdvals": lambda: rt.linalg.svdvals(HALF),
    "log": lambda: rt.log(HALF),
    "log10": lambda: rt.log10(HALF),
    "log1p": lambda: rt.log1p(HALF),
    "log2": lambda: rt.log2(HALF),
    "log_softmax": lambda: F.log_softmax(HALF, -1),
    "margin_ranking_loss": lambda: F.margin_ranking_loss(HALF, HALF, rt.ones(4, 6)),
    "mse_loss": lambda: F.mse_loss(HALF, HALF),
    "nll_loss": lambda: F.nll_loss(HALF, TARGET),
    "norm": lambda: rt.linalg.vector_norm(HALF),
    "normalize": lambda: F.normalize(HALF),
    "pow": lambda: rt.pow(HALF, HALF),
    "prod": lambda: rt.prod(HALF),
    "reciprocal": lambda: rt.reciprocal(HALF),
    "rsqrt": lambda: rt.rsqrt(HALF),
    "sinh": lambda: rt.sinh(HALF),
    "smooth_l1_loss": lambda: F.smooth_l1_loss(HALF, HALF),
    "softmax": lambda: F.softmax(HALF, -1),
    "softmin": lambda: F.softmin(HALF, -1),
    "softplus": lambda: F.softplus(HALF),
    "sum": lambda: rt.sum(HALF),
    "tan": lambda: rt.tan(HALF),
    "trace": lambda: rt.linalg.trace(SQUARE.to(rt.bfloat16)),
    "triplet_margin_loss": lambda: F.triplet_margin_loss(HALF, HALF, HALF),
}
WIDEST: dict[str, Callable[[Tensor], Any]] = {  # of two inputs, HALF and another
    "atan2": lambda other: rt.atan2(HALF, other),
    "cat": lambda other: rt.concat([HALF, other]),
    "stack": lambda other: rt.stack([HALF, other]),
    "add": lambda other: HALF + other,
    "mul": lambda other: HALF * other,
    "div": lambda other: HALF / other,
    "where": lambda other: rt.where(FULL > 0.5, HALF, other),
}
AS_THEY_COME: dict[str, Callable[[], Any]] = {  # in no list: in the dtype that they are given
    "relu": lambda: rt.relu(HALF),
    "tanh": lambda: rt.tanh(HALF),
    "sigmoid": lambda: rt.sigmoid(HALF),
    "gelu": lambda: F.gelu(HALF),
    "dropout": lambda: F.dropout(HALF, 0.5),
    "batch_norm": lambda: F.batch_norm(IMAGE.to(rt.bfloat16), rt.zeros(4), rt.ones(4), rt.ones(4)),
    "max_pool2d": lambda: F.max_pool2d(IMAGE.to(rt.bfloat16), 2),
    "amax": lambda: rt.amax(HALF, axis=1),
}


@pytest.mark.parametrize("name", LOWER)
def test_products_run_in_16_bits(name: str) -> None:
    with autocast("cpu", rt.bfloat16):
        assert LOWER[name]().dtype is rt.bfloat16
    assert LOWER[name]().dtype is rt.float32


@pytest.mark.parametrize("name", FLOAT32)
def test_what_needs_the_range_runs_in_float32(name: str) -> None:
    with autocast("cpu", rt.bfloat16):
        assert FLOAT32[name]().dtype is rt.float32


@pytest.mark.parametrize("name", WIDEST)
def test_others_run_in_the_widest_dtype_of_their_inputs(name: str) -> None:
    with autocast("cpu", rt.bfloat16):
        assert WIDEST[name](FULL).dtype is rt.float32
        assert WIDEST[name](HALF).dtype is rt.bfloat16


@pytest.mark.parametrize("name", AS_THEY_COME)
def test_what_is_in_no_list_stays_as_it_comes(name: str) -> None:
    with autocast("cpu", rt.bfloat16):
        assert AS_THEY_COME[name]().dtype is rt.bfloat16


def test_weights_and_biases_get_their_gradients_in_float32() -> None:
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 1))
    with autocast("cpu", rt.bfloat16):
        out = model(FULL)
    assert out.dtype is rt.bfloat16
    out.float().sum().backward()
    assert all(p.grad is not None and p.grad.dtype is rt.float32 for p in model.parameters())
    assert model[2].bias.grad.tolist() == [4.0]


def test_double_numbers_are_left_alone() -> None:
    double = FULL.double()
    with autocast("cpu", rt.bfloat16):
        assert F.linear(double, double, double[:, 0]).dtype is rt.float64
        assert F.prelu(double, rt.ones(1, dtype=rt.float64)).dtype is rt.float64
