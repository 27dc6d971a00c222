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
    assert info.devices() == [info.default_device()] == ["cpu"]


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
