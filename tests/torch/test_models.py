"""The five trainings beside PyTorch's, step by step, from the same weights."""

from typing import Any

import pytest

from perflab import runtime as rt

from ..runtime.models.tasks import TASKS

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("name", TASKS)
def test_trainings_agree_step_by_step(name: str) -> None:
    torch: Any = pytest.importorskip("torch")
    rt.manual_seed(1)
    ours, theirs = TASKS[name](rt), TASKS[name](torch)
    for part, module in ours.modules.items():
        state = {path: torch.tensor(value.numpy()) for path, value in module.state_dict().items()}
        theirs.modules[part].load_state_dict(state)
    for number in range(25):
        assert ours.step(number) == pytest.approx(theirs.step(number), rel=1e-4), f"step {number}"
