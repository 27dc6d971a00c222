"""Normalisation: mean 0 and variance 1, then a scale and a shift that are learned."""

from collections.abc import Sequence
from typing import Any

from ..._core import Tensor
from ...autograd import no_grad
from ...creation import ones, zeros
from ...errors import ArgumentError, ShapeError
from ...spec import DType, int64
from .. import functional as F
from .. import init
from ..module import Module
from ..parameter import Parameter


class _Norm(Module):
    """A scale and a shift, in a shape."""

    def __init__(self, shape: tuple[int, ...], weight: bool, bias: bool, *, device: Any, dtype: DType | None) -> None:
        super().__init__()
        self.weight = Parameter(ones(shape, device=device, dtype=dtype)) if weight else None
        self.bias = Parameter(zeros(shape, device=device, dtype=dtype)) if bias else None

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Norm):
    """functional.layer_norm over the last axes, of sizes normalized_shape, with its weight and bias."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        super().__init__(shape, elementwise_affine, elementwise_affine and bias, device=device, dtype=dtype)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(_Norm):
    """functional.rms_norm over the last axes, of sizes normalized_shape, with its weight."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        super().__init__(shape, elementwise_affine, False, device=device, dtype=dtype)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Norm):
    """functional.group_norm over num_groups groups of channels, with a weight and bias for each channel."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        if num_groups < 1 or num_channels % num_groups:
            raise ArgumentError(f"GroupNorm: {num_groups} groups do not divide {num_channels} channels")
        super().__init__((num_channels,), affine, affine, device=device, dtype=dtype)
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class _Running(_Norm):
    """With running statistics of each channel.

    momentum: how far they move towards each input's; None: they are the means of all inputs'.
    """

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    _ranks: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        *,
        device: Any,
        dtype: DType | None,
    ) -> None:
        super().__init__((num_features,), affine, affine, device=device, dtype=dtype)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.register_buffer(
            "running_mean", zeros(num_features, device=device, dtype=dtype) if track_running_stats else None
        )
        self.register_buffer(
            "running_var", ones(num_features, device=device, dtype=dtype) if track_running_stats else None
        )
        self.register_buffer(
            "num_batches_tracked", zeros((), device=device, dtype=int64) if track_running_stats else None
        )

    @no_grad()
    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.fill_(0)
            self.running_var.fill_(1)
            self.num_batches_tracked.fill_(0)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and the running statistics from the start."""
        self.reset_running_stats()
        super().reset_parameters()

    @no_grad()
    def _count(self) -> float:
        """Count this batch; how far the running statistics move towards it."""
        if not self.training or self.num_batches_tracked is None:
            return self.momentum or 0.0
        self.num_batches_tracked.add_(1)
        return 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum

    def _check(self, input: Tensor) -> None:
        if input.ndim not in self._ranks:
            wanted = " or ".join(map(str, self._ranks))
            raise ShapeError(f"{type(self).__name__}: the input has {wanted} axes, not {input.shape}")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Running):
    """In training by the batch's statistics, which the running ones follow; after eval() by the running ones."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        own = self.training or self.running_mean is None
        return F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, own, self._count(), self.eps
        )


class BatchNorm1d(_BatchNorm):
    """functional.batch_norm of (N, channels) or (N, channels, length), with running statistics, weight and bias."""

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """functional.batch_norm of (N, channels, rows, columns), with running statistics, weight and bias."""

    _ranks = (4,)


class _InstanceNorm(_Running):
    """By each instance's statistics; with track_running_stats, after eval() by the running ones."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        batch = input if input.ndim == max(self._ranks) else input[None]
        own, momentum = self.training or self.running_mean is None, self.momentum or 0.0
        running = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        out = F.instance_norm(batch, *running, self.weight, self.bias, own, momentum, self.eps)
        return out if batch is input else out[0]


class InstanceNorm1d(_InstanceNorm):
    """functional.instance_norm of (N, channels, length), or without N."""

    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """functional.instance_norm of (N, channels, rows, columns), or without N."""

    _ranks = (3, 4)
