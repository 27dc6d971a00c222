"""Normalisation: mean 0 and variance 1 over some axes, then a scale and a shift that are learned."""

from typing import Any

from ..errors import ShapeError
from ..op import sample
from ..registry import primitive
from ..spec import Axes, Spec
from .grads import unbroadcast
from .pointwise import sqrt
from .reduce import sum
from .shape import reshape


@primitive(
    rule="same",
    dtype="float",
    flops=lambda a, out, axis: a.size,
    samples=(sample((2, 3), axis=1), sample((2, 3, 4), axis=(0, -1)), sample((3,), axis=None)),
    public=False,
)
def averaged(xp, a, *, axis: Axes):
    """a with every element replaced by the mean over the axes.

    >>> averaged(tensor([1.0, 3.0]), axis=0).tolist()
    [2.0, 2.0]
    """
    return xp.broadcast_to(_mean(xp, a, axis=axis), a.shape)


@averaged.vjp
def _(ct, *, axis):
    return averaged(ct, axis=axis)


def _mean(xp: Any, a: Any, axis: Axes) -> Any:
    """NaN of nothing, without xp.mean's warning."""
    total = xp.sum(a, axis=axis, keepdims=True)
    return total / a.dtype.type(a.size / total.size if total.size else 1)


def _standardized(xp: Any, a: Any, axes: tuple[int, ...], eps: float) -> Any:
    centred = a - _mean(xp, a, axis=axes)
    return centred / xp.sqrt(_mean(xp, centred * centred, axis=axes) + eps)


def _pulled(xp: Any, g: Any, a: Any, axes: tuple[int, ...], eps: float) -> Any:
    """The gradient for a, g being that of the normalised values."""
    centred = a - _mean(xp, a, axis=axes)
    scale = 1 / xp.sqrt(_mean(xp, centred * centred, axis=axes) + eps)
    normal = centred * scale
    along = _mean(xp, g * normal, axis=axes)
    return scale * (g - _mean(xp, g, axis=axes) - normal * along)


class _Statistics:
    """What second gradients of a normalisation are made of: the normalised values and 1 / the standard deviation."""

    def __init__(self, a: Any, axes: tuple[int, ...], eps: float) -> None:
        centred = a - averaged(a, axis=axes)
        self.axes = axes
        self.scale = 1 / sqrt(averaged(centred * centred, axis=axes) + eps)
        self.normal = centred * self.scale

    def mean(self, x: Any) -> Any:
        return averaged(x, axis=self.axes)

    def pull(self, g: Any) -> Any:
        """The gradient for the input, from that of the normalised values. It is linear in g, and its own transpose."""
        return self.scale * (g - self.mean(g) - self.normal * self.mean(g * self.normal))

    def pull_twice(self, g: Any, u: Any) -> Any:
        """The gradient for the input of sum(u * pull(g))."""
        bent = self.mean(g * self.normal) * self.pull(u) + self.mean(u * self.normal) * self.pull(g)
        return -self.scale * (self.normal * self.mean(u * self.pull(g)) + bent)


# --- over the last axes


@primitive(
    rule="layer_norm",
    kinds="f",
    flops=lambda a, weight, bias, out, eps: 7 * a.size,
    samples=(sample((2, 3), (3,), (3,)), sample((2, 2, 3), (2, 3), (2, 3), eps=0.1), sample((0, 3), (3,), (3,))),
    public=False,
    autocast="float32",
)
def layer_norm(xp, a, weight, bias, *, eps: float = 1e-5):
    """a normalised over the axes of weight, which are its last ones, times weight, plus bias.

    eps is added to the variance (that of all elements, not of a sample).

    >>> layer_norm(tensor([1.0, 3.0]), tensor([2.0, 2.0]), tensor([0.0, 1.0]), eps=0.0).tolist()
    [-2.0, 3.0]
    """
    return _standardized(xp, a, tuple(range(-weight.ndim, 0)), eps) * weight + bias


