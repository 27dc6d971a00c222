"""Products of tensors over named axes, made of matrix products."""

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..op import sample
from ..registry import composite
from .linalg import matmul
from .part import diagonal
from .reduce import sum
from .shape import permute, reshape, unsqueeze

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
Steps = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=512)
def _plan(equation: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[tuple[str, ...], str, Steps]:
    """The letters of each operand and of the result, ... spelled out, and which operands to join, one step a time."""
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise ArgumentError(f"einsum: {equation!r} names {len(terms)} operands, {len(shapes)} were given")
    free = [c for c in _LETTERS if c not in equation]
    widths = [len(s) - len(t.replace("...", "")) for t, s in zip(terms, shapes, strict=True)]
    for term, shape, width in zip(terms, shapes, widths, strict=True):
        if width < 0 or (width > 0 and "..." not in term):
            raise ShapeError(f"einsum: {term!r} does not name the axes of an operand of shape {shape}")
    rest = "".join(free[: max((w for t, w in zip(terms, widths, strict=True) if "..." in t), default=0)])
    terms = [t.replace("...", rest[len(rest) - w :] if w else "") for t, w in zip(terms, widths, strict=True)]
    joined = "".join(terms)
    if arrow:
        result = result.replace("...", rest)
    else:
        result = rest + "".join(sorted(c for c in set(joined) - set(rest) if joined.count(c) == 1))
    if (not joined.isalpha() and joined) or len(set(result)) != len(result) or set(result) - set(joined):
        raise ArgumentError(f"einsum: {equation!r} names letters of the operands, each once in the result")
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, n in zip(term, shape, strict=True):
            if sizes.setdefault(letter, n) != n:
                raise ShapeError(f"einsum: axis {letter!r} of {equation!r} has size {sizes[letter]} and size {n}")
    stand_ins = [np.broadcast_to(np.float32(0), s) for s in shapes]
    path = np.einsum_path(f"{','.join(terms)}->{result}", *stand_ins, optimize="greedy")[0][1:]
    return tuple(terms), result, tuple(tuple(sorted(step, reverse=True)) for step in path)


def _single(a: Any, letters: str, keep: str) -> tuple[Any, str]:
    """One operand with each letter once, and only letters to keep."""
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            a = diagonal(a, 0, first, second)
            letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    gone = tuple(i for i, c in enumerate(letters) if c not in keep)
    return (sum(a, gone) if gone else a), "".join(c for c in letters if c in keep)


def _ordered(a: Any, letters: str, wanted: str) -> Any:
    return a if letters == wanted else permute(a, tuple(letters.index(c) for c in wanted))


def _pair(a: Any, first: str, b: Any, second: str, keep: str) -> tuple[Any, str]:
    """The product of two operands, summed over the letters that neither the result nor others need."""
    a, first = _single(a, first, second + keep)
    b, second = _single(b, second, first + keep)
    batch = "".join(c for c in first if c in second and c in keep)
    inner = "".join(c for c in first if c in second and c not in keep)
    left = "".join(c for c in first if c not in second)
    right = "".join(c for c in second if c not in first)
    a, b = _ordered(a, first, batch + left + inner), _ordered(b, second, batch + inner + right)
    n, m, shape, other = len(batch), len(batch) + len(left), a.shape, b.shape
    rows, columns = shape[n:m], other[n + len(inner) :]
    if not inner and not (left and right):  # element by element
        for _ in right:
            a = unsqueeze(a, -1)
        for _ in left:
            b = unsqueeze(b, n)
        return a * b, batch + left + right
    depth = math.prod(shape[m:])
    product = matmul(
        reshape(a, (*shape[:n], math.prod(rows), depth)), reshape(b, (*shape[:n], depth, math.prod(columns)))
    )
    return reshape(product, (*shape[:n], *rows, *columns)), batch + left + right


@composite(
    samples=(
        sample((2, 3), (3, 4), equation="ij,jk->ik"),
        sample((2, 3, 4), (2, 4, 3), equation="bij,bjk->bik"),
        sample((3, 3), equation="ii->i"),
        sample((2, 3), equation="ij->ji"),
        sample((2, 3), (3,), (2,), equation="ij,j,i"),
        sample((2, 3), (4, 3), equation="...i,ji->...j"),
        sample((2,), (3,), equation="i,j->ij"),
        sample((2, 3), (2, 3), equation="ij,ij->"),
    ),
    method=False,
    public=False,
)
def contract(*operands, equation):
    """einsum with the equation last.

    >>> contract(tensor([1.0, 2.0]), tensor([3.0, 4.0]), equation="i,i->").item()
    11.0
    """
    terms, result, steps = _plan(equation, tuple(a.shape for a in operands))
    waiting = list(zip(operands, terms, strict=True))
    for step in steps:
        taken = [waiting.pop(i) for i in step]
        others = result + "".join(letters for _, letters in waiting)
        a, letters = taken.pop()
        while taken:
            b, second = taken.pop()
            a, letters = _pair(a, letters, b, second, others + "".join(c for _, c in taken))
        waiting.append(_single(a, letters, others))
    a, letters = waiting.pop()
    return _ordered(a, letters, result)


@composite(samples=(), method=False)
def einsum(equation, *operands):
    """Einstein's sum: products of operands whose axes have letters, summed over those that the result does not name.

    Without "->" the result has the letters that stand once, in alphabetical order. "..." stands for further axes.

    >>> einsum("ij,jk->ik", tensor([[1.0, 2.0]]), tensor([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands
    return contract(*given, equation=equation)


@composite(samples=(sample((2, 2), (1, 3)), sample((2,), (2, 2))))
def kron(a, b):
    """The Kronecker product: b, times each element of a in its place.

    >>> kron(tensor([1.0, 10.0]), tensor([1.0, 2.0])).tolist()
    [1.0, 2.0, 10.0, 20.0]
    """
    n = max(a.ndim, b.ndim)
    first, second = ((1,) * (n - x.ndim) + x.shape for x in (a, b))
    apart = reshape(a, [k for pair in zip(first, (1,) * n, strict=True) for k in pair])
    repeated = reshape(b, [k for pair in zip((1,) * n, second, strict=True) for k in pair])
    return reshape(apart * repeated, [i * j for i, j in zip(first, second, strict=True)])
