"""State dicts: what is in them, and what is taken over."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn


class Counted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.register_buffer("seen", rt.tensor(0))
        self.register_buffer("cache", rt.zeros(3), persistent=False)
        self.notes = ["a"]

    def get_extra_state(self) -> Any:
        return list(self.notes)

    def set_extra_state(self, state: Any) -> None:
        self.notes = state


def test_prefix_destination_and_keep_vars() -> None:
    net = Counted()
    into: dict[str, Any] = {"first": 1}
    assert net.state_dict(destination=into, prefix="net.") is into
    assert list(into) == ["first", "net.seen", "net._extra_state", "net.layer.weight", "net.layer.bias"]
    assert net.state_dict(keep_vars=True)["layer.weight"] is net.layer.weight
    assert not net.state_dict()["layer.weight"].requires_grad
    assert net.state_dict()["layer.weight"].data_ptr() == net.layer.weight.data_ptr()


def test_extra_state_and_buffers_come_back() -> None:
    first, second = Counted(), Counted()
    first.notes.append("b")
    first.seen.fill_(7)
    first.cache.fill_(1)
    assert repr(second.load_state_dict(first.state_dict())) == "<All keys matched successfully>"
    assert second.notes == ["a", "b"] and second.seen.item() == 7 and second.cache.tolist() == [0, 0, 0]
    state = first.state_dict()
    del state["_extra_state"]
    with pytest.raises(rt.StateError, match="missing: _extra_state"):
        second.load_state_dict(state)


def test_every_misfit_is_listed_and_nothing_is_copied() -> None:
    net = nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 1))
    before = {path: value.tolist() for path, value in net.state_dict().items()}
    given = {"0.weight": rt.zeros(3, 2), "0.bias": [0.0], "1.weight": rt.zeros(1, 1), "2.weight": rt.zeros(1)}
    with pytest.raises(rt.StateError) as caught:
        net.load_state_dict(given)
    assert str(caught.value) == (
        "the state dict does not fit Sequential:\n"
        "    missing: 1.bias\n"
        "    unexpected: 2.weight\n"
        "    0.weight has shape (3, 2) there and (1, 2) here\n"
        "    0.bias is a list, where a Tensor or an array is wanted"
    )
    with pytest.raises(rt.StateError) as caught:
        net.load_state_dict(given, strict=False)
    assert "missing" not in str(caught.value) and "0.weight has shape" in str(caught.value)
    assert {path: value.tolist() for path, value in net.state_dict().items()} == before
    with pytest.raises(TypeError, match="takes a dict of tensors by path, not list"):
        net.load_state_dict([1])  # type: ignore[arg-type]


def test_values_are_cast_and_loose_loading_tells_what_it_left() -> None:
    net = nn.Linear(2, 1)
    found = net.load_state_dict({"weight": np.ones((1, 2)), "gain": rt.ones(1)}, strict=False)
    assert found.missing_keys == ["bias"] and found.unexpected_keys == ["gain"]
    assert repr(found) == "IncompatibleKeys(missing_keys=['bias'], unexpected_keys=['gain'])"
    assert net.weight.tolist() == [[1, 1]] and net.weight.dtype is rt.float32


def test_assign_holds_the_given_tensors() -> None:
    net = nn.Linear(2, 1)
    assert net.bias is not None
    net.bias.requires_grad_(False)
    weight, bias = rt.ones(1, 2, dtype=rt.float64), nn.Parameter(rt.zeros(1))
    net.load_state_dict({"weight": weight, "bias": bias}, assign=True)
    assert net.weight.data_ptr() == weight.data_ptr() and net.weight.dtype is rt.float64
    assert type(net.weight) is nn.Parameter and net.weight.requires_grad
    assert net.bias is bias and not bias.requires_grad
