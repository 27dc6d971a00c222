"""Tensors from numbers and arrays, dtypes, and random ones."""

import pickle
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime.spec import DTYPES, as_dtype


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1.5, rt.float32, ()),
        (3, rt.int64, ()),
        (True, rt.bool_, ()),
        ([[1.0, 2.0]], rt.float32, (1, 2)),
        ([1, 2.5], rt.float32, (2,)),
        ([], rt.float32, (0,)),
        (np.zeros((2, 0)), rt.float64, (2, 0)),
        (np.int32(4), rt.int32, ()),
        (range(3), rt.int64, (3,)),
    ],
)
def test_tensor_takes_its_dtype_from_the_data(data: Any, dtype: rt.DType, shape: tuple[int, ...]) -> None:
    made = rt.tensor(data)
    assert (made.dtype, made.shape) == (dtype, shape)
    assert rt.tensor(data, dtype="float64").dtype is rt.float64


def test_tensor_copies_and_from_numpy_and_asarray_share() -> None:
    array = np.array([1.0, 2.0], np.float32)
    copied, shared, same = rt.tensor(array), rt.from_numpy(array), rt.asarray(array)
    array[0] = 7
    assert (copied[0].item(), shared[0].item(), same[0].item()) == (1, 7, 7)
    assert rt.asarray(shared) is shared
    again = rt.tensor(shared)
    shared.numpy()[1] = 9
    assert (again[1].item(), array[1]) == (2, 9)
    assert rt.asarray(array, copy=True).data_ptr() != shared.data_ptr()
    assert rt.asarray(shared, dtype=rt.int64).tolist() == [7, 9]


def test_filled_tensors() -> None:
    assert rt.zeros(2, 3).tolist() == rt.zeros((2, 3)).tolist() == [[0.0] * 3] * 2
    assert rt.ones([2], dtype=int).tolist() == [1, 1]
    assert (rt.full((2,), 3).dtype, rt.full(2, 0.5).tolist()) == (rt.int64, [0.5, 0.5])
    assert rt.empty(2, 0).shape == (2, 0)
    like = rt.zeros_like(rt.ones(2, dtype=rt.float64))
    assert (like.dtype, rt.ones_like(like, dtype=bool).tolist()) == (rt.float64, [True, True])
    assert rt.zeros(1, requires_grad=True).requires_grad
    assert rt.arange(3).tolist() == [0, 1, 2]
    assert rt.arange(1, 2, 0.5).tolist() == [1.0, 1.5]
    assert rt.arange(5, 1, -2, dtype=rt.float64).tolist() == [5.0, 3.0]


def test_what_cannot_become_a_tensor_is_refused() -> None:
    with pytest.raises(rt.DTypeError, match="unknown dtype <U1: use one of bool, uint8, uint16"):
        rt.tensor("a")
    with pytest.raises(rt.ArgumentError, match="the nested lists differ in length"):
        rt.tensor([[1.0], [1.0, 2.0]])
    with pytest.raises(rt.DTypeError, match="from_numpy takes a NumPy array, not list"):
        rt.from_numpy([1.0])  # type: ignore[arg-type]
    with pytest.raises(rt.ArgumentError, match="read-only"):
        rt.from_numpy(np.broadcast_to(np.zeros(1), (3,)))
    with pytest.raises(rt.ArgumentError, match="a step of 0"):
        rt.arange(1, 2, 0)
    with pytest.raises(rt.AutogradError, match="only float tensors can require gradients, this one is int64"):
        rt.tensor(1, requires_grad=True)


def test_dtypes() -> None:
    for dtype in DTYPES:
        assert as_dtype(dtype) is as_dtype(dtype.name) is as_dtype(dtype.numpy) is as_dtype(dtype.numpy.type) is dtype
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert repr(dtype) == f"perflab.{dtype.name}"
    assert (as_dtype(bool), as_dtype(int), as_dtype(float)) == (rt.bool_, rt.int64, rt.float32)
    with pytest.raises(rt.DTypeError, match="unknown dtype list"):
        as_dtype(list)
