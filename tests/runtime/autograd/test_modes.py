"""Switches of recording, and what leaves the graph."""

import threading
from typing import Any

from perflab import runtime as rt
from perflab.runtime import Tensor


def leaf(values: Any) -> Tensor:
    return rt.tensor(values, dtype=rt.float64, requires_grad=True)


def test_no_grad_and_enable_grad_nest() -> None:
    x = leaf(1.0)
    with rt.no_grad():
        assert not rt.is_grad_enabled() and (x * 2.0).grad_fn is None
        with rt.enable_grad():
            assert (x * 2.0).requires_grad
        assert not rt.is_grad_enabled()
    assert rt.is_grad_enabled()

    @rt.no_grad()
    def quiet() -> Tensor:
        return x * 2.0

    assert not quiet().requires_grad


def test_recording_is_switched_for_one_thread() -> None:
    seen: list[bool] = []
    with rt.no_grad():
        thread = threading.Thread(target=lambda: seen.append(rt.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_detach_shares_memory_and_version() -> None:
    x = leaf([1.0, 2.0])
    y = x.detach()
    assert not y.requires_grad and y.data_ptr() == x.data_ptr()
    y.add_(1.0)
    assert x.detach().tolist() == [2.0, 3.0] and x._version == y._version == 1
