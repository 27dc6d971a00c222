"""The type Tensor: subscripts, memory shared with NumPy, numbers, printing, and what it refuses."""

import itertools
import re
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import DTypeError, ShapeError, Tensor, _core

BASE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
KEYS: list[Any] = [
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(5, 9),
    None,
    ...,
    (0, 1),
    (0, 1, 2),
    (slice(None), 1),
    (..., 0),
    (..., slice(1, 3)),
    (0, ..., 1),
    (None, 0, None, slice(0, 2), ..., None),
    (slice(None), slice(None, None, -2), slice(3, 0, -2)),
    (),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_subscripts_are_numpys(key: Any) -> None:
    ours = rt.from_numpy(BASE)[key]
    np.testing.assert_array_equal(np.asarray(ours), BASE[key], strict=True)
    assert ours.numel() == 0 or np.shares_memory(np.asarray(ours), BASE)  # views


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_subscripts_have_gradients(key: Any) -> None:
    x = rt.tensor(BASE, requires_grad=True)
    (x[key] * 2.0).sum().backward()
    expected = np.zeros_like(BASE)
    expected[key] = 2.0
    np.testing.assert_array_equal(np.asarray(x.grad), expected)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_assignment_writes_through(key: Any) -> None:
    ours, theirs = BASE.copy(), BASE.copy()
    rt.from_numpy(ours)[key] = -1.0
    theirs[key] = -1.0
    np.testing.assert_array_equal(ours, theirs)


def test_a_tensor_of_ints_takes_rows() -> None:
    x = rt.tensor(BASE, requires_grad=True)
    rows = x[rt.tensor([1, 1, 0])]
    np.testing.assert_array_equal(np.asarray(rows.detach()), BASE[[1, 1, 0]])
    rows.sum().backward()
    assert x.grad is not None and x.grad[1, 0, 0].item() == 2.0 and x.grad[0, 0, 0].item() == 1.0


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (2, IndexError, "index 2 is out of range for axis 0 of size 2"),
        ((0, -4), IndexError, "index -4 is out of range for axis 1 of size 3"),
        ((0, 0, 0, 0), IndexError, "4 subscripts for a Tensor with 3 axes"),
        ((..., ...), IndexError, "more than one"),
        ("x", TypeError, "not str"),
        (1.5, TypeError, "not float"),
    ],
)
def test_bad_subscripts(key: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rt.from_numpy(BASE)[key]


def test_numpy_shares_memory_both_ways() -> None:
    array = np.zeros((2, 3))
    t = rt.from_numpy(array)
    t[0, 1] = 5.0
    assert array[0, 1] == 5.0
    back = t.numpy()
    back[1, 2] = 7.0
    assert t[1, 2].item() == 7.0 and np.shares_memory(back, array)


def test_shared_memory_outlives_either_side() -> None:
    t = rt.from_numpy(np.full(1000, 3.0))
    array = rt.full((1000,), 4.0, dtype=rt.float64).numpy()
    assert t.sum().item() == 3000.0 and array.sum() == 4000.0


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.int64, np.float32, np.float64])
def test_every_dtype_crosses(dtype: Any) -> None:
    array = np.array([[0, 1], [1, 0]], dtype=dtype)[::-1]
    t = rt.from_numpy(array)
    assert t.dtype.name == array.dtype.name and t.tolist() == array.tolist()
    np.testing.assert_array_equal(t.numpy(), array, strict=True)


def test_arrays_that_cannot_be_shared_are_refused() -> None:
    frozen = np.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        rt.from_numpy(frozen)
    with pytest.raises(DTypeError, match="elements of format 'g' have no dtype here: convert them with astype"):
        rt.from_numpy(np.ones(3, dtype=np.longdouble))
    with pytest.raises(DTypeError, match="elements of format '>f' have no dtype here"):
        rt.from_numpy(np.ones(3, dtype=">f4"))
    with pytest.raises(DTypeError, match=re.escape("not aligned to their size: pass array.copy()")):
        rt.from_numpy(np.frombuffer(bytearray(9), np.float32, 2, offset=1))
    with pytest.raises(DTypeError, match="not list"):
        rt.from_numpy([1.0])  # type: ignore[arg-type]


def test_numpy_of_a_tensor_in_the_graph_says_detach() -> None:
    x = rt.ones(2, requires_grad=True)
    for convert in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises(rt.AutogradError, match=re.escape("detach()")):
            convert()
    assert x.detach().numpy().tolist() == [1.0, 1.0]


def test_python_numbers_are_weak() -> None:
    table: dict[tuple[Any, Any], Any] = {
        (rt.float32, 1): rt.float32,
        (rt.float32, 1.5): rt.float32,
        (rt.float32, True): rt.float32,
        (rt.float64, 1.5): rt.float64,
        (rt.int32, 2): rt.int32,
        (rt.int64, 1.5): rt.float32,
        (rt.int32, True): rt.int32,
        (rt.bool_, 2): rt.int64,
        (rt.bool_, 1.5): rt.float32,
    }
    for (dtype, number), expected in table.items():
        t = rt.ones(2, dtype=dtype)
        assert (t + number).dtype is expected and (number + t).dtype is expected, (dtype, number)


def test_tensors_promote() -> None:
    order = [rt.bool_, rt.int32, rt.int64, rt.float32, rt.float64]
    for (i, a), (k, b) in itertools.product(enumerate(order), enumerate(order)):
        assert rt.maximum(rt.ones(1, dtype=a), rt.ones(1, dtype=b)).dtype is order[max(i, k)]


