"""What gradients are made of: ops that take a shape from another tensor ("like") instead of a number.

They keep formulas free of shapes, so that one traced program serves all of them.
"""

from ..op import sample
from ..registry import primitive
from ..spec import Spec


@primitive(
    rule="unbroadcast",
    dtype="first",
    flops=lambda a, like, out: a.size,
    samples=(sample((2, 3), (2, 3)), sample((4, 2, 3), (2, 1)), sample((2, 3), ()), sample((0, 3), (1, 3))),
    public=False,
)
def unbroadcast(xp, a, like: Spec):
    """Undo broadcasting: sum a to the shape of `like`. Where the shapes are equal it is a view.

    >>> unbroadcast(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([0.0, 0.0])).tolist()
    [4.0, 6.0]
    """
    if a.shape == like.shape:
        return a
    lead = a.ndim - like.ndim
    axes = tuple(i for i in range(a.ndim) if i < lead or (like.shape[i - lead] == 1 and a.shape[i] != 1))
    return xp.sum(a, axis=axes).reshape(like.shape)


@unbroadcast.vjp
def _(ct, a: Spec):
    return expand_like(ct, a), None


@primitive(
    rule="expand_like",
    dtype="first",
    samples=(sample((1, 3), (2, 3)), sample((), (2, 2)), sample((2, 1), (0, 2, 3))),
    public=False,
    view=True,
)
def expand_like(xp, a, like: Spec):
    """a broadcast to the shape of `like`, as a view.

    >>> expand_like(tensor([1.0]), tensor([0.0, 0.0])).tolist()
    [1.0, 1.0]
    """
    return xp.broadcast_to(a, like.shape)


@expand_like.vjp
def _(ct, a: Spec):
    return unbroadcast(ct, a), None


@primitive(
    rule="reshape_like",
    dtype="first",
    samples=(sample((2, 3), (3, 2)), sample((), (1, 1)), sample((0, 2), (4, 0))),
    public=False,
    view=True,
)
def reshape_like(xp, a, like: Spec):
    """a in the shape of `like`: a view where the strides allow one.

    >>> reshape_like(tensor([1.0, 2.0]), tensor([[0.0], [0.0]])).tolist()
    [[1.0], [2.0]]
    """
    return xp.reshape(a, like.shape)


@reshape_like.vjp
def _(ct, a: Spec):
    return reshape_like(ct, a), None


@primitive(rule="same", dtype="second", flops=lambda a, like, out: 0, samples=(sample((2, 3), (1,)),), public=False)
def astype_like(xp, a, like: Spec):
    """a in the dtype of `like`.

    >>> astype_like(tensor([1, 2]), tensor(0.5)).tolist()
    [1.0, 2.0]
    """
    return a.astype(like.dtype.numpy)


@astype_like.vjp
def _(ct, a: Spec):
    return astype_like(ct, a), None


@primitive(rule="same", dtype="first", flops=lambda like, out: 0, samples=(sample((2, 3)), sample(())), public=False)
def flat(xp, like: Spec):
    """Zeros in the shape and dtype of `like`: the gradient of what moves in steps.

    >>> flat(tensor([1.0, 2.0])).tolist()
    [0.0, 0.0]
    """
    return xp.zeros(like.shape, like.dtype.numpy)
