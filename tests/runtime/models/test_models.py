"""Five models learn: the loss that each must come to, from a fixed seed."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt

from .tasks import TASKS, digits

# Steps, and what the mean loss of the last twenty must be below. Chance is log(10) = 2.30 for digits.
GOALS = {"mlp": (150, 0.15), "cnn": (70, 0.35), "lstm": (250, 0.35), "transformer": (120, 2.1)}


@pytest.mark.parametrize("name", GOALS)
def test_models_learn(name: str) -> None:
    steps, goal = GOALS[name]
    rt.manual_seed(0)
    task = TASKS[name](rt)
    losses = [task.step(number) for number in range(steps)]
    assert np.mean(losses[-20:]) < goal < losses[0]


def test_the_mlp_tells_digits_apart() -> None:
    rt.manual_seed(0)
    task = TASKS["mlp"](rt)
    for number in range(300):
        task.step(number)
    images, labels = digits()
    with rt.no_grad():
        guesses = task.modules["model"](rt.tensor(images.reshape(-1, 64))).numpy().argmax(1)
    assert np.mean(guesses == labels) > 0.96


def test_the_generator_learns_where_the_data_lie() -> None:
    rt.manual_seed(0)
    task = TASKS["gan"](rt)
    losses = [task.step(number) for number in range(600)]
    made: Any = task.modules["generator"](rt.randn(4000, 4)).detach().numpy()
    assert made.mean() == pytest.approx(3, abs=0.3) and made.std() == pytest.approx(0.5, abs=0.25)
    assert np.mean(losses[-100:]) == pytest.approx(2, abs=0.2)  # hinges of a critic that cannot tell


def test_the_same_seed_gives_the_same_training() -> None:
    def run() -> list[float]:
        rt.manual_seed(3)
        task = TASKS["lstm"](rt)
        return [task.step(number) for number in range(5)]

    assert run() == run()