def test_item_len_bool_and_conversions() -> None:
    assert rt.tensor(3).item() == 3 and isinstance(rt.tensor(3).item(), int)
    assert rt.tensor(True).item() is True and rt.tensor(2.5).item() == 2.5
    assert float(rt.tensor([2.5])) == 2.5 and int(rt.tensor(2.5)) == 2 and len(rt.zeros(4, 2)) == 4
    assert bool(rt.tensor([0.0])) is False
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(rt.ones(2))
    with pytest.raises(RuntimeError, match="one element"):
        rt.ones(2).item()
    with pytest.raises(TypeError, match="0-d"):
        len(rt.tensor(1.0))


def test_iteration_gives_views() -> None:
    assert [row.tolist() for row in rt.from_numpy(BASE[0])] == BASE[0].tolist()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: rt.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
        (lambda: rt.tensor([1, 2]), "tensor([1, 2])"),
        (lambda: rt.tensor([1, 2], dtype=rt.int32), "tensor([1, 2], dtype=perflab.int32)"),
        (lambda: rt.tensor([True]), "tensor([True])"),
        (lambda: rt.tensor([True, False]), "tensor([ True, False])"),
        (lambda: rt.tensor(1.0, requires_grad=True), "tensor(1., requires_grad=True)"),
        (lambda: rt.tensor([1.0], requires_grad=True) * 2.0, "tensor([2.], grad_fn=<MulBackward0>)"),
        (lambda: rt.zeros(2, 0), "tensor([], size=(2, 0))"),
    ],
)
def test_repr(make: Any, text: str) -> None:
    assert repr(make()) == text


def test_views_and_strides() -> None:
    x = rt.from_numpy(BASE)
    t = x.transpose(0, 2)
    assert t.stride() == (1, 4, 12) and not t.is_contiguous() and x.mT.shape == (2, 4, 3)
    assert t.contiguous().is_contiguous() and x.contiguous() is x
    assert x.reshape(6, 4).data_ptr() == x.data_ptr() and t.reshape(24).data_ptr() != x.data_ptr()
    assert t.reshape(24).tolist() == BASE.transpose(2, 1, 0).reshape(24).tolist()


def test_in_place_ops_write_views_and_bump_the_version() -> None:
    x = rt.zeros(3, 4)
    x[:, 1].add_(2.0)
    x.mT[0] += 1.0  # Python adds in place, then assigns the view: two changes
    x *= 2.0
    assert x.tolist() == [[2.0, 4.0, 0.0, 0.0]] * 3 and x._version == 4


def test_in_place_with_itself_transposed() -> None:
    x = rt.tensor([[1.0, 2.0], [3.0, 4.0]])
    x.add_(x.mT)
    assert x.tolist() == [[2.0, 5.0], [5.0, 8.0]]


def test_in_place_refuses_other_shapes_and_kinds() -> None:
    with pytest.raises(
        ShapeError,
        match=re.escape("add_: the result has shape (2, 3), but the tensor that it is written into has (3,)"),
    ):
        rt.zeros(3).add_(rt.zeros(2, 3))
    with pytest.raises(DTypeError, match="add_: the result is float32, which a int64 tensor cannot hold"):
        rt.zeros(3, dtype=rt.int64).add_(1.5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: rt.zeros(2, 3) + rt.zeros(4, 5), ShapeError, r"add: shapes \(2, 3\) and \(4, 5\) do not broadcast"),
        (lambda: rt.zeros(2, 3) @ rt.zeros(4, 5), ShapeError, r"matmul: inner sizes differ, \(2, 3\) @ \(4, 5\)"),
        (lambda: rt.zeros(2, 3).sum(axis=2), Exception, r"sum: axis 2 is out of range for shape \(2, 3\)"),
        (lambda: rt.zeros(6).reshape(4), ShapeError, "reshape"),
        (lambda: rt.exp("x"), TypeError, "exp: argument 1 is a str, not a Tensor or a number"),
        (lambda: rt.exp(1.0), TypeError, "exp: no Tensor among the arguments"),
        (lambda: rt.add(rt.zeros(1)), TypeError, "add takes 2 tensors"),
        (lambda: rt.zeros(2).sum(axes=1), TypeError, "sum has no parameter 'axes'"),
        (lambda: rt.zeros(2).sum(0, axis=0), TypeError, "sum got parameter 'axis' twice"),
        (lambda: rt.zeros(2).sum("x"), TypeError, "sum: axis must be None, an int or a tuple of ints, not str"),
        (lambda: rt.zeros(2).astype("float99"), TypeError, "float99"),
        (lambda: rt.concat([]), ValueError, "concat: the sequence of tensors is empty"),
        (lambda: rt.zeros(2, dtype="quaternion"), TypeError, "quaternion"),
        (lambda: _core.empty([-1], rt.float32), ShapeError, "negative size"),
        (lambda: _core.empty([10**9, 10**9], rt.float32), ShapeError, "more elements than memory can hold"),
    ],
)
def test_errors_say_what_came(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_torch_spellings_of_attributes() -> None:
    x = rt.from_numpy(BASE)
    assert x.sum(dim=1, keepdim=True).shape == x.sum(axis=1, keepdims=True).shape == (2, 1, 4)
    assert rt.softmax(x, dim=-1).tolist() == x.softmax(-1).tolist()
    assert x.permute(2, 0, 1).shape == rt.permute_dims(x, (2, 0, 1)).shape == (4, 2, 3)


def test_tensors_hash_by_identity() -> None:
    a, b = rt.ones(1), rt.ones(1)
    assert len({a, b, a}) == 2 and isinstance(a == b, Tensor)
