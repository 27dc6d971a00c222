"""Sequences of different lengths, padded and packed, and recurrent layers over them."""

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn
from perflab.runtime.nn.utils.rnn import (
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)

A, B, C = rt.tensor([1.0, 2.0, 3.0]), rt.tensor([4.0]), rt.tensor([5.0, 6.0])


def test_padding() -> None:
    rows = [[1, 2, 3], [4, -1, -1], [5, 6, -1]]
    assert pad_sequence([A, B, C], batch_first=True, padding_value=-1.0).tolist() == rows
    assert pad_sequence([A, B], padding_side="left").tolist() == [[1, 0], [2, 0], [3, 4]]
    assert [s.tolist() for s in unpad_sequence(pad_sequence([A, B]), [3, 1])] == [[1, 2, 3], [4]]
    with pytest.raises(rt.ShapeError, match="features"):
        pad_sequence([rt.ones(1, 2), rt.ones(1, 3)])
    with pytest.raises(rt.ArgumentError, match="at least one"):
        pad_sequence([])


def test_a_packed_batch_goes_step_by_step() -> None:
    packed = pack_sequence([A, C, B])
    assert packed.data.tolist() == [1, 5, 4, 2, 6, 3] and packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.runs() == [(0, 1, 3), (3, 1, 2), (5, 1, 1)]
    mixed = pack_sequence([B, A, C], enforce_sorted=False)
    assert mixed.data.tolist() == packed.data.tolist() and mixed.unsorted_indices.tolist() == [2, 0, 1]
    assert [s.tolist() for s in unpack_sequence(mixed)] == [[4], [1, 2, 3], [5, 6]]
    padded, lengths = pad_packed_sequence(mixed, batch_first=True, padding_value=9.0, total_length=4)
    assert padded.tolist() == [[4, 9, 9, 9], [1, 2, 3, 9], [5, 6, 9, 9]] and lengths.tolist() == [1, 3, 2]


def test_lengths_that_do_not_fit_are_refused() -> None:
    batch = pad_sequence([A, B])
    with pytest.raises(rt.ArgumentError, match="do not fall: sort them, or pass enforce_sorted=False"):
        pack_padded_sequence(batch, [1, 3])
    with pytest.raises(rt.ArgumentError, match=r"lengths are 1 to 3, not \[4, 1\]"):
        pack_padded_sequence(batch, [4, 1])
    with pytest.raises(rt.ShapeError, match="3 lengths for 2 sequences"):
        pack_padded_sequence(batch, [3, 2, 1])
    with pytest.raises(rt.ArgumentError, match="total_length 2 is less than the largest length, 3"):
        pad_packed_sequence(pack_sequence([A, B]), total_length=2)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_packed_batch_is_each_sequence_by_itself(kind: str, bidirectional: bool) -> None:
    rt.manual_seed(0)
    layer = getattr(nn, kind)(2, 3, num_layers=2, bidirectional=bidirectional, dtype=rt.float64)
    sequences = [rt.randn(n, 2, dtype=rt.float64).requires_grad_() for n in (2, 5, 1, 5)]
    out, state = layer(pack_sequence(sequences, enforce_sorted=False))
    together = unpack_sequence(out)
    rt.stack([(t * t).sum() for t in together]).sum().backward()
    grads = [s.grad.numpy().copy() for s in sequences]
    for i, sequence in enumerate(sequences):
        sequence.grad = None
        alone, last = layer(sequence)
        np.testing.assert_allclose(together[i].detach().numpy(), alone.detach().numpy(), rtol=1e-10)
        for part, whole in zip(last if kind == "LSTM" else (last,), state if kind == "LSTM" else (state,), strict=True):
            np.testing.assert_allclose(whole[:, i].detach().numpy(), part.detach().numpy(), rtol=1e-10)
        (alone * alone).sum().backward()
        np.testing.assert_allclose(grads[i], sequence.grad.numpy(), rtol=1e-8)


def test_a_packed_batch_takes_first_states_in_the_order_of_the_sequences() -> None:
    layer = nn.GRU(1, 2)
    sequences = [rt.ones(1, 1), rt.ones(3, 1)]
    first = rt.randn(1, 2, 2)
    _, state = layer(pack_sequence(sequences, enforce_sorted=False), first)
    for i in range(2):
        assert state[0, i].tolist() == pytest.approx(layer(sequences[i], first[:, i])[1][0].tolist())
    with pytest.raises(rt.ShapeError, match=r"packed data is \(elements, 1\)"):
        layer(pack_sequence([rt.ones(2, 3)]))
