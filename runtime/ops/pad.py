"""Wider axes: what stands beyond the ends, and one-hot rows."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..errors import ArgumentError, IndexOutOfRange, ShapeError
from ..op import sample
from ..registry import composite, primitive
from ..spec import Spec, int64
from .cast import astype
from .index import take
from .part import window
from .shape import unsqueeze


def _padded(a: Spec, *, before: tuple[int, ...], after: tuple[int, ...], value: float) -> Spec:
    return Spec(tuple(n + i + j for n, i, j in zip(a.shape, before, after, strict=True)), a.dtype)


@primitive(
    infer=_padded,
    kinds="bifc",
    flops=lambda a, out, before, after, value: 0,
    samples=(sample((2, 3), before=(1, 0), after=(0, 2), value=1.5), sample((), before=(), after=(), value=0.0)),
    public=False,
)
def surround(xp, a, *, before: tuple[int, ...], after: tuple[int, ...], value: float):
    """a with so many more elements before and after each axis, all of one value.

    >>> surround(tensor([1.0]), before=(1,), after=(0,), value=0.0).tolist()
    [0.0, 1.0]
    """
    out = xp.full([n + i + j for n, i, j in zip(a.shape, before, after, strict=True)], value, a.dtype)
    out[tuple(slice(i, i + n) for i, n in zip(before, a.shape, strict=True))] = a
    return out


@surround.vjp
def _(ct, a: Spec, *, before, after, value):
    return inside(ct, a, before=before, after=after, value=value)


@primitive(
    rule="like_second",
    dtype="first",
    flops=lambda a, like, out, before, after, value: 0,
    samples=(
        sample((3, 5), (2, 3), before=(1, 0), after=(0, 2), value=1.5),
        sample((1, 5), (0, 3), before=(1, 0), after=(0, 2), value=1.5),
    ),
    public=False,
)
def inside(xp, a, like: Spec, *, before: tuple[int, ...], after: tuple[int, ...], value: float):
    """a without what surround put around it.

    >>> inside(tensor([5.0, 1.0]), tensor([0.0]), before=(1,), after=(0,), value=0.0).tolist()
    [1.0]
    """
    return a[tuple(slice(i, i + n) for i, n in zip(before, like.shape, strict=True))]


@inside.vjp
def _(ct, *, before, after, value):
    return surround(ct, before=before, after=after, value=0.0), None


def _places(n: int, before: int, after: int, mode: str) -> Any:
    """Which elements of an axis of size n stand along the padded one."""
    places = np.arange(-before, n + after)
    if mode == "replicate":
        return places.clip(0, n - 1)
    if mode == "circular":
        return places % n
    return (n - 1) - abs((n - 1) - places % max(2 * n - 2, 1))


# How many elements a mode can add to an axis of size n.
_MOST: dict[str, Callable[[int], float]] = {
    "replicate": lambda n: math.inf if n else 0,
    "circular": lambda n: n,
    "reflect": lambda n: n - 1,
}


@composite(
    samples=(
        sample((2, 3), pad=(1, 2), value=0.5),
        sample((2, 4), pad=(-1, 2, 1, 0)),
        sample((2, 3), pad=(2, 1), mode="reflect"),
        sample((2, 3), pad=(2, 4), mode="replicate"),
        sample((2, 3), pad=(2, 1, 1, 0), mode="circular"),
    ),
    method=False,
    public=False,
)
def pad(a, pad, mode="constant", value=None):
    """a with more elements before and after its last axes: pad is (before, after) of the last, of the one before, ...

    mode: constant, all of one value; reflect, mirrored at the last element; replicate, that element again; circular,
    from the other end. Negative numbers, for constant alone, cut elements away.

    >>> pad(tensor([1.0, 2.0, 3.0]), (1, 1), mode="reflect").tolist()
    [2.0, 1.0, 2.0, 3.0, 2.0]
    """
    pairs = list(zip(pad[::2], pad[1::2], strict=False))
    if len(pad) % 2 or len(pairs) > a.ndim:
        raise ShapeError(f"pad: {tuple(pad)} needs two numbers for each of at most {a.ndim} axes")
    if mode != "constant":
        if mode not in _MOST:
            raise ArgumentError(f"pad: mode must be constant, reflect, replicate or circular, not {mode!r}")
        for k, (before, after) in enumerate(pairs):
            n = a.shape[-1 - k]
            if min(before, after) < 0 or max(before, after) > _MOST[mode](n):
                raise ShapeError(f"pad: {mode} cannot add {before} and {after} to an axis of size {n}")
            if before or after:
                a = take(a, _core.from_numpy(_places(n, before, after, mode), a), -1 - k)
        return a
    for k, (before, after) in enumerate(pairs):
        if before < 0 or after < 0:
            axis = a.ndim - 1 - k
            size = a.shape[axis] + min(before, 0) + min(after, 0)
            if size < 0:
                raise ShapeError(
                    f"pad: an axis of size {a.shape[axis]} has no {-min(before, 0) - min(after, 0)} to lose"
                )
            a = window(a, axis, -min(before, 0), size)
    lead = (0,) * (a.ndim - len(pairs))
    around = [lead + tuple(max(pair[side], 0) for pair in reversed(pairs)) for side in (0, 1)]
    return surround(a, before=around[0], after=around[1], value=0.0 if value is None else value)


@composite(
    samples=(sample(np.array([[0, 2], [1, 0]])), sample(np.array([1]), num_classes=4)), method=False, public=False
)
def one_hot(a, num_classes=-1):
    """A row for each class index: 1 at that class, 0 elsewhere, int64. Without num_classes, one more than the largest.

    >>> one_hot(tensor([0, 2])).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    classes = np.asarray(a)
    if classes.dtype.kind not in "iu":
        raise ArgumentError(f"one_hot: class indices are ints, not {a.dtype.name}")
    count = int(classes.max(initial=-1)) + 1 if num_classes == -1 else num_classes
    if classes.size and (classes.min() < 0 or classes.max() >= count):
        raise IndexOutOfRange(f"one_hot: class {classes.min() if classes.min() < 0 else classes.max()} of {count}")
    return astype(unsqueeze(a, -1) == _core.from_numpy(np.arange(count), a), int64)
