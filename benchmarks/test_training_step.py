"""A whole training step of six small models: forward, cross entropy, backward and optimizer."""

import pytest

from perflab.benchmarks.beside import Measure
from perflab.benchmarks.models import make_step

# At most these parts of PyTorch's time.
MODELS = {"mlp_tiny": 0.2, "mlp_medium": 0.9, "transformer": 0.6, "cnn": 0.8, "lstm": 0.45, "lstm_layer": 1.3}


@pytest.mark.parametrize("name", MODELS)
def test_step(measure: Measure, name: str) -> None:
    measure.beside(
        f"{name} training step",
        "step()",
        lambda library: {"step": make_step(library, name)},
        at_most=MODELS[name],
        collect=True,
    )
