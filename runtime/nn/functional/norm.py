"""Normalisation: mean 0 and variance 1, then a scale and a shift, weight and bias, that are learned.

eps is added to variances, which are of all elements unless said otherwise.
"""

import math
from collections.abc import Sequence

from ..._core import Tensor
from ...autograd import no_grad
from ...creation import ones, zeros
from ...errors import ArgumentError, ShapeError
from ...op import sample
from ...ops import norm
from ...ops.cast import copy_
from ...ops.pointwise import sqrt
from ...ops.shape import reshape
from ...ops.statistics import mean
from ...promotion import finfo
from ...registry import composite


def _shape(name: str, input: Tensor, normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    """The sizes of the last axes, which are normalised."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or input.shape[max(input.ndim - len(shape), 0) :] != shape:
        raise ShapeError(f"{name}: normalized_shape {shape} is not for the last axes of {input.shape}")
    return shape


def _check(name: str, what: str, tensor: Tensor | None, shape: tuple[int, ...]) -> None:
    if tensor is not None and tensor.shape != shape:
        raise ShapeError(f"{name}: {what} has shape {tensor.shape}, but {shape} is needed")


def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """input with mean 0 and variance 1 over its last axes, times weight, plus bias (Ba and others, 2016).

    normalized_shape: the sizes of these axes, and the shape of weight and bias. Raises ShapeError for others.
    """
    shape = _shape("layer_norm", input, normalized_shape)
    scale = ones(shape, dtype=input.dtype, device=input.device) if weight is None else weight
    shift = zeros(shape, dtype=input.dtype, device=input.device) if bias is None else bias
    _check("layer_norm", "weight", scale, shape)
    out: Tensor = norm.layer_norm(input, scale, shift, eps=eps)
    return out


@composite(
    samples=(sample((2, 3), normalized_shape=3), sample((2, 2, 3), normalized_shape=(2, 3), eps=0.1)), public=False
)
def rms_norm(
    input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """input divided by the root of its mean square over its last axes, times weight (Zhang and Sennrich, 2019).

    eps is added to the mean square; by default it is the smallest step from 1 of the dtype.

    >>> rms_norm(tensor([[2.0, 2.0]]), 2, eps=0.0).tolist()
    [[1.0, 1.0]]
    """
    shape = _shape("rms_norm", input, normalized_shape)
    _check("rms_norm", "weight", weight, shape)
    least = finfo(input.dtype).eps if eps is None else eps
    square = mean(input * input, axis=tuple(range(-len(shape), 0)), keepdims=True)
    out: Tensor = input / sqrt(square + least)
    return out if weight is None else out * weight


def _channels(input: Tensor) -> tuple[int, ...]:
    """The shape in which one number for each channel broadcasts."""
    return (-1, *[1] * (input.ndim - 2))


@composite(samples=(sample((2, 4, 3), num_groups=2), sample((2, 4), num_groups=1, eps=0.1)), public=False)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """input, (N, channels, ...), with mean 0 and variance 1 over each group of channels (Wu and He, 2018).

    weight and bias: (channels,). Raises ShapeError where the groups do not divide the channels.

    >>> group_norm(tensor([[1.0, 3.0]]), 1, eps=0.0).tolist()
    [[-1.0, 1.0]]
    """
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise ShapeError(f"group_norm: {num_groups} groups do not divide the channels of {input.shape}")
    for what, tensor in (("weight", weight), ("bias", bias)):
        _check("group_norm", what, tensor, input.shape[1:2])
    each = input.shape[1] // num_groups * math.prod(input.shape[2:])
    groups = reshape(input, (input.shape[0], num_groups, each))
    out: Tensor = reshape(layer_norm(groups, each, eps=eps), input.shape)
    if weight is not None:
        out = out * reshape(weight, _channels(input))
    return out if bias is None else out + reshape(bias, _channels(input))


def _each(input: Tensor) -> int:
    """How many values a channel has."""
    return math.prod((input.shape[0], *input.shape[2:]))


def _follow(running: Tensor, value: Tensor, momentum: float) -> None:
    """Move a running statistic towards a value."""
    copy_(running, running * (1 - momentum) + value * momentum)


@no_grad()
def _update(input: Tensor, running_mean: Tensor, running_var: Tensor, momentum: float) -> None:
    """Let the running statistics of channels follow those of input; the variance is that of a sample."""
    count = _each(input)
    centre, spread = norm.channel_moments(input)
    _follow(running_mean, centre, momentum)
    _follow(running_var, spread * (count / (count - 1)), momentum)


@no_grad()
def _update_by_instances(input: Tensor, running_mean: Tensor, running_var: Tensor, momentum: float) -> None:
    """Likewise, by the means over the instances of their own statistics."""
    count = math.prod(input.shape[2:])
    centre, spread = norm.channel_moments(reshape(input, (1, -1, *input.shape[2:])))
    _follow(running_mean, mean(reshape(centre, input.shape[:2]), axis=0), momentum)
    _follow(running_var, mean(reshape(spread, input.shape[:2]), axis=0) * (count / (count - 1)), momentum)


def _check_statistics(
    name: str, input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, given: bool
) -> None:
    if input.ndim < 2:
        raise ShapeError(f"{name}: the input is (N, channels, ...), not {input.shape}")
    if (running_mean is None) != (running_var is None) or (given and running_mean is None):
        raise ArgumentError(f"{name}: give running_mean and running_var both, or take the input's statistics")
    for what, tensor in (("running_mean", running_mean), ("running_var", running_var)):
        _check(name, what, tensor, input.shape[1:2])


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """input, (N, channels, ...), with mean 0 and variance 1 in each channel (Ioffe and Szegedy, 2015).

    training: by the statistics of this input, which the running ones, (channels,), then follow: new = (1 - momentum) *
    old + momentum * this, with a sample's variance. Else by the running ones. weight and bias: (channels,).
    Raises ShapeError, ArgumentError.
    """
    _check_statistics("batch_norm", input, running_mean, running_var, not training)
    channels = input.shape[1:2]
    for what, tensor in (("weight", weight), ("bias", bias)):
        _check("batch_norm", what, tensor, channels)
    scale = ones(channels, dtype=input.dtype, device=input.device) if weight is None else weight
    shift = zeros(channels, dtype=input.dtype, device=input.device) if bias is None else bias
    if not training:
        assert running_mean is not None and running_var is not None
        factor = scale / sqrt(running_var + eps)
        return _in_dtype_of(input, norm.channel_affine(input, factor, shift - running_mean * factor))
    if _each(input) < 2:
        raise ShapeError(f"batch_norm: training needs more than one value in each channel, not {input.shape}")
    if running_mean is not None and running_var is not None:
        _update(input, running_mean, running_var, momentum)
    return _in_dtype_of(input, norm.batch_norm(input, scale, shift, eps=eps))


def _in_dtype_of(input: Tensor, out: Tensor) -> Tensor:
    """Statistics and weights are often float32 beside 16-bit inputs; the result is what the input is."""
    return out if out.dtype is input.dtype else out.to(input.dtype)


@composite(samples=(sample((2, 2, 3)), sample((1, 2, 2, 2), eps=0.1)), public=False)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """batch_norm of every instance by itself (Ulyanov and others, 2016): input (N, channels, ...).

    use_input_stats: by each instance's statistics, whose mean the running ones follow; else by those.

    >>> instance_norm(tensor([[[1.0, 3.0]]]), eps=0.0).tolist()
    [[[-1.0, 1.0]]]
    """
    _check_statistics("instance_norm", input, running_mean, running_var, not use_input_stats)
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if math.prod(input.shape[2:]) < 2:
        raise ShapeError(f"instance_norm: more than one value in each channel is needed, not {input.shape}")
    if running_mean is not None and running_var is not None:
        _update_by_instances(input, running_mean, running_var, momentum)
    return group_norm(input, input.shape[1], weight, bias, eps)
