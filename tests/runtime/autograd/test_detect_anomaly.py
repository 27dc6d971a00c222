"""detect_anomaly: a NaN in a gradient raises with the forward stack of the op that made it."""

from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Function, Tensor
from perflab.runtime.autograd import detect_anomaly, set_detect_anomaly


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def makes_a_nan(x: Tensor) -> Tensor:
    return (x * 0.0).sqrt()  # 0 * inf on the way back


def test_a_nan_names_the_node_and_shows_the_forward_stack() -> None:
    x = leaf([1.0])
    with detect_anomaly():
        y = makes_a_nan(x)
        with pytest.raises(AutogradError) as caught:
            y.backward()
    message = str(caught.value)
    assert message.startswith("MulBackward0 returned nan values in its gradient 0.")
    assert "in makes_a_nan" in message and "(x * 0.0).sqrt()" in message
    y = makes_a_nan(x)
    y.backward()  # off again
    assert x.grad is not None


def test_nodes_from_before_have_no_stack() -> None:
    y = makes_a_nan(leaf([1.0]))
    with detect_anomaly(), pytest.raises(AutogradError, match="It was made outside of detect_anomaly"):
        y.backward()


def test_without_check_nan_a_nan_passes() -> None:
    x = leaf([1.0])
    with detect_anomaly(check_nan=False):
        makes_a_nan(x).backward()
    assert x.grad is not None and x.grad.item() != x.grad.item()


def test_it_sees_the_recorded_pass_as_well() -> None:
    with detect_anomaly(), pytest.raises(AutogradError, match="MulBackward0 returned nan"):
        makes_a_nan(leaf([1.0])).backward(create_graph=True)


class Failing(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        return a * 1.0

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        raise LookupError("on purpose")


def test_other_failures_warn_with_the_stack() -> None:
    with (
        detect_anomaly(),
        pytest.warns(UserWarning, match=r"(?s)backward failed in FailingBackward.*test_other_failures"),
        pytest.raises(LookupError, match="on purpose"),
    ):
        Failing.apply(leaf([1.0])).backward()


def test_set_detect_anomaly_acts_at_once_and_nests() -> None:
    set_detect_anomaly(True)
    try:
        with pytest.raises(AutogradError, match="nan"):
            makes_a_nan(leaf([1.0])).backward()
        with set_detect_anomaly(False):
            makes_a_nan(leaf([1.0])).backward()
        with pytest.raises(AutogradError, match="nan"):
            makes_a_nan(leaf([1.0])).backward()
    finally:
        set_detect_anomaly(False)
    makes_a_nan(leaf([1.0])).backward()
