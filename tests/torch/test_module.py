"""Modules beside PyTorch's: the same names in the same order, hooks in the same order, the same looks."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt

pytestmark = pytest.mark.torch


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def make(lib: Any) -> Any:
    nn = lib.nn

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.later = None
            self.body = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4, bias=False))
            self.scale = nn.Parameter(lib.ones(4))
            self.register_buffer("seen", lib.zeros(2))
            self.register_buffer("cache", lib.zeros(1), persistent=False)
            self.register_parameter("nothing", None)
            self.shared = self.body[0]
            self.many = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(4, 4)])
            self.named = nn.ModuleDict({"out": nn.Linear(4, 2), "act": nn.Tanh()})
            self.lists = nn.ParameterList([lib.ones(1), lib.zeros(2)])
            self.dicts = nn.ParameterDict({"b": lib.ones(3)})
            self.body.append(nn.Tanh()).insert(1, nn.ReLU())
            del self.many[0]

        def forward(self, x: Any) -> Any:
            return self.named["out"](self.many[1](self.body(x) * self.scale))

    return Net()


def test_names_are_the_same(torch: Any) -> None:
    def names(net: Any) -> list[Any]:
        return [
            [name for name, _ in net.named_parameters()],
            [name for name, _ in net.named_parameters("p", remove_duplicate=False)],
            [name for name, _ in net.named_parameters(recurse=False)],
            [name for name, _ in net.named_buffers()],
            [name for name, _ in net.named_modules()],
            [name for name, _ in net.named_modules(prefix="m", remove_duplicate=False)],
            [name for name, _ in net.named_children()],
            list(net.state_dict()),
            list(net.state_dict(prefix="net.")),
            [tuple(p.shape) for p in net.parameters()],
            [type(m).__name__ for m in net.modules()],
        ]

    ours, theirs = make(rt), make(torch)
    assert names(ours) == names(theirs)
    ours.scale, theirs.scale = None, None
    ours.later, theirs.later = rt.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    assert names(ours) == names(theirs)


def test_looks_are_the_same(torch: Any) -> None:
    def without_parameters(text: str) -> list[str]:
        return [
            line for line in text.splitlines() if "Parameter containing" not in line and "): Parameter of" not in line
        ]

    assert without_parameters(repr(make(rt))) == without_parameters(repr(make(torch)))


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_hooks_run_in_the_same_order(torch: Any) -> None:
    def run(lib: Any) -> list[Any]:
        net, log = make(lib), []
        for name, module in net.named_modules():
            if not list(module.children()):
                module.register_forward_pre_hook(lambda m, args, name=name: log.append(("pre", name, len(args))))
                module.register_forward_hook(lambda m, args, out, name=name: log.append(("forward", name)))
                module.register_full_backward_pre_hook(lambda m, out, name=name: log.append(("back", name, len(out))))
                module.register_full_backward_hook(
                    lambda m, into, out, name=name: log.append(("backward", name, [g is None for g in into], len(out)))
                )
        net.register_forward_hook(lambda m, args, out: log.append("root"), prepend=True)
        x = lib.tensor(np.ones((2, 3), np.float32))
        net(x).sum().backward()
        log.append("again")
        net(x.requires_grad_()).sum().backward()
        return log

    assert run(rt) == run(torch)


def test_gradients_that_backward_hooks_see_and_change(torch: Any) -> None:
    def run(lib: Any) -> list[Any]:
        layer, seen = lib.nn.Linear(3, 2), []
        with lib.no_grad():
            layer.weight.copy_(lib.tensor(np.arange(6, dtype=np.float32).reshape(2, 3)))
        layer.register_full_backward_pre_hook(lambda m, out: (out[0] * 2,))
        layer.register_full_backward_hook(lambda m, into, out: seen.append((into[0].tolist(), out[0].tolist())))
        layer.register_full_backward_hook(lambda m, into, out: (into[0] + 1,))
        x = lib.tensor(np.ones((1, 3), np.float32), requires_grad=True)
        (layer(x) * 3).sum().backward()
        return [seen, x.grad.tolist(), layer.weight.grad.tolist()]

    assert run(rt) == run(torch)
