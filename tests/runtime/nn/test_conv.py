"""Convolutions against sums written out, and what they refuse."""

import itertools
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn
from perflab.runtime.nn import functional as F


def direct(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> np.ndarray[Any, Any]:
    """The convolution by its definition."""
    (sh, sw), (ph, pw), (dh, dw) = stride, padding, dilation
    x = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    (n, _, rows, columns), (out, each, kh, kw) = x.shape, w.shape
    result = np.zeros((n, out, (rows - dh * (kh - 1) - 1) // sh + 1, (columns - dw * (kw - 1) - 1) // sw + 1))
    for i, o, r, c in itertools.product(*map(range, result.shape)):
        first = o // (out // groups) * each
        window = x[i, first : first + each, r * sh :, c * sw :][:, : dh * (kh - 1) + 1 : dh, : dw * (kw - 1) + 1 : dw]
        result[i, o, r, c] = (window * w[o]).sum()
    return result


@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 2)])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 1)])
@pytest.mark.parametrize("groups", [1, 2])
def test_conv2d_is_the_sum_over_windows(stride: Any, padding: Any, dilation: Any, groups: int) -> None:
    random = np.random.default_rng(0)
    x, w, b = random.normal(size=(2, 4, 7, 8)), random.normal(size=(6, 4 // groups, 3, 2)), random.normal(size=6)
    out = F.conv2d(*(rt.tensor(a) for a in (x, w, b)), stride, padding, dilation, groups)
    wanted = direct(x, w, stride, padding, dilation, groups) + b[:, None, None]
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_conv1d_is_a_polynomial_product() -> None:
    a, b = np.array([1.0, 2.0, 3.0]), np.array([2.0, -1.0])
    out = F.conv1d(rt.tensor(a[None]), rt.tensor(b[None, None, ::-1].copy()), padding=1)
    np.testing.assert_allclose(out.numpy()[0], np.convolve(a, b))


@pytest.mark.parametrize("kernel", [1, 2, 5])
def test_same_padding_keeps_the_size(kernel: int) -> None:
    x, w = rt.randn(1, 2, 6, 7), rt.randn(3, 2, kernel, kernel)
    assert F.conv2d(x, w, padding="same").shape == (1, 3, 6, 7)
    assert F.conv2d(x, w, padding="valid").shape == (1, 3, 7 - kernel, 8 - kernel)
    assert F.conv1d(x[:, :, 0], w[:, :, 0], padding="same", dilation=2).shape == (1, 3, 7)


@pytest.mark.parametrize(("stride", "more"), [(1, 0), (2, 1), (3, 2)])
def test_the_transpose_is_the_adjoint(stride: int, more: int) -> None:
    """<conv(x), y> = <x, conv_transpose(y)> for the same weight."""
    w = rt.randn(3, 2, 3, 3, dtype=rt.float64)
    x = rt.randn(2, 2, 6 + more, 6 + more, dtype=rt.float64)
    y_shape = F.conv2d(x, w, stride=stride, padding=1).shape
    y = rt.randn(*y_shape, dtype=rt.float64)
    back = F.conv_transpose2d(y, w, stride=stride, padding=1, output_padding=(6 + more - 1) % stride)
    assert back.shape == x.shape
    left = (F.conv2d(x, w, stride=stride, padding=1) * y).sum().item()
    assert left == pytest.approx((x * back).sum().item(), rel=1e-10)


def test_a_transpose_reaches_an_output_size() -> None:
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    x = rt.randn(1, 2, 4, 4)
    assert layer(x).shape == (1, 3, 7, 7)
    assert layer(x, output_size=(8, 7)).shape == (1, 3, 8, 7)
    with pytest.raises(rt.ArgumentError, match=r"output_padding \(2, 0\) is not less than stride \(2, 2\)"):
        layer(x, output_size=(9, 7))


def test_unfold_and_fold_count_the_windows() -> None:
    x = rt.arange(12, dtype=rt.float32).reshape(1, 1, 3, 4)
    columns = F.unfold(x, 2)
    assert columns.shape == (1, 4, 6)
    assert columns[0, :, 0].tolist() == [0, 1, 4, 5]
    counts = F.fold(F.unfold(rt.ones(1, 1, 3, 4), 2), (3, 4), 2)
    assert counts[0, 0].tolist() == [[1, 2, 2, 1], [2, 4, 4, 2], [1, 2, 2, 1]]
    with pytest.raises(rt.ShapeError, match="columns of 5 elements do not divide into windows of 4"):
        F.fold(rt.zeros(1, 5, 6), (3, 4), 2)
    with pytest.raises(rt.ShapeError, match=r"columns of shape \(1, 4, 6\) make planes"):
        F.fold(rt.zeros(1, 4, 5), (3, 4), 2)


def test_what_does_not_fit_is_refused_in_words() -> None:
    x, w = rt.zeros(1, 4, 5, 5), rt.zeros(6, 4, 3, 3)
    with pytest.raises(rt.ShapeError, match=r"a weight of shape \(6, 4, 3, 3\) in 1 groups takes 4 channels, .* has 3"):
        F.conv2d(rt.zeros(1, 3, 5, 5), w)
    with pytest.raises(rt.ShapeError, match=r"the input is \(N, channels, rows, columns\), or without N, not \(5, 5\)"):
        F.conv2d(rt.zeros(5, 5), w)
    with pytest.raises(rt.ShapeError, match=r"conv2d: a bias of shape \(2,\) is not for 1 channels"):
        F.conv2d(rt.ones(1, 3, 5, 5), rt.ones(1, 3, 3, 3), rt.ones(2))
    with pytest.raises(rt.ShapeError, match="a weight has 4 axes"):
        F.conv2d(x, rt.zeros(6, 4, 3))
    with pytest.raises(rt.ShapeError, match="5 groups do not divide channels 4 and 6"):
        F.conv2d(x, w, groups=5)
    with pytest.raises(rt.ShapeError, match=r"a kernel of \(3, 3\), dilated by \(3, 3\), does not fit into \(5, 5\)"):
        F.conv2d(x, w, dilation=3)
    with pytest.raises(rt.ShapeError, match="stride is two numbers of at least 1"):
        F.conv2d(x, w, stride=0)
    with pytest.raises(rt.ArgumentError, match="padding 'same' needs stride 1"):
        F.conv2d(x, w, stride=2, padding="same")
    with pytest.raises(rt.ArgumentError, match="'same' or 'valid', not 'full'"):
        F.conv2d(x, w, padding="full")
    with pytest.raises(rt.ArgumentError, match=r"stride is a number or 2 of them, not \(1, 1, 1\)"):
        F.conv2d(x, w, stride=(1, 1, 1))
    with pytest.raises(rt.ShapeError, match="takes 6 channels, not 4"):
        F.conv_transpose2d(x, w)
    with pytest.raises(rt.ArgumentError, match="3 groups do not divide channels 4 and 6"):
        nn.Conv2d(4, 6, 3, groups=3)
    with pytest.raises(rt.DTypeError, match="conv2d: not defined for int64"):
        F.conv2d(rt.zeros(1, 4, 5, 5, dtype=int), rt.zeros(6, 4, 3, 3, dtype=int))


def test_its_initial_values_and_its_repr() -> None:
    rt.manual_seed(0)
    layer = nn.Conv2d(8, 64, 5, stride=2, padding=1, groups=2)
    bound = 1 / np.sqrt(4 * 25)
    for parameter in layer.parameters():
        assert np.abs(parameter.detach().numpy()).max() == pytest.approx(bound, rel=0.1)
        assert np.abs(parameter.detach().numpy()).max() <= bound
    assert repr(layer) == "Conv2d(8, 64, kernel_size=(5, 5), stride=(2, 2), padding=(1, 1), groups=2)"
    assert repr(nn.Conv1d(1, 2, 3, bias=False)) == "Conv1d(1, 2, kernel_size=(3,), stride=(1,), bias=False)"


def test_padding_modes_lengthen_the_input_first() -> None:
    conv = nn.Conv1d(1, 1, 3, padding=1, bias=False, padding_mode="circular")
    with rt.no_grad():
        conv.weight.copy_(rt.tensor([[[1.0, 10.0, 100.0]]]))
    x = rt.tensor([[[1.0, 2.0, 3.0]]])
    assert conv(x).tolist() == [[[213.0, 321.0, 132.0]]]
    assert "padding_mode=circular" in repr(conv)
    same = nn.Conv2d(1, 1, (1, 2), padding="same", bias=False, padding_mode="replicate")
    with rt.no_grad():
        same.weight.copy_(rt.tensor([[[[1.0, 10.0]]]]))
    assert same(x.view(1, 1, 1, 3)).tolist() == [[[[21.0, 32.0, 33.0]]]]
    with pytest.raises(rt.ArgumentError, match="padding_mode is zeros, not 'reflect'"):
        nn.ConvTranspose1d(1, 1, 3, padding_mode="reflect")
