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
    "relu in place": (lambda F, x: F.relu(x * 2.0, inplace=True) * x, [(3, 5)]),
    "silu in place": (lambda F, x: F.silu(x * 2.0, True) * x, [(3, 5)]),
    "relu6": (lambda F, x: F.relu6(4.0 * x), [(3, 5)]),
    "hardtanh": (lambda F, x: F.hardtanh(x, -0.5, 1.5), [(3, 5)]),
    "leaky_relu": (lambda F, x: F.leaky_relu(x, 0.2), [(3, 5)]),
    "elu": (lambda F, x: F.elu(x, 0.7), [(3, 5)]),
    "selu": (lambda F, x: F.selu(x), [(3, 5)]),
    "celu": (lambda F, x: F.celu(x, 0.5), [(3, 5)]),
    "mish": (lambda F, x: F.mish(x), [(3, 5)]),
    "softplus": (lambda F, x: F.softplus(3.0 * x, beta=2.0, threshold=5.0), [(3, 5)]),
    "hardsigmoid": (lambda F, x: F.hardsigmoid(3.0 * x), [(3, 5)]),
    "hardswish": (lambda F, x: F.hardswish(3.0 * x), [(3, 5)]),
    "logsigmoid": (lambda F, x: F.logsigmoid(100.0 * x), [(3, 5)]),
    "softsign": (lambda F, x: F.softsign(x), [(3, 5)]),
    "tanhshrink": (lambda F, x: F.tanhshrink(x), [(3, 5)]),
    "hardshrink": (lambda F, x: F.hardshrink(x, 0.3), [(3, 5)]),
    "softshrink": (lambda F, x: F.softshrink(x, 0.3), [(3, 5)]),
    "threshold": (lambda F, x: F.threshold(x, 0.1, 20.0), [(3, 5)]),
    "prelu": (lambda F, x, w: F.prelu(x, w), [(2, 3, 4), (3,)]),
    "prelu of one": (lambda F, x, w: F.prelu(x, w), [(2, 3, 4), (1,)]),
    "glu": (lambda F, x: F.glu(x, 1), [(3, 4, 2)]),
    "softmin": (lambda F, x: F.softmin(x, dim=1), [(3, 4, 2)]),
    "log_softmax": (lambda F, x: F.log_softmax(x, dim=1), [(3, 4, 2)]),
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
    "conv1d": (
        lambda F, x, w, b: F.conv1d(x, w, b, 2, padding=3, dilation=2, groups=2),
        [(2, 4, 9), (6, 2, 3), (6,)],
    ),
    "conv1d same": (lambda F, x, w: F.conv1d(x, w, padding="same"), [(4, 9), (6, 4, 4)]),
    "conv_transpose1d": (
        lambda F, x, w, b: F.conv_transpose1d(x, w, b, stride=3, padding=1, output_padding=2, dilation=2),
        [(2, 4, 5), (4, 3, 3), (3,)],
    ),
    "conv_transpose2d": (
        lambda F, x, w, b: F.conv_transpose2d(x, w, b, (2, 3), (1, 0), output_padding=(1, 2), groups=2, dilation=2),
        [IMAGE, (4, 3, 3, 2), (6,)],
    ),
    "conv_transpose2d plain": (lambda F, x, w: F.conv_transpose2d(x, w), [(4, 3, 2), (4, 3, 3, 2)]),
    "unfold": (lambda F, x: F.unfold(x, (3, 2), dilation=(1, 2), padding=(2, 1), stride=(2, 1)), [IMAGE]),
    "fold": (lambda F, x: F.fold(x, (4, 5), (2, 3), padding=(0, 1), stride=(1, 2)), [(2, 12, 9)]),
    "max_pool1d": (lambda F, x: F.max_pool1d(x, 3, 2, padding=1, return_indices=True), [(2, 4, 9)]),
    "avg_pool1d": (lambda F, x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True), [(4, 8)]),
    "avg_pool2d": (lambda F, x: F.avg_pool2d(x, (2, 3)), [IMAGE]),
    "avg_pool2d windows": (
        lambda F, x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
        [(2, 4, 6, 7)],
    ),
    "avg_pool2d with padding": (lambda F, x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), [(2, 4, 6, 7)]),
    "avg_pool2d divisor": (lambda F, x: F.avg_pool2d(x, 3, 1, divisor_override=5), [(4, 6, 7)]),
    "adaptive_avg_pool1d": (lambda F, x: F.adaptive_avg_pool1d(x, 4), [(2, 4, 9)]),
    "adaptive_avg_pool2d": (lambda F, x: F.adaptive_avg_pool2d(x, (3, None)), [IMAGE]),
    "adaptive_max_pool1d": (lambda F, x: F.adaptive_max_pool1d(x, 4, return_indices=True), [(4, 9)]),
    "adaptive_max_pool2d": (lambda F, x: F.adaptive_max_pool2d(x, (3, 4), True), [IMAGE]),
    "interpolate nearest": (lambda F, x: F.interpolate(x, size=(10, 4)), [IMAGE]),
    "interpolate nearest factor": (lambda F, x: F.interpolate(x, scale_factor=(1.7, 0.6)), [IMAGE]),
    "interpolate nearest-exact": (lambda F, x: F.interpolate(x, size=11, mode="nearest-exact"), [(2, 4, 7)]),
    "interpolate linear": (lambda F, x: F.interpolate(x, size=11, mode="linear"), [(2, 4, 7)]),
    "interpolate bilinear": (lambda F, x: F.interpolate(x, scale_factor=1.7, mode="bilinear"), [IMAGE]),
    "interpolate recomputed": (
        lambda F, x: F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
        [IMAGE],
    ),
    "interpolate corners": (
        lambda F, x: F.interpolate(x, size=(3, 11), mode="bilinear", align_corners=True),
        [IMAGE],
    ),
    "pixel_shuffle": (lambda F, x: F.pixel_shuffle(x, 2), [(2, 8, 3, 4)]),
    "pixel_unshuffle": (lambda F, x: F.pixel_unshuffle(x, 2), [(2, 2, 4, 6)]),
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
    "cross_entropy weights": (
        lambda F, x, y, w: F.cross_entropy(x, y, w, ignore_index=1),
        [(4, 3), np.array([2, 0, 1, 2]), np.array([0.5, 1.0, 3.0])],
    ),
    "cross_entropy smoothing": (
        lambda F, x, y, w: F.cross_entropy(x, y, w, label_smoothing=0.2),
        [(4, 3, 2), np.array([[2, 0], [1, 2], [0, -100], [1, 1]]), np.array([0.5, 1.0, 3.0])],
    ),
    "cross_entropy smoothing alone": (
        lambda F, x, y: F.cross_entropy(x, y, label_smoothing=0.2, reduction="none"),
        [(3, 3), np.array([2, 0, -100])],
    ),
    "cross_entropy probabilities": (
        lambda F, x, y, w: F.cross_entropy(x, y, w, label_smoothing=0.2),
        [(4, 3, 2), (4, 3, 2), np.array([0.5, 1.0, 3.0])],
    ),
    "cross_entropy of one row's probabilities": (lambda F, x, y: F.cross_entropy(x, y), [(3,), (3,)]),
    "nll_loss": (
        lambda F, x, y, w: F.nll_loss(x, y, w, ignore_index=0),
        [(4, 3), np.array([2, 0, 1, 2]), np.array([0.5, 1.0, 3.0])],
    ),
    "nll_loss pixels": (lambda F, x, y: F.nll_loss(x, y, reduction="none"), [(2, 3, 2), np.array([[0, 1], [2, -100]])]),
    "mse_loss": (lambda F, x, y: F.mse_loss(x, y), [(3, 4), (3, 4)]),
    "l1_loss": (lambda F, x, y: F.l1_loss(x, y, reduction="sum"), [(3, 4), (3, 4)]),
    "smooth_l1_loss": (lambda F, x, y: F.smooth_l1_loss(x, y, beta=0.7), [(3, 4), (3, 4)]),
    "smooth_l1_loss straight": (lambda F, x, y: F.smooth_l1_loss(x, y, beta=0.0), [(3, 4), (3, 4)]),
    "huber_loss": (lambda F, x, y: F.huber_loss(x, y, delta=0.7, reduction="none"), [(3, 4), (3, 4)]),
    "binary_cross_entropy": (
        lambda F, x, y, w: F.binary_cross_entropy(F.sigmoid(x), F.sigmoid(y), w),
        [(3, 4), (3, 4), np.array([0.5, 1.0, 3.0, 2.0])],
    ),
    "binary_cross_entropy at the ends": (
        lambda F, x, y: F.binary_cross_entropy(F.hardtanh(9.0 * x, 0.0, 1.0), y, reduction="none"),
        [(4,), np.array([0.0, 1.0, 1.0, 0.0])],
    ),
    "binary_cross_entropy_with_logits": (
        lambda F, x, y, w, p: F.binary_cross_entropy_with_logits(50.0 * x, y, w, pos_weight=p),
        [(3, 4), (3, 4), np.array([0.5, 1.0, 3.0, 2.0]), np.array([2.0, 1.0, 3.0, 0.5])],
    ),
    "kl_div": (
        lambda F, x, y: F.kl_div(F.log_softmax(x, dim=1), F.softmax(y, dim=1), reduction="batchmean"),
        [(3, 4), (3, 4)],
    ),
    "kl_div of zeros": (lambda F, x, y: F.kl_div(x, y, reduction="sum"), [(3,), np.array([0.0, 0.25, 0.75])]),
    "kl_div of logarithms": (lambda F, x, y: F.kl_div(x, y, log_target=True, reduction="none"), [(3, 4), (3, 4)]),
    "gaussian_nll_loss": (
        lambda F, x, y, v: F.gaussian_nll_loss(x, y, v, full=True, eps=0.7),
        [(3, 4), (3, 4), np.array([[0.5], [1.0], [2.0]])],
    ),
    "normalize": (lambda F, x: F.normalize(x), [(3, 4)]),
    "normalize by another norm": (lambda F, x: F.normalize(x, p=4.0, dim=0), [(3, 4)]),
    "cosine_similarity": (lambda F, x, y: F.cosine_similarity(x, y), [(3, 4, 2), (3, 4, 1)]),
    "pairwise_distance": (lambda F, x, y: F.pairwise_distance(x, y, keepdim=True), [(3, 4), (3, 4)]),
    "pairwise_distance of 1": (lambda F, x, y: F.pairwise_distance(x, y, p=1.0), [(3, 4), (3, 4)]),
    "cosine_embedding_loss": (
        lambda F, x, y, t: F.cosine_embedding_loss(x, y, t, margin=-0.3),
        [(3, 4), (3, 4), np.array([1, -1, -1])],
    ),
    "margin_ranking_loss": (
        lambda F, x, y, t: F.margin_ranking_loss(x, y, t, margin=0.3),
        [(4,), (4,), np.array([1.0, -1.0, -1.0, 1.0])],
    ),
    "triplet_margin_loss": (
        lambda F, x, y, z: F.triplet_margin_loss(x, y, z, margin=2.0, swap=True, reduction="none"),
        [(5, 4), (5, 4), (5, 4)],
    ),
    "bilinear": (lambda F, x, y, w, b: F.bilinear(x, y, w, b), [(2, 3, 4), (2, 3, 5), (6, 4, 5), (6,)]),
    "embedding": (lambda F, w, x: F.embedding(x, w, padding_idx=-1), [(4, 3), np.array([[0, 3], [3, 1]])]),
    "embedding_bag": (lambda F, w, x: F.embedding_bag(x, w), [(4, 3), np.array([[0, 3, 3], [3, 1, 1]])]),
    "embedding_bag sum": (
        lambda F, w, x, o, f: F.embedding_bag(x, w, o, mode="sum", per_sample_weights=f, padding_idx=1),
        [(4, 3), np.array([0, 3, 1, 2, 2]), np.array([0, 2, 2]), (5,)],
    ),
    "embedding_bag mean": (
        lambda F, w, x, o: F.embedding_bag(x, w, o, include_last_offset=True, padding_idx=2),
        [(4, 3), np.array([0, 3, 1, 2, 2]), np.array([0, 2, 2, 5])],
    ),
    "embedding_bag max": (
        lambda F, w, x, o: F.embedding_bag(x, w, o, mode="max"),
        [(4, 3), np.array([0, 3, 1, 2, 2]), np.array([0, 2, 2])],
    ),
    "attention": (
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v),
        [(2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 7)],
    ),
    "attention causal": (
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        [(2, 5, 4), (2, 6, 4), (2, 6, 7)],
    ),
    "attention blind": (
        lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        [(2, 3, 4), (2, 2, 4), (2, 2, 7), np.array([[True, False], [False, False], [True, True]])],
    ),
    "attention biased": (
        lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        [(2, 3, 4), (2, 2, 4), (2, 2, 7), (2, 3, 2)],
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
            np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-7, atol=1e-9)
