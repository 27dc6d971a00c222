"""The backward pass: long chains, threads."""

import math
import threading
from typing import Any

import numpy as np

from perflab import runtime as rt
from perflab.runtime import Tensor


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def test_a_chain_of_a_million_nodes() -> None:
    x = rt.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = -y
    y.backward()
    assert x.grad is not None and x.grad.item() == 1.0
    del y


def test_a_long_chain_is_released_without_backward() -> None:
    nodes = rt.memory_stats()["live_nodes"]
    y = rt.ones(1, requires_grad=True)
    for _ in range(300_000):
        y = -y
    del y
    assert rt.memory_stats()["live_nodes"] == nodes


def test_threads_share_leaves_and_a_graph() -> None:
    x = leaf(np.ones(64))
    shared = (x * 2.0).exp().sum()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(200):
                (x * 3.0).sum().backward()
                shared.backward(retain_graph=True)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    expected = 4 * 200 * (3.0 + 2.0 * math.exp(2.0))
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-9)  # type: ignore[union-attr]
