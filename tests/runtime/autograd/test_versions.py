"""Changes in place: versions of what was saved, leaves, views."""

from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Tensor


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def test_a_saved_tensor_changed_in_place_fails_at_backward() -> None:
    x = leaf([1.0, 2.0])
    y = x.exp()
    z = (y * 1.0).sum()
    with rt.no_grad():
        y.add_(1.0)
    with pytest.raises(
        AutogradError,
        match=r"modified by an inplace operation: float64 \(2,\), output 0 of ExpBackward0, "
        r"is at version 1; expected version 0",
    ):
        z.backward()


def test_a_view_changed_in_place_counts_for_its_base() -> None:
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = x * 1.0
    z = (y * y).sum()
    with rt.no_grad():
        y[0].zero_()
    with pytest.raises(AutogradError, match="modified by an inplace operation"):
        z.backward()


def test_a_leaf_is_not_changed_in_place_while_recording() -> None:
    x = leaf([1.0])
    with pytest.raises(AutogradError, match="leaf"):
        x.add_(1.0)
    with rt.no_grad():
        x.add_(1.0)
    assert x.detach().tolist() == [2.0] and x.is_leaf


def test_in_place_ops_are_part_of_the_graph() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.add_(1.0)
    y *= x.detach()
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]
