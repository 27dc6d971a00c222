"""The same work in PyTorch and here: gradients, training step by step, and PyTorch's own traces."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.profiler import chrome
from perflab.profiler.analysis.averages import key_averages
from perflab.runtime import nn, optim

pytestmark = pytest.mark.torch


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for shape in shapes]


FORMULAS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "chain": (lambda lib, x, w, b: lib.softmax(lib.exp(lib.relu(x @ w + b) * 0.1) + x, -1) * x, [(4, 4), (4, 4), (4,)]),
    "broadcast": (lambda lib, a, b: a * b / (1.0 + b * b) - a, [(3, 1, 4), (2, 1)]),
    "views": (lambda lib, a: a.transpose(0, 2)[1:, ..., 0].reshape(-1) * 2.0, [(2, 3, 4)]),
    "reductions": (lambda lib, a: a.sum(dim=1, keepdim=True) * lib.amax(a, -1, keepdim=True), [(3, 5)]),
    "where": (lambda lib, a, b: lib.where(a > b, lib.tanh(a), lib.sigmoid(b)), [(3, 4), (4,)]),
    "batched matmul": (lambda lib, a, b: (a @ b).permute(0, 2, 1), [(5, 2, 3), (3, 4)]),
    "concat and split": (lambda lib, a, b: lib.cat([a, b * b], 0).split(3)[1] * 3.0, [(2, 3), (4, 3)]),
    "power": (lambda lib, a: (a * a + 1.0) ** 1.5, [(6,)]),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_gradients_agree(torch: Any, name: str) -> None:
    formula, shapes = FORMULAS[name]
    data = arrays(*shapes)
    ours = [rt.tensor(a, requires_grad=True) for a in data]
    theirs = [torch.tensor(a, requires_grad=True) for a in data]
    out, expected = formula(rt, *ours), formula(torch, *theirs)
    np.testing.assert_allclose(out.detach().numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    (weight,) = arrays(tuple(out.shape))
    (out * rt.tensor(weight)).sum().backward()
    (expected * torch.tensor(weight)).sum().backward()
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-9, atol=1e-11)  # type: ignore[union-attr]


OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "SGD": lambda lib, p: lib.SGD(p, lr=0.1),
    "SGD momentum": lambda lib, p: lib.SGD(p, lr=0.05, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "SGD nesterov": lambda lib, p: lib.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "AdamW": lambda lib, p: lib.AdamW(p, lr=0.01, weight_decay=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_agrees_step_by_step(torch: Any, name: str) -> None:
    ours = nn.Sequential(nn.Embedding(20, 6), nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 5))
    theirs = torch.nn.Sequential(
        torch.nn.Embedding(20, 6), torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 5)
    )
    theirs.load_state_dict({k: torch.tensor(v.detach().numpy().copy()) for k, v in ours.state_dict().items()})
    step, reference = OPTIMIZERS[name](optim, ours.parameters()), OPTIMIZERS[name](torch.optim, theirs.parameters())
    rng = np.random.default_rng(1)
    for _ in range(30):
        x, y = rng.integers(0, 20, 8), rng.integers(0, 5, 8)
        loss = nn.functional.cross_entropy(ours(rt.tensor(x)), rt.tensor(y))
        expected = torch.nn.functional.cross_entropy(theirs(torch.tensor(x)), torch.tensor(y))
        assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
        for optimizer, value in ((step, loss), (reference, expected)):
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_a_trace_of_torch_profiler_is_read(torch: Any, tmp_path: Path) -> None:
    from torch.profiler import ProfilerActivity, profile

    x = torch.randn(8, 8, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        for _ in range(3):
            (x @ x).relu().sum().backward()
    file = tmp_path / "torch.json"
    prof.export_chrome_trace(str(file))
    trace = chrome.read(file)
    trace.check()
    counts = {row.name: row.count for row in key_averages(trace).rows}
    reference = {e.key: e.count for e in prof.key_averages()}
    assert counts["aten::relu"] == reference["aten::relu"] == 3
    assert counts["aten::mm"] == reference["aten::mm"]
