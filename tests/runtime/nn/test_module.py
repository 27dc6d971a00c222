"""Modules: what becomes a part, what is done to all parts, copies, and how they look."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.scale = nn.Parameter(rt.ones(2))
        self.register_buffer("steps", rt.tensor(4))
        self.register_buffer("mean", rt.zeros(2), persistent=False)
        self.register_parameter("shift", None)

    def forward(self, x: rt.Tensor) -> Any:
        return self.inner(x) * self.scale - self.mean


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.twin = self.block
        self.head = nn.Linear(2, 1)

    def forward(self, x: rt.Tensor) -> Any:
        return self.head(self.block(x))


def names(pairs: Any) -> list[str]:
    return [name for name, _ in pairs]


# --- parts


def test_names_with_prefix_and_duplicates() -> None:
    net = Net()
    assert names(net.named_modules()) == ["", "block", "block.inner", "head"]
    assert names(net.named_modules(prefix="net")) == ["net", "net.block", "net.block.inner", "net.head"]
    assert names(net.named_modules(remove_duplicate=False)) == [
        *("", "block", "block.inner", "twin", "twin.inner", "head")
    ]
    assert names(net.named_parameters()) == [
        *("block.scale", "block.inner.weight", "block.inner.bias", "head.weight", "head.bias")
    ]
    assert names(net.named_parameters(remove_duplicate=False))[3:6] == [
        "twin.scale",
        "twin.inner.weight",
        "twin.inner.bias",
    ]
    assert names(net.block.named_parameters("b", recurse=False)) == ["b.scale"]
    assert names(net.named_buffers()) == ["block.steps", "block.mean"]
    assert [b.tolist() for b in net.buffers()] == [4, [0, 0]]
    assert list(net.buffers(recurse=False)) == []
    assert names(net.named_children()) == ["block", "head"]
    seen: set[nn.Module] = set()
    assert len(list(net.named_modules(seen))) == len(seen) == 4
    assert list(net.named_modules(seen)) == []


def test_parts_by_path() -> None:
    net = Net()
    assert net.get_submodule("block.inner") is net.block.inner and net.get_submodule("") is net
    assert net.get_parameter("block.scale") is net.block.scale
    assert net.get_buffer("block.steps") is net.block.steps
    for find, path, message in (
        (net.get_submodule, "block.outer", "'block.outer': Block has no module 'outer'"),
        (net.get_submodule, "block.scale", "Block has no module 'scale'"),
        (net.get_parameter, "block.mean", "Block has no parameter 'mean'"),
        (net.get_buffer, "head.weight", "Linear has no buffer 'weight'"),
    ):
        with pytest.raises(AttributeError, match=message):
            find(path)


def test_assignments_make_parts_and_keep_their_roles() -> None:
    block = Block()
    with pytest.raises(
        TypeError, match="'scale' of Block is a parameter: it must be a Parameter or None, not Tensor: wrap"
    ):
        block.scale = rt.ones(2)
    with pytest.raises(TypeError, match="'shift' of Block is a parameter"):
        block.shift = rt.ones(2)
    with pytest.raises(TypeError, match="'inner' of Block is a module: it must be a Module or None, not float"):
        block.inner = 1.0
    with pytest.raises(TypeError, match="'mean' of Block is a buffer: it must be a Tensor or None, not list"):
        block.mean = [1.0]
    assert names(block.named_parameters()) == ["scale", "inner.weight", "inner.bias"]
    block.shift = nn.Parameter(rt.ones(2))
    block.mean = rt.ones(2)
    block.scale = None
    assert names(block.named_parameters()) == ["shift", "inner.weight", "inner.bias"]
    assert names(block.named_buffers()) == ["steps", "mean"] and block.mean.tolist() == [1, 1]
    block.inner = nn.Parameter(rt.ones(1))
    assert names(block.named_parameters()) == ["shift", "inner"] and not list(block.children())
    del block.inner, block.steps
    assert names(block.named_parameters()) == ["shift"] and names(block.named_buffers()) == ["mean"]
    block.note = rt.ones(1)
    assert "note" not in block.state_dict()


def test_registration_refuses_what_cannot_be() -> None:
    block = Block()
    for error, message, call in (
        (TypeError, "must be a Parameter or None, not Tensor", lambda: block.register_parameter("w", rt.ones(1))),
        (TypeError, "must be a Module or None, not int", lambda: block.register_module("m", 1)),
        (TypeError, "must be a Tensor or None, not int", lambda: block.register_buffer("b", 1)),
        (TypeError, "is a string, not int", lambda: block.register_buffer(1, rt.ones(1))),
        (rt.ArgumentError, r"'a\.b' does not do", lambda: block.register_module("a.b", None)),
        (rt.ArgumentError, "'' does not do", lambda: block.register_module("", None)),
        (rt.ArgumentError, "Block has an attribute 'forward' already", lambda: block.register_buffer("forward", None)),
        (rt.ArgumentError, "Block has an attribute 'scale' already", lambda: block.add_module("scale", None)),
        (TypeError, "Parameter takes a Tensor, not list", lambda: nn.Parameter([1.0])),
        (AttributeError, "'Block' object has no attribute 'missing'", lambda: block.missing),
    ):
        with pytest.raises(error, match=message):
            call()  # type: ignore[no-untyped-call]

    class Early(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter(rt.ones(1))

    with pytest.raises(AttributeError, match=r"Early.__init__ assigns 'weight' before it calls super\(\).__init__\(\)"):
        Early()


def test_a_module_that_holds_itself() -> None:
    net = nn.Sequential(nn.Linear(1, 1))
    net.self = net
    net[0].parent = net
    assert names(net.named_modules()) == ["", "0"]
    assert list(net.state_dict()) == ["0.weight", "0.bias"]
    net.load_state_dict(net.state_dict())
    net.apply(lambda m: None).train().double()
    assert "..." in repr(net)
    assert copy.deepcopy(net).self[0].parent.self is not net


# --- what is done to all parts


def test_conversions_keep_the_parameters_the_objects_they_are() -> None:
    net = Net()
    net(rt.ones(1, 3)).sum().backward()
    weight, version = net.block.inner.weight, net.head.weight.grad
    assert version is not None
    assert net.double() is net and net.block.inner.weight is weight
    assert {p.dtype for p in net.parameters()} == {rt.float64}
    assert weight.grad is not None and weight.grad.dtype is rt.float64
    assert net.block.mean.dtype is rt.float64 and net.block.steps.dtype is rt.int64
    assert net(rt.ones(1, 3, dtype=rt.float64)).dtype is rt.float64
    assert net.to(rt.float32).block.mean.dtype is rt.float32
    assert net.to(rt.ones(1, dtype=rt.float64)).float().head.bias.dtype is rt.float32
    assert net.to("cpu", rt.float64).head.bias.dtype is rt.float64
    assert net.type(rt.float32).block.steps.dtype is rt.float32
    assert net.half().head.bias.dtype is rt.float16 and net.bfloat16().block.mean.dtype is rt.bfloat16
    assert net.to("cpu") is net.cpu() is net
    with pytest.raises(TypeError, match="parameters are floats, int64 is no such dtype"):
        net.to(rt.int64)
    with pytest.raises(rt.ArgumentError, match="device 'gpu' is not there"):
        net.to("gpu")
    with pytest.raises(rt.ArgumentError, match=r"train\(\) takes True or False, not 3"):
        net.train(3)  # type: ignore[arg-type]


def test_data_is_the_memory_without_history() -> None:
    weight = nn.Parameter(rt.ones(2))
    weight.data.mul_(3)
    assert weight.tolist() == [3, 3] and not weight.data.requires_grad
    weight.data = rt.tensor([1.0, 2.0, 3.0])
    assert weight.shape == (3,) and weight.requires_grad
    with pytest.raises(rt.AutogradError, match="must be floats, this one is int64"):
        weight.data = rt.tensor([1])
    with pytest.raises(TypeError, match="data must be a Tensor, not list"):
        weight.data = [1.0]  # type: ignore[assignment]


def test_copies_and_pickles() -> None:
    net = Net().eval()
    net.head.weight.requires_grad_(False)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.twin is other.block and not other.training
        assert type(other.head.weight) is nn.Parameter and not other.head.weight.requires_grad
        x = rt.ones(1, 3)
        assert other(x).tolist() == net(x).tolist()
        assert other.block.scale.data_ptr() != net.block.scale.data_ptr()
        other(x).sum().backward()
        assert other.block.scale.grad is not None and net.block.scale.grad is None


def test_tensors_are_copied_and_pickled() -> None:
    leaf = rt.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    leaf.grad = rt.ones(2, 2)
    leaf.note = "kept"  # type: ignore[attr-defined]
    copied = copy.deepcopy(leaf)
    assert copied.tolist() == leaf.tolist() and copied.requires_grad and copied.note == "kept"
    assert copied.grad is not None and copied.grad.data_ptr() != leaf.grad.data_ptr()
    again = pickle.loads(pickle.dumps(leaf.detach().T))
    np.testing.assert_array_equal(again.numpy(), leaf.detach().numpy().T)
    assert pickle.loads(pickle.dumps(rt.tensor(5))).item() == 5
    with pytest.raises(rt.AutogradError, match="deepcopy of what MulBackward0 computed"):
        copy.deepcopy(leaf * 2)


# --- looks


def test_repr() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Tanh()
            self.nothing: nn.Module | None = nn.Tanh()
            self.nothing = None

        def extra_repr(self) -> str:
            return "two\nlines"

    assert repr(Odd()) == "Odd(\n  two\n  lines\n  (layer): Tanh()\n  (nothing): None\n)"
    assert repr(nn.Module()) == "Module()"
    assert repr(nn.Linear(1, 2)) == "Linear(in_features=1, out_features=2, bias=True)"
