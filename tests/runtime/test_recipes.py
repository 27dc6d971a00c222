"""docs/recipes.md does what it says."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn, optim

TEXT = (Path(__file__).parents[2] / "docs/recipes.md").read_text(encoding="utf-8")


def recipe(heading: str, **names: Any) -> dict[str, Any]:
    """The names that a recipe's code defines, given the imports and these."""
    section = TEXT.split(f"## {heading}\n", 1)[1].split("\n## ")[0]
    for text in (TEXT.split("\n## ")[0], section):
        (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        exec(code, names)
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
