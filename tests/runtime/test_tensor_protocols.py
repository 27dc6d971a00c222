"""What a tensor is to Python and to other array libraries: operators, copies, storage, DLPack, in-place and out=."""

import copy
import pickle
import subprocess
import sys
from operator import index
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.profiler import profile, record_function


def test_whole_number_operators_and_bits() -> None:
    x = rt.tensor([5, -7])
    assert ((x // 2).tolist(), (x % 3).tolist(), (20 // x).tolist(), (20 % x).tolist()) == (
        [2, -4], [2, 2], [4, -3], [0, -1],
    )  # fmt: skip
    assert [r.tolist() for r in divmod(x, 2)] == [[2, -4], [1, 1]]
    assert [r.tolist() for r in divmod(20, x)] == [[4, -3], [0, -1]]
    assert ((x & 6).tolist(), (1 | x).tolist(), (x ^ 3).tolist(), (~x).tolist()) == ([4, 0], [5, -7], [6, -6], [-6, 6])
    assert ((x << 1).tolist(), (x >> 1).tolist(), (1 << rt.tensor([3])).tolist()) == ([10, -14], [2, -4], [8])
    assert (~rt.tensor([True, False])).tolist() == [False, True]
    y = rt.tensor([13, 6])
    same = y
    y //= 2
    y **= 2
    y %= 7
    y <<= 2
    y |= 1
    y ^= 2
    y &= 7
    y >>= 1
    assert y is same and y.tolist() == [3, 1] and y._version == 8


def test_numpy_s_scalars_and_0_d_arrays_are_numbers() -> None:
    x = rt.tensor([1.0, 2.0], requires_grad=True)
    for two in (np.float32(2), np.float64(2), np.int8(2), np.array(2.0), np.array(2)):
        for product in (x * two, two * x):
            assert isinstance(product, rt.Tensor) and (product.dtype, product.tolist()) == (rt.float32, [2.0, 4.0])
    assert (np.float16(1) + rt.tensor([1, 2])).dtype is rt.float32
    assert (rt.tensor([1.0]) == np.True_).tolist() == [True]
    (np.float32(3) * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="unsupported operand"):
        np.ones(2) * rt.ones(2)


def test_conversions_of_one_element() -> None:
    assert [10, 11, 12][rt.tensor(1)] == 11 and index(rt.tensor([7])) == 7 and complex(rt.tensor(2j)) == 2j
    with pytest.raises(TypeError, match="only a tensor with one integer is an index, not float32"):
        index(rt.tensor(1.0))
    assert 2 in rt.tensor([1, 2]) and 3 not in rt.tensor([1, 2])


def test_copies() -> None:
    x = rt.tensor([1.0, 2.0], requires_grad=True)
    x.note = "kept"  # type: ignore[attr-defined]
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    assert shallow.data_ptr() == x.data_ptr() and deep.data_ptr() != x.data_ptr()
    for made in (shallow, deep, pickle.loads(pickle.dumps(x))):
        assert made.requires_grad and made.is_leaf and made.note == "kept" and made.tolist() == [1.0, 2.0]
    for dtype in rt.spec.DTYPES:
        y = pickle.loads(pickle.dumps(rt.ones(2, dtype=dtype)))
        assert (y.dtype, y.tolist()) == (dtype, [1, 1])


def test_storage_is_shared_by_views() -> None:
    x = rt.zeros(4, 6, dtype=rt.float16)
    view = x[1:, ::2]
    storage = view.untyped_storage()
    assert (storage.nbytes(), storage.size(), storage.data_ptr()) == (48, 48, x.data_ptr())
    assert storage == x.untyped_storage() != rt.zeros(1).untyped_storage()
    assert (view.storage_offset(), view.stride(), view.stride(-1), view.stride(0)) == (6, (6, 2), 2, 6)
    assert view.data_ptr() == x.data_ptr() + 12
    with pytest.raises(IndexError, match=r"stride: axis 2 is out of range for shape \(3, 3\)"):
        view.stride(2)


def test_the_device() -> None:
    x = rt.ones(2)
    assert x.device == "cpu" and x.device == rt.device("cpu") and str(x.device) == "cpu"
    assert pickle.loads(pickle.dumps(x.device)) == x.device and len({x.device, rt.device("cpu:0")}) == 1
    assert x.to("cpu") is x and x.cpu() is x and x.to_device(x.device) is x
    assert x.to("cpu", rt.float64).dtype is x.to("float64").dtype is rt.float64
    for move in (lambda: x.to("gpu"), lambda: rt.device("sim:99"), lambda: x.to_device("mps")):
        with pytest.raises(rt.ArgumentError, match="is not there: use one of 'cpu', 'sim'"):
            move()


def test_dlpack() -> None:
    array = np.arange(6.0).reshape(2, 3)
    x = rt.from_dlpack(array)
    assert x.data_ptr() == array.ctypes.data and x.tolist() == array.tolist()
    assert x.__dlpack_device__() == (1, 0)
    for dtype in rt.spec.DTYPES:
        y = rt.ones(2, 3, dtype=dtype)
        if dtype is rt.bfloat16:
            with pytest.raises(BufferError, match="bfloat16 is not exported"):
                np.from_dlpack(y)
            continue
        there = np.from_dlpack(y.T)
        assert there.ctypes.data == y.data_ptr() and there.shape == (3, 2) and there.dtype == dtype.numpy
        back = rt.from_dlpack(y)
        assert back.data_ptr() == y.data_ptr() and back.dtype is dtype
        assert rt.from_dlpack(y, copy=True).data_ptr() != y.data_ptr()
    with pytest.raises(BufferError, match=r"use detach\(\)"):
        np.from_dlpack(rt.ones(1, requires_grad=True))
    frozen = np.ones(2)
    frozen.flags.writeable = False
    assert rt.from_dlpack(frozen).data_ptr() != frozen.ctypes.data
    with pytest.raises(BufferError, match="read-only"):
        rt.from_dlpack(frozen, copy=False)


def test_the_namespace() -> None:
    x = rt.ones(1)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is rt
    with pytest.raises(ValueError, match="2019"):
        x.__array_namespace__(api_version="2019.12")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: rt.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
        (lambda: rt.tensor([1e9, 2.0]), "tensor([1.0000e+09, 2.0000e+00])"),
        (lambda: rt.tensor([1.0, float("nan"), float("-inf")]), "tensor([1., nan, -inf])"),
        (lambda: rt.tensor([1 + 2j, 3 - 4.5j]), "tensor([1.+2.0000j, 3.-4.5000j])"),
        (lambda: rt.tensor([-1.0, 10.0]), "tensor([-1., 10.])"),
        (lambda: rt.tensor([1.5], dtype=rt.bfloat16), "tensor([1.5000], dtype=perflab.bfloat16)"),
        (lambda: rt.zeros(2, 0, dtype=rt.int64), "tensor([], size=(2, 0), dtype=perflab.int64)"),
        (
            lambda: rt.arange(2000),
            "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])",
        ),
        (lambda: rt.ones(40, 40)[0:2, 0:2] * 0.5, "tensor([[0.5000, 0.5000],\n        [0.5000, 0.5000]])"),
    ],
)
def test_repr_is_pytorch_s(make: Any, text: str) -> None:
    assert repr(make()) == text


