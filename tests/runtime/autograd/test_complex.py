"""Complex tensors carry no gradients: whatever would lose one on the way is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Function, Tensor

MESSAGE = r"complex64, and complex tensors carry no gradients"
LOSES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "cast": lambda x, z: x.to(rt.complex64),
    "astype": lambda x, z: rt.astype(x, rt.complex64),
    "asarray": lambda x, z: rt.asarray(x, dtype=rt.complex64),
    "sum": lambda x, z: rt.sum(x, dtype=rt.complex64),
    "number": lambda x, z: x * 1j,
    "add": lambda x, z: x + z,
    "add, the other way": lambda x, z: z + x,
    "pow": lambda x, z: z**x,
    "where": lambda x, z: rt.where(x > 0, x, z),
    "concat": lambda x, z: rt.concat([z, x]),
    "stack": lambda x, z: rt.stack([x, z]),
    "einsum": lambda x, z: rt.einsum("i,i->", x, z),
    "fft": lambda x, z: rt.fft.fft(x),
    "rfft": lambda x, z: rt.fft.rfft(x),
    "rfftn": lambda x, z: rt.fft.rfftn(x),
    "ihfft": lambda x, z: rt.fft.ihfft(x),
    "add_": lambda x, z: z.add_(x),
    "copy_": lambda x, z: z.copy_(x),
    "fill_": lambda x, z: z.fill_(x[0]),
    "subscript": lambda x, z: z.__setitem__(slice(0, 2), x[:2]),
    "subscript by a tensor": lambda x, z: z.__setitem__(rt.tensor([1, 0]), x[:2]),
}


@pytest.mark.parametrize("name", LOSES)
def test_a_gradient_is_not_lost_in_silence(name: str) -> None:
    x = rt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    z = rt.tensor([1j, 2j, 3j])
    with pytest.raises(AutogradError, match=MESSAGE):
        LOSES[name](x, z)
    assert z.tolist() == [1j, 2j, 3j]
    with rt.no_grad():
        LOSES[name](x, z)
    LOSES[name](x.detach(), z)


def test_real_parts_of_real_tensors_and_comparisons_stay_as_they_are() -> None:
    x = rt.tensor([1.0, 2.0], requires_grad=True)
    (rt.real(x) * rt.conj(x)).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]
    assert not (x == rt.tensor([1.0 + 0j, 0j])).requires_grad


class Rotated(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, marked: bool) -> Tensor:
        out = rt.from_numpy(np.asarray(a.detach().numpy() * np.complex64(1j)))
        if marked:
            ctx.mark_non_differentiable(out)
        return out


def test_a_function_says_that_its_complex_output_has_no_gradient() -> None:
    x = rt.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(AutogradError, match=r"RotatedBackward: output 0 is complex64, and .* mark it as not different"):
        Rotated.apply(x, False)
    assert Rotated.apply(x, True).tolist() == [1j, 2j]
