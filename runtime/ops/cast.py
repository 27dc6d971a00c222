"""The same values in another place or dtype."""

from typing import Any

from .. import _core
from ..device import as_device
from ..op import sample
from ..registry import composite, primitive
from ..spec import DType, Spec, as_dtype, float32, float64
from .grads import astype_like, flat, unbroadcast


@primitive(
    rule="same",
    dtype="attr",
    flops=lambda a, out, dtype: 0,
    samples=(sample((2, 3), dtype=float64), sample((), dtype=float32)),
    public=False,
)
def cast(xp, a, *, dtype: DType):
    """A copy of a with its elements in another dtype; of complex numbers, ints and floats take the real part.

    >>> cast(tensor([1.5, -2.5]), int32).tolist()
    [1, -2]
    """
    return (a.real if a.dtype.kind == "c" and dtype.kind in "if" else a).astype(dtype.numpy)


@cast.vjp
def _(ct, a: Spec):
    return astype_like(ct, a)


@composite(samples=(sample((2, 3), dtype=float64), sample((), dtype=float32)))
def astype(a: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> Any:
    """A copy of a with its elements in another dtype; with `copy=False` a itself where it has that dtype already.

    >>> astype(tensor([1.5, -2.5]), int32).tolist()
    [1, -2]
    """
    wanted = as_dtype(dtype)
    if device is not None:
        a = moved(a, as_device(device).number)
    return a if not copy and a.dtype is wanted else cast(a, dtype=wanted)


@primitive(rule="same", dtype="first", flops=lambda a, out: 0, samples=(sample((2, 3)), sample(())), aliases=("clone",))
def copy(xp, a):
    """A copy of a, contiguous.

    >>> copy(tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return xp.copy(a)


@copy.vjp
def _(ct):
    return ct


@primitive(
    rule="into_first",
    dtype="first",
    flops=lambda a, value, out: 0,
    read=lambda a, value, out: value.nbytes,
    samples=(sample((2, 3), (2, 3)), sample((2, 3), (3,)), sample((2, 3), ())),
    public=False,
    pointwise=True,
)
def assign(xp, a, value):
    """`value` in the shape and dtype of a: in place, what a subscript on the left and copy_ do.

    >>> assign(tensor([1.0, 2.0]), tensor(3.0)).tolist()
    [3.0, 3.0]
    """
    return xp.broadcast_to(value, a.shape)


@assign.vjp
def _(ct, value: Spec):
    return flat(ct), unbroadcast(ct, value)  # what was there before has a gradient: zero


@primitive(
    rule="transfer",
    dtype="first",
    flops=lambda a, out, device, non_blocking: 0,
    samples=(sample((2, 3), device=0), sample((), device=0)),
    public=False,
)
def transfer(xp, a, *, device: int, non_blocking: bool = False):
    """A copy of a, contiguous, on the device with the core's number.

    non_blocking: the call does not wait for it.

    >>> transfer(tensor([1.0, 2.0]), device=0).tolist()
    [1.0, 2.0]
    """
    return xp.copy(a)


@transfer.vjp
def _(ct, a: Spec):
    return transfer_like(ct, a)


@primitive(
    rule="transfer_like", dtype="first", flops=lambda a, like, out: 0, samples=(sample((2, 3), (2, 3)),), public=False
)
def transfer_like(xp, a, like: Spec):
    """a on the device of `like`: itself where it is there already.

    >>> transfer_like(tensor([1.0, 2.0]), tensor([0.0, 0.0])).tolist()
    [1.0, 2.0]
    """
    return a


@transfer_like.vjp
def _(ct, a: Spec):
    return transfer_like(ct, a), None


def moved(a: Any, device: int, non_blocking: bool = False) -> Any:
    """The tensor on the device with that number: itself where it is there already."""
    return a if a._device == device else transfer(a, device=device, non_blocking=non_blocking)


copy_ = _core.inplace(assign)
