"""Planes in other sizes, and changes of shape between layers."""

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn
from perflab.runtime.nn import functional as F

ROW = rt.tensor([[[0.0, 1.0, 2.0, 3.0]]])


def test_nearest() -> None:
    assert F.interpolate(ROW, scale_factor=2)[0, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert F.interpolate(ROW, size=2)[0, 0].tolist() == [0, 2]
    # by the pixels' centres
    assert F.interpolate(ROW, size=2, mode="nearest-exact")[0, 0].tolist() == [1, 3]


def test_between_the_neighbours() -> None:
    assert F.interpolate(ROW, size=2, mode="linear")[0, 0].tolist() == [0.5, 2.5]
    assert F.interpolate(ROW, size=7, mode="linear", align_corners=True)[0, 0].tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3]
    # a plane that rises evenly stays one
    x = rt.tensor(np.add.outer(10.0 * np.arange(3), np.arange(4.0))[None, None])
    out = nn.Upsample(size=(5, 7), mode="bilinear", align_corners=True)(x)
    wanted = np.add.outer(np.linspace(0, 20, 5), np.linspace(0, 3, 7))
    np.testing.assert_allclose(out[0, 0].numpy(), wanted, rtol=1e-12)


def test_gradients_add_up_to_the_number_of_results() -> None:
    for mode in ("nearest", "bilinear"):
        x = rt.randn(1, 1, 3, 4, requires_grad=True)
        F.interpolate(x, size=(5, 9), mode=mode).sum().backward()
        assert x.grad is not None and x.grad.sum().item() == pytest.approx(45)


def test_what_does_not_fit_is_refused_in_words() -> None:
    with pytest.raises(rt.ArgumentError, match="give either size or scale_factor"):
        F.interpolate(ROW)
    with pytest.raises(
        rt.ArgumentError, match="mode is one of nearest, nearest-exact, linear, bilinear, not 'bicubic'"
    ):
        F.interpolate(ROW, 2, mode="bicubic")
    with pytest.raises(rt.ShapeError, match="bilinear takes 2 axes after N and channels, not 1"):
        F.interpolate(ROW, 2, mode="bilinear")
    with pytest.raises(rt.ArgumentError, match="align_corners is for linear and bilinear, not nearest"):
        F.interpolate(ROW, 2, align_corners=True)
    with pytest.raises(rt.ShapeError, match="sizes are at least 1"):
        F.interpolate(ROW, scale_factor=0.1)
    with pytest.raises(rt.ShapeError, match="3 channels do not divide into 2"):
        F.pixel_shuffle(rt.zeros(1, 3, 2, 2), 2)


def test_pixels_to_channels_and_back() -> None:
    x = rt.arange(16, dtype=rt.float32).reshape(1, 4, 2, 2)
    out = nn.PixelShuffle(2)(x)
    assert out[0, 0].tolist() == [[0, 4, 1, 5], [8, 12, 9, 13], [2, 6, 3, 7], [10, 14, 11, 15]]
    assert nn.PixelUnshuffle(2)(out).tolist() == x.tolist()


def test_shapes_between_layers() -> None:
    x = rt.zeros(2, 3, 4, 5)
    assert nn.Flatten()(x).shape == (2, 60)
    assert nn.Flatten(0, 1)(x).shape == (6, 4, 5)
    assert nn.Unflatten(1, (3, -1))(rt.zeros(2, 12)).shape == (2, 3, 4)
    assert nn.Identity(5, anything=True)(x) is x


def test_bilinear_is_a_quadratic_form() -> None:
    layer = nn.Bilinear(2, 3, 4, dtype=rt.float64)
    x, y = np.random.default_rng(0).normal(size=(5, 2)), np.random.default_rng(1).normal(size=(5, 3))
    wanted = np.einsum("ni,oij,nj->no", x, layer.weight.detach().numpy(), y) + layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(rt.tensor(x), rt.tensor(y)).detach().numpy(), wanted, rtol=1e-12)
    with pytest.raises(rt.ShapeError, match=r"needs inputs \(..., 2\) and \(..., 3\), not \(2,\) and \(2,\)"):
        layer(rt.zeros(2), rt.zeros(2))
