"""A view that is changed in place: its base, the base's other views, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Tensor


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def gradient(x: Tensor) -> Any:
    assert x.grad is not None
    return x.grad.tolist()


def test_the_base_gets_the_history_of_the_change() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1.0
    view = y[:2]
    view.mul_(10.0)
    assert y.grad_fn is not None and y.grad_fn.name() == "CopySlicesBackward0"
    assert view.grad_fn is not None and view.grad_fn.name() == "AsStridedBackward0"
    assert view.grad_fn.next_functions[0][0] is y.grad_fn
    assert y.tolist() == [10.0, 20.0, 3.0]
    (y * rt.tensor([1.0, 2.0, 3.0], dtype=rt.float64)).sum().backward()
    assert gradient(x) == [10.0, 20.0, 3.0]


def test_the_view_itself_goes_on_with_the_new_values() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1.0
    view = y[1:]
    view.mul_(x[:2])
    (view * view).sum().backward()  # of (x1 x0)^2 + (x2 x1)^2
    assert gradient(x) == [8.0, 4.0 + 36.0, 24.0]


def test_a_change_of_the_base_reaches_views_made_before() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    view = y[0]
    old = view.grad_fn
    y.mul_(3.0)
    assert view.grad_fn is not old and view.grad_fn is view.grad_fn
    view.backward()
    assert gradient(x) == [6.0, 0.0]


def test_other_views_of_the_base_see_the_change() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1.0
    first, overlapping, apart = y[:2], y[1:], y[2]
    first.mul_(5.0)
    overlapping.sum().backward(retain_graph=True)
    assert gradient(x) == [0.0, 5.0, 1.0]
    x.grad = None
    apart.backward()
    assert gradient(x) == [0.0, 0.0, 1.0]


def test_chains_of_views() -> None:
    x = leaf(np.arange(24.0).reshape(2, 3, 4))
    y = x * 1.0
    view = y.transpose(0, 2)[1:][:2, 1]
    assert view._base is y
    view.mul_(view * 0.0 + 7.0)
    weights = rt.tensor(np.arange(24.0).reshape(2, 3, 4), dtype=rt.float64)
    (y * weights).sum().backward()
    expected = np.arange(24.0).reshape(2, 3, 4)
    expected[:, 1, 1:3] *= 7.0
    np.testing.assert_array_equal(gradient(x), expected)


def test_several_changes_one_after_another() -> None:
    x = leaf([1.0, 2.0, 3.0, 4.0])
    y = x * 1.0
    y[0:2].mul_(2.0)
    y[1:3].mul_(3.0)
    y.mul_(10.0)
    y[3].zero_()
    y.sum().backward()
    assert gradient(x) == [20.0, 60.0, 30.0, 0.0]


def test_a_value_written_into_a_base_without_gradient() -> None:
    w = leaf([1.0, 2.0])
    out = rt.zeros(2, 2, dtype=rt.float64)
    before = out[1]
    assert not before.requires_grad
    out[0] = w * 3.0
    assert out.requires_grad and not out.is_leaf
    out[1].copy_(w)
    assert before.requires_grad  # its memory has a history now
    (out[0] + before * 10.0).sum().backward()
    assert gradient(w) == [13.0, 13.0]


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        slice(1, None),
        (slice(None), 1),
        (slice(None, None, -2), slice(0, 2)),
        (1, None, slice(1, 3)),
        (2, 2),
    ],
)
def test_assignment_into_a_subscript(index: Any) -> None:
    values = np.arange(12.0).reshape(3, 4) + 1.0
    x, w = leaf(values), leaf(2.0)
    y = x * 1.0
    y[index] = w * y[index].detach().copy()
    expected = values.copy()
    expected[index] *= 2.0
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    y.sum().backward()
    kept = np.ones((3, 4))
    kept[index] = 0.0
    np.testing.assert_array_equal(gradient(x), kept)
    assert gradient(w) == values[index].sum()


def test_assignment_to_all_of_a_tensor() -> None:
    x, w = leaf([1.0, 2.0]), leaf(3.0)
    y = x * 1.0
    y[...] = w
    (y * rt.tensor([1.0, 10.0], dtype=rt.float64)).sum().backward()
    assert gradient(w) == 11.0 and gradient(x) == [0.0, 0.0]


@pytest.mark.parametrize("overwrite", [Tensor.zero_, lambda y: y.fill_(3.0), lambda y: y.copy_(rt.tensor([5.0, 6.0]))])
def test_what_is_overwritten_as_a_whole_has_a_gradient_of_zero(overwrite: Callable[[Tensor], Tensor]) -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    seen: list[list[float]] = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    overwrite(y)
    (y * float("inf")).sum().backward()
    assert gradient(x) == [0.0, 0.0] and seen == [[0.0, 0.0]]


def test_a_number_assigned_cuts_the_gradient() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1.0
    y[1] = 5.0
    y[2:] += x[:1]
    y.sum().backward()
    assert gradient(x) == [2.0, 0.0, 1.0]


def test_an_expanded_view_sums_when_its_history_is_made_anew() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    wide = y.expand(3, 2)
    y.mul_(2.0)
    wide.sum().backward()
    assert gradient(x) == [6.0, 6.0]


def test_views_of_a_leaf_see_changes_made_under_no_grad() -> None:
    x = leaf([1.0, 2.0])
    view = x[0]
    with rt.no_grad():
        x.mul_(5.0)
    (view * view).backward()
    assert view.item() == 5.0 and gradient(x) == [10.0, 0.0]


def test_a_view_and_its_base_share_the_version() -> None:
    y = leaf([1.0, 2.0]) * 1.0
    view, detached = y[0], y.detach()
    assert view._is_view() and view._base is y and not y._is_view() and y._base is None
    assert not detached._is_view()
    view.mul_(2.0)
    assert y._version == view._version == detached._version == 1


def test_a_view_of_a_view_has_the_same_base() -> None:
    y = rt.ones(4)
    assert y[1:][1:]._base is y and y[1:].detach()[1:]._base is not y


def change(t: Tensor) -> None:
    t.mul_(rt.ones((), dtype=t.dtype).requires_grad_())


def leaf_itself() -> None:
    change(leaf([1.0]))


def view_of_a_leaf() -> None:
    change(leaf([1.0, 2.0])[0])


def view_made_without_recording() -> None:
    y = leaf([1.0, 2.0]) * 1.0
    with rt.no_grad():
        view = y[0]
    change(view)


def view_of_a_leaf_made_without_recording() -> None:
    with rt.no_grad():
        view = leaf([1.0, 2.0])[0]
    view.mul_(2.0)


def base_of_a_view_made_without_recording() -> None:
    y = leaf([1.0, 2.0]) * 1.0
    with rt.no_grad():
        view = y[0]
    y.mul_(2.0)
    _ = view * 1.0


def one_of_several() -> None:
    change((leaf([1.0, 2.0]) * 1.0).split(1)[1])


def base_of_several() -> None:
    y = leaf([1.0, 2.0]) * 1.0
    first, _ = y.split(1)
    y.mul_(2.0)
    _ = first * 1.0


def expanded() -> None:
    rt.ones(1).expand(3).add_(1.0)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (leaf_itself, "mul_: a leaf that requires grad"),
        (view_of_a_leaf, "mul_: a view of a leaf that requires grad"),
        (view_made_without_recording, "mul_: a view was created in no_grad mode is being modified inplace"),
        (view_of_a_leaf_made_without_recording, "mul_: a view was created in no_grad mode is being modified inplace"),
        (base_of_a_view_made_without_recording, "created in no_grad mode and its base or another view of its base"),
        (one_of_several, r"mul_: output 1 of SplitEveryBackward0 is a view of a function that returns multiple views"),
        (base_of_several, r"output 0 of SplitEveryBackward0 .* and its base or another view of its base was modified"),
        (expanded, "add_: more than one element of the tensor written to lies at one place"),
    ],
)
def test_what_is_refused(act: Callable[[], None], message: str) -> None:
    with pytest.raises(AutogradError, match=message):
        act()


def test_under_no_grad_a_leafs_view_may_be_changed() -> None:
    x = leaf([1.0, 2.0])
    with rt.no_grad():
        x[0] = 7.0
        x[1].zero_()
    assert x.detach().tolist() == [7.0, 0.0] and x.is_leaf and x.requires_grad


def test_second_derivatives_go_through_changed_views() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * x
    y[:2].mul_(x[:2])  # x0^3, x1^3, x2^2
    (first,) = rt.autograd.grad(y.sum(), x, create_graph=True)
    assert first is not None and first.tolist() == [3.0, 12.0, 6.0]
    (second,) = rt.autograd.grad(first.sum(), x)
    assert second is not None and second.tolist() == [6.0, 12.0, 2.0]


def test_a_saved_value_that_a_view_overwrites_fails_at_backward() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = y.exp()
    z[0].add_(1.0)
    with pytest.raises(AutogradError, match=r"modified by an inplace operation.*ExpBackward0"):
        z.sum().backward()


def test_ops_that_save_their_result_work_in_place_on_views() -> None:
    exp_ = rt._core.inplace(rt.exp)
    x = leaf([0.5, 1.0])
    y = x * x
    exp_(y[:1])  # exp(x0^2), x1^2
    (first,) = rt.autograd.grad(y.sum(), x, create_graph=True)
    assert first is not None
    np.testing.assert_allclose(first.tolist(), [2 * 0.5 * np.exp(0.25), 2.0], rtol=1e-12)
    (second,) = rt.autograd.grad(first.sum(), x)
    assert second is not None
    np.testing.assert_allclose(second.tolist(), [(2 + 4 * 0.25) * np.exp(0.25), 2.0], rtol=1e-12)


def test_whole_numbers_take_values_without_history() -> None:
    counts = rt.zeros(2, dtype=rt.int64)
    with pytest.raises(rt.DTypeError):
        counts.add_(leaf(1.0))
    counts.copy_(leaf([1.0, 2.0]))
    assert not counts.requires_grad and counts.tolist() == [1, 2]


def test_a_view_of_replaced_memory_is_refused() -> None:
    x = leaf([1.0, 2.0])
    view = x[:1]
    x.data = rt.zeros(2, dtype=rt.float64)
    with rt.no_grad():
        view.add_(1.0)
    with pytest.raises(AutogradError, match=r"was replaced \(data=\): make the views again"):
        view * 2.0


def test_nothing_is_left_behind() -> None:
    before = rt.memory.live_stats()
    for _ in range(3):
        x = leaf([1.0, 2.0, 3.0])
        y = x * 1.0
        views = [y[i:] for i in range(3)]
        views[1].mul_(2.0)
        y[0] = views[2][0]
        sum((v.sum() for v in views), y.sum()).backward()
    del x, y, views
    after = rt.memory.live_stats()
    for key in ("allocated_bytes", "live_tensors", "live_nodes"):
        assert after[key] == before[key], key
