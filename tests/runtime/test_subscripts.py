"""Subscripts that choose by arrays: NumPy's rules, on either side of an assignment, with gradients."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt

BASE = np.arange(2 * 3 * 4, dtype=np.float64).reshape(2, 3, 4)
ROW = np.array([1, 0, 1])
MASK = BASE % 3 == 0
KEYS: dict[str, Any] = {
    "ints": ROW,
    "list": [1, 0],
    "no ints": [],
    "two axes of ints": np.array([[0, 1], [1, 1], [0, 0]]),
    "from the end": np.array([-1, -2]),
    "small ints": np.array([1, 0], np.int32),
    "after a slice": (slice(None), [2, 0]),
    "after an ellipsis": (..., [3, 0, -1]),
    "before a slice": ([1, 0], slice(1, 3)),
    "side by side": (slice(None), [0, 2], [1, 3]),
    "side by side, broadcast": (slice(None), np.array([[0], [2]]), [1, 3]),
    "apart": ([0, 1], slice(None), [1, 3]),
    "an int apart": (0, slice(None), [1, 3]),
    "an int beside": (slice(None), 1, [1, 3]),
    "every axis": ([0, 1], [1, 2], [2, 3]),
    "steps": (slice(None, None, -1), [0, 2], slice(None, None, 2)),
    "new axes": (None, [1, 0], None, slice(0, 2)),
    "mask": MASK,
    "mask of nothing": np.zeros_like(MASK),
    "mask of an axis": np.array([False, True]),
    "mask of an inner axis": (slice(None), np.array([True, False, True])),
    "mask of two axes": np.array([[True, False, True], [False, False, True]]),
    "mask beside ints": (np.array([True, True]), [0, 2]),
    "mask apart from ints": (np.array([False, True]), slice(None), [0, 2]),
    "True": True,
    "False": False,
    "True and ints": (True, [0, 1]),
    "0-d mask": np.array(True),
}


def ours(key: Any) -> Any:
    """The key with tensors in place of arrays."""
    if isinstance(key, tuple):
        return tuple(ours(k) for k in key)
    return rt.tensor(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("name", KEYS)
def test_reading(name: str) -> None:
    key = KEYS[name]
    for given in (key, ours(key)):
        x = rt.tensor(BASE, requires_grad=True)
        out = x[given]
        want = BASE[key]
        assert out.shape == want.shape
        np.testing.assert_array_equal(out.detach().numpy(), want)
        weights = np.random.default_rng(0).normal(size=want.shape)
        (out * rt.tensor(weights)).sum().backward()
        gradient = np.zeros_like(BASE)
        np.add.at(gradient, key, weights)
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), gradient, rtol=1e-12)


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("whole", [True, False], ids=["elements", "number"])
def test_writing(name: str, whole: bool) -> None:
    key = KEYS[name]
    if name in ("ints", "True and ints"):  # places named twice: which value stays is not said
        key = [1, 0]
    shape = BASE[key].shape
    value = np.random.default_rng(0).normal(size=shape) if whole else np.array(7.0)
    want = BASE.copy()
    want[key] = value
    leaf, other = rt.tensor(BASE, requires_grad=True), rt.tensor(value, requires_grad=True)
    x = leaf * 1.0
    x[ours(key)] = other
    np.testing.assert_array_equal(x.detach().numpy(), want)
    weights = np.random.default_rng(1).normal(size=BASE.shape)
    (x * rt.tensor(weights)).sum().backward()
    kept = weights.copy()
    kept[key] = 0
    assert leaf.grad is not None and other.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), kept, rtol=1e-12)
    np.testing.assert_allclose(other.grad.numpy(), weights[key] if whole else weights[key].sum(), rtol=1e-12)


def test_writing_a_number_and_fewer_elements() -> None:
    x = rt.zeros(3, 4)
    x[[0, 2]] = 5
    x[x == 5] = rt.tensor([1.0])
    x[[1], 1:3] = rt.tensor([[8.0, 9.0]])
    x[[True, False, False], [3]] = rt.tensor([[-1.0]])  # sizes of 1 in front do no harm
    assert x.tolist() == [[1, 1, 1, -1], [0, 8, 9, 0], [1, 1, 1, 1]]


def test_writing_through_a_view_changes_its_base() -> None:
    x = rt.zeros(3, 4)
    x.T[[0, 1]] = rt.tensor([[1.0], [2.0]])
    assert x.tolist() == [[1, 2, 0, 0]] * 3


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (([0, 2],), IndexError, "index 2 is out of range for axis 0 with size 2"),
        (([0], [0], [9]), IndexError, "index 9 is out of range for axis 2 with size 4"),
        ((slice(None), [-4]), IndexError, "index -4 is out of range for axis 1 with size 3"),
        (([0, 1], [0, 1, 2]), ValueError, r"index arrays of shapes \(2,\), \(3,\) do not broadcast"),
        (([0], [0], [0], [0]), IndexError, r"4 axes of a tensor with shape \(2, 3, 4\)"),
        (([0], ..., ...), IndexError, r"more than one \.\.\."),
        (np.array([True, False, True]), IndexError, r"a mask of shape \(3,\) does not fit axes 0"),
        ([0.5], TypeError, "not list of float64"),
        ("a", TypeError, "not str of"),
    ],
)
def test_what_is_refused(key: Any, error: type[Exception], message: str) -> None:
    x = rt.tensor(BASE)
    with pytest.raises(error, match=message):
        x[key]
    with pytest.raises(error, match=message):
        x[key] = 0.0
    np.testing.assert_array_equal(x.numpy(), BASE)


def test_values_that_do_not_fit_are_refused() -> None:
    x = rt.zeros(3, 4)
    with pytest.raises(rt.ShapeError, match=r"\(3,\) do not broadcast to the chosen elements, \(2, 4\)"):
        x[[0, 1]] = rt.ones(3)
    for value in (rt.ones(5), rt.ones(2, 4), rt.ones(3, 3, 4)):
        with pytest.raises(
            rt.ShapeError, match=rf"values of shape \({value.shape[0]},.* do not broadcast to shape \(3, 4"
        ):
            x[:] = value
    with pytest.raises(rt.ShapeError, match=r"values of shape \(1, 4\) do not broadcast to shape \(4,\)"):
        x[0].copy_(rt.ones(1, 4))  # which a subscript takes
    assert not x.any()


def test_axes_of_one_in_front_of_a_value_are_left_out() -> None:
    x, value = rt.zeros(2, 3), rt.ones(1, 1, 3, requires_grad=True)
    x[0] = value
    (x * rt.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert value.grad is not None and value.grad.tolist() == [[[1, 2, 3]]]


def test_a_second_gradient_through_a_subscript() -> None:
    x = rt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x[[0, 0, 2]] ** 3).sum().backward(create_graph=True)
    first = x.grad
    assert first is not None and first.tolist() == [6, 0, 27]
    x.grad = None
    first.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [12, 0, 18]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("turned", [False, True])
def test_a_mask_alone_chooses_and_sets_as_numpy_does(axes: int, turned: bool) -> None:
    array = BASE.T if turned else BASE
    mask = np.arange(array[(..., *[0] * (3 - axes))].size).reshape(array.shape[:axes]) % 3 == 1
    x = rt.tensor(BASE).permute(2, 1, 0) if turned else rt.tensor(BASE)
    for key in (mask, rt.tensor(mask)):
        assert x[key].tolist() == array[mask].tolist()
    changed, wanted = x.clone(), array.copy()
    changed[rt.tensor(mask)] = 9.0
    wanted[mask] = 9.0
    assert changed.tolist() == wanted.tolist()


def test_a_mask_that_never_holds_chooses_nothing() -> None:
    x = rt.ones(2, 3, requires_grad=True)
    none = x[rt.zeros(2, dtype=rt.bool)]
    assert none.shape == (0, 3)
    none.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0.0] * 3] * 2
