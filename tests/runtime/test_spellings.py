"""PyTorch's spellings beside the array API's: names of dtypes, keywords, methods, and where defaults differ."""

import inspect

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn
from perflab.runtime.nn import functional as F


def test_dtypes_have_both_names() -> None:
    names = {"half": "float16", "float": "float32", "double": "float64", "cfloat": "complex64", "cdouble": "complex128"}
    for short, long in {**names, "short": "int16", "int": "int32", "long": "int64"}.items():
        assert getattr(rt, short) is getattr(rt, long)


def test_alpha_scales_what_is_added() -> None:
    a = rt.tensor([1.0, 2.0], requires_grad=True)
    b = rt.tensor([10.0, 20.0], requires_grad=True)
    out = rt.add(a, b, alpha=3).sub(1, alpha=2)
    assert out.tolist() == [29.0, 60.0]
    out.sum().backward()
    assert a.grad.tolist() == [1.0, 1.0] and b.grad.tolist() == [3.0, 3.0]
    c = rt.tensor([1.0, 2.0])
    assert c.add_(b.detach(), alpha=-0.5) is c and c.tolist() == [-4.0, -8.0]
    assert c.sub_(1, alpha=2).tolist() == [-6.0, -10.0]
    assert list(inspect.signature(rt.add).parameters) == ["a", "b", "alpha"]


def test_a_keyword_without_a_meaning_is_refused() -> None:
    with pytest.raises(TypeError, match="mul has no parameter 'alpha'"):
        rt.mul(rt.ones(2), 2, alpha=3)
    with pytest.raises(TypeError, match="add has no parameter 'beta'"):
        rt.add(rt.ones(2), 2, beta=3)
    out = rt.empty(2)
    assert rt.mul(rt.ones(2), 3, out=out) is out and out.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(("mode", "ints", "floats"), [("floor", [3, -4], [3.0, -4.0]), ("trunc", [3, -3], [3.0, -3.0])])
def test_division_rounds(mode: str, ints: list[int], floats: list[float]) -> None:
    whole = rt.tensor([7, -7])
    assert rt.div(whole, 2, rounding_mode=mode).tolist() == ints
    assert rt.div(whole, 2, rounding_mode=mode).dtype is rt.int64
    assert rt.tensor([7.0, -7.0]).div_(2, rounding_mode=mode).tolist() == floats
    assert rt.div(whole, 2, rounding_mode=None).tolist() == [3.5, -3.5]
    with pytest.raises(rt.ArgumentError, match="rounding_mode is None, 'floor' or 'trunc', not 'up'"):
        rt.div(whole, 2, rounding_mode="up")


def test_softmax_takes_a_dtype() -> None:
    out = F.softmax(rt.zeros(2, dtype=rt.float16), dim=-1, dtype=rt.float32)
    assert out.dtype is rt.float32 and out.tolist() == [0.5, 0.5]
    assert F.log_softmax(rt.zeros(1), 0, dtype=rt.float64).dtype is rt.float64


def test_methods_of_spread_are_pytorch_s() -> None:
    x = rt.tensor([[1.0, 3.0], [2.0, 6.0]])
    assert x[0].var().item() == 2.0 and rt.var(x[0]).item() == 1.0
    assert x.var(1).tolist() == [2.0, 8.0] and x.var(dim=1, unbiased=False).tolist() == [1.0, 4.0]
    assert x.std(0, correction=0, keepdim=True).shape == (1, 2)
    assert x[0].std(False).item() == 1.0


def test_tensors_like_another() -> None:
    x = rt.zeros(2, dtype=rt.float64)
    assert x.new_tensor([1, 2]).dtype is x.new_zeros(3).dtype is x.new_full((2,), 5).dtype is rt.float64
    assert x.new_ones(2, 3, dtype=rt.int64).tolist() == [[1, 1, 1]] * 2
    assert rt.ones(2).type_as(x).dtype is rt.float64 and x.type(rt.float32).dtype is rt.float32


def test_sizes() -> None:
    x = rt.zeros(2, 3)
    assert (x.dim(), x.ndimension(), x.nelement(), rt.numel(x)) == (2, 2, 6, 6)
    assert x.t().shape == (3, 2) and rt.t(rt.zeros(3)).shape == (3,)
    with pytest.raises(rt.ShapeError, match="at most 2 axes"):
        rt.zeros(1, 2, 3).t()
    assert rt.is_tensor(x) and not rt.is_tensor(np.zeros(1))


def test_products_refuse_other_numbers_of_axes() -> None:
    with pytest.raises(rt.ShapeError, match="mm: it takes 2 and 2 axes, not shapes"):
        rt.mm(rt.ones(2), rt.ones(2, 2))
    with pytest.raises(rt.ShapeError, match="bmm: the batches"):
        rt.bmm(rt.ones(2, 1, 1), rt.ones(3, 1, 1))
    assert rt.addmm(rt.tensor(float("nan")), rt.ones(1, 1), rt.ones(1, 1), beta=0).tolist() == [[1.0]]


