"""Hooks of modules: their order, what they may replace, and how they go."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn


class Scale(nn.Module):
    """(x * 3, x * 5), or only the first."""

    def forward(self, x: rt.Tensor, both: bool = False) -> Any:
        return (x * 3, x * 5) if both else x * 3


def test_forward_hooks_run_in_order_and_may_replace() -> None:
    scale, calls = Scale(), []
    scale.register_forward_pre_hook(lambda m, args: calls.append("pre"))
    scale.register_forward_pre_hook(lambda m, args: calls.append("first"), prepend=True)
    scale.register_forward_pre_hook(lambda m, args: args[0] + 1)
    scale.register_forward_hook(lambda m, args, out: calls.append(("post", args[0].item(), out.item())))
    handle = scale.register_forward_hook(lambda m, args, out: out * 10)
    assert scale(rt.tensor(1.0)).item() == 60
    assert calls == ["first", "pre", ("post", 2, 6)]
    handle.remove()
    handle.remove()
    assert scale(rt.tensor(1.0)).item() == 6
    with scale.register_forward_hook(lambda m, args, out: out * 0):
        assert scale(rt.tensor(1.0)).item() == 0
    assert scale(rt.tensor(1.0)).item() == 6


def test_forward_hooks_with_keyword_arguments() -> None:
    scale, calls = Scale(), []
    scale.register_forward_pre_hook(lambda m, args, kwargs: (args, {"both": True}), with_kwargs=True)
    scale.register_forward_hook(lambda m, args, kwargs, out: calls.append((kwargs, len(out))), with_kwargs=True)
    scale(rt.tensor(1.0), both=False)
    assert calls == [({"both": True}, 2)]
    scale.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(rt.ArgumentError, match=r"a forward pre-hook with kwargs gives None or \(args, kwargs\)"):
        scale(rt.tensor(1.0))


def test_always_call_reaches_hooks_when_forward_raises() -> None:
    module, calls = nn.Module(), []
    module.register_forward_hook(lambda m, args, out: calls.append("plain"))
    module.register_forward_hook(lambda m, args, out: calls.append(out), always_call=True)
    with pytest.raises(NotImplementedError):
        module(1)
    assert calls == [None]


def test_full_backward_hooks_see_the_gradients_of_inputs_and_outputs() -> None:
    scale, seen = Scale(), []
    scale.register_full_backward_pre_hook(lambda m, out: seen.append(("pre", out[0].item())))
    scale.register_full_backward_hook(lambda m, into, out: seen.append((into[0].item(), into[1], out[0].item())))
    x = rt.tensor(2.0, requires_grad=True)
    (scale(x, False) * 7).backward()
    assert seen == [("pre", 7), (21, None, 7)]
    assert x.grad is not None and x.grad.item() == 21


def test_full_backward_hooks_may_replace() -> None:
    scale = Scale()
    scale.register_full_backward_pre_hook(lambda m, out: (out[0] * 10, out[1]))
    scale.register_full_backward_hook(lambda m, into, out: (into[0] + 0.5, None))
    x = rt.tensor(1.0, requires_grad=True)
    a, b = scale(x, True)
    (a + b).backward()
    assert x.grad is not None and x.grad.item() == 35.5
    scale.register_full_backward_hook(lambda m, into, out: (into[0],) * 3)
    with pytest.raises(rt.AutogradError, match="Scale: a backward hook gave 3 gradients in the place of 2"):
        sum(scale(x, True)).backward()


def test_a_backward_hook_of_a_module_whose_inputs_need_no_gradient() -> None:
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, into, out: seen.append((into, out[0].tolist())))
    layer(rt.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1]])]
    assert layer.weight.grad is not None
    with rt.no_grad():
        layer(rt.ones(1, 2))
    assert len(seen) == 1
    layer.register_full_backward_hook(lambda m, into, out: (rt.ones(1, 2),))
    with pytest.raises(rt.AutogradError, match="a backward hook gave gradients of inputs that need none"):
        layer(rt.ones(1, 2)).sum().backward()


def test_gradients_of_parameters_are_the_same_under_hooks() -> None:
    x = rt.randn(4, 3, requires_grad=True)
    plain, watched = nn.Linear(3, 2), nn.Linear(3, 2)
    watched.load_state_dict(plain.state_dict())
    watched.register_full_backward_hook(lambda m, into, out: None)
    for layer in (plain, watched):
        (layer(x) ** 2).sum().backward()
    assert plain.weight.grad is not None and watched.weight.grad is not None
    np.testing.assert_array_equal(plain.weight.grad.numpy(), watched.weight.grad.numpy())


def test_hooks_around_state_dicts() -> None:
    net = nn.Sequential(nn.Linear(1, 1))
    calls: list[Any] = []
    net[0].register_state_dict_pre_hook(lambda m, prefix, keep_vars: calls.append((prefix, keep_vars)))
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update(version=rt.tensor(2)))
    state = net.state_dict()
    assert list(state) == ["0.weight", "0.bias", "version"] and calls == [("0.", False)]

    def rename(
        m: Any, state: Any, prefix: str, meta: Any, strict: bool, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        state.pop("version", None)
        if "0.old" in state:
            state["0.weight"] = state.pop("0.old")

    net.register_load_state_dict_pre_hook(rename)
    net[0].register_load_state_dict_post_hook(lambda m, keys: calls.append(keys))
    given = {"0.old": rt.full((1, 1), 5.0), "0.bias": rt.zeros(1), "version": rt.tensor(2)}
    assert net.load_state_dict(given) == ([], [])
    assert net[0].weight.item() == 5 and list(given) == ["0.old", "0.bias", "version"]
    assert calls[1] == ([], [])
