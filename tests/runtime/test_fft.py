"""rt.fft beside NumPy: every transform, every normalisation, cut and filled."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt

REAL = np.random.default_rng(0).normal(size=(3, 6))
COMPLEX = REAL + 1j * np.random.default_rng(1).normal(size=(3, 6))


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 4, 9])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_along_one_axis(name: str, n: int | None, norm: str) -> None:
    values: Any = REAL if name in ("rfft", "ihfft") else COMPLEX
    for axis in (0, -1):
        got = getattr(rt.fft, name)(rt.tensor(values), n=n, axis=axis, norm=norm)
        np.testing.assert_allclose(got.numpy(), getattr(np.fft, name)(values, n, axis, norm), atol=1e-12)


@pytest.mark.parametrize(("s", "axes"), [(None, None), ((2, 7), (0, 1)), (None, (1,))])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_along_several_axes(name: str, s: tuple[int, ...] | None, axes: tuple[int, ...] | None) -> None:
    values: Any = REAL if name == "rfftn" else COMPLEX
    got = getattr(rt.fft, name)(rt.tensor(values), s=s, axes=axes)
    np.testing.assert_allclose(got.numpy(), getattr(np.fft, name)(values, s, axes), atol=1e-12)


def test_single_precision_stays() -> None:
    x = rt.tensor(REAL.astype(np.float32))
    assert rt.fft.fft(x).dtype is rt.complex64 and rt.fft.irfft(rt.fft.rfft(x)).dtype is rt.float32


def test_frequencies() -> None:
    assert rt.fft.fftfreq(4, d=0.5).tolist() == [0, 0.5, -1, -0.5]
    assert rt.fft.rfftfreq(4).tolist() == [0, 0.25, 0.5] and rt.fft.fftfreq(3).dtype is rt.float32


def test_shifts_are_undone() -> None:
    x = rt.tensor(REAL)
    np.testing.assert_array_equal(rt.fft.fftshift(x, axes=1).numpy(), np.fft.fftshift(REAL, axes=1))
    assert rt.fft.ifftshift(rt.fft.fftshift(x)).tolist() == REAL.tolist()


def test_an_unknown_norm_is_refused() -> None:
    with pytest.raises(rt.ArgumentError, match="there is no norm 'other'"):
        rt.fft.fft(rt.ones(2), norm="other")
