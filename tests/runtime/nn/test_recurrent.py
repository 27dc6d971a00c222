"""Recurrent layers: the cells' formulas, and layers as loops over cells."""

from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn, optim
from perflab.runtime.nn import functional as F
from perflab.runtime.nn.layers.scan import Cell, Gru, Lstm, Plain, Scan


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def gates(cell: nn.Module, x: Any, h: Any, count: int) -> tuple[list[Any], list[Any]]:
    """The shares of input and state in each gate."""
    w_x, w_h, b_x, b_h = (p.detach().numpy() for p in cell.parameters())
    return np.split(x @ w_x.T + b_x, count, -1), np.split(h @ w_h.T + b_h, count, -1)


X, H, C = (np.random.default_rng(i).normal(size=(2, n)) for i, n in ((0, 4), (1, 3), (2, 3)))


def test_a_plain_cell() -> None:
    for nonlinearity, function in (("tanh", np.tanh), ("relu", lambda a: np.maximum(a, 0))):
        cell = nn.RNNCell(4, 3, nonlinearity=nonlinearity, dtype=rt.float64)
        (x,), (h,) = gates(cell, X, H, 1)
        np.testing.assert_allclose(cell(rt.tensor(X), rt.tensor(H)).detach().numpy(), function(x + h), rtol=1e-12)


def test_an_lstm_cell() -> None:
    cell = nn.LSTMCell(4, 3, dtype=rt.float64)
    i, f, g, o = (a + b for a, b in zip(*gates(cell, X, H, 4), strict=True))
    c = sigmoid(f) * C + sigmoid(i) * np.tanh(g)
    h_out, c_out = cell(rt.tensor(X), (rt.tensor(H), rt.tensor(C)))
    np.testing.assert_allclose(c_out.detach().numpy(), c, rtol=1e-12)
    np.testing.assert_allclose(h_out.detach().numpy(), sigmoid(o) * np.tanh(c), rtol=1e-12)


def test_a_gru_cell() -> None:
    cell = nn.GRUCell(4, 3, dtype=rt.float64)
    x, h = gates(cell, X, H, 3)
    reset, update = sigmoid(x[0] + h[0]), sigmoid(x[1] + h[1])
    new = np.tanh(x[2] + reset * h[2])
    out = cell(rt.tensor(X), rt.tensor(H))
    np.testing.assert_allclose(out.detach().numpy(), (1 - update) * new + update * H, rtol=1e-12)


