"""docs/recipes.md does what it says."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn, optim

TEXT = (Path(__file__).parents[2] / "docs/recipes.md").read_text(encoding="utf-8")


def code(heading: str) -> str:
    """A recipe's code, "" for the imports."""
    section = TEXT.split(f"## {heading}\n", 1)[1] if heading else TEXT
    (found,) = re.findall(r"```python\n(.*?)```", section.split("\n## ")[0], re.DOTALL)
    return str(found)


def recipe(heading: str, **names: Any) -> dict[str, Any]:
    """The names that a recipe's code defines, given the imports and these."""
    for text in (code(""), code(heading)):
        exec(text, names)
    return names


def start() -> tuple[nn.Module, optim.Optimizer]:
    rt.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    return model, optim.SGD(model.parameters(), lr=0.5, momentum=0.9)


def test_accumulated_gradients_are_those_of_the_whole_batch() -> None:
    x, y = rt.randn(10, 4, generator=rt.Generator().manual_seed(1)), rt.randint(3, (10,))
    found = []
    for part_size in (10, 4, 1):
        model, optimizer = start()
        train = recipe("Gradient accumulation", model=model, optimizer=optimizer)["train_on_parts"]
        for _ in range(3):
            train((x, y), part_size)
        found.append(nn.utils.parameters_to_vector(model.parameters()).detach().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-5, atol=1e-6)
    assert not np.allclose(found[0], nn.utils.parameters_to_vector(start()[0].parameters()).detach().numpy())


def test_a_batch_that_does_not_fit_is_halved_until_it_does() -> None:
    """In a process that may reserve 500 MiB; one layer's values of the whole batch are 256 MiB."""
    program = f"""{code("")}
rt.memory.set_per_process_memory_fraction((500 << 20) / rt.memory.mem_get_info()[1])
model = nn.Sequential(nn.Linear(64, 4096), nn.ReLU(), nn.Linear(4096, 10))
optimizer = optim.SGD(model.parameters(), lr=0.1)
{code("Gradient accumulation")}
{code("A batch that does not fit")}
batch = rt.randn(16384, 64), rt.randint(10, (16384,))
before = model[0].weight.detach().numpy().copy()
size = train_on_halves(batch, 16384)
refused = rt.memory.memory_stats()["num_ooms"]
print(size < 16384, 16384 % size, refused > 0, bool((model[0].weight.detach().numpy() != before).any()))
print(train_on_halves(batch, size) == size, rt.memory.memory_stats()["num_ooms"] == refused)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert ended.stdout.split() == ["True", "0", "True", "True", "True", "True"]


def test_training_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    def run(epochs: int, scheduler: Any, model: nn.Module, optimizer: optim.Optimizer) -> list[float]:
        losses = []
        for _ in range(epochs):
            loss = (model(rt.randn(5, 4)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
        return losses

    model, optimizer = start()
    scheduler = optim.lr_scheduler.StepLR(optimizer, 2)
    names = recipe("Saving and going on", model=model, optimizer=optimizer)
    run(3, scheduler, model, optimizer)
    names["save_checkpoint"](tmp_path / "state", 3, scheduler)
    wanted = run(3, scheduler, model, optimizer)

    rt.manual_seed(99)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 2)
    names = recipe("Saving and going on", model=model, optimizer=optimizer)
    assert names["load_checkpoint"](tmp_path / "state", scheduler) == 3
    assert run(3, scheduler, model, optimizer) == pytest.approx(wanted, rel=1e-6)
