"""Discrete Fourier transforms by NumPy's kernels (pocketfft). They have no gradients.

Three kernels, by what goes in and comes out; the array API's functions are made of them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Spec, complex64, complex128, float32, float64
from .arrange import roll
from .cast import copy
from .complex import conj
from .part import place

_NORMS = ("backward", "ortho", "forward")  # as numbers: their places
_REVERSED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _resized(a: Spec, sizes: tuple[int, ...], axes: tuple[int, ...]) -> list[int]:
    shape = list(a.shape)
    for size, axis in zip(sizes, axes, strict=True):
        place(axis, a.ndim, "fft")
        if size < 1 or a.shape[axis] == 0:
            raise ShapeError(f"fft: axis {axis} of {a.shape} makes no {size} elements: each needs at least one")
        shape[axis] = size
    return shape


def _wide(a: Spec) -> bool:
    return a.dtype in (float64, complex128)


def _to_complex_spec(a: Spec, *, sizes: tuple[int, ...], axes: tuple[int, ...], norm: int, **_: Any) -> Spec:
    return Spec(tuple(_resized(a, sizes, axes)), complex128 if _wide(a) else complex64)


def _from_real_spec(a: Spec, *, sizes: tuple[int, ...], axes: tuple[int, ...], norm: int) -> Spec:
    shape = _resized(a, sizes, axes)
    shape[axes[-1]] = sizes[-1] // 2 + 1
    return Spec(tuple(shape), complex128 if _wide(a) else complex64)


def _to_real_spec(a: Spec, *, sizes: tuple[int, ...], axes: tuple[int, ...], norm: int) -> Spec:
    return Spec(tuple(_resized(a, sizes, axes)), float64 if _wide(a) else float32)


def _butterflies(a: Spec, out: Spec, sizes: tuple[int, ...], **_: Any) -> int:
    """5 n log2(n) a transform of n elements, as is usual for the radix-2 algorithm (Frigo and Johnson, FFTW)."""
    return int(5 * max(a.size, out.size) * sum(np.log2(max(n, 1)) for n in sizes))


@primitive(
    infer=_to_complex_spec,
    kinds="fc",
    flops=_butterflies,
    samples=(
        sample((4,), sizes=(4,), axes=(-1,), norm=0, inverse=False),
        sample((2, 6), sizes=(3, 4), axes=(0, 1), norm=1, inverse=True),
    ),
    differentiable=False,
    public=False,
)
def fft_c2c(xp, a, *, sizes: tuple[int, ...], axes: tuple[int, ...], norm: int, inverse: bool):
    """Complex to complex, along the axes, cut or filled with zeros to the sizes.

    >>> fft_c2c(tensor([1.0, 1.0]), sizes=(2,), axes=(0,), norm=0, inverse=False).tolist()
    [(2+0j), 0j]
    """
    transform = xp.fft.ifftn if inverse else xp.fft.fftn
    return transform(a, sizes, axes, _NORMS[norm])


@primitive(
    infer=_from_real_spec,
    kinds="f",
    flops=_butterflies,
    samples=(sample((5,), sizes=(5,), axes=(-1,), norm=0), sample((2, 6), sizes=(3, 4), axes=(0, 1), norm=2)),
    differentiable=False,
    public=False,
)
def fft_r2c(xp, a, *, sizes: tuple[int, ...], axes: tuple[int, ...], norm: int):
    """Real to complex: the half of the last axis that the other half mirrors.

    >>> fft_r2c(tensor([1.0, 1.0]), sizes=(2,), axes=(0,), norm=0).tolist()
    [(2+0j), 0j]
    """
    return xp.fft.rfftn(a, sizes, axes, _NORMS[norm])


@primitive(
    infer=_to_real_spec,
    kinds="fc",
    flops=_butterflies,
    samples=(sample((3,), sizes=(4,), axes=(-1,), norm=0), sample((2, 3), sizes=(2, 5), axes=(0, 1), norm=1)),
    differentiable=False,
    public=False,
)
def fft_c2r(xp, a, *, sizes: tuple[int, ...], axes: tuple[int, ...], norm: int):
    """Complex to real: the inverse of fft_r2c, to `sizes` elements.

    >>> fft_c2r(tensor([2.0, 0.0]), sizes=(2,), axes=(0,), norm=0).tolist()
    [1.0, 1.0]
    """
    return xp.fft.irfftn(a, sizes, axes, _NORMS[norm])


def _norm(name: str) -> int:
    if name not in _NORMS:
        raise ArgumentError(f"fft: there is no norm {name!r}: use 'backward', 'ortho' or 'forward'")
    return _NORMS.index(name)


def _extent(
    a: Any, s: Sequence[int] | None, axes: Sequence[int] | None, *, halved: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and axes of a transform. halved: the last axis holds one half of what comes out."""
    if axes is None:
        axes = range(-len(s), 0) if s is not None else range(-a.ndim, 0)
    axes = [place(i, a.ndim, "fft") for i in axes]
    if not axes:
        raise ShapeError(f"fft: there is no axis to transform in shape {a.shape}")
    if s is None:
        s = [a.shape[i] for i in axes]
        if halved:
            s[-1] = 2 * (s[-1] - 1)
    return tuple(s), tuple(axes)


def _one(n: int | None) -> tuple[int] | None:
    return None if n is None else (n,)