def test_in_place_forms_of_functions_of_several_steps() -> None:
    x = rt.ones(2, 2)
    assert x.addcmul_(rt.full((2, 2), 2.0), rt.full((2, 2), 3.0), value=0.5) is x and x.tolist() == [[4.0] * 2] * 2
    assert x.tril_().tolist() == [[4.0, 0.0], [4.0, 4.0]]
    assert rt.relu_(rt.tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]


def test_makers_take_a_device_and_pytorch_s_keywords() -> None:
    for made in (rt.tensor([1.0], device="cpu"), rt.randn(1, device="cpu"), rt.randperm(1, device=rt.device("cpu"))):
        assert made.device == "cpu" and not made.is_cuda
    assert rt.linspace(0, 1, steps=3).tolist() == rt.linspace(start=0, end=1, steps=3).tolist() == [0.0, 0.5, 1.0]
    assert rt.arange(start=1, end=3).tolist() == [1, 2] and rt.as_tensor([1], rt.float32).tolist() == [1.0]
    for make in (rt.randn, rt.rand, rt.zeros):
        with pytest.raises(rt.ArgumentError, match="device 'cuda' is not there"):
            make(1, device="cuda")
    with pytest.raises(rt.ArgumentError, match="device 'cuda' is not there"):
        nn.Linear(1, 1, device="cuda")
    assert not rt.cuda.is_available() and rt.cuda.device_count() == 0


def test_linspace_without_an_end_is_refused() -> None:
    with pytest.raises(rt.ArgumentError, match=r"linspace\(0, 1, 5\)"):
        rt.linspace(0, 1)


def test_printing_has_options() -> None:
    try:
        rt.set_printoptions(precision=2)
        assert repr(rt.tensor([1.234])) == "tensor([1.23])"
        rt.set_printoptions(sci_mode=True)
        assert repr(rt.tensor([1.234])) == "tensor([1.23e+00])"
        rt.set_printoptions(threshold=2, edgeitems=1)
        assert repr(rt.arange(4)) == "tensor([0,  ..., 3])"
        with pytest.raises(rt.ArgumentError, match="profile is one of default, short, full, not 'long'"):
            rt.set_printoptions(profile="long")
    finally:
        rt.set_printoptions(profile="default")
    assert repr(rt.tensor([1.234])) == "tensor([1.2340])"


def test_bfloat16_arrays_become_tensors() -> None:
    array = np.array([1.0, 2.0], rt.bfloat16.numpy)
    shared = rt.from_numpy(array)
    array[0] = 3.0
    assert shared.dtype is rt.bfloat16 and shared.tolist() == [3.0, 2.0]
    assert rt.quantile(shared, 0.5).item() == 2.5
    assert rt.cumulative_sum(shared, include_initial=True).tolist() == [0.0, 3.0, 5.0]
    q = rt.ones(2, 2, dtype=rt.bfloat16)
    assert F.scaled_dot_product_attention(q, q, rt.arange(2.0).view(2, 1).bfloat16(), is_causal=True).tolist() == [
        [0.0],
        [0.5],
    ]


def test_axes_go_by_dims_too() -> None:
    x = rt.arange(6.0).view(2, 3)
    assert x.flip(dims=(0, 1)).tolist() == [[5.0, 4.0, 3.0], [2.0, 1.0, 0.0]]
    assert rt.roll(x, shifts=(1, 1), dims=(0, 1)).tolist() == [[5.0, 3.0, 4.0], [2.0, 0.0, 1.0]]


def test_round_takes_decimals() -> None:
    x = rt.tensor([1.2345, -0.55])
    assert rt.round(x, decimals=1).tolist() == pytest.approx([1.2, -0.6], abs=0.05)
    assert x.round(decimals=2).tolist() == pytest.approx([1.23, -0.55]) and x.round_(decimals=0).tolist() == [1.0, -1.0]


def test_sums_back_to_a_size() -> None:
    x = rt.arange(6.0).view(2, 3)
    assert x.sum_to_size(1, 3).tolist() == [[3.0, 5.0, 7.0]] and x.sum_to_size(3).tolist() == [3.0, 5.0, 7.0]
    with pytest.raises(rt.ShapeError, match="is not what"):
        x.sum_to_size(2, 2)
    assert x.fill_diagonal_(9.0).tolist() == [[9.0, 1.0, 2.0], [3.0, 9.0, 5.0]]


def test_arange_without_an_end_is_refused() -> None:
    with pytest.raises(rt.ArgumentError, match="arange: say where it stops"):
        rt.arange()
    assert rt.arange(0).tolist() == [] and rt.arange(end=2).tolist() == [0, 1]