@layer_norm.vjp
def _(ct, a, weight, bias: Spec, *, eps):
    return (
        layer_norm_input_grad(ct, a, weight, eps=eps),
        layer_norm_weight_grad(ct, a, weight, eps=eps),
        unbroadcast(ct, bias),
    )


@primitive(
    rule="layer_norm_input_grad",
    kinds="f",
    flops=lambda g, a, weight, out, eps: 14 * a.size,
    samples=(sample((2, 3), (2, 3), (3,), eps=0.1), sample((2, 2, 3), (2, 2, 3), (2, 3), eps=0.1)),
    public=False,
)
def layer_norm_input_grad(xp, g, a, weight, *, eps: float):
    """layer_norm's gradient for its input, g being that of its result.

    >>> layer_norm_input_grad(ones(2), tensor([1.0, 3.0]), ones(2), eps=0.0).tolist()
    [0.0, 0.0]
    """
    return _pulled(xp, g * weight, a, tuple(range(-weight.ndim, 0)), eps)


@layer_norm_input_grad.vjp
def _(ct, g, a, weight, *, eps: float):
    at = _Statistics(a, tuple(range(-weight.ndim, 0)), eps)
    pulled = at.pull(ct)
    return pulled * weight, at.pull_twice(g * weight, ct), unbroadcast(pulled * g, weight)


@primitive(
    rule="layer_norm_weight_grad",
    kinds="f",
    flops=lambda g, a, like, out, eps: 9 * a.size,
    samples=(sample((2, 3), (2, 3), (3,), eps=0.1), sample((2, 2, 3), (2, 2, 3), (2, 3), eps=0.1)),
    public=False,
)
def layer_norm_weight_grad(xp, g, a, like: Spec, *, eps: float):
    """layer_norm's gradient for a weight in the shape of `like`, g being that of its result.

    >>> layer_norm_weight_grad(ones(2), tensor([1.0, 3.0]), ones(2), eps=0.0).tolist()
    [-1.0, 1.0]
    """
    products = g * _standardized(xp, a, tuple(range(-like.ndim, 0)), eps)
    return xp.sum(products, axis=tuple(range(a.ndim - like.ndim)))


@layer_norm_weight_grad.vjp
def _(ct, g, a, like: Spec, *, eps: float):
    at = _Statistics(a, tuple(range(-like.ndim, 0)), eps)
    return ct * at.normal, at.pull(ct * g), None


# --- over all axes but that of channels


def _others(a: Any) -> tuple[int, ...]:
    return (0, *range(2, a.ndim))


def _per_channel(x: Any, a: Any, change: Any) -> Any:
    """One number for each channel, in the shape that broadcasts to a."""
    return change(x, (-1, *[1] * (a.ndim - 2)))


@primitive(
    rule="batch_norm",
    kinds="f",
    flops=lambda a, weight, bias, out, eps: 7 * a.size,
    samples=(sample((4, 3), (3,), (3,)), sample((2, 2, 3, 2), (2,), (2,), eps=0.1)),
    public=False,
)
def batch_norm(xp, a, weight, bias, *, eps: float = 1e-5):
    """a, (N, channels, ...), normalised in each channel, times weight, plus bias, both (channels,).

    >>> batch_norm(tensor([[1.0], [3.0]]), tensor([2.0]), tensor([1.0]), eps=0.0).tolist()
    [[-1.0], [3.0]]
    """
    weight, bias = _per_channel(weight, a, xp.reshape), _per_channel(bias, a, xp.reshape)
    return _standardized(xp, a, _others(a), eps) * weight + bias


@batch_norm.vjp
def _(ct, a, weight, bias: Spec, *, eps):
    return (
        batch_norm_input_grad(ct, a, weight, eps=eps),
        batch_norm_weight_grad(ct, a, weight, eps=eps),
        sum(ct, axis=_others(a)),
    )


