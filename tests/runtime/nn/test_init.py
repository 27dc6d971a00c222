"""Initial values: shapes of distributions, and exact ones where there are."""

import math

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime.nn import init


def weight(*shape: int) -> rt.Tensor:
    return rt.empty(shape, requires_grad=True)


def test_exact_values() -> None:
    assert init.eye_(weight(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert init.constant_(weight(2), 0.5).tolist() == [0.5, 0.5]
    kernel = init.dirac_(weight(4, 2, 3), groups=2).detach().numpy()
    wanted = np.zeros((4, 2, 3))
    wanted[[0, 1, 2, 3], [0, 1, 0, 1], 1] = 1
    np.testing.assert_array_equal(kernel, wanted)
    assert init.ones_(weight(1)).requires_grad and init.zeros_(weight(1)).is_leaf


@pytest.mark.parametrize(
    ("fill", "deviation"),
    [
        (lambda w: init.uniform_(w, -1, 1), 1 / math.sqrt(3)),
        (lambda w: init.normal_(w, 0, 0.5), 0.5),
        (lambda w: init.xavier_uniform_(w, gain=2), 2 * math.sqrt(2 / 400)),
        (lambda w: init.xavier_normal_(w), math.sqrt(2 / 400)),
        (lambda w: init.kaiming_uniform_(w, nonlinearity="relu"), math.sqrt(2 / 100)),
        (lambda w: init.kaiming_normal_(w, 1.0, mode="fan_out"), math.sqrt(1 / 300)),
    ],
)
def test_deviations(fill: object, deviation: float) -> None:
    rt.manual_seed(0)
    values = fill(weight(30, 10, 10)).detach().numpy()  # type: ignore[operator]
    assert values.std() == pytest.approx(deviation, rel=0.05)
    assert values.mean() == pytest.approx(0, abs=4 * deviation / math.sqrt(values.size))


def test_uniform_bounds() -> None:
    rt.manual_seed(0)
    values = init.kaiming_uniform_(weight(100, 50), a=math.sqrt(5)).detach().numpy()
    assert np.abs(values).max() <= 1 / math.sqrt(50) and np.abs(values).max() > 0.99 / math.sqrt(50)


def test_truncated_normal() -> None:
    rt.manual_seed(0)
    values = init.trunc_normal_(weight(20_000), 1.0, 2.0, -1.0, 3.0).detach().numpy()
    assert values.min() >= -1 and values.max() <= 3
    # Of a standard normal within (-1, 1): the variance is 1 - 2 phi(1) / (2 Phi(1) - 1).
    assert values.mean() == pytest.approx(1, abs=0.03) and values.var() == pytest.approx(4 * 0.29112, rel=0.05)
    assert init.trunc_normal_(weight(10), 0, 1, 50, 51).detach().numpy().min() >= 50


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (3, 2, 5)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    rt.manual_seed(0)
    made = init.orthogonal_(weight(*shape), gain=3).detach().numpy().reshape(shape[0], -1)
    small = made if made.shape[0] <= made.shape[1] else made.T
    np.testing.assert_allclose(small @ small.T, 9 * np.eye(len(small)), atol=1e-5)


def test_sparse() -> None:
    rt.manual_seed(0)
    made = init.sparse_(weight(10, 4), sparsity=0.25).detach().numpy()
    assert (made == 0).sum(0).tolist() == [3, 3, 3, 3]


def test_generators_and_gains() -> None:
    first, second = (init.normal_(weight(3), generator=rt.Generator().manual_seed(5)) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert init.calculate_gain("relu") == math.sqrt(2) and init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("leaky_relu", 0.2) == pytest.approx(math.sqrt(2 / 1.04))
    assert init.calculate_gain("leaky_relu") == pytest.approx(math.sqrt(2 / 1.0001))
    assert init.calculate_gain("linear") == 1 and init.calculate_gain("selu") == 0.75


def test_what_does_not_fit_is_refused() -> None:
    for message, call in (
        (r"at least 2 axes, this one has shape \(3,\)", lambda: init.xavier_normal_(weight(3))),
        ("eye_ needs a matrix", lambda: init.eye_(weight(3))),
        ("dirac_ needs a kernel of 3 to 5 axes", lambda: init.dirac_(weight(3, 3))),
        ("3 output channels do not split into 2 groups", lambda: init.dirac_(weight(3, 3, 1), groups=2)),
        ("mode is fan_in or fan_out, not 'fan'", lambda: init.kaiming_normal_(weight(2, 2), mode="fan")),
        ("no gain for 'swish': use one of linear", lambda: init.calculate_gain("swish")),
        ("a 1 is not below b 1", lambda: init.trunc_normal_(weight(1), a=1, b=1)),
        ("orthogonal_ needs at least 2 axes", lambda: init.orthogonal_(weight(3))),
        ("sparse_ needs a matrix", lambda: init.sparse_(weight(3), 0.1)),
    ):
        with pytest.raises(rt.PerflabError, match=message):
            call()
