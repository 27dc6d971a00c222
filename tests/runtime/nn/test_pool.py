"""Pooling: windows written out, and what is refused."""

import math

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn
from perflab.runtime.nn import functional as F

PLANE = rt.arange(16, dtype=rt.float32).reshape(1, 1, 4, 4)


def test_windows_side_by_side() -> None:
    assert F.max_pool2d(PLANE, 2)[0, 0].tolist() == [[5, 7], [13, 15]]  # type: ignore[call-overload]
    assert F.avg_pool2d(PLANE, 2)[0, 0].tolist() == [[2.5, 4.5], [10.5, 12.5]]
    assert nn.MaxPool2d((2, 4))(PLANE)[0, 0].tolist() == [[7], [15]]
    assert nn.AvgPool1d(2, stride=1)(rt.tensor([[1.0, 3.0, 5.0]])).tolist() == [[2, 4]]


def test_windows_that_hang_over() -> None:
    x = rt.tensor([[[1.0, 2.0, 3.0, 4.0, 5.0]]])
    assert F.max_pool1d(x, 2).tolist() == [[[2, 4]]]  # type: ignore[union-attr]
    assert F.max_pool1d(x, 2, ceil_mode=True).tolist() == [[[2, 4, 5]]]  # type: ignore[union-attr]
    assert F.avg_pool1d(x, 2, ceil_mode=True).tolist() == [[[1.5, 3.5, 5]]]
    # a last window that would start in the padding on the right is none
    assert F.max_pool1d(x, 3, 3, padding=1, ceil_mode=True).shape == (1, 1, 2)  # type: ignore[union-attr]


def test_padding_counts_for_the_mean_and_not_for_the_maximum() -> None:
    x = -rt.ones(1, 1, 2, 2)
    assert F.max_pool2d(x, 2, padding=1).tolist() == [[[[-1, -1], [-1, -1]]]]  # type: ignore[union-attr]
    assert F.avg_pool2d(x, 2, padding=1).tolist() == [[[[-0.25, -0.25], [-0.25, -0.25]]]]
    assert F.avg_pool2d(x, 2, padding=1, count_include_pad=False).tolist() == [[[[-1, -1], [-1, -1]]]]
    assert F.avg_pool2d(x, 2, divisor_override=2).tolist() == [[[[-2]]]]


def test_indices_lead_back_to_the_elements() -> None:
    x = rt.randn(2, 3, 7, 6)
    out, indices = F.max_pool2d(x, 3, 2, padding=1, return_indices=True)
    assert indices.dtype is rt.int64
    flat = x.numpy().reshape(2, 3, -1)
    picked = np.take_along_axis(flat, indices.numpy().reshape(2, 3, -1), -1)
    np.testing.assert_array_equal(picked.reshape(out.shape), out.numpy())


def test_the_first_of_equal_elements_has_the_gradient() -> None:
    x = rt.ones(1, 1, 2, 4, requires_grad=True)
    F.max_pool2d(x, 2).sum().backward()  # type: ignore[union-attr]
    assert x.grad is not None and x.grad[0, 0].tolist() == [[1, 0, 1, 0], [0, 0, 0, 0]]


def test_nothing_but_infinity_still_has_a_place() -> None:
    x = rt.full((1, 1, 2, 2), -math.inf)
    out, indices = F.max_pool2d(x, 2, 2, padding=1, return_indices=True)
    assert out[0, 0].tolist() == [[-math.inf] * 2] * 2
    assert indices[0, 0].tolist() == [[0, 1], [2, 3]]


def test_a_plane_divided_evenly() -> None:
    x = rt.tensor([[[1.0, 2.0, 3.0, 4.0, 5.0]]])
    # windows 0-1, 1-3, 3-4
    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[[1.5, 3, 4.5]]]
    assert F.adaptive_max_pool1d(x, 3).tolist() == [[[2, 4, 5]]]  # type: ignore[union-attr]
    assert nn.AdaptiveAvgPool2d(1)(PLANE).tolist() == [[[[7.5]]]]
    assert nn.AdaptiveAvgPool2d((None, 2))(PLANE).shape == (1, 1, 4, 2)
    np.testing.assert_allclose(F.adaptive_avg_pool2d(PLANE, 2).numpy(), F.avg_pool2d(PLANE, 2).numpy())


def test_what_does_not_fit_is_refused_in_words() -> None:
    with pytest.raises(rt.ShapeError, match=r"padding \(2, 2\) is more than half of the kernel \(3, 3\)"):
        F.max_pool2d(PLANE, 3, padding=2)
    with pytest.raises(rt.ShapeError, match=r"a kernel of \(5, 5\), dilated by \(1, 1\), does not fit into \(4, 4\)"):
        F.avg_pool2d(PLANE, 5)
    with pytest.raises(rt.ArgumentError, match="divisor_override must not be 0"):
        F.avg_pool2d(PLANE, 2, divisor_override=0)
    with pytest.raises(rt.ArgumentError, match=r"output_size is a number or 2 of them, not \(1, 2, 3\)"):
        F.adaptive_avg_pool2d(PLANE, (1, 2, 3))  # type: ignore[arg-type]
    with pytest.raises(rt.ShapeError, match=r"\(N, channels, length\), or without N, not \(1, 1, 4, 4\)"):
        F.max_pool1d(PLANE, 2)
