"""The namespace as the array API 2024.12 describes it."""

import math

import pytest

from perflab import runtime as rt


def test_constants_and_version() -> None:
    assert (rt.__array_api_version__, rt.newaxis, rt.inf, rt.pi, rt.e) == ("2024.12", None, math.inf, math.pi, math.e)
    assert math.isnan(rt.nan)


def test_what_the_namespace_says_of_itself() -> None:
    info = rt.__array_namespace_info__()
    rt.empty((1,) * info.capabilities()["max dimensions"])
    with pytest.raises(ValueError, match="at most 8 axes"):
        rt.empty((1,) * (info.capabilities()["max dimensions"] + 1))
    assert info.default_dtypes()["integral"] is rt.int64 and info.default_dtypes()["real floating"] is rt.float32
    assert info.dtypes(kind="unsigned integer") == {
        "uint8": rt.uint8,
        "uint16": rt.uint16,
        "uint32": rt.uint32,
        "uint64": rt.uint64,
    }
    assert info.devices()[0] == info.default_device() == "cpu"


def test_creation_takes_the_cpu_and_nothing_else() -> None:
    assert rt.zeros((2,), device="cpu").tolist() == [0, 0]
    for make in (rt.arange, rt.eye, rt.ones, rt.empty):
        with pytest.raises(rt.ArgumentError, match="device 'tpu' is not there"):
            make(2, device="tpu")


def test_ranges_and_grids() -> None:
    assert rt.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert rt.linspace(0, 1, 4, endpoint=False).tolist() == [0, 0.25, 0.5, 0.75]
    assert rt.linspace(0, 10, 3, dtype=rt.int32).tolist() == [0, 5, 10]
    assert rt.eye(2, 3, k=1).tolist() == [[0, 1, 0], [0, 0, 1]]
    x, y = rt.meshgrid(rt.arange(2), rt.arange(3))
    assert x.tolist() == [[0, 1]] * 3 and y.tolist() == [[0, 0], [1, 1], [2, 2]]
    x, y = rt.meshgrid(rt.arange(2), rt.arange(3), indexing="ij")
    assert x.tolist() == [[0, 0, 0], [1, 1, 1]] and y.tolist() == [[0, 1, 2]] * 2


def test_asarray_shares_copies_or_refuses() -> None:
    x = rt.tensor([1.0])
    assert rt.asarray(x) is x and rt.asarray(x, copy=True) is not x and rt.asarray(x, copy=False) is x
    with pytest.raises(rt.ArgumentError, match="asarray: list must be copied"):
        rt.asarray([1.0], copy=False)
    with pytest.raises(rt.ArgumentError, match="asarray: Tensor must be copied"):
        rt.asarray(x, dtype=rt.float64, copy=False)


def test_astype_copies_unless_it_need_not() -> None:
    x = rt.tensor([1.0, 2.0])
    assert rt.astype(x, rt.float32, copy=False) is x and rt.astype(x, rt.float32) is not x
    assert rt.astype(x, "int8", device="cpu").dtype is rt.int8


def test_reshape_copies_views_or_refuses() -> None:
    x = rt.arange(6).reshape((2, 3))
    assert rt.reshape(x, (6,)).data_ptr() == x.data_ptr() == rt.reshape(x, (6,), copy=False).data_ptr()
    assert rt.reshape(x, (6,), copy=True).data_ptr() != x.data_ptr()
    assert rt.reshape(x.T, (6,)).tolist() == [0, 3, 1, 4, 2, 5]
    with pytest.raises(rt.ShapeError, match=r"has no view of shape \(6,\): leave out copy=False"):
        rt.reshape(x.T, (6,), copy=False)


def test_an_axis_that_is_not_there_is_an_index_error_too() -> None:
    for call in (lambda x: rt.sum(x, axis=2), lambda x: rt.expand_dims(x, axis=3), lambda x: rt.flip(x, axis=-3)):
        with pytest.raises(IndexError) as found:
            call(rt.ones(2, 2))
        assert isinstance(found.value, rt.ShapeError) and "out of range" in str(found.value)


def test_joining_without_an_axis_flattens() -> None:
    x, y = rt.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), rt.tensor(5.0, requires_grad=True)
    joined = rt.concat([x.T, y], axis=None)
    assert joined.tolist() == [1, 3, 2, 4, 5]
    (joined * rt.arange(5)).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0, 2], [1, 3]]
    assert y.grad is not None and y.grad.item() == 4


def test_what_has_no_elements() -> None:
    assert rt.unstack(rt.zeros(2, 0), axis=1) == () and rt.unbind(rt.zeros(0, 2, requires_grad=True)) == ()
    flags = rt.zeros((2, 0), dtype=rt.bool)
    flags |= flags
    assert flags.shape == (2, 0)


def test_running_sums_in_a_dtype() -> None:
    x = rt.tensor([200, 100], dtype=rt.uint8)
    assert rt.cumulative_sum(x).dtype is rt.uint64
    narrow = rt.cumulative_sum(x, dtype=rt.uint8)
    assert (narrow.dtype, narrow.tolist()) == (rt.uint8, [200, 44])
    assert rt.cumulative_prod(x, dtype=rt.int32).tolist() == [200, 20000]
