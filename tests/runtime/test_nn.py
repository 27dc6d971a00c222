"""Modules, layers and losses."""

import math
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.profiler import profile
from perflab.runtime import nn
from perflab.runtime.nn import functional as F


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.body = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2, bias=False))
        self.scale = nn.Parameter(rt.ones(1))
        self.register_buffer("shift", rt.zeros(2))

    def forward(self, x: rt.Tensor) -> Any:
        return self.body(self.embedding(x)) * self.scale + self.shift


def test_a_module_finds_its_parts_in_order() -> None:
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "scale",
        "embedding.weight",
        "body.0.weight",
        "body.0.bias",
        "body.2.weight",
    ]
    assert [name for name, _ in net.named_children()] == ["embedding", "body"]
    assert [name for name, _ in net.named_modules()] == ["", "embedding", "body", "body.0", "body.1", "body.2"]
    assert [name for name, _ in net.named_buffers()] == ["shift"]
    assert next(net.parameters()) is net.scale
    assert len(list(net.parameters(recurse=False))) == 1


def test_a_shared_parameter_counts_once_and_is_saved_under_both_names() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_parameters_are_leaves_that_share_their_data() -> None:
    data = rt.zeros(2)
    parameter = nn.Parameter(data)
    assert isinstance(parameter, rt.Tensor) and parameter.requires_grad and parameter.is_leaf
    assert parameter.data_ptr() == data.data_ptr()
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    assert repr(parameter) == "Parameter containing:\ntensor([0., 0.], requires_grad=True)"


def test_a_parameter_stays_itself_while_only_the_graph_holds_it() -> None:
    layer = nn.Linear(2, 1, bias=False)
    layer.weight.note = "kept"  # type: ignore[attr-defined]
    out = layer(rt.ones(1, 2))
    del layer
    _, (transpose, _) = out.grad_fn.next_functions  # type: ignore[union-attr]
    ((leaf, _),) = transpose.next_functions
    assert type(leaf.variable) is nn.Parameter and leaf.variable.note == "kept"
    out.sum().backward()
    assert leaf.variable.grad.tolist() == [[1, 1]]


