"""Tables of vectors, alone and in bags."""

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn
from perflab.runtime.nn import functional as F

TABLE = rt.tensor([[1.0, 10.0], [2.0, 0.0], [4.0, -10.0]])


def test_the_padding_row_is_zero_and_learns_nothing() -> None:
    table = nn.Embedding(4, 2, padding_idx=-1)
    assert table.padding_idx == 3 and table.weight[3].tolist() == [0, 0]
    assert np.all(table.weight.detach().numpy()[:3] != 0)
    table(rt.tensor([3, 1, 1])).sum().backward()
    assert table.weight.grad is not None
    assert table.weight.grad.tolist() == [[0, 0], [2, 2], [0, 0], [0, 0]]
    assert repr(table) == "Embedding(4, 2, padding_idx=3)"
    with pytest.raises(rt.IndexOutOfRange, match="padding_idx 4 is not one of the 4 rows"):
        nn.Embedding(4, 2, padding_idx=4)


def test_a_table_that_is_given_is_shared_and_frozen() -> None:
    table = nn.Embedding.from_pretrained(TABLE)
    assert not table.weight.requires_grad and table.weight.data_ptr() == TABLE.data_ptr()
    assert nn.Embedding.from_pretrained(TABLE, freeze=False).weight.requires_grad
    assert nn.EmbeddingBag.from_pretrained(TABLE, mode="max")(rt.tensor([[0, 2]])).tolist() == [[4, 10]]
    with pytest.raises(rt.ShapeError, match=r"a table has 2 axes, not \(2,\)"):
        nn.Embedding.from_pretrained(TABLE[0])


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("sum", [[3, 10], [0, 0], [8, -20]]),
        ("mean", [[1.5, 5], [0, 0], [4, -10]]),
        ("max", [[2, 10], [0, 0], [4, -10]]),
    ],
)
def test_bags_by_offsets(mode: str, wanted: list[list[float]]) -> None:
    indices = rt.tensor([0, 1, 2, 2])
    assert F.embedding_bag(indices, TABLE, rt.tensor([0, 2, 2]), mode=mode).tolist() == wanted
    ends = rt.tensor([0, 2, 2, 4])
    assert F.embedding_bag(indices, TABLE, ends, mode=mode, include_last_offset=True).tolist() == wanted


def test_bags_of_one_length() -> None:
    bags = rt.tensor([[0, 1], [2, 2]])
    assert F.embedding_bag(bags, TABLE).tolist() == [[1.5, 5], [4, -10]]
    assert F.embedding_bag(bags, TABLE, padding_idx=1).tolist() == [[1, 10], [4, -10]]
    weights = rt.tensor([[2.0, 1.0], [0.5, 0.0]])
    out = F.embedding_bag(bags, TABLE, mode="sum", per_sample_weights=weights)
    assert out.tolist() == [[4, 20], [2, -5]]
    assert F.embedding_bag(rt.zeros(2, 0, dtype=int), TABLE, mode="max").tolist() == [[0, 0], [0, 0]]


def test_what_does_not_fit_is_refused_in_words() -> None:
    indices = rt.tensor([0, 1, 2])
    with pytest.raises(rt.ArgumentError, match="mode is sum, mean or max, not 'min'"):
        F.embedding_bag(indices, TABLE, rt.tensor([0]), mode="min")
    with pytest.raises(rt.ShapeError, match=r"not \(3,\) without offsets"):
        F.embedding_bag(indices, TABLE)
    with pytest.raises(rt.ArgumentError, match="offsets start at 0, do not fall, and stay within 3 indices"):
        F.embedding_bag(indices, TABLE, rt.tensor([1, 2]))
    with pytest.raises(rt.ArgumentError, match="per_sample_weights are for mode sum, not mean"):
        F.embedding_bag(indices, TABLE, rt.tensor([0]), per_sample_weights=rt.ones(3))
    with pytest.raises(rt.IndexOutOfRange, match="3"):
        F.embedding_bag(rt.tensor([[3]]), TABLE)
