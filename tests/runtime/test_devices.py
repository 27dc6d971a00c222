"""Tensors on a device other than the CPU: where results are, what is refused, what moves."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import perflab.runtime as rt
from perflab.runtime import nn, optim

SIM = "sim:0"


def test_a_device_equals_its_name() -> None:
    d = rt.device(SIM)
    assert d == "sim:0" == d and d == "sim" and d == rt.device("sim", 0) and d != "cpu" and d != rt.device("sim:1")
    assert repr(d) == "device(type='sim', index=0)" and (d.type, d.index) == ("sim", 0)
    assert pickle.loads(pickle.dumps(d)) == d and len({d, rt.device("sim")}) == 1


def test_results_are_where_the_inputs_are() -> None:
    x = rt.tensor([[1.0, 2.0], [3.0, 4.0]], device=SIM)
    for made in (x + 1, x @ x, x.T, x[0], x.sum(), x.max(0).values, x > 2, x[x > 2], rt.zeros_like(x), x.new_ones(3)):
        assert made.device == SIM
    assert (x @ x).tolist() == [[7.0, 10.0], [15.0, 22.0]]
    assert (x > 2).any() and int(x.sum()) == 10 and x[x > 2].tolist() == [3.0, 4.0]
    assert repr(x[0]) == "tensor([1., 2.], device='sim:0')"
    assert np.asarray(x).tolist() == x.cpu().numpy().tolist() == x.tolist()
    assert not x.is_cpu and x.cpu().is_cpu and x.get_device() == 0


def test_makers_and_random_numbers_take_a_device() -> None:
    for make in (rt.arange, rt.zeros, rt.eye, rt.ones, rt.randperm):
        made = make(3, device=SIM)
        assert made.device == SIM and made.shape[0] == 3
    values = []
    for device in ("cpu", SIM):
        rt.manual_seed(3)
        drawn = [
            rt.rand(5, device=device),
            rt.randn(5, device=device, dtype=rt.bfloat16),
            rt.randint(0, 9, (5,), device=device),
            rt.bernoulli(rt.full((5,), 0.5, device=device)),
            nn.functional.dropout(rt.ones(5, device=device)),
            rt.empty(5, device=device).normal_(),
        ]
        assert all(d.device == device for d in drawn)
        values.append([d.tolist() for d in drawn])
    assert values[0] == values[1]  # a seed gives the same numbers everywhere


def test_tensors_on_two_devices_are_refused_by_name() -> None:
    x = rt.ones(3, device=SIM)
    for call in (lambda: x + rt.ones(3), lambda: rt.ones(3) * x, lambda: rt.concat([x, rt.ones(3)])):
        with pytest.raises(rt.DeviceError, match=r"must be on one device, but are on sim:0 and cpu"):
            call()
    with pytest.raises(rt.DeviceError, match="sim:0 and sim:1"):
        x + rt.ones(3, device="sim:1")
    with pytest.raises(rt.DeviceError, match="add_: the tensors"):
        rt.ones(3).add_(x)
    with pytest.raises(rt.DeviceError, match="grad on cpu for a tensor on sim:0"):
        x.grad = rt.ones(3)
    with pytest.raises(BufferError, match="the memory is on sim:0: use cpu"):
        memoryview(x)  # type: ignore[arg-type]
    with pytest.raises(BufferError, match="the memory is on sim:0"):
        np.from_dlpack(x)


def test_a_tensor_of_no_dimensions_on_the_cpu_counts_as_a_number() -> None:
    x, two = rt.ones(3, device=SIM, requires_grad=True), rt.tensor(2.0, requires_grad=True)
    y = x * two
    assert y.device == SIM and y.tolist() == [2.0, 2.0, 2.0]
    y.sum().backward()
    assert x.grad is not None and x.grad.device == SIM and x.grad.tolist() == [2.0, 2.0, 2.0]
    assert two.grad is not None and two.grad.device == "cpu" and two.grad.item() == 3.0


def test_moves_between_devices_carry_gradients() -> None:
    a = rt.tensor([1.0, 2.0], requires_grad=True)
    there = a.to(SIM)
    assert there.to(SIM) is there and there.device == SIM
    back = (there * there).to("sim:1").cpu()
    assert back.tolist() == [1.0, 4.0]
    back.sum().backward()
    assert a.grad is not None and a.grad.device == "cpu" and a.grad.tolist() == [2.0, 4.0]
    (second,) = rt.autograd.grad(rt.autograd.grad((a.to(SIM) ** 3).sum(), a, create_graph=True)[0].sum(), a)
    assert second.tolist() == [6.0, 12.0]
    x = rt.arange(6, device=SIM).reshape(2, 3).T
    assert x.to("cpu", rt.float64).tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert x.to(rt.ones(1)).dtype is rt.float32 and x.to(rt.ones(1)).is_cpu


def test_values_are_copied_into_place_across_devices() -> None:
    host, there = rt.zeros(2, 2), rt.zeros(2, 2, device=SIM)
    there.T.copy_(rt.tensor([[1.0, 2.0], [3.0, 4.0]]))
    host.copy_(there.double())
    assert host.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    there[0] = 7
    there[:, 1] += there[:, 0]
    there.mul_(2)
    assert there.tolist() == [[14.0, 28.0], [4.0, 12.0]]
    rt.add(there, 1, out=there)
    assert there.tolist() == [[15.0, 29.0], [5.0, 13.0]]


def test_in_place_changes_have_gradients() -> None:
    grads = []
    for device in ("cpu", SIM):
        x = rt.arange(4.0, device=device, requires_grad=True)
        y = x * 2
        y[1:3] *= x[2:]
        y.sin_()
        y.sum().backward()
        assert x.grad is not None
        grads.append(x.grad.cpu())
    assert (grads[0] == grads[1]).all()


@pytest.mark.parametrize("make", [optim.SGD, optim.AdamW, optim.RMSprop, optim.Adagrad], ids=lambda m: m.__name__)
def test_a_model_learns_the_same_there(make: type[optim.Optimizer]) -> None:
    losses: list[list[float]] = []
    for device in ("cpu", SIM):
        rt.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.2), nn.Linear(8, 3)).to(device)
        optimizer = make(model.parameters(), lr=0.01)
        x, y = rt.randn(16, 4).to(device), rt.randint(0, 3, (16,)).to(device)
        losses.append([])
        for _ in range(5):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses[-1].append(loss.item())
        assert {p.device for p in model.parameters()} == {rt.device(device)}
        assert all(isinstance(v, int) or v.device == device for s in optimizer.state.values() for v in s.values())
    assert losses[0] == losses[1] and len(set(losses[0])) == 5


def test_state_moves_with_its_module(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to(SIM)
    weight = model[0].weight
    model(rt.ones(3, 2, device=SIM)).sum().backward()
    assert all(t.device == SIM for t in model.state_dict().values())
    rt.save(model.state_dict(), tmp_path / "model.safetensors")
    assert all(t.is_cpu for t in rt.load(tmp_path / "model.safetensors").values())
    state = rt.load(tmp_path / "model.safetensors", map_location=SIM)
    assert all(t.device == SIM for t in state.values())
    assert model.cpu() is model and model[0].weight is weight and weight.is_cpu
    assert weight.grad is not None and weight.grad.is_cpu
    model.load_state_dict(state)
    assert weight.is_cpu and weight.tolist() == state["0.weight"].tolist()
    for made in (copy.deepcopy(state["0.weight"]), pickle.loads(pickle.dumps(state["0.weight"]))):
        assert made.device == SIM and made.tolist() == weight.tolist()


def test_an_optimizer_s_state_comes_to_its_parameters() -> None:
    p, q = rt.ones(2, requires_grad=True), rt.ones(2, device=SIM, requires_grad=True)
    first, second = optim.Adam([p]), optim.Adam([q])
    p.grad, q.grad = rt.ones(2), rt.ones(2, device=SIM)
    first.step()
    second.load_state_dict(first.state_dict())
    assert second.state[q]["exp_avg"].device == SIM
    second.step()
    assert second.state[q]["step"] == 2
    second.state[q]["exp_avg"] = second.state[q]["exp_avg"].cpu()
    with pytest.raises(rt.DeviceError, match="a parameter is on sim:0, its gradient or state on cpu"):
        second.step()


def test_functions_of_our_own_and_checkpoints_run_there() -> None:
    class Double(rt.autograd.Function):
        @staticmethod
        def forward(ctx, a):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            (a,) = ctx.saved_tensors
            return grad * a * 2

    x = rt.tensor([1.0, 3.0], device=SIM, requires_grad=True)
    Double.apply(rt.utils.checkpoint.checkpoint(lambda a: a + a, x, use_reentrant=False)).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [8.0, 24.0] and x.grad.device == SIM