@pytest.mark.parametrize(("layer", "cell"), [(nn.RNN, nn.RNNCell), (nn.LSTM, nn.LSTMCell), (nn.GRU, nn.GRUCell)])
def test_a_layer_is_a_loop_over_its_cell(layer: Any, cell: Any) -> None:
    whole, one = layer(4, 3), cell(4, 3)
    one.load_state_dict({name.removesuffix("_l0"): value for name, value in whole.state_dict().items()})
    x = rt.randn(5, 2, 4)
    out, last = whole(x)
    state = None
    for t in range(5):
        state = one(x[t], state)
        h = state[0] if isinstance(state, tuple) else state
        np.testing.assert_allclose(out[t].detach().numpy(), h.detach().numpy(), rtol=1e-5, atol=1e-6)
    final = last[0] if isinstance(last, tuple) else last
    assert final.shape == (1, 2, 3)
    np.testing.assert_allclose(final[0].detach().numpy(), out[4].detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize(("reverse", "bias"), [(False, True), (True, False)])
@pytest.mark.parametrize("cell", [Plain(relu=False), Lstm(), Gru()], ids=lambda cell: type(cell).__name__)
def test_gradients_of_a_layer_and_their_gradients(cell: Cell, reverse: bool, bias: bool) -> None:
    length, n, features, width = 3, 2, 2, 3
    rows = cell.gates * width
    shapes = [(length, n, features), (rows, features), (rows, width), *[(rows,)] * (2 * bias)]
    shapes += [(n, width)] * (2 if isinstance(cell, Lstm) else 1)
    inputs = [rt.randn(*shape, dtype=rt.float64, requires_grad=True) for shape in shapes]

    def run(*given: Any) -> Any:
        biases = given[3:5] if bias else (None, None)
        return Scan.apply(cell, reverse, *given[:3], *biases, *given[5 if bias else 3 :])

    assert rt.autograd.gradcheck(run, inputs)
    assert rt.autograd.gradgradcheck(run, inputs)


def test_a_layer_is_one_op_and_keeps_nothing_without_gradients() -> None:
    layer = nn.LSTM(2, 3)
    out, _ = layer(rt.zeros(4, 2, 2))
    assert out.grad_fn is not None and out.grad_fn.name() == "ScanBackward"
    for parameter in layer.parameters():
        parameter.requires_grad_(False)
    assert layer(rt.zeros(4, 2, 2))[0].grad_fn is None


def test_the_other_direction_is_the_layer_on_the_reversed_sequence() -> None:
    both = nn.GRU(4, 3, bidirectional=True)
    back = nn.GRU(4, 3)
    back.load_state_dict(
        {name.removesuffix("_reverse"): v for name, v in both.state_dict().items() if name.endswith("_reverse")}
    )
    x = rt.randn(5, 2, 4)
    out, last = both(x)
    wanted, final = back(rt.tensor(x.numpy()[::-1].copy()))
    np.testing.assert_allclose(out.detach().numpy()[..., 3:], wanted.detach().numpy()[::-1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last[1].detach().numpy(), final[0].detach().numpy(), rtol=1e-5, atol=1e-6)


def test_layouts_and_parameter_names() -> None:
    layer = nn.LSTM(4, 6, num_layers=2, bidirectional=True, proj_size=3)
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters()}
    assert shapes["weight_ih_l1_reverse"] == (24, 6) and shapes["weight_hr_l0"] == (3, 6)
    assert list(shapes)[:5] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0"]
    x = rt.randn(5, 2, 4)
    out, (h, c) = layer(x)
    assert out.shape == (5, 2, 6) and h.shape == (4, 2, 3) and c.shape == (4, 2, 6)
    first = nn.GRU(4, 3, batch_first=True)
    assert first(x)[0].shape == (5, 2, 3) and first(x)[1].shape == (1, 5, 3)
    out, h = first(x[0])
    assert out.shape == (2, 3) and h.shape == (1, 3)
    assert repr(layer) == "LSTM(4, 6, num_layers=2, bidirectional=True, proj_size=3)"
    bound = max(np.abs(p.detach().numpy()).max() for p in nn.GRU(10, 25).parameters())
    assert 0.19 < bound <= 0.2


def test_dropout_between_layers_in_training_alone() -> None:
    layer = nn.RNN(4, 3, num_layers=2, dropout=0.9)
    x = rt.randn(5, 2, 4)
    assert layer(x)[0].tolist() != layer(x)[0].tolist()
    layer.eval()
    assert layer(x)[0].tolist() == layer(x)[0].tolist()


def test_what_does_not_fit_is_refused_in_words() -> None:
    layer, x = nn.LSTM(4, 3), rt.zeros(5, 2, 4)
    with pytest.raises(rt.ShapeError, match=r"the input is \(L, N, 4\), or without N, not \(5, 2, 3\)"):
        layer(rt.zeros(5, 2, 3))
    with pytest.raises(rt.ShapeError, match=r"a state of shape \(1, 2, 3\) is needed, not \(2, 3\)"):
        layer(x, (rt.zeros(2, 3), rt.zeros(1, 2, 3)))
    with pytest.raises(rt.ArgumentError, match="a Tensor or a PackedSequence, not list"):
        layer([x])
    with pytest.raises(rt.ShapeError, match=r"GRUCell: a state of shape \(2, 3\) is needed, not \(3,\)"):
        nn.GRUCell(4, 3)(rt.zeros(2, 4), rt.zeros(3))
    with pytest.raises(rt.ArgumentError, match="nonlinearity is tanh or relu, not 'gelu'"):
        nn.RNN(4, 3, nonlinearity="gelu")
    with pytest.raises(rt.ArgumentError, match="num_layers is at least 1, not 0"):
        nn.GRU(4, 3, num_layers=0)
    with pytest.raises(rt.ArgumentError, match="proj_size is less than hidden_size, not 3"):
        nn.LSTM(4, 3, proj_size=3)


def test_an_lstm_remembers() -> None:
    """Whether the first number of a sequence was positive, told after the last."""
    rt.manual_seed(0)
    layer, head = nn.LSTM(1, 8), nn.Linear(8, 2)
    step = optim.AdamW([*layer.parameters(), *head.parameters()], lr=0.05)
    for _ in range(80):
        x = rt.randn(4, 32, 1)
        loss = F.cross_entropy(head(layer(x)[0][-1]), rt.tensor((x.numpy()[0, :, 0] > 0).astype(np.int64)))
        step.zero_grad()
        loss.backward()
        step.step()
    assert loss.item() < 0.1
