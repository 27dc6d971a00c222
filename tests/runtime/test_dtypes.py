"""What dtypes hold, what they become together, and how values get from one to another."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime.spec import DTYPES, DType

INTEGERS = [d for d in DTYPES if d.kind == "i"]
HALVES = (rt.float16, rt.bfloat16)


def test_the_dtypes_and_their_sizes() -> None:
    assert [(d.name, d.itemsize, d.kind) for d in DTYPES] == [
        ("bool", 1, "b"), ("uint8", 1, "i"), ("uint16", 2, "i"), ("uint32", 4, "i"), ("uint64", 8, "i"),
        ("int8", 1, "i"), ("int16", 2, "i"), ("int32", 4, "i"), ("int64", 8, "i"), ("float16", 2, "f"),
        ("bfloat16", 2, "f"), ("float32", 4, "f"), ("float64", 8, "f"), ("complex64", 8, "c"), ("complex128", 16, "c"),
    ]  # fmt: skip
    for d in DTYPES:
        x = rt.zeros(3, 2, dtype=d)
        assert (x.element_size(), x.itemsize, x.nbytes) == (d.itemsize, d.itemsize, 6 * d.itemsize)
        assert (x.is_floating_point(), x.is_complex()) == (d.kind == "f", d.kind == "c")


def test_promotion_within_a_kind_is_numpy_s() -> None:
    """NumPy and the array API agree there, but for uint64 with a signed integer, which neither holds."""
    for a, b in itertools.product(DTYPES, DTYPES):
        if "bfloat16" in (a.name, b.name) or (a.kind != b.kind and "b" not in (a.kind, b.kind)):
            continue
        if {a.is_signed, b.is_signed} == {True, False} and rt.uint64 in (a, b) and a.kind == b.kind:
            with pytest.raises(rt.DTypeError, match="no dtype holds both"):
                rt.promote_types(a, b)
            with pytest.raises(rt.DTypeError, match="add: no dtype holds both"):
                rt.zeros(2, dtype=a) + rt.zeros(2, dtype=b)
        else:
            wanted = rt.spec.as_dtype(np.promote_types(a.numpy, b.numpy))
            assert rt.promote_types(a, b) is wanted
            assert (rt.zeros(2, dtype=a) + rt.zeros(1, dtype=b)).dtype is wanted


def test_promotion_of_mixed_kinds_is_pytorch_s() -> None:
    for i, f in itertools.product(INTEGERS, [d for d in DTYPES if d.kind in "fc"]):
        assert rt.promote_types(i, f) is rt.promote_types(f, i) is f
    assert rt.promote_types(rt.float16, rt.bfloat16) is rt.float32
    assert rt.promote_types(rt.bfloat16, rt.complex64) is rt.complex64
    assert rt.promote_types(rt.float64, rt.complex64) is rt.complex128


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_python_numbers_are_weak(dtype: DType) -> None:
    x = rt.ones(2, dtype=dtype)
    with_int = dtype if dtype.kind != "b" else rt.int64
    with_float = dtype if dtype.kind in "fc" else rt.float32
    with_complex = rt.complex128 if dtype in (rt.float64, rt.complex128) else rt.complex64
    for number, wanted in ((True, dtype), (3, with_int), (1.5, with_float), (2j, with_complex)):
        assert (x + number).dtype is rt.result_type(x, number) is rt.result_type(number, dtype) is wanted
        assert (x * number).tolist() == [number] * 2
    assert rt.result_type(3, 2.5) is rt.float32
    with pytest.raises(rt.ArgumentError, match="result_type needs a tensor"):
        rt.result_type()


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.name)
def test_a_python_int_that_does_not_fit_is_refused(dtype: DType) -> None:
    limits, zero = rt.iinfo(dtype), rt.zeros(1, dtype=dtype)
    for edge in (limits.min, limits.max):
        assert (zero + edge).tolist() == rt.tensor([edge], dtype=dtype).tolist() == [edge]
        assert rt.full(1, edge, dtype=dtype).item() == edge
    for beyond in (limits.min - 1, limits.max + 1):
        with pytest.raises(rt.ArgumentError, match=r"does not fit|more than 64 bits"):
            zero + beyond
        for create in (lambda n: rt.tensor([n], dtype=dtype), lambda n: rt.full(1, n, dtype=dtype)):
            with pytest.raises(rt.ArgumentError, match=f"choose a dtype wider than {dtype.name}"):
                create(beyond)
    assert (zero - 1).tolist() == [-1] if dtype.is_signed else (rt.ones(1, dtype=dtype) * 3 - 1).tolist() == [2]


@pytest.mark.parametrize("source", DTYPES, ids=lambda d: d.name)
def test_astype_between_all(source: DType) -> None:
    values = np.array([[0, 1, 3], [100, 7, 2]]).astype(source.numpy)
    if source.kind in "fc":
        values = (values * np.float32(1.37)).astype(source.numpy)
    for target in DTYPES:
        wanted = (values.real if source.kind == "c" and target.kind in "if" else values).astype(target.numpy)
        for array, want in ((values, wanted), (values.T, wanted.T), (values[:, ::-2], wanted[:, ::-2])):
            got = rt.tensor(values).astype(target) if array is values else rt.from_numpy(array).astype(target)
            assert got.dtype is target and got.is_contiguous()
            np.testing.assert_array_equal(got.numpy().view(np.uint8), np.ascontiguousarray(want).view(np.uint8))


def test_every_16_bit_float_converts_and_rounds_as_numpy_and_ml_dtypes_do() -> None:
    patterns = np.arange(2**16, dtype=np.uint16)
    near = np.array([1 - 2.0**-24, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 65519.0, 65520.0, -(2.0**-25), 3 * 2.0**-25])
    random = np.random.default_rng(0)
    floats = np.concatenate(
        [near, random.integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)], dtype=np.float32
    )
    for dtype, kind in ((rt.float16, np.float16), (rt.bfloat16, ml_dtypes.bfloat16)):
        every = patterns.view(kind)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(rt.from_numpy(every).astype(rt.float32).numpy(), every.astype(np.float32))
            for wide in (floats, floats.astype(np.float64) * 1.0000000001):
                np.testing.assert_array_equal(
                    rt.from_numpy(wide).astype(dtype).numpy().astype(np.float32), wide.astype(kind).astype(np.float32)
                )


def test_sums_and_products_of_16_bit_floats_are_rounded_once() -> None:
    for dtype, number in ((rt.float16, 1024), (rt.bfloat16, 1024)):
        ones = rt.ones(4 * number, dtype=dtype)  # a running sum would stop at 2048, or at 256
        assert ones.sum().item() == 4 * number and ones.sum().dtype is dtype
        assert (ones.reshape(1, -1) @ ones.reshape(-1, 1)).item() == 4 * number
    third = rt.tensor([1 / 3] * 3, dtype=rt.float16)
    assert third.sum().item() == float(np.float16(3 * np.float32(np.float16(1 / 3))))


@pytest.mark.parametrize("dtype", HALVES, ids=lambda d: d.name)
def test_gradients_in_16_bit_floats(dtype: DType) -> None:
    x = rt.tensor([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)
    for _ in range(2):  # the second adds to the first
        ((x * x).exp() * 0 + x * x + x.sum() * 2).sum().backward()
    assert x.grad is not None and (x.grad.dtype, x.grad.tolist()) == (dtype, [16.0, 20.0, 24.0])
    with pytest.raises(rt.AutogradError, match="this one is complex64"):
        rt.ones(2, dtype=rt.complex64).requires_grad_()


def test_complex_arithmetic() -> None:
    z = rt.tensor([1 + 2j, 3 - 1j])
    assert z.dtype is rt.complex64 and (z * z).tolist() == [-3 + 4j, 8 - 6j]
    assert (z == 1 + 2j).tolist() == [True, False] and z[1].item() == 3 - 1j
    assert bool(z[0]) and not rt.zeros(1, dtype=rt.complex128)
    with pytest.raises(rt.DTypeError, match="lt: not defined for complex64"):
        z < z  # noqa: B015


def test_memory_is_shared_with_numpy_in_every_dtype() -> None:
    for dtype in DTYPES:
        array = np.ones((2, 3), dtype.numpy)
        tensor = rt.from_numpy(array)
        assert tensor.dtype is dtype and np.shares_memory(tensor.numpy(), array)
        array[1, 2] = 0
        assert not tensor[1, 2].item()
        assert np.asarray(tensor).dtype == tensor.T.numpy().dtype == dtype.numpy
        if dtype is not rt.bfloat16:
            assert memoryview(tensor).shape == (2, 3)


def test_limits() -> None:
    half, brain = rt.finfo(rt.float16), rt.finfo(rt.bfloat16)
    assert (half.bits, half.eps, half.max, half.min, half.tiny) == (16, 2.0**-10, 65504.0, -65504.0, 2.0**-14)
    assert (brain.bits, brain.eps, brain.smallest_normal) == (16, 2.0**-7, 2.0**-126)
    assert rt.finfo(rt.complex128).dtype is rt.float64 and rt.finfo(rt.ones(1)).eps == 2.0**-23
    assert (rt.iinfo(rt.int8).min, rt.iinfo(rt.uint64).max, rt.iinfo(rt.int16).bits) == (-128, 2**64 - 1, 16)
    with pytest.raises(rt.DTypeError, match="use iinfo"):
        rt.finfo(rt.int8)
    with pytest.raises(rt.DTypeError, match="use finfo"):
        rt.iinfo(rt.float32)


def test_kinds_and_casts() -> None:
    assert rt.can_cast(rt.float32, rt.float64) and not rt.can_cast(rt.float64, rt.float32)
    assert rt.can_cast(rt.uint8, rt.int16) and not rt.can_cast(rt.uint8, rt.int8)
    assert rt.isdtype(rt.uint8, "unsigned integer") and not rt.isdtype(rt.uint8, "signed integer")
    assert rt.isdtype(rt.int8, "integral") and rt.isdtype(rt.bfloat16, "real floating")
    assert rt.isdtype(rt.complex64, ("bool", "complex floating")) and not rt.isdtype(rt.bool_, "numeric")
    assert rt.isdtype(rt.int32, rt.int32) and not rt.isdtype(rt.int32, rt.int64)


def test_the_default_dtype() -> None:
    assert rt.get_default_dtype() is rt.float32
    try:
        rt.set_default_dtype(rt.float64)
        assert (rt.tensor([1.5]).dtype, rt.zeros(2).dtype, rt.tensor([1j]).dtype) == (
            rt.float64, rt.float64, rt.complex128,
        )  # fmt: skip
        assert (rt.tensor([1, 2]) * 0.5).dtype is (rt.tensor([1, 2]) / 2).dtype is rt.float64
        with pytest.raises(rt.DTypeError, match="must be a float, not int32"):
            rt.set_default_dtype(rt.int32)
    finally:
        rt.set_default_dtype(rt.float32)
    assert (rt.tensor([1.5]).dtype, (rt.tensor([1]) / 2).dtype) == (rt.float32, rt.float32)


def test_conversions_by_their_names() -> None:
    x = rt.tensor([1.6, -2.0])
    for name, dtype in (
        ("bool", rt.bool_), ("byte", rt.uint8), ("char", rt.int8), ("short", rt.int16), ("int", rt.int32),
        ("long", rt.int64), ("half", rt.float16), ("bfloat16", rt.bfloat16), ("double", rt.float64),
    ):  # fmt: skip
        assert getattr(x.abs(), name)().dtype is dtype
    assert x.float() is x and x.to(rt.float32) is x and x.to(x, copy=True) is not x
    assert x.to(dtype=rt.int32).tolist() == [1, -2] and x.to(rt.ones(1, dtype=rt.int8)).dtype is rt.int8
    y = x.detach().requires_grad_()
    y.double().sum().backward()
    assert y.grad is not None and (y.grad.dtype, y.grad.tolist()) == (rt.float32, [1.0, 1.0])