@primitive(
    rule="batch_norm_input_grad",
    kinds="f",
    flops=lambda g, a, weight, out, eps: 14 * a.size,
    samples=(sample((4, 3), (4, 3), (3,), eps=0.1), sample((2, 2, 3, 2), (2, 2, 3, 2), (2,), eps=0.1)),
    public=False,
)
def batch_norm_input_grad(xp, g, a, weight, *, eps: float):
    """batch_norm's gradient for its input, g being that of its result.

    >>> batch_norm_input_grad(ones((2, 1)), tensor([[1.0], [3.0]]), ones(1), eps=0.0).tolist()
    [[0.0], [0.0]]
    """
    return _pulled(xp, g * _per_channel(weight, a, xp.reshape), a, _others(a), eps)


@batch_norm_input_grad.vjp
def _(ct, g, a, weight, *, eps: float):
    at = _Statistics(a, _others(a), eps)
    pulled, scale = at.pull(ct), _per_channel(weight, a, reshape)
    return pulled * scale, at.pull_twice(g * scale, ct), sum(pulled * g, axis=at.axes)


@primitive(
    rule="batch_norm_weight_grad",
    kinds="f",
    flops=lambda g, a, like, out, eps: 9 * a.size,
    samples=(sample((4, 3), (4, 3), (3,), eps=0.1), sample((2, 2, 3, 2), (2, 2, 3, 2), (2,), eps=0.1)),
    public=False,
)
def batch_norm_weight_grad(xp, g, a, like: Spec, *, eps: float):
    """batch_norm's gradient for its weight, g being that of its result.

    >>> batch_norm_weight_grad(ones((2, 1)), tensor([[1.0], [3.0]]), ones(1), eps=0.0).tolist()
    [0.0]
    """
    return xp.sum(g * _standardized(xp, a, _others(a), eps), axis=_others(a))


@batch_norm_weight_grad.vjp
def _(ct, g, a, *, eps: float):
    at = _Statistics(a, _others(a), eps)
    scale = _per_channel(ct, a, reshape)
    return scale * at.normal, at.pull(scale * g), None


def _moments_specs(a: Spec) -> tuple[Spec, Spec]:
    if a.ndim < 2:
        raise ShapeError(f"channel_moments: the channels are axis 1, which {a.shape} has not")
    return Spec(a.shape[1:2], a.dtype), Spec(a.shape[1:2], a.dtype)


@primitive(
    infer=_moments_specs,
    returns=("mean", "variance"),
    kinds="f",
    flops=lambda a, out: 4 * a.size,
    samples=(sample((4, 3)), sample((2, 2, 3, 2))),
    public=False,
    differentiable=False,
)
def channel_moments(xp, a):
    """Mean and variance of each channel of a, (N, channels, ...).

    >>> channel_moments(tensor([[1.0], [3.0]])).variance.tolist()
    [1.0]
    """
    return xp.mean(a, axis=_others(a)), xp.var(a, axis=_others(a))


@primitive(
    rule="batch_norm",
    kinds="f",
    flops=lambda a, factor, shift, out: 2 * a.size,
    samples=(sample((4, 3), (3,), (3,)), sample((2, 2, 3, 2), (2,), (2,))),
    public=False,
)
def channel_affine(xp, a, factor, shift):
    """a, (N, channels, ...), times its channel's factor, plus its shift: both (channels,).

    >>> channel_affine(tensor([[1.0], [3.0]]), tensor([2.0]), tensor([1.0])).tolist()
    [[3.0], [7.0]]
    """
    return a * _per_channel(factor, a, xp.reshape) + _per_channel(shift, a, xp.reshape)


@channel_affine.vjp
def _(ct, a, factor, shift: Spec):
    axes = _others(a)
    return ct * _per_channel(factor, a, reshape), sum(ct * a, axis=axes), sum(ct, axis=axes)
