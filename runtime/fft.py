"""Discrete Fourier transforms, as the array API and torch.fft name them, by NumPy's kernels.

They have no gradients, but for the shifts."""

from typing import Any

import numpy as np

from .creation import converted
from .ops.fourier import fft, fftn, fftshift, hfft, ifft, ifftn, ifftshift, ihfft, irfft, irfftn, rfft, rfftn

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]


def fftfreq(n: int, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies, in cycles a unit of d, of what fft gives of n samples at distances d.

    >>> fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    return converted(np.fft.fftfreq(n, d), dtype, device)


def rfftfreq(n: int, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies, in cycles a unit of d, of what rfft gives of n samples at distances d.

    >>> rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    return converted(np.fft.rfftfreq(n, d), dtype, device)
