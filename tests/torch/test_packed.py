"""Recurrent layers over packed sequences beside PyTorch's."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("lengths", [[6, 4, 4, 1], [4, 1, 6, 4]], ids=["sorted", "mixed"])
def test_outputs_states_and_gradients(kind: str, bidirectional: bool, lengths: list[int]) -> None:
    torch: Any = pytest.importorskip("torch")
    torch.manual_seed(0)
    theirs = getattr(torch.nn, kind)(3, 5, 2, bidirectional=bidirectional)
    ours = getattr(rt.nn, kind)(3, 5, 2, bidirectional=bidirectional)
    ours.load_state_dict({name: rt.tensor(value.numpy()) for name, value in theirs.state_dict().items()})
    rng = np.random.default_rng(0)
    batch, first = (rng.normal(size=shape).astype(np.float32) for shape in ((6, 4, 3), (2 + 2 * bidirectional, 4, 5)))
    found = []
    for library, layer in ((torch, theirs), (rt, ours)):
        x, h = library.tensor(batch, requires_grad=True), library.tensor(first, requires_grad=True)
        packed = library.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=lengths[0] == 6)
        out, state = layer(packed, (h, h) if kind == "LSTM" else h)
        padded, sizes = library.nn.utils.rnn.pad_packed_sequence(out, padding_value=-1.0, total_length=7)
        states = state if kind == "LSTM" else (state,)
        (padded.pow(2).sum() + sum((s * s * s).sum() for s in states)).backward()
        values = [packed.data, packed.batch_sizes, padded, sizes, *states]
        found.append([v.detach().numpy() for v in values] + [t.grad.numpy() for t in (x, h, *layer.parameters())])
    for theirs_value, ours_value in zip(*found, strict=True):
        np.testing.assert_allclose(ours_value, theirs_value, rtol=1e-4, atol=1e-4)
