"""Initial values, written into a tensor in place: PyTorch's names and formulas. Not recorded.

fan_in and fan_out are the numbers of inputs of an output and of outputs of an input of a weight (out, in, *kernel).
"""

import math

import numpy as np

from .. import random
from .._core import Tensor
from ..autograd import no_grad
from ..creation import asarray
from ..errors import ArgumentError, ShapeError
from ..generator import Generator
from ..spec import float64

_GAINS = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "sigmoid"), 1.0),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 1.0),
    "tanh": 5 / 3,
    "relu": math.sqrt(2),
    "selu": 3 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through this nonlinearity; `param`: the slope of leaky_relu, 0.01 without."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise ArgumentError(f"no gain for '{nonlinearity}': use one of {', '.join([*_GAINS, 'leaky_relu'])}")
    return _GAINS[nonlinearity]


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """`val` everywhere."""
    filled: Tensor = tensor.fill_(val)
    return filled


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1)


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform in [a, b)."""
    return random.uniform_(tensor, a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with this mean and standard deviation."""
    return random.normal_(tensor, mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal, but between a and b: what falls outside is drawn again."""
    if not a < b:
        raise ArgumentError(f"trunc_normal_: a {a} is not below b {b}")
    values = random.truncated_normal(tensor.shape, mean, std, a, b, generator=generator, dtype=tensor.dtype)
    filled: Tensor = tensor.copy_(values)
    return filled


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """The identity, (n, m)."""
    if tensor.ndim != 2:
        raise ShapeError(f"eye_ needs a matrix, this tensor has shape {tensor.shape}")
    filled: Tensor = tensor.copy_(asarray(np.eye(tensor.shape[0], tensor.shape[1])))
    return filled


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The kernel (out, in, *kernel) of a convolution that hands its first channels on, in each group."""
    if tensor.ndim not in (3, 4, 5):
        raise ShapeError(f"dirac_ needs a kernel of 3 to 5 axes, this tensor has shape {tensor.shape}")
    out, channels = tensor.shape[:2]
    if out % groups:
        raise ShapeError(f"dirac_: {out} output channels do not split into {groups} groups")
    zeros_(tensor)
    centre = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for d in range(min(out // groups, channels)):
            tensor[(group * (out // groups) + d, d, *centre)] = 1
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform within gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    bound = gain * math.sqrt(6 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with the deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(_fans(tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform within gain * sqrt(3 / fan) (He and others 2015). a: the slope of a leaky relu behind the layer."""
    bound = math.sqrt(3) * _kaiming_deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal with the deviation gain / sqrt(fan) (He and others 2015); `a` as in kaiming_uniform_."""
    return normal_(tensor, 0.0, _kaiming_deviation(tensor, a, mode, nonlinearity), generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """gain times orthonormal rows, or columns where these are fewer, of (n, ...) as a matrix (Saxe and others 2013)."""
    if tensor.ndim < 2:
        raise ShapeError(f"orthogonal_ needs at least 2 axes, this tensor has shape {tensor.shape}")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    flat = np.asarray(random.randn(rows, columns, generator=generator, dtype=float64))
    q, r = np.linalg.qr(flat.T if rows < columns else flat)
    q *= np.sign(np.diagonal(r))  # then all orthogonal matrices are as likely
    filled: Tensor = tensor.copy_(asarray((gain * (q.T if rows < columns else q)).reshape(tensor.shape)))
    return filled


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal, with this fraction of each column zero, (n, m) (Martens 2010)."""
    if tensor.ndim != 2:
        raise ShapeError(f"sparse_ needs a matrix, this tensor has shape {tensor.shape}")
    rows, columns = tensor.shape
    normal_(tensor, 0.0, std, generator)
    for column in range(columns):
        for row in random.randperm(rows, generator=generator).tolist()[: math.ceil(sparsity * rows)]:
            tensor[row, column] = 0
    return tensor


def _fans(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ShapeError(f"the fan of a weight needs at least 2 axes, this one has shape {tensor.shape}")
    kernel = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel, tensor.shape[0] * kernel


def _kaiming_deviation(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f"mode is fan_in or fan_out, not '{mode}'")
    fan = _fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0
