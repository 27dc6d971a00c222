"""The threads that share one op's work: their number is free, and changes no result."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime.nn import functional as F

LARGE = 1_100_003  # elements of which threads share the work


@pytest.fixture(autouse=True)
def number() -> Iterator[int]:
    before = rt.get_num_threads()
    yield before
    rt.set_num_threads(before)


def test_as_many_as_cores_unless_set(number: int) -> None:
    assert number == len(os.sched_getaffinity(0))
    rt.set_num_threads(3)
    assert rt.get_num_threads() == 3


@pytest.mark.parametrize("n", [0, -1, 257])
def test_impossible_numbers_are_refused(n: int) -> None:
    with pytest.raises(rt.ArgumentError, match=f"from 1 to 256, not {n}"):
        rt.set_num_threads(n)


def randoms(*shape: int) -> Any:
    return rt.from_numpy(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


OPS: dict[str, Callable[[], Any]] = {
    "pointwise": lambda: rt.exp(randoms(LARGE)) + 1.0,
    "strided": lambda: randoms(1200, 2000).mT * randoms(2000, 1),
    "where": lambda: rt.where(randoms(1200, 1000) > 0, randoms(1000), 0.0),
    "copy": lambda: randoms(1200, 1001).mT.reshape(-1),
    "cast": lambda: randoms(LARGE).astype(rt.float64),
    "sum": lambda: randoms(LARGE).sum(),
    "sum of rows": lambda: randoms(1200, 1001).sum(axis=1),
    "sum of columns": lambda: randoms(1200, 1001).sum(axis=0),
    "softmax": lambda: rt.softmax(randoms(1200, 1001), -1),
    "softmax of columns": lambda: rt.softmax(randoms(30, 40, 1001), 1),
    "tall matmul": lambda: randoms(1111, 200) @ randoms(200, 190),
    "wide matmul": lambda: randoms(190, 200) @ randoms(200, 1111),
    "transposed matmul": lambda: randoms(200, 700).mT @ randoms(500, 200).mT,
    "layer_norm": lambda: F.layer_norm(randoms(1200, 1001), 1001),
    "conv2d": lambda: F.conv2d(randoms(16, 8, 40, 40), randoms(16, 8, 3, 3), padding=1),
    "max_pool2d": lambda: F.max_pool2d(randoms(16, 8, 64, 64), 2),
    "batched matmul": lambda: randoms(9, 130, 140) @ randoms(9, 140, 150),
}


@pytest.mark.parametrize("name", OPS)
def test_results_do_not_depend_on_the_number(name: str) -> None:
    rt.set_num_threads(1)
    alone = OPS[name]().numpy()
    for n in (2, 5):
        rt.set_num_threads(n)
        np.testing.assert_array_equal(OPS[name]().numpy(), alone, strict=True)


def test_a_large_sum_is_right() -> None:
    rt.set_num_threads(4)
    assert rt.sum(rt.full((LARGE,), 0.5)).item() == LARGE / 2


def test_gradients_of_large_ops() -> None:
    rt.set_num_threads(3)
    x = randoms(1200, 1001).requires_grad_()
    (rt.exp(x) * 2.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(x.detach().numpy()), rtol=1e-6)


def test_gradients_of_a_convolution_do_not_depend_on_the_number() -> None:
    found = []
    for n in (1, 2, 5):
        rt.set_num_threads(n)
        x, weight = randoms(16, 8, 40, 40).requires_grad_(), randoms(16, 8, 3, 3).requires_grad_()
        F.max_pool2d(F.conv2d(x, weight, padding=1), 2).sum().backward()
        found.append((x.grad.numpy(), weight.grad.numpy()))
    for grads in found[1:]:
        for mine, alone in zip(grads, found[0], strict=True):
            np.testing.assert_array_equal(mine, alone)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_computes() -> None:
    rt.set_num_threads(2)
    x = randoms(LARGE)
    expected = x.sum().item()
    child = os.fork()
    if child == 0:
        os._exit(0 if x.sum().item() == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