def test_pointwise_ops_have_in_place_forms() -> None:
    x = rt.tensor([4.0, 9.0])
    assert x.sqrt_() is x and x.tolist() == [2.0, 3.0]
    assert x.pow_(2).neg_().abs_().tolist() == [4.0, 9.0]
    assert x.clamp_(5, 8).tolist() == [5.0, 8.0] and x.clamp_(max=6).tolist() == [5.0, 6.0]
    assert x.sub_(5.5).relu_().tolist() == [0.0, 0.5] and x.zero_().exp_().tolist() == [1.0, 1.0]
    assert rt.tensor([7]).floor_divide_(2).bitwise_xor_(1).tolist() == [2]
    assert not hasattr(rt.Tensor, "eq_") and not hasattr(rt.Tensor, "sum_")
    y = rt.tensor([1.0, 2.0], requires_grad=True)
    (y * 1).exp_().sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), np.exp([1.0, 2.0]), rtol=1e-6)  # type: ignore[union-attr]
    with pytest.raises(rt.DTypeError, match="sqrt_: the result is float32, which a int64 tensor cannot hold"):
        rt.tensor([4]).sqrt_()
    with pytest.raises(rt.PerflabError, match="add_: more than one element of the tensor written to"):
        rt.expand(rt.ones(1), (3,)).add_(1)


