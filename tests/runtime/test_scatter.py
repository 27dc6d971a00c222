"""Writing to chosen places: values, gradients, and the forms in place."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt

INDEX = rt.tensor([[0, 1, 2], [2, 0, 0]])
PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[list[float]]]] = {
    "scatter": (
        lambda x, s: x.scatter(0, INDEX, s),
        lambda x, s: x.scatter_(0, INDEX, s),
        [[11, 51, 61], [1, 21, 1], [41, 1, 31]],
    ),
    "scatter of a number": (
        lambda x, s: x.scatter(1, INDEX[:, :1], value=5.0),
        lambda x, s: x.scatter_(1, INDEX[:, :1], value=5.0),
        [[5, 1, 1], [1, 1, 5], [1, 1, 1]],
    ),
    "scatter_add": (
        lambda x, s: x.scatter_add(1, INDEX, s),
        lambda x, s: x.scatter_add_(1, INDEX, s),
        [[12, 22, 32], [113, 1, 42], [1, 1, 1]],
    ),
    "index_add": (
        lambda x, s: x.index_add(0, rt.tensor([2, 2]), s, alpha=2),
        lambda x, s: x.index_add_(0, rt.tensor([2, 2]), s, alpha=2),
        [[1, 1, 1], [1, 1, 1], [105, 145, 185]],
    ),
    "index_copy": (
        lambda x, s: x.index_copy(0, rt.tensor([2, 0]), s),
        lambda x, s: x.index_copy_(0, rt.tensor([2, 0]), s),
        [[41, 51, 61], [1, 1, 1], [11, 21, 31]],
    ),
    "index_fill": (
        lambda x, s: x.index_fill(1, rt.tensor([0, 2]), 9),
        lambda x, s: x.index_fill_(1, rt.tensor([0, 2]), 9),
        [[9, 1, 9]] * 3,
    ),
    "index_put": (
        lambda x, s: x.index_put((rt.tensor([0, 1, 0]), rt.tensor([1, 1, 1])), s[0], accumulate=True),
        lambda x, s: x.index_put_((rt.tensor([0, 1, 0]), rt.tensor([1, 1, 1])), s[0], accumulate=True),
        [[1, 43, 1], [1, 22, 1], [1, 1, 1]],
    ),
    "masked_fill": (
        lambda x, s: x.masked_fill(rt.tensor([True, False, False]), -1.0),
        lambda x, s: x.masked_fill_(rt.tensor([True, False, False]), -1.0),
        [[-1, 1, 1]] * 3,
    ),
    "masked_scatter": (
        lambda x, s: x.masked_scatter(rt.tensor([True, False, False]), s),
        lambda x, s: x.masked_scatter_(rt.tensor([True, False, False]), s),
        [[11, 1, 1], [21, 1, 1], [31, 1, 1]],
    ),
}


def operands() -> tuple[rt.Tensor, rt.Tensor]:
    x = rt.tensor(np.ones((3, 3)), requires_grad=True)
    return x, rt.tensor([[11.0, 21.0, 31.0], [41.0, 51.0, 61.0]], dtype="float64", requires_grad=True)


@pytest.mark.parametrize("name", PAIRS)
def test_values_and_gradients_in_place_and_not(name: str) -> None:
    apart, in_place, want = PAIRS[name]
    x, s = operands()
    out = apart(x, s)
    assert out.tolist() == want and x.tolist() == [[1] * 3] * 3
    weights = rt.tensor(np.arange(9.0).reshape(3, 3))
    (out * weights).sum().backward()
    y, t = operands()
    target = y * 1.0
    memory = target.data_ptr()
    assert in_place(target, t) is target and target.data_ptr() == memory
    assert target.tolist() == want
    (target * weights).sum().backward()
    for mine, other in ((x, y), (s, t)):
        assert (mine.grad is None) == (other.grad is None)
        if mine.grad is not None and other.grad is not None:
            assert mine.grad.tolist() == other.grad.tolist()


def test_the_gradient_of_what_is_overwritten_is_zero() -> None:
    x, s = operands()
    x.index_copy(0, rt.tensor([2, 0]), s).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0] * 3, [1] * 3, [0] * 3]
    assert s.grad is not None and s.grad.tolist() == [[1] * 3] * 2


def test_in_place_through_a_view() -> None:
    x = rt.zeros(3, 4)
    x[:, 1:3].index_fill_(0, rt.tensor([2]), 1)
    assert x.tolist() == [[0] * 4, [0] * 4, [0, 1, 1, 0]]


def test_a_mask_chooses() -> None:
    x = rt.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    out = x.masked_select(rt.tensor([True, False]))
    assert out.tolist() == [1, 3]
    out.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda x: x.gather(1, rt.tensor([[-1]])), "index -1 is out of range for axis 1 with size 3"),
        (lambda x: x.gather(1, rt.tensor([[3]])), "index 3 is out of range"),
        (lambda x: x.index_select(0, rt.tensor([-1])), "index -1 is out of range"),
        (lambda x: x.scatter(1, rt.tensor([[-1]]), rt.ones(1, 1)), "index -1 is out of range"),
        (lambda x: x.index_add(0, rt.tensor([3]), rt.ones(1, 3)), "index 3 is out of range"),
    ],
)
def test_indices_outside_are_refused(act: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(IndexError, match=message):
        act(rt.zeros(2, 3))


def test_an_embedding_refuses_negative_indices() -> None:
    table = rt.nn.Embedding(3, 2)
    with pytest.raises(IndexError, match="index -1 is out of range"):
        table(rt.tensor([0, -1]))


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda x: x.gather(1, rt.zeros(3, 1, dtype="int64")), rt.ShapeError, "beside axis 1 they may not be larger"),
        (lambda x: x.scatter(0, INDEX, rt.ones(1, 3)), rt.ShapeError, "is larger than src"),
        (lambda x: x.scatter(0, INDEX, rt.ones(2, 3), reduce="multiply"), rt.ArgumentError, "reduce may be 'add'"),
        (lambda x: x.index_add(0, rt.tensor([[0]]), rt.ones(1, 3)), rt.ShapeError, "it may have one axis"),
        (lambda x: x.index_add(0, rt.tensor([0]), rt.ones(3)), rt.ShapeError, r"must have the shape \(1, 3\)"),
        (lambda x: x.masked_scatter(x == 0, rt.ones(5)), rt.ShapeError, "the mask holds 6 times, source has 5"),
        (lambda x: x.take(rt.ones(1)), rt.DTypeError, "indices must be int32 or int64"),
    ],
)
def test_what_does_not_fit_is_refused(act: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act(rt.zeros(2, 3))


def test_gather_takes_fewer_rows() -> None:
    x = rt.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    out = rt.gather(x, dim=0, index=rt.tensor([[2]]))
    assert out.tolist() == [[5]]
    out.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0, 0], [0, 0], [1, 0]]


def test_take_along_axis_broadcasts() -> None:
    x = rt.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert rt.take_along_axis(x, rt.tensor([[1]]), axis=1).tolist() == [[2], [4]]
    assert rt.take_along_dim(x, rt.tensor([[0, 1]]), dim=0).tolist() == [[1, 4]]
    assert rt.take_along_dim(x, rt.tensor([3, 0])).tolist() == [4, 1]