@composite(samples=(sample((2, 4)), sample((3, 2), s=(4,), axes=(0,), norm="ortho")), public=False)
def fftn(a: Any, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Any:
    """The transform over the axes, all by default, cut or filled with zeros to the sizes s. No gradient.

    >>> fftn(tensor([[1.0, 1.0]])).tolist()
    [[(2+0j), 0j]]
    """
    sizes, along = _extent(a, s, axes)
    return fft_c2c(a, sizes=sizes, axes=along, norm=_norm(norm), inverse=False)


@composite(samples=(sample((2, 4)), sample((3, 2), s=(4,), axes=(0,), norm="ortho")), public=False)
def ifftn(a: Any, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Any:
    """The inverse of fftn. No gradient.

    >>> ifftn(tensor([[2.0, 0.0]])).tolist()
    [[(1+0j), (1+0j)]]
    """
    sizes, along = _extent(a, s, axes)
    return fft_c2c(a, sizes=sizes, axes=along, norm=_norm(norm), inverse=True)


@composite(samples=(sample((2, 4)), sample((3, 2), s=(4,), axes=(0,), norm="ortho")), public=False)
def rfftn(a: Any, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Any:
    """fftn of real numbers, of whose last axis the first half comes out. No gradient.

    >>> rfftn(tensor([1.0, 1.0, 1.0])).shape
    (2,)
    """
    sizes, along = _extent(a, s, axes)
    return fft_r2c(a, sizes=sizes, axes=along, norm=_norm(norm))


@composite(samples=(sample((2, 4)), sample((3, 2), s=(5,), axes=(0,), norm="ortho")), public=False)
def irfftn(a: Any, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward") -> Any:
    """The inverse of rfftn; without s an even number of elements comes out along the last axis. No gradient.

    >>> irfftn(tensor([2.0, 0.0])).tolist()
    [1.0, 1.0]
    """
    sizes, along = _extent(a, s, axes, halved=True)
    return fft_c2r(a, sizes=sizes, axes=along, norm=_norm(norm))


@composite(samples=(sample((4,)), sample((3, 2), n=4, axis=0, norm="forward")), public=False)
def fft(a: Any, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The transform along one axis, cut or filled with zeros to n elements. No gradient.

    >>> fft(tensor([1.0, 1.0])).tolist()
    [(2+0j), 0j]
    """
    return fftn(a, s=_one(n), axes=(axis,), norm=norm)


@composite(samples=(sample((4,)), sample((3, 2), n=4, axis=0, norm="forward")), public=False)
def ifft(a: Any, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The inverse of fft. No gradient.

    >>> ifft(tensor([2.0, 0.0])).tolist()
    [(1+0j), (1+0j)]
    """
    return ifftn(a, s=_one(n), axes=(axis,), norm=norm)


@composite(samples=(sample((4,)), sample((3, 2), n=4, axis=0, norm="forward")), public=False)
def rfft(a: Any, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """fft of real numbers: the first n // 2 + 1 elements. No gradient.

    >>> rfft(tensor([1.0, 1.0, 1.0])).shape
    (2,)
    """
    return rfftn(a, s=_one(n), axes=(axis,), norm=norm)


@composite(samples=(sample((4,)), sample((3, 2), n=4, axis=0, norm="forward")), public=False)
def irfft(a: Any, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The inverse of rfft; without n an even number of elements comes out. No gradient.

    >>> irfft(tensor([2.0, 0.0])).tolist()
    [1.0, 1.0]
    """
    return irfftn(a, s=_one(n), axes=(axis,), norm=norm)


@composite(samples=(sample((4,)), sample((3, 2), n=4, axis=0, norm="forward")), public=False)
def hfft(a: Any, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """fft of a signal that mirrors itself, of which a is the first half: real numbers. No gradient.

    >>> hfft(tensor([1.0, 0.0])).tolist()
    [1.0, 1.0]
    """
    _norm(norm)
    return irfftn(conj(a), s=_one(n), axes=(axis,), norm=_REVERSED[norm])


@composite(samples=(sample((4,)), sample((3, 2), n=4, axis=0, norm="forward")), public=False)
def ihfft(a: Any, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """The inverse of hfft. No gradient.

    >>> ihfft(tensor([1.0, 1.0])).tolist()
    [(1-0j), -0j]
    """
    _norm(norm)
    return conj(rfftn(a, s=_one(n), axes=(axis,), norm=_REVERSED[norm]))


@composite(samples=(sample((5,)), sample((3, 4), axes=1)), public=False)
def fftshift(a: Any, *, axes: int | Sequence[int] | None = None) -> Any:
    """Move frequency 0 to the middle of the axes, all by default.

    >>> fftshift(tensor([0, 1, 2, -2, -1])).tolist()
    [-2, -1, 0, 1, 2]
    """
    along = _along(a, axes)
    return roll(a, tuple(a.shape[i] // 2 for i in along), along) if along else copy(a)


@composite(samples=(sample((5,)), sample((3, 4), axes=1)), public=False)
def ifftshift(a: Any, *, axes: int | Sequence[int] | None = None) -> Any:
    """The inverse of fftshift.

    >>> ifftshift(tensor([-2, -1, 0, 1, 2])).tolist()
    [0, 1, 2, -2, -1]
    """
    along = _along(a, axes)
    return roll(a, tuple(-(a.shape[i] // 2) for i in along), along) if along else copy(a)


def _along(a: Any, axes: int | Sequence[int] | None) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(a.ndim))
    return tuple(place(i, a.ndim, "fftshift") for i in ((axes,) if isinstance(axes, int) else axes))
