"""Attention: what weights are, which keys are seen, and the layers made of it."""

import math

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn, optim
from perflab.runtime.nn import functional as F


def test_the_weights_are_a_softmax_of_scaled_products() -> None:
    random = np.random.default_rng(0)
    q, k, v = random.normal(size=(2, 4)), random.normal(size=(3, 4)), random.normal(size=(3, 5))
    weights = np.exp(q @ k.T / 2)
    wanted = weights / weights.sum(1, keepdims=True) @ v
    np.testing.assert_allclose(
        F.scaled_dot_product_attention(*(rt.tensor(a) for a in (q, k, v))).numpy(), wanted, rtol=1e-12
    )


def test_a_causal_query_sees_itself_and_what_was_before() -> None:
    x = rt.randn(1, 5, 4)
    v = rt.randn(1, 5, 4, requires_grad=True)
    out = F.scaled_dot_product_attention(x, x, v, is_causal=True)
    np.testing.assert_allclose(out[0, 0].detach().numpy(), v[0, 0].detach().numpy(), rtol=1e-6)
    out[0, 2].sum().backward()
    assert v.grad is not None
    seen = (v.grad[0, :, 0].numpy() != 0).tolist()
    assert seen == [True, True, True, False, False]


def test_a_query_that_sees_nothing_takes_nothing() -> None:
    q, k, v = (rt.randn(2, 4, requires_grad=True) for _ in range(3))
    out = F.scaled_dot_product_attention(q, k, v, rt.tensor([[False, False], [True, False]]))
    assert out[0].tolist() == [0] * 4
    np.testing.assert_allclose(out[1].detach().numpy(), v[0].detach().numpy(), rtol=1e-6)
    out.sum().backward()
    for x in (q, k, v):
        assert x.grad is not None and np.all(np.isfinite(x.grad.numpy()))


def test_what_does_not_fit_is_refused_in_words() -> None:
    q, k = rt.zeros(2, 4), rt.zeros(3, 4)
    with pytest.raises(rt.ShapeError, match=r"are needed, not \(2, 4\), \(3, 5\) and \(3, 5\)"):
        F.scaled_dot_product_attention(q, rt.zeros(3, 5), rt.zeros(3, 5))
    with pytest.raises(rt.ArgumentError, match="give either attn_mask or is_causal"):
        F.scaled_dot_product_attention(q, k, k, rt.zeros(2, 3), is_causal=True)
    with pytest.raises(rt.DTypeError, match="a mask holds bools or floats, not int64"):
        F.scaled_dot_product_attention(q, k, k, rt.zeros(2, 3, dtype=int))


def test_heads_attend_apart() -> None:
    layer = nn.MultiheadAttention(6, 2, batch_first=True)
    x = rt.randn(3, 4, 6)
    out, weights = layer(x, x, x)
    assert out.shape == (3, 4, 6) and weights.shape == (3, 4, 4)
    _, heads = layer(x, x, x, average_attn_weights=False)
    assert heads.shape == (3, 2, 4, 4)
    np.testing.assert_allclose(heads.detach().numpy().mean(1), weights.detach().numpy(), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(weights.detach().numpy().sum(-1), 1, rtol=1e-5)
    assert layer(x, x, x, need_weights=False)[1] is None
    copy = x.copy()  # equal, but another tensor: three products instead of one
    np.testing.assert_allclose(layer(x, copy, x)[0].detach().numpy(), out.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_masked_keys_have_no_weight() -> None:
    layer = nn.MultiheadAttention(6, 2, batch_first=True)
    x = rt.randn(2, 3, 6)
    _, weights = layer(x, x, x, key_padding_mask=rt.tensor([[False, False, True], [False, True, True]]))
    assert np.all(weights.detach().numpy()[0, :, 2] == 0)
    np.testing.assert_allclose(weights.detach().numpy()[1, :, 0], 1)
    _, weights = layer(x, x, x, attn_mask=rt.tensor([[False, True, True]] * 3))
    np.testing.assert_allclose(weights.detach().numpy()[..., 0], 1)


def test_what_the_layer_refuses() -> None:
    with pytest.raises(rt.ArgumentError, match="4 heads do not divide embed_dim 6"):
        nn.MultiheadAttention(6, 4)
    layer, x = nn.MultiheadAttention(6, 2), rt.zeros(3, 2, 6)
    with pytest.raises(rt.ShapeError, match=r"attn_mask is \(3, 3\) or \(4, 3, 3\), not \(2, 2\)"):
        layer(x, x, x, attn_mask=rt.zeros(2, 2))
    with pytest.raises(rt.ShapeError, match=r"key_padding_mask is \(2, 3\), not \(3, 2\)"):
        layer(x, x, x, key_padding_mask=rt.zeros(3, 2))
    with pytest.raises(rt.ArgumentError, match="is_causal needs the causal attn_mask"):
        layer(x, x, x, is_causal=True)
    with pytest.raises(rt.ShapeError, match="have 3 axes, or 2 without a batch"):
        layer(x, x[0], x)
    with pytest.raises(rt.ArgumentError, match="activation is relu, gelu or a function, not 'tanh'"):
        nn.TransformerEncoderLayer(6, 2, activation="tanh")


def test_a_causal_encoder_does_not_look_ahead() -> None:
    rt.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8)).eval()
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    assert mask[0].tolist() == [0] + [-math.inf] * 4
    x = rt.randn(1, 5, 8)
    changed = x.copy()
    with rt.no_grad():
        changed[:, 3:].fill_(0)
    before, after = (encoder(t, mask=mask).detach().numpy() for t in (x, changed))
    np.testing.assert_allclose(before[:, :3], after[:, :3], rtol=1e-5, atol=1e-6)
    assert np.abs(before[:, 3:] - after[:, 3:]).max() > 0.01
    layers = encoder.layers
    assert layers[0] is not layers[1] and layers[0].linear1.weight is not layers[1].linear1.weight


def test_the_transformer_learns_to_copy() -> None:
    rt.manual_seed(0)
    model = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True)
    table, place, head = nn.Embedding(5, 16), nn.Embedding(4, 16), nn.Linear(16, 5)
    parameters = [p for module in (model, table, place, head) for p in module.parameters()]
    step = optim.AdamW(parameters, lr=0.01)
    losses = []
    for _ in range(60):
        tokens = rt.randint(0, 5, (16, 4))
        places = rt.expand(place(rt.arange(4)), (16, 4, 16))
        out = head(model(table(tokens) + places, places))
        loss = F.cross_entropy(out.reshape(-1, 5), tokens.reshape(-1))
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(loss.item())
    assert losses[0] > 1.4 and losses[-1] < 0.3
