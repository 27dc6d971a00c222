"""autocast: dtypes by family of ops, nested, per thread; backward in the dtypes of forward."""

import subprocess
import sys
import threading

import pytest

from perflab import runtime as rt
from perflab.runtime import ArgumentError, autocast, registry


def pair() -> tuple[rt.Tensor, rt.Tensor]:
    return rt.ones((2, 3), requires_grad=True), rt.ones((3, 2), requires_grad=True)


@pytest.mark.parametrize("dtype", [rt.float16, rt.bfloat16])
def test_families(dtype: rt.DType) -> None:
    a, b = pair()
    with autocast("cpu", dtype):
        product = a @ b
        assert product.dtype is dtype and rt.get_autocast_dtype() is dtype
        assert product.exp().dtype is rt.float32 and product.sum().dtype is rt.float32
        assert (product + 1.0).dtype is dtype and (product + a.sum()).dtype is rt.float32  # the widest
        assert product.softmax(-1).dtype is rt.float32
    assert (a @ b).dtype is rt.float32 and not rt.is_autocast_enabled()


def test_the_default_is_bfloat16_and_double_is_left_alone() -> None:
    a, b = pair()
    with autocast("cpu"):
        assert (a @ b).dtype is rt.bfloat16
        assert (a.astype(rt.float64) @ b.astype(rt.float64)).dtype is rt.float64
        assert (rt.ones((2, 2), dtype=rt.int64) @ rt.ones((2, 2), dtype=rt.int64)).dtype is rt.int64


def test_nested_blocks_and_a_block_switched_off() -> None:
    a, b = pair()
    with autocast("cpu", rt.float16):
        with autocast("cpu", rt.bfloat16):
            assert (a @ b).dtype is rt.bfloat16
        with autocast("cpu", enabled=False):
            assert (a @ b).dtype is rt.float32 and not rt.is_autocast_enabled()
        assert (a @ b).dtype is rt.float16


def test_gradients_come_in_the_leaves_dtype_and_backward_is_not_cast_anew() -> None:
    a, b = pair()
    with autocast("cpu", rt.bfloat16):
        (a @ b).sum().backward()
    assert a.grad is not None and a.grad.dtype is rt.float32 and a.grad.tolist() == [[2.0] * 3] * 2
    seen: list[rt.DType] = []

    class Products(rt.DispatchMode):
        def __dispatch__(self, op, args, kwargs):  # type: ignore[no-untyped-def]
            out = op(*args, **kwargs)
            if op is rt.matmul:
                seen.append(out.dtype)
            return out

    with autocast("cpu", rt.bfloat16):
        y = (a @ b).sum()
    with Products():
        y.backward()
    assert seen == [rt.bfloat16] * 2


def test_a_weight_is_cast_once_in_the_outermost_block() -> None:
    x, w = rt.ones((2, 2)), rt.ones((2, 2), requires_grad=True)
    casts: list[int] = []

    class Casts(rt.DispatchMode):
        def __dispatch__(self, op, args, kwargs):  # type: ignore[no-untyped-def]
            if op is registry.OPS["cast"].handle and args[0] is w:
                casts.append(1)
            return op(*args, **kwargs)

    with Casts():
        with autocast("cpu"):
            x @ w
            with autocast("cpu"):
                x @ w
            x @ w
            assert len(casts) == 1
            with rt.no_grad():
                w.mul_(2.0)
            assert (x @ w).tolist() == [[4.0, 4.0]] * 2 and len(casts) == 2  # changed meanwhile
        with autocast("cpu"):
            x @ w
    assert len(casts) == 3


def test_it_is_a_decorator_and_on_for_one_thread() -> None:
    a, b = pair()

    @autocast("cpu", rt.float16)
    def product() -> rt.Tensor:
        return a @ b

    assert product().dtype is rt.float16
    seen: list[rt.DType] = []
    with autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((a @ b).dtype))
        thread.start()
        thread.join()
    assert seen == [rt.float32]


def test_a_process_may_end_within_it() -> None:
    """With a weight cast, which is kept until the block ends."""
    program = """
from perflab import runtime as rt
rt.autocast("cpu").__enter__()
w = rt.ones(2, 2, requires_grad=True)
print((w @ w).dtype)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "perflab.bfloat16\n", "")


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ArgumentError, match="device 'gpu' is not there"):
        autocast("gpu")
    with pytest.raises(ArgumentError, match="may be float16 or bfloat16, not float32"):
        autocast("cpu", rt.float32)
