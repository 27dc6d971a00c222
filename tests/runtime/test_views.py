"""Views: one memory, seen in other ways."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt

BASE = np.arange(24.0).reshape(2, 3, 4)
VIEWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "view": (lambda x: x.view(4, 6), lambda a: a.reshape(4, 6)),
    "view_as": (lambda x: x.view_as(rt.zeros(6, 4)), lambda a: a.reshape(6, 4)),
    "transpose": (lambda x: x.transpose(0, 2), lambda a: a.swapaxes(0, 2)),
    "swapaxes": (lambda x: x.swapaxes(0, 1), lambda a: a.swapaxes(0, 1)),
    "permute": (lambda x: x.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "mT": (lambda x: x.mT, lambda a: a.swapaxes(1, 2)),
    "mH": (lambda x: x.mH, lambda a: a.swapaxes(1, 2)),
    "T": (lambda x: x[0].T, lambda a: a[0].T),
    "H": (lambda x: x[0].H, lambda a: a[0].T),
    "movedim": (lambda x: x.movedim((0, 1), (2, 0)), lambda a: np.moveaxis(a, (0, 1), (2, 0))),
    "expand": (lambda x: x[:, :1].expand(5, 2, 3, 4), lambda a: np.broadcast_to(a[:, :1], (5, 2, 3, 4))),
    "expand_as": (lambda x: x[0].expand_as(x), lambda a: np.broadcast_to(a[0], a.shape)),
    "squeeze": (lambda x: x[None, :, None].squeeze(), lambda a: a),
    "squeeze of one": (lambda x: x[None].squeeze(0), lambda a: a),
    "unsqueeze": (lambda x: x.unsqueeze(-1), lambda a: a[..., None]),
    "narrow": (lambda x: x.narrow(2, -3, 2), lambda a: a[..., 1:3]),
    "select": (lambda x: x.select(1, -1), lambda a: a[:, -1]),
    "diagonal": (lambda x: x.diagonal(1, 1, 2), lambda a: a.diagonal(1, 1, 2)),
    "unfold": (lambda x: x.unfold(2, 3, 1), lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, 2)),
    "flatten": (lambda x: x.flatten(1), lambda a: a.reshape(2, 12)),
    "unflatten": (lambda x: x.unflatten(-1, (2, -1)), lambda a: a.reshape(2, 3, 2, 2)),
    "as_strided": (lambda x: x.as_strided((2, 2), (12, 1), 3), lambda a: a.reshape(-1)[[[3, 4], [15, 16]]]),
    "split": (lambda x: x.split(2, dim=1)[1], lambda a: a[:, 2:]),
    "split by sizes": (lambda x: x.split([1, 2], dim=1)[1], lambda a: a[:, 1:]),
    "chunk": (lambda x: x.chunk(2, dim=2)[1], lambda a: a[..., 2:]),
    "tensor_split": (lambda x: x.tensor_split((1, 3), dim=2)[1], lambda a: a[..., 1:3]),
    "unbind": (lambda x: x.unbind(1)[2], lambda a: a[:, 2]),
    "slice": (lambda x: x[:, ::-2, 1:], lambda a: a[:, ::-2, 1:]),
    "atleast_3d": (lambda x: rt.atleast_3d(x[0]), lambda a: a[0, :, :, None]),
    "broadcast_tensors": (
        lambda x: rt.broadcast_tensors(x[0], rt.zeros(5, 1, 1))[0],
        lambda a: np.broadcast_to(a[0], (5, 3, 4)),
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_memory_and_version(name: str) -> None:
    ours, numpy = VIEWS[name]
    x = rt.tensor(BASE)
    view = ours(x)
    np.testing.assert_array_equal(view.numpy(), numpy(BASE))
    assert np.shares_memory(view.numpy(), x.numpy())
    before = view._version
    x += 100.0
    assert view._version == x._version == before + 1
    np.testing.assert_array_equal(view.numpy(), numpy(x.numpy()))


# Not those whose elements lie at one place, and not one of several, which recording refuses to change.
OTHERS = ("expand", "unfold", "broadcast", "as_strided", "unbind", "chunk")
ALONE = [n for n in VIEWS if n != "split" and not n.startswith(OTHERS)]


@pytest.mark.parametrize("name", ALONE)
def test_writing_into_a_view_reaches_the_graph_of_its_base(name: str) -> None:
    ours, _ = VIEWS[name]
    leaf, factor = rt.tensor(BASE, requires_grad=True), rt.tensor(3.0, requires_grad=True)
    x = leaf * 1.0
    ours(x).mul_(factor)
    x.sum().backward()
    seen = np.ones_like(BASE)
    marked = rt.from_numpy(seen)
    ours(marked).fill_(3.0)
    assert leaf.grad is not None and factor.grad is not None
    np.testing.assert_array_equal(leaf.grad.numpy(), seen)
    assert factor.grad.item() == BASE[seen == 3.0].sum()


def test_view_of_what_only_a_copy_could_show() -> None:
    x = rt.tensor(BASE)
    with pytest.raises(rt.ShapeError, match=r"view: the elements of shape \(4, 3, 2\)"):
        x.permute(2, 1, 0).view(24)
    assert x.permute(2, 1, 0).reshape(24).tolist() == BASE.transpose(2, 1, 0).reshape(24).tolist()


def test_view_as_another_dtype() -> None:
    x = rt.tensor([1.0, -2.0])
    bits = x.view(rt.int32)
    assert bits.dtype is rt.int32 and bits.tolist() == [0x3F800000, 0xC0000000 - 2**32]
    wide = x.view("float64")
    assert wide.shape == (1,) and wide.view(rt.float32).tolist() == [1.0, -2.0]
    bits.fill_(0)
    assert x.tolist() == [0, 0]
    with pytest.raises(rt.ShapeError, match="cannot be viewed as float64"):
        rt.zeros(3).view(rt.float64)


def test_storage_offset() -> None:
    x = rt.zeros(4, 5)
    assert (x.storage_offset(), x[2].storage_offset(), x[1:, 2].storage_offset()) == (0, 10, 7)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda x: x.narrow(0, 1, 2), IndexError, "narrow: 2 elements from 1 do not lie in axis 0 of size 2"),
        (lambda x: x.flatten(2, 1), rt.ShapeError, "start_dim 2 comes after"),
        (lambda x: x.unflatten(0, (3, -1)), rt.ShapeError, "of size 2 does not divide into"),
        (lambda x: x.movedim(0, (1, 2)), rt.ShapeError, "as many places as axes"),
        (lambda x: x.diagonal(0, 1, 1), rt.ShapeError, "two different axes"),
        (lambda x: x.unfold(1, 4, 1), rt.ShapeError, "windows of 4 every 1 do not fit axis 1"),
        (lambda x: x.split([1, 3], 1), rt.ShapeError, r"sizes \[1, 3\] do not add up to 3"),
        (lambda x: x.chunk(0), rt.ArgumentError, "at least 1"),
        (lambda x: x.squeeze(0), rt.ShapeError, "only axes of size 1"),
        (lambda x: rt.broadcast_shapes((2, 3), (4,)), rt.ShapeError, "do not broadcast to each other"),
        (lambda x: rt.tensor(1.0).unbind(), rt.ShapeError, "0-d tensor cannot be unbound"),
    ],
)
def test_what_is_refused(act: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act(rt.tensor(BASE))


def test_parts_may_be_empty() -> None:
    x = rt.arange(5)
    assert [part.tolist() for part in x.split([0, 5, 0])] == [[], [0, 1, 2, 3, 4], []]
    assert [part.shape for part in rt.zeros(0, 2).chunk(3)] == [(0, 2)]
    assert [part.tolist() for part in x.tensor_split((3, 1))] == [[0, 1, 2], [], [1, 2, 3, 4]]


def test_broadcasting_of_shapes() -> None:
    assert rt.broadcast_shapes((2, 1, 3), (4, 1), ()) == (2, 4, 3)
    assert rt.broadcast_shapes((0,), (1,)) == (0,)
