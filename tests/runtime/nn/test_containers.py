"""Modules and parameters in lists and dicts."""

import copy
from collections import OrderedDict
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.runtime import nn


def kinds(modules: Any) -> list[str]:
    return [type(m).__name__ for m in modules]


@pytest.mark.parametrize("make", [lambda *m: nn.Sequential(*m), lambda *m: nn.ModuleList(m)])
def test_lists_behave_as_lists(make: Any) -> None:
    parts = make(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    assert parts.insert(1, nn.Softmax()) is parts
    assert kinds(parts) == ["ReLU", "Softmax", "Tanh", "Sigmoid"]
    assert [name for name, _ in parts.named_children()] == ["0", "1", "2", "3"]
    assert type(parts.pop(1)) is nn.Softmax
    parts.extend([nn.ReLU()]).append(nn.Tanh())
    assert kinds(parts) == ["ReLU", "Tanh", "Sigmoid", "ReLU", "Tanh"]
    parts[-1] = nn.Sigmoid()
    del parts[0]
    assert kinds(parts) == ["Tanh", "Sigmoid", "ReLU", "Sigmoid"] and len(parts) == 4
    del parts[1:3]
    assert kinds(parts) == ["Tanh", "Sigmoid"]
    assert kinds(parts + nn.ModuleList([nn.ReLU()])) == ["Tanh", "Sigmoid", "ReLU"] and len(parts) == 2
    assert type(parts[::-1]) is type(parts) and parts[0] in parts
    assert kinds(parts[::-1]) == ["Sigmoid", "Tanh"]
    parts += [nn.ReLU()]
    assert kinds(copy.deepcopy(parts)) == ["Tanh", "Sigmoid", "ReLU"]
    for index in (3, -4):
        with pytest.raises(IndexError, match=f"index {index} is outside of a {type(parts).__name__} of 3"):
            parts[index]
    with pytest.raises(TypeError, match="holds modules, not int"):
        parts.append(1)


def test_sequential_refuses_what_it_cannot_run() -> None:
    for message, make in (
        ("Sequential holds modules, not int", lambda: nn.Sequential(1)),
        (r"write Sequential\(\*modules\)", lambda: nn.Sequential([nn.ReLU()])),
        ("ModuleList is made of a list, not of one ReLU", lambda: nn.ModuleList(nn.ReLU())),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match=message):
            make()


def test_sequential_with_names() -> None:
    net = nn.Sequential(OrderedDict(twice=nn.Linear(1, 1, bias=False), squash=nn.Tanh()))
    assert list(net.state_dict()) == ["twice.weight"] and net[1] is net.squash
    assert [name for name, _ in net[1:].named_children()] == ["squash"]
    net.register_buffer("count", rt.zeros(1))
    assert len(net) == 2
    with rt.no_grad():
        net.twice.weight.fill_(2)
    assert net(rt.tensor([0.0])).item() == 0
    assert nn.Sequential()(3) == 3


def test_equal_neighbours_of_a_list_are_shown_as_one() -> None:
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Sequential(nn.Tanh())])) == (
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Sequential(\n    (0): Tanh()\n  )\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict() -> None:
    parts = nn.ModuleDict({"relu": nn.ReLU(), "out": nn.Linear(2, 1)})
    assert list(parts) == list(parts.keys()) == ["relu", "out"] and "relu" in parts and len(parts) == 2
    assert kinds(parts.values()) == ["ReLU", "Linear"] and dict(parts.items())["out"] is parts["out"]
    assert list(parts.state_dict()) == ["out.weight", "out.bias"]
    parts["relu"] = nn.Tanh()
    parts.update([("more", nn.ReLU())])
    assert list(parts) == ["relu", "out", "more"] and type(parts.pop("relu")) is nn.Tanh
    del parts["more"]
    assert list(parts) == ["out"]
    with pytest.raises(KeyError, match="more"):
        parts["more"]
    with pytest.raises(rt.ArgumentError, match="ModuleDict has an attribute 'keys' already"):
        parts["keys"] = nn.ReLU()
    with pytest.raises(TypeError, match="ModuleDict holds modules, not Tensor"):
        parts["x"] = rt.ones(1)  # type: ignore[assignment]
    parts.clear()
    assert len(parts) == 0


def test_lists_and_dicts_of_parameters() -> None:
    shared = nn.Parameter(rt.ones(2))
    net = nn.Module()
    net.list = nn.ParameterList([shared, rt.zeros(3)])
    net.dict = nn.ParameterDict({"w": shared, "b": rt.zeros(1, 4)})
    assert list(net.state_dict()) == ["list.0", "list.1", "dict.w", "dict.b"]
    assert net.list[0] is shared is net.dict["w"] and net.list[1].requires_grad
    assert len(list(net.parameters())) == 3
    net.list.append(rt.ones(1))
    assert [p.numel() for p in net.list] == [2, 3, 1]
    assert repr(net.dict) == (
        "ParameterDict(\n  (w): Parameter of float32, shape (2,)\n  (b): Parameter of float32, shape (1, 4)\n)"
    )
    with pytest.raises(TypeError, match="ParameterList holds parameters, not ReLU"):
        net.list.append(nn.ReLU())