def test_out_is_written() -> None:
    a, out = rt.tensor([[1.0, 2.0], [3.0, 4.0]]), rt.zeros(2, 2)
    address = out.data_ptr()
    assert rt.add(a, 1, out=out) is out and out.tolist() == [[2.0, 3.0], [4.0, 5.0]] and out._version == 1
    assert rt.matmul(a, a, out=out).tolist() == [[7.0, 10.0], [15.0, 22.0]] and out.data_ptr() == address
    assert rt.matmul(out, a, out=out).tolist() == [[37.0, 54.0], [81.0, 118.0]]  # reads what it writes
    assert rt.concat([a[0], a[1]], out=rt.zeros(4)).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert a.sum(axis=0, out=out[1]).tolist() == [4.0, 6.0] and out[1].tolist() == [4.0, 6.0]
    assert rt.mul(a, 2, out=out.T) is not out and out.tolist() == [[2.0, 6.0], [4.0, 8.0]]
    assert rt.add(rt.tensor([1, 2]), 1, out=rt.zeros(2)).tolist() == [2.0, 3.0]
    assert rt.add(a, 1, out=None).tolist() == [[2.0, 3.0], [4.0, 5.0]]


def test_out_is_refused_where_it_does_not_fit() -> None:
    a = rt.ones(2)
    with pytest.raises(rt.ShapeError, match=r"add\(out=\): the result has shape \(2,\), but the tensor that"):
        rt.add(a, 1, out=rt.zeros(3))
    with pytest.raises(rt.DTypeError, match=r"add\(out=\): the result is float32, which a int64 tensor cannot hold"):
        rt.add(a, 1, out=rt.zeros(2, dtype=rt.int64))
    grad = rt.ones(2, requires_grad=True)
    for inputs, out in ((grad, rt.zeros(2)), (a, grad)):
        with pytest.raises(rt.AutogradError, match=r"add\(out=\): an argument requires grad"):
            rt.add(inputs, 1, out=out)
    with rt.no_grad():
        assert rt.add(grad, 1, out=rt.zeros(2)).tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="add: out must be a Tensor"):
        rt.add(a, 1, out=np.zeros(2))
    with pytest.raises(TypeError, match="unbind has several outputs and takes no out"):
        rt.unbind(a, out=a)


# --- faults that were


def test_a_thread_at_work_when_the_interpreter_ends() -> None:
    program = (
        "import threading, time\n"
        "from perflab import runtime as rt\n"
        "x = rt.ones(1500, 1500)\n"
        "def work():\n"
        "    while True: x @ x\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.3)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_memory_that_is_not_there_is_named() -> None:
    with pytest.raises(MemoryError, match=r"no memory for 16\.00 TiB"):
        rt.empty(2**42)


def test_names_of_parts_of_the_program() -> None:
    with pytest.raises(TypeError, match="record_function: the name must be a str, not int"):
        record_function(3)  # type: ignore[arg-type]
    with profile() as p, record_function("half a pair: \ud83d"):
        rt.ones(1) + 1
    assert "half a pair: \\ud83d" in p.trace.strings  # escaped, as JSON must be


def test_nothing_to_join() -> None:
    with pytest.raises(rt.ArgumentError, match="concat: the sequence of tensors is empty: give at least one"):
        rt.concat([])
