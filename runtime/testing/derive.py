"""Samples made of a sample: with nothing in them, of no dimensions, and with equal rows.

They come in groups, to be tried in turn: the first of which the op takes some is the one to check.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ..op import Op, Sample
from .inputs import Entry, given, internal, is_list

Place = tuple[int, int]  # an input and one of its axes
Groups = Iterator[list[Sample]]


def zero_size(entry: Entry, sample: Sample) -> Groups:
    """Each of its lengths is 0 wherever it stands; or, as lengths may be equal by chance, in some of the places."""
    inputs = given(entry, sample)
    if any(0 in _shape(x) for x in inputs):
        yield [sample]
        return
    places: dict[int, list[Place]] = {}
    for i, x in enumerate(inputs):
        for axis, n in enumerate(_shape(x)):
            places.setdefault(n, []).append((i, axis))

    def emptied(n: int, chosen: Sequence[Place]) -> list[Sample]:
        changed = [_emptied(x, {axis for j, axis in chosen if j == i}) for i, x in enumerate(inputs)]
        return _samples(entry, sample, changed, sample.attributes, _replaced(sample.attributes, n))

    yield [s for n, every in places.items() for s in emptied(n, every)]
    for n, every in places.items():
        for size in range(len(every) - 1, 0, -1):
            for chosen in combinations(every, size):
                yield emptied(n, chosen)


def zero_d(entry: Entry, sample: Sample) -> Groups:
    """All inputs are of no dimensions, or one of them is, of an op that users call."""
    inputs = given(entry, sample)
    if any(_shape(x) == () for x in inputs):
        yield [sample]
        return
    needed = {a.name for a in entry.attributes if a.required} if isinstance(entry, Op) else set(sample.attributes)
    bare = {k: v for k, v in sample.attributes.items() if k in needed}
    none = {k: () if isinstance(v, tuple) else v for k, v in sample.attributes.items()}
    last = {k: -1 if "axis" in k and isinstance(v, int) else v for k, v in sample.attributes.items()}
    every = [_item(x) for x in inputs]
    ones = [[*inputs[:i], every[i], *inputs[i + 1 :]] for i in range(len(inputs)) if not internal(entry)]
    for changed in [every, *ones]:
        for one in _samples(entry, sample, changed, sample.attributes, last, bare, none):
            yield [one]


def broadcast(entry: Entry, sample: Sample) -> Groups:
    """As it is; where it gives arrays alone, as a batch of two that are equal."""
    inputs = given(entry, sample)
    yield [sample]
    if not any(isinstance(x, tuple) for x in inputs):
        yield _samples(entry, sample, [np.stack([x, x]) for x in inputs], sample.attributes)


def _shape(x: Any) -> tuple[int, ...]:
    return x if isinstance(x, tuple) else np.shape(x)


def _item(x: Any) -> Any:
    """Of no dimensions: an array's first element."""
    return () if isinstance(x, tuple) else np.asarray(x).reshape(-1)[0] if np.size(x) else x


def _emptied(x: Any, axes: set[int]) -> Any:
    if isinstance(x, tuple):
        return tuple(0 if k in axes else n for k, n in enumerate(x))
    return np.asarray(x)[tuple(slice(0) if k in axes else slice(None) for k in range(np.ndim(x)))]


def _replaced(attributes: dict[str, Any], n: int) -> dict[str, Any]:
    """0 in place of a length, where a tuple names it."""
    return {
        k: tuple(0 if type(item) is int and item == n else item for item in v) if isinstance(v, tuple) else v
        for k, v in attributes.items()
    }


def _samples(entry: Entry, sample: Sample, inputs: list[Any], *choices: dict[str, Any]) -> list[Sample]:
    """The inputs with each of the choices of attributes that differ."""
    unique = [c for i, c in enumerate(choices) if repr(c) not in map(repr, choices[:i])]  # arrays have no ==
    return [Sample((inputs,) if is_list(entry, sample) else tuple(inputs), c) for c in unique]
