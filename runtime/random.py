"""Random tensors. The same seed gives the same numbers on every machine, with any number of threads.

The numbers are those of Philox 4x32-10 (core/kernels/random.h): element i of a call is a function of the seed and of
how many numbers were drawn before it. It has the same value in every dtype, cut (rand) or rounded (randn) to it.

A forked process goes on from a copy of the parent's generators, so that both draw the same numbers: seed the child.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._core import Tensor
from .creation import copied, shape_of
from .device import as_device
from .errors import ArgumentError, DTypeError, ShapeError
from .generator import Generator, default_generator
from .ops.cast import copy_
from .ops.pointwise import maximum, minimum
from .spec import DType, as_dtype, bool_, float32, float64, int64

_SIGNIFICAND = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # bits, as IEEE 754 counts them


def manual_seed(seed: int) -> Generator:
    """Start the numbers of every function without `generator=`, and the initial values of layers, from `seed`."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start them from a seed that the operating system chooses, and give the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that they started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Where the default generator stands, for set_rng_state."""
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    """Let the default generator go on where get_rng_state was called."""
    default_generator.set_state(state)


# --- floats


def rand(
    *size: Any, generator: Generator | None = None, device: Any = None, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """Uniform in [0, 1): `rand(2, 3)` or `rand((2, 3))`, of a float dtype; without `dtype`, the default one."""
    where = as_device(device).number
    return _uniform(shape_of(size), as_dtype(dtype or float), where, 0, 1, generator).requires_grad_(requires_grad)


def randn(
    *size: Any, generator: Generator | None = None, device: Any = None, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """Normal with mean 0 and variance 1: `randn(2, 3)` or `randn((2, 3))`; `dtype` as in rand."""
    where = as_device(device).number
    return _normal(shape_of(size), as_dtype(dtype or float), where, 0, 1, generator).requires_grad_(requires_grad)


def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    device: Any = None,
    dtype: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """rand in the shape and, without `dtype`, the dtype and device of `input`."""
    return rand(
        input.shape,
        generator=generator,
        device=device or input.device,
        dtype=dtype or input.dtype,
        requires_grad=requires_grad,
    )


def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    device: Any = None,
    dtype: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """randn in the shape and, without `dtype`, the dtype and device of `input`."""
    return randn(
        input.shape,
        generator=generator,
        device=device or input.device,
        dtype=dtype or input.dtype,
        requires_grad=requires_grad,
    )


def normal(
    mean: Tensor | float,
    std: Tensor | float = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    device: Any = None,
) -> Tensor:
    """Normal with these means and standard deviations, numbers or tensors that broadcast; numbers need a `size`."""
    if isinstance(std, Tensor) and np.any(np.asarray(std.detach()) < 0):
        raise ArgumentError("normal: std must not be negative")
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        if size is not None:
            raise ArgumentError("normal: size goes with numbers alone; a tensor has its own")
        like: Any = mean + std  # the shape and dtype of both
        values: Tensor = mean + std * randn(like.shape, generator=generator, dtype=like.dtype, device=like.device)
        return values.detach()
    if size is None:
        raise ArgumentError("normal: mean and std are numbers: give a size")
    return _normal(shape_of((size,)), as_dtype(float), as_device(device).number, mean, std, generator)


def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that stands in `input`, else 0, in its dtype; with `p`, that probability everywhere."""
    if p is not None:
        return _coins(input.shape, input.dtype, input._device, p, generator)
    probabilities = input.detach()
    if probabilities.dtype.kind != "f":
        raise DTypeError(f"bernoulli: probabilities are floats, not {probabilities.dtype.name}")
    held = np.asarray(probabilities)
    if not np.all((held >= 0) & (held <= 1)):
        raise ArgumentError("bernoulli: probabilities lie between 0 and 1")
    drawn: Tensor = _uniform(input.shape, float64, input._device, 0, 1, generator) < probabilities
    return drawn.astype(input.dtype)  # type: ignore[no-any-return]


# --- integers


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    device: Any = None,
    dtype: Any = int64,
    requires_grad: bool = False,
) -> Tensor:
    """Integers from low to high - 1, all as likely: `randint(0, 10, (2, 3))`, or `randint(10, (2, 3))` from 0."""
    if size is None:
        low, high, size = 0, low, high
    return _integers(shape_of((size,)), as_dtype(dtype), as_device(device).number, low, high, generator).requires_grad_(
        requires_grad
    )


def randint_like(
    input: Tensor,
    low: int,
    high: int | None = None,
    *,
    generator: Generator | None = None,
    device: Any = None,
    dtype: Any = None,
) -> Tensor:
    """randint in the shape and, without `dtype`, the dtype and device of `input`."""
    if high is None:
        low, high = 0, low
    return randint(
        low, high, input.shape, generator=generator, device=device or input.device, dtype=dtype or input.dtype
    )


def randperm(n: int, *, generator: Generator | None = None, device: Any = None, dtype: Any = int64) -> Tensor:
    """The numbers 0 to n - 1 in random order, all orders as likely."""
    if n < 0:
        raise ArgumentError(f"randperm: n must not be negative, it is {n}")
    made = _core.empty((n,), int64, as_device(device).number)
    _core.random_permutation(made, *_stream(generator).draw(n))
    return _as(made, as_dtype(dtype))


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn with the weights in `input`, (n,) or (rows, n): int64, (num_samples,) or (rows, num_samples).

    The weights need not add up to 1. Without `replacement` no index comes twice in a row; the indices are then those
    of the smallest of exponential times with the weights as rates.
    """
    if input.ndim not in (1, 2):
        raise ShapeError(f"multinomial: weights have shape (n,) or (rows, n), not {input.shape}")
    weights = np.asarray(input.detach().astype(float64))
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ArgumentError("multinomial: weights are finite and not negative")
    positive = (weights > 0).sum(-1).min(initial=weights.shape[-1])
    if positive < (1 if replacement else num_samples):
        raise ArgumentError(f"multinomial: {num_samples} to draw, but only {positive} weights above 0")
    if replacement:
        ends = weights.cumsum(-1)
        where = np.asarray(rand((*input.shape[:-1], num_samples), generator=generator, dtype=float64))
        rows = zip(ends.reshape(-1, ends.shape[-1]), where.reshape(-1, num_samples), strict=True)
        drawn = np.stack([np.searchsorted(end, u * end[-1], side="right") for end, u in rows])
    else:
        times = _core.empty(input.shape, float64)
        exponential_(times, generator=generator)
        with np.errstate(divide="ignore"):
            drawn = np.argsort(np.asarray(times) / weights, axis=-1, kind="stable")[..., :num_samples]
    return copied(drawn.reshape(*input.shape[:-1], num_samples), input.device)


def truncated_normal(
    shape: tuple[int, ...],
    mean: float,
    std: float,
    low: float,
    high: float,
    *,
    generator: Generator | None = None,
    dtype: Any = float32,
) -> Tensor:
    """Normal, given that it lies between low and high."""
    below, above = (0.5 * math.erfc((mean - x) / (std * math.sqrt(2))) for x in (low, high))
    made = _normal(shape, as_dtype(dtype), 0, mean, std, generator, (below, above))
    return minimum(maximum(made, low), high)  # type: ignore[no-any-return]


# --- in place: methods of Tensor


def uniform_(self: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers that are uniform in [low, high)."""
    if not low <= high:
        raise ArgumentError(f"uniform_: low {low} is above high {high}")
    return copy_(self, _uniform(self.shape, self.dtype, self._device, low, high, generator))  # type: ignore[no-any-return]


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers of this mean and standard deviation."""
    return copy_(self, _normal(self.shape, self.dtype, self._device, mean, std, generator))  # type: ignore[no-any-return]


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of the density lambd * exp(-lambd * x)."""
    if not lambd > 0:
        raise ArgumentError(f"exponential_: lambd must be above 0, not {lambd}")
    stream = _stream(generator).draw(self.numel())
    drawn = _floats(self.shape, self.dtype, self._device, lambda out: _core.random_exponential(out, *stream, lambd))
    return copy_(self, drawn)  # type: ignore[no-any-return]


def bernoulli_(self: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 with probability p, else 0; p: a number, or a tensor that broadcasts."""
    if isinstance(p, Tensor):
        return copy_(self, bernoulli(p.expand(self.shape), generator=generator))  # type: ignore[no-any-return]
    return copy_(self, _coins(self.shape, self.dtype, self._device, p, generator))  # type: ignore[no-any-return]


def random_(
    self: Tensor, low: int | None = None, high: int | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Fill with integers from low to high - 1; `random_(high)` from 0; `random_()` as far as the dtype counts."""
    if low is None:
        low, high = 0, _largest(self.dtype) + 1
    elif high is None:
        low, high = 0, low
    return copy_(self, _integers(self.shape, self.dtype, self._device, low, high, generator))  # type: ignore[no-any-return]


IN_PLACE = (uniform_, normal_, exponential_, bernoulli_, random_)


# --- how


def _stream(generator: Generator | None) -> Generator:
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"generator= takes a Generator, not {type(generator).__name__}")
    return generator


def _as(made: Tensor, dtype: DType) -> Tensor:
    return made if made.dtype is dtype else made.astype(dtype)


def _floats(shape: tuple[int, ...], dtype: DType, device: int, fill: Callable[[Tensor], None]) -> Tensor:
    if dtype.name not in _SIGNIFICAND:
        raise DTypeError(f"random floats are of a float dtype, not {dtype.name}: use randint for integers")
    made = _core.empty(shape, float64 if dtype is float64 else float32, device)
    fill(made)
    return _as(made, dtype)


def _uniform(
    shape: tuple[int, ...], dtype: DType, device: int, low: float, high: float, generator: Generator | None
) -> Tensor:
    def fill(out: Tensor) -> None:
        _core.random_uniform(out, *_stream(generator).draw(out.numel()), low, high, _SIGNIFICAND[dtype.name])

    return _floats(shape, dtype, device, fill)


def _normal(
    shape: tuple[int, ...],
    dtype: DType,
    device: int,
    mean: Any,
    std: Any,
    generator: Generator | None,
    between: tuple[float, float] = (0.0, 1.0),
) -> Tensor:
    """between: probabilities; the values are those of the normal distribution that have them."""
    if std < 0:
        raise ArgumentError(f"normal: std must not be negative, it is {std}")

    def fill(out: Tensor) -> None:
        _core.random_normal(out, *_stream(generator).draw(out.numel()), mean, std, *between)

    return _floats(shape, dtype, device, fill)


def _coins(shape: tuple[int, ...], dtype: DType, device: int, p: float, generator: Generator | None) -> Tensor:
    if not 0 <= p <= 1:
        raise ArgumentError(f"bernoulli: p must lie between 0 and 1, it is {p}")
    native = dtype if dtype in (float32, float64) else bool_
    made = _core.empty(shape, native, device)
    _core.random_bernoulli(made, *_stream(generator).draw(made.numel()), p)
    return _as(made, dtype)


def _integers(
    shape: tuple[int, ...], dtype: DType, device: int, low: int, high: int, generator: Generator | None
) -> Tensor:
    if not low < high:
        raise ArgumentError(f"random integers from low to high - 1: low {low} is not below high {high}")
    made = _core.empty(shape, int64, device)
    _core.random_integers(made, *_stream(generator).draw(made.numel()), low, (high - low) % 2**64)
    return _as(made, dtype)


def _largest(dtype: DType) -> int:
    """The largest integer up to which a dtype holds every one."""
    return (
        2 ** _SIGNIFICAND[dtype.name] if dtype.kind == "f" else 1 if dtype is bool_ else int(np.iinfo(dtype.numpy).max)
    )
