"""Modes: no_grad, enable_grad, set_grad_enabled, inference_mode, as managers and decorators; detach, requires_grad_."""

import threading
from collections.abc import Generator
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import AutogradError, Tensor


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


def test_modes_are_decorators_with_and_without_parentheses() -> None:
    x = leaf(1.0)

    @rt.no_grad()
    def quiet(depth: int) -> Tensor:
        """Its docs."""
        return x * 2.0 if depth == 0 else quiet(depth - 1)

    @rt.no_grad
    def quiet_too() -> Tensor:
        return x * 2.0

    assert not quiet(3).requires_grad and not quiet_too().requires_grad
    assert quiet.__name__ == "quiet" and quiet.__doc__ == "Its docs."
    assert rt.is_grad_enabled()


def test_set_grad_enabled_acts_at_once_and_as_a_manager() -> None:
    rt.set_grad_enabled(False)
    assert not rt.is_grad_enabled()
    with rt.set_grad_enabled(True):
        assert rt.is_grad_enabled()
    assert not rt.is_grad_enabled()
    rt.set_grad_enabled(True)


def test_set_grad_enabled_as_a_decorator_leaves_the_mode_alone() -> None:
    @rt.set_grad_enabled(False)
    def mode() -> bool:
        return rt.is_grad_enabled()

    assert rt.is_grad_enabled() and not mode() and rt.is_grad_enabled()


def test_the_mode_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), rt.no_grad():
        raise KeyError
    assert rt.is_grad_enabled()


def test_a_generator_runs_each_step_within_the_mode() -> None:
    seen = []

    @rt.no_grad()
    def steps() -> Generator[bool, str, str]:
        try:
            got = yield rt.is_grad_enabled()
            seen.append(got)
            yield rt.is_grad_enabled()
        except KeyError:
            seen.append("caught")
            yield rt.is_grad_enabled()
        finally:
            seen.append(f"end {rt.is_grad_enabled()}")
        return "result"

    generator = steps()
    assert next(generator) is False and rt.is_grad_enabled()
    assert generator.send("sent") is False and rt.is_grad_enabled()
    assert generator.throw(KeyError()) is False and rt.is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        next(generator)
    assert end.value.value == "result" and seen == ["sent", "caught", "end False"]
    generator = steps()
    next(generator)
    generator.close()
    assert seen[-1] == "end False" and rt.is_grad_enabled()


def test_recording_is_switched_for_one_thread() -> None:
    seen: list[tuple[bool, bool]] = []
    with rt.inference_mode():
        thread = threading.Thread(target=lambda: seen.append((rt.is_grad_enabled(), rt.is_inference_mode_enabled())))
        thread.start()
        thread.join()
    assert seen == [(True, False)]


def test_inference_mode_records_nothing_even_with_enable_grad() -> None:
    x = leaf([1.0, 2.0])
    with rt.inference_mode():
        assert rt.is_inference_mode_enabled() and not rt.is_grad_enabled()
        y = x * 2.0
        with rt.enable_grad():
            assert not (x * 2.0).requires_grad
        with rt.inference_mode(False):
            assert (x * 2.0).requires_grad and not rt.is_inference_mode_enabled()
        assert y.is_inference() and not x.is_inference() and not x[0].is_inference()
    assert rt.is_grad_enabled() and not rt.is_inference_mode_enabled()
    assert not y.requires_grad and (y + 1.0).is_inference() is False


def test_inference_tensors_are_not_saved_for_backward() -> None:
    with rt.inference_mode():
        y = rt.ones(2, dtype=rt.float64)
    x = leaf([1.0, 2.0])
    with pytest.raises(AutogradError, match="mul: inference tensors cannot be saved for backward"):
        x * y
    (x * y.copy()).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0]
    (x + y).sum().backward()  # saves nothing
    assert x.grad.tolist() == [2.0, 2.0]


def test_inference_tensors_change_in_place_within_the_mode_alone() -> None:
    with rt.inference_mode():
        y = rt.ones(2)
        y.add_(1.0)
        y[0].mul_(5.0)
    assert y.tolist() == [10.0, 2.0]
    with pytest.raises(AutogradError, match="add_: an inference tensor is changed in place outside"):
        y.add_(1.0)
    with pytest.raises(AutogradError, match="inference tensor"):
        y[0].add_(1.0)
    with pytest.raises(AutogradError, match="inference tensor outside"):
        y.requires_grad_()
    with pytest.raises(AutogradError, match="do not track their version"):
        y._version  # noqa: B018


def test_a_normal_tensor_changes_in_place_in_inference_mode_with_its_version() -> None:
    x = rt.ones(2)
    with rt.inference_mode():
        x.add_(1.0)
    assert x.tolist() == [2.0, 2.0] and x._version == 1


def test_inference_mode_as_a_decorator() -> None:
    @rt.inference_mode
    def plain(x: Tensor) -> Tensor:
        return x * 2.0

    @rt.inference_mode(mode=False)
    def ordinary(x: Tensor) -> Tensor:
        return x * 2.0

    assert plain(leaf(1.0)).is_inference() and not ordinary(leaf(1.0)).is_inference()
    assert ordinary(leaf(1.0)).requires_grad


def test_detach_shares_memory_and_version() -> None:
    x = leaf([1.0, 2.0])
    y = x.detach()
    assert not y.requires_grad and y.data_ptr() == x.data_ptr()
    y.add_(1.0)
    assert x.detach().tolist() == [2.0, 3.0] and x._version == y._version == 1


def test_detach_in_place_makes_a_leaf() -> None:
    y = leaf([1.0, 2.0]) * 2.0
    assert y.detach_() is y and y.is_leaf and not y.requires_grad and y.grad_fn is None
    with pytest.raises(AutogradError, match=r"detach_\(\) of a view"):
        (leaf([1.0, 2.0]) * 2.0)[0].detach_()


def test_requires_grad_of_leaves_alone() -> None:
    x = rt.ones(2)
    assert x.requires_grad_() is x and x.requires_grad
    assert not x.requires_grad_(False).requires_grad
    y = x.requires_grad_() * 2.0
    with pytest.raises(AutogradError, match="cleared on leaves alone"):
        y.requires_grad = False
    with pytest.raises(AutogradError, match="only float tensors"):
        rt.arange(3).requires_grad_()