def test_modes_and_gradients_reach_everything_below() -> None:
    net = Net()
    assert net.training and net.body[1].training
    assert not net.eval().body[1].training
    assert net.train().body[1].training
    net(rt.tensor([0, 1])).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all(p.grad is not None and not np.any(p.grad.numpy()) for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not net(rt.tensor([0])).requires_grad
    seen: list[str] = []
    net.apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Embedding", "Linear", "Tanh", "Linear", "Sequential", "Net"]


def test_repr_shows_the_tree() -> None:
    assert repr(Net()) == (
        "Net(\n"
        "  (embedding): Embedding(5, 4)\n"
        "  (body): Sequential(\n"
        "    (0): Linear(in_features=4, out_features=3, bias=True)\n"
        "    (1): Tanh()\n"
        "    (2): Linear(in_features=3, out_features=2, bias=False)\n"
        "  )\n"
        ")"
    )


def test_lists_of_modules() -> None:
    layers = nn.ModuleList([nn.ReLU(), nn.Tanh()]).append(nn.Sigmoid())
    assert len(layers) == 3 and [type(m).__name__ for m in layers] == ["ReLU", "Tanh", "Sigmoid"]
    assert type(layers[-1]) is nn.Sigmoid and len(layers[:2]) == 2
    chain = nn.Sequential(*layers)
    assert chain(rt.tensor(0.0)).item() == 0.5
    with pytest.raises(NotImplementedError, match=r"ModuleList defines no forward\(self, \.\.\.\)"):
        layers(1)


# --- state


def test_state_goes_out_and_in() -> None:
    first, second = Net(), Net()
    with rt.no_grad():
        first.shift.add_(1)
    state = first.state_dict()
    assert list(state) == ["scale", "shift", "embedding.weight", "body.0.weight", "body.0.bias", "body.2.weight"]
    assert not any(value.requires_grad for value in state.values())
    assert second.load_state_dict(state) == ([], [])
    x = rt.tensor([4, 0])
    assert first(x).tolist() == second(x).tolist()
    second.load_state_dict({name: value.numpy() for name, value in state.items()})
    version = second.scale._version
    second.load_state_dict(state)
    assert second.scale._version == version + 1


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    net = Net()
    state = {name: value.copy() + 1 for name, value in net.state_dict().items()}
    before = net.scale.item()
    del state["shift"]
    state["more"] = rt.zeros(1)
    with pytest.raises(rt.StateError, match="does not fit Net:\n    missing: shift\n    unexpected: more"):
        net.load_state_dict(state)
    assert net.scale.item() == before
    assert net.load_state_dict(state, strict=False) == (["shift"], ["more"])
    assert net.scale.item() == before + 1
    state["scale"] = rt.zeros(2, 2)
    with pytest.raises(rt.StateError, match=r"scale has shape \(2, 2\) there and \(1,\) here") as caught:
        net.load_state_dict(state, strict=False)
    assert isinstance(caught.value, RuntimeError | KeyError)


# --- layers


def test_linear() -> None:
    layer = nn.Linear(3, 2)
    x = rt.randn(5, 4, 3)
    want = x.numpy() @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()  # type: ignore[union-attr]
    np.testing.assert_allclose(layer(x).detach().numpy(), want, rtol=1e-5)
    np.testing.assert_allclose(F.linear(x, layer.weight, layer.bias).detach().numpy(), want, rtol=1e-5)
    assert nn.Linear(3, 2, bias=False).bias is None
    assert nn.Linear(3, 2, dtype=rt.float64).weight.dtype is rt.float64


def test_initial_values_are_pytorch_s() -> None:
    rt.manual_seed(0)
    layer, table = nn.Linear(100, 200), nn.Embedding(100, 50)
    assert np.abs(layer.weight.detach().numpy()).max() == pytest.approx(0.1, rel=0.01)
    assert np.abs(layer.bias.detach().numpy()).max() == pytest.approx(0.1, rel=0.05)  # type: ignore[union-attr]
    assert table.weight.detach().numpy().std() == pytest.approx(1, rel=0.05)
    zeros = nn.init.zeros_(nn.init.ones_(rt.empty(2)))
    assert zeros.tolist() == [0, 0]
    with pytest.raises(rt.ShapeError, match=r"at least 2 axes, this one has shape \(2,\)"):
        nn.init.kaiming_uniform_(zeros)


def test_embedding() -> None:
    table = nn.Embedding(4, 2)
    x = rt.tensor([[3, 0], [3, 3]])
    out = table(x)
    assert out.shape == (2, 2, 2)
    out.sum().backward()
    assert table.weight.grad is not None
    assert table.weight.grad.tolist() == [[1, 1], [0, 0], [0, 0], [3, 3]]
    assert F.embedding(x, table.weight).tolist() == out.tolist()
    with pytest.raises(rt.IndexOutOfRange, match="4"):
        table(rt.tensor([4]))


def test_activations() -> None:
    x = rt.tensor([[-1.0, 0.5]])
    for layer, function in (
        (nn.ReLU(), F.relu),
        (nn.Tanh(), F.tanh),
        (nn.Sigmoid(), F.sigmoid),
        (nn.Softmax(1), lambda x: F.softmax(x, 1)),
        (nn.LogSoftmax(dim=1), lambda x: F.log_softmax(x, dim=1)),
    ):
        assert layer(x).tolist() == function(x).tolist()
    assert repr(nn.Softmax(1)) == "Softmax(dim=1)"


# --- cross entropy


@pytest.mark.parametrize(("shape", "target"), [((3,), 2), ((4, 3), [0, 2, 1, 1]), ((2, 3, 2), [[0, 1], [2, 2]])])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(shape: tuple[int, ...], target: Any, reduction: str) -> None:
    logits = np.random.default_rng(0).normal(size=shape)
    axis = 1 if len(shape) > 1 else 0
    log_p = logits - np.log(np.exp(logits).sum(axis, keepdims=True))
    wanted = -np.take_along_axis(log_p, np.expand_dims(np.array(target), axis), axis).squeeze(axis)
    if reduction != "none":
        wanted = getattr(np, reduction)(wanted)
    x = rt.tensor(logits, requires_grad=True)
    loss = F.cross_entropy(x, rt.tensor(target), reduction=reduction)
    np.testing.assert_allclose(loss.detach().numpy(), wanted, rtol=1e-12)
    assert nn.CrossEntropyLoss(reduction=reduction)(x, rt.tensor(target)).tolist() == loss.tolist()
    loss.sum().backward()
    hot = np.moveaxis(np.eye(3)[np.array(target)], -1, axis)
    gradient = (np.exp(log_p) - hot) / (np.size(target) if reduction == "mean" else 1)
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), gradient, rtol=1e-10, atol=1e-12)


def test_cross_entropy_says_what_does_not_fit() -> None:
    x = rt.zeros(4, 3)
    with pytest.raises(rt.ShapeError, match=r"input \(4, 3\) needs a target of shape \(4,\), not \(3,\)"):
        F.cross_entropy(x, rt.zeros(3, dtype=int))
    with pytest.raises(rt.DTypeError, match="target holds float32, but class indices are int64 or int32"):
        F.cross_entropy(x, rt.zeros(4))
    with pytest.raises(rt.IndexOutOfRange, match="3"):
        F.cross_entropy(x, rt.tensor([0, 1, 2, 3]))
    with pytest.raises(rt.ArgumentError, match="reduction is mean, sum or none, not 'avg'"):
        F.cross_entropy(x, rt.zeros(4, dtype=int), reduction="avg")
    assert F.cross_entropy(x, rt.zeros(4, dtype=int)).item() == pytest.approx(math.log(3))


def test_a_trace_names_modules_and_composites() -> None:
    net = Net()
    x, y = rt.tensor([0, 1]), rt.tensor([1, 0])
    with profile() as recorder:
        F.cross_entropy(net(x), y).backward()
    trace = recorder.trace
    names = trace.name_of(trace.select("cpu_op"))
    assert "cross_entropy" in names
    rows = {name: row for row, name in zip(trace.select("cpu_op"), names, strict=True)}
    assert trace.args_of(rows["tanh"])["Module Hierarchy"] == "Net.body.1"
    assert trace.args_of(rows["take"])["Module Hierarchy"] == "Net.embedding"
    assert "Module Hierarchy" not in trace.args_of(rows["softmax_nll"])
