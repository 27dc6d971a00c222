"""Layers that pad."""

import pytest

from perflab import runtime as rt
from perflab.runtime import nn


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (nn.ZeroPad1d(1), [0.0, 1.0, 2.0, 3.0, 0.0]),
        (nn.ConstantPad1d((2, 0), 7.0), [7.0, 7.0, 1.0, 2.0, 3.0]),
        (nn.ReflectionPad1d((0, 2)), [1.0, 2.0, 3.0, 2.0, 1.0]),
        (nn.ReplicationPad1d((1, 1)), [1.0, 1.0, 2.0, 3.0, 3.0]),
        (nn.CircularPad1d((1, 1)), [3.0, 1.0, 2.0, 3.0, 1.0]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_last_axis(layer: nn.Module, expected: list[float]) -> None:
    assert layer(rt.tensor([[1.0, 2.0, 3.0]])).tolist() == [expected]


def test_planes() -> None:
    plane = rt.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    assert nn.ZeroPad2d((1, 0, 0, 1))(plane).tolist() == [[[0.0, 1.0, 2.0], [0.0, 3.0, 4.0], [0.0, 0.0, 0.0]]]
    assert nn.ReflectionPad2d((0, 1, 1, 0))(plane).tolist() == [[[3.0, 4.0, 3.0], [1.0, 2.0, 1.0], [3.0, 4.0, 3.0]]]
    assert nn.ReplicationPad2d((1, 0, 0, 0))(plane)[0, 0].tolist() == [1.0, 1.0, 2.0]
    assert nn.CircularPad2d((0, 0, 1, 0))(plane)[0, 0].tolist() == [3.0, 4.0]
    assert repr(nn.ConstantPad2d(1, 3.5)) == "ConstantPad2d(padding=(1, 1, 1, 1), value=3.5)"
