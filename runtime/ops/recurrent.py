"""Recurrent cells over a whole sequence, and their gradients.

x holds the inputs' shares in the gates, (L, N, gates * width), biases added; states are (N, width), and weight is
(gates * width, width). nn/layers/scan.py joins both directions: gradients of gradients go step by step.
"""

import math
from collections.abc import Iterator
from typing import Any

from ..errors import ShapeError
from ..op import sample
from ..registry import primitive
from ..spec import Spec

_SHAPES = ((3, 2, 4), (1, 3, 1), (2, 1, 3))  # L, N, width
_DOMAIN = (-0.3, 0.3)  # larger weights let differences grow from step to step


def _samples(*inputs: str, gates: int, **attributes: Any) -> tuple[Any, ...]:
    """Samples of inputs by what they are: s, a state; o, such states for all steps; x, k, w as many as gates need."""

    def shapes(length: int, n: int, width: int) -> tuple[tuple[int, ...], ...]:
        of = {"s": (n, width), "o": (length, n, width), "x": (length, n, gates * width), "k": (length, n, 4 * width)}
        of |= {"w": (gates * width, width), "b": (gates * width,)}
        return tuple(of[i] for i in inputs)

    return tuple(
        sample(*shapes(*sizes), reverse=reverse, **attributes) for sizes in _SHAPES for reverse in (False, True)
    )


def _flops(weight: Spec, out: Spec, each: int) -> int:
    """Of the products with weight, and `each` for every number of the states `out`."""
    return 2 * math.prod(out.shape[:-1]) * math.prod(weight.shape) + each * out.size


def _steps(length: int, reverse: bool) -> list[int]:
    """The places in the order of the steps."""
    return list(range(length))[:: -1 if reverse else 1]


def _backwards(states: Any, first: Any, reverse: bool) -> Iterator[tuple[int, Any]]:
    """From the last step to the first: its place, and the state before it."""
    places = _steps(len(states), reverse)
    for k in range(len(places) - 1, -1, -1):
        yield places[k], states[places[k - 1]] if k else first


def _check(op: str, x: Spec, state: Spec, weight: Spec, gates: int) -> tuple[int, int, int]:
    """L, N and width; ShapeError where the shapes do not fit."""
    rows, width = weight.shape if weight.ndim == 2 else (-1, -1)
    if x.ndim != 3 or x.shape[-1] != rows or rows != gates * width or state.shape != (x.shape[1], width):
        raise ShapeError(
            f"{op}: shares {x.shape}, state {state.shape} and weight {weight.shape} are not (L, N, {gates} * width), "
            f"(N, width) and ({gates} * width, width)"
        )
    return x.shape[0], x.shape[1], width


def _sigmoid(xp: Any, a: Any) -> Any:
    return 1 / (1 + xp.exp(-a))


# --- LSTM


def _lstm_specs(x: Spec, h: Spec, c: Spec, weight: Spec, *, reverse: bool) -> tuple[Spec, Spec, Spec]:
    length, n, width = _check("lstm_scan", x, h, weight, 4)
    states = Spec((length, n, width), x.dtype)
    return states, states, x


@primitive(
    infer=_lstm_specs,
    returns=("outputs", "cells", "gates"),
    dtype="promote",
    kinds="f",
    domain=_DOMAIN,
    flops=lambda x, h, c, weight, out, reverse: _flops(weight, out[0], 19),
    samples=_samples("x", "s", "s", "w", gates=4),
    public=False,
    differentiable=False,
)
def lstm_scan(xp, x, h, c, weight, *, reverse: bool = False):
    """An LSTM's outputs and cells of all steps, from the first output h and cell c; and its gates, side by side:
    input, forget, new, output (Hochreiter and Schmidhuber, 1997; Gers and others, 2000).

    >>> lstm_scan(zeros(1, 1, 4), zeros(1, 1), ones(1, 1), zeros(4, 1)).cells.tolist()
    [[[0.5]]]
    """
    outputs, cells = xp.empty((2, *x.shape[:2], weight.shape[1]), x.dtype)
    gates = xp.empty_like(x)
    for t in _steps(len(x), reverse):
        i, f, g, o = xp.split(x[t] + h @ weight.T, 4, -1)
        i, f, g, o = _sigmoid(xp, i), _sigmoid(xp, f), xp.tanh(g), _sigmoid(xp, o)
        c = f * c + i * g
        h = o * xp.tanh(c)
        outputs[t], cells[t], gates[t] = h, c, xp.concatenate([i, f, g, o], -1)
    return outputs, cells, gates


def _lstm_grad_specs(
    g: Spec, last: Spec, gates: Spec, cells: Spec, c: Spec, weight: Spec, *, reverse: bool
) -> tuple[Spec, Spec, Spec]:
    _check("lstm_scan_grad", gates, c, weight, 4)
    return gates, last, last


@primitive(
    infer=_lstm_grad_specs,
    returns=("x", "h", "c"),
    dtype="promote",
    kinds="f",
    domain=_DOMAIN,
    flops=lambda g, last, gates, cells, c, weight, out, reverse: _flops(weight, g, 27),
    samples=_samples("o", "s", "x", "o", "s", "w", gates=4),
    public=False,
    differentiable=False,
)
def lstm_scan_grad(xp, g, last, gates, cells, c, weight, *, reverse: bool = False):
    """lstm_scan's gradients for x, h and c; g and `last` being those of its outputs and of its last cell.

    >>> gates = tensor([[[0.5, 0.5, 0.0, 0.5]]])
    >>> lstm_scan_grad(zeros(1, 1, 1), ones(1, 1), gates, zeros(1, 1, 1), ones(1, 1), zeros(4, 1)).x.tolist()
    [[[0.0, 0.25, 0.5, 0.0]]]
    """
    gx, gh, gc = xp.empty_like(gates), xp.zeros_like(last), last
    for t, before in _backwards(cells, c, reverse):
        i, f, new, o = xp.split(gates[t], 4, -1)
        bent, by_out = xp.tanh(cells[t]), g[t] + gh
        gc = gc + by_out * o * (1 - bent * bent)
        parts = gc * new * i * (1 - i), gc * before * f * (1 - f), gc * i * (1 - new * new), by_out * bent * o * (1 - o)
        gx[t] = xp.concatenate(parts, -1)
        gh, gc = gx[t] @ weight, gc * f
    return gx, gh, gc


# --- GRU


def _gru_specs(x: Spec, h: Spec, weight: Spec, bias: Spec, *, reverse: bool) -> tuple[Spec, Spec]:
    length, n, width = _check("gru_scan", x, h, weight, 3)
    return Spec((length, n, width), x.dtype), Spec((length, n, 4 * width), x.dtype)


@primitive(
    infer=_gru_specs,
    returns=("states", "gates"),
    dtype="promote",
    kinds="f",
    domain=_DOMAIN,
    flops=lambda x, h, weight, bias, out, reverse: _flops(weight, out[0], 20),
    samples=_samples("x", "s", "w", "b", gates=3),
    public=False,
    differentiable=False,
)
def gru_scan(xp, x, h, weight, bias, *, reverse: bool = False):
    """A GRU's states of all steps from the first one, h; bias is added to the state's shares, which the reset gate
    scales (Cho and others, 2014). And its gates: reset, update, new, and the state's share in the last.

    >>> gru_scan(zeros(1, 1, 3), ones(1, 1), zeros(3, 1), zeros(3)).states.tolist()
    [[[0.5]]]
    """
    width = weight.shape[1]
    states = xp.empty((*x.shape[:2], width), x.dtype)
    gates = xp.empty((*x.shape[:2], 4 * width), x.dtype)
    for t in _steps(len(x), reverse):
        h_r, h_z, h_n = xp.split(h @ weight.T + bias, 3, -1)
        x_r, x_z, x_n = xp.split(x[t], 3, -1)
        r, z = _sigmoid(xp, x_r + h_r), _sigmoid(xp, x_z + h_z)
        new = xp.tanh(x_n + r * h_n)
        h = new + z * (h - new)
        states[t], gates[t] = h, xp.concatenate([r, z, new, h_n], -1)
    return states, gates


def _gru_grad_specs(
    g: Spec, gates: Spec, states: Spec, h: Spec, weight: Spec, *, reverse: bool
) -> tuple[Spec, Spec, Spec]:
    shares = Spec((*g.shape[:2], weight.shape[0]), g.dtype)
    _check("gru_scan_grad", shares, h, weight, 3)
    return shares, shares, h


@primitive(
    infer=_gru_grad_specs,
    returns=("x", "shares", "h"),
    dtype="promote",
    kinds="f",
    domain=_DOMAIN,
    flops=lambda g, gates, states, h, weight, out, reverse: _flops(weight, g, 19),
    samples=_samples("o", "k", "o", "s", "w", gates=3),
    public=False,
    differentiable=False,
)
def gru_scan_grad(xp, g, gates, states, h, weight, *, reverse: bool = False):
    """gru_scan's gradients for x, for the state's shares, and for h; g being that of its states.

    >>> gates = tensor([[[0.5, 0.5, 0.0, 0.0]]])
    >>> gru_scan_grad(ones(1, 1, 1), gates, zeros(1, 1, 1), ones(1, 1), zeros(3, 1)).x.tolist()
    [[[0.0, 0.25, 0.5]]]
    """
    gx, gs = xp.empty((2, *g.shape[:2], weight.shape[0]), g.dtype)
    gh = xp.zeros_like(h)
    for t, before in _backwards(states, h, reverse):
        r, z, new, share = xp.split(gates[t], 4, -1)
        by_out = g[t] + gh
        by_new = by_out * (1 - z) * (1 - new * new)
        both = [by_new * share * r * (1 - r), by_out * (before - new) * z * (1 - z)]
        gx[t], gs[t] = xp.concatenate([*both, by_new], -1), xp.concatenate([*both, by_new * r], -1)
        gh = by_out * z + gs[t] @ weight
    return gx, gs, gh


# --- a plain cell


def _rnn_spec(x: Spec, h: Spec, weight: Spec, *, reverse: bool, relu: bool) -> Spec:
    _check("rnn_scan", x, h, weight, 1)
    return x


@primitive(
    infer=_rnn_spec,
    dtype="promote",
    kinds="f",
    domain=_DOMAIN,
    flops=lambda x, h, weight, out, reverse, relu: _flops(weight, out, 2),
    samples=(*_samples("x", "s", "w", gates=1), *_samples("x", "s", "w", gates=1, relu=True)),
    public=False,
    differentiable=False,
)
def rnn_scan(xp, x, h, weight, *, reverse: bool = False, relu: bool = False):
    """The states of all steps from the first one, h: tanh (or relu) of x and the last state's shares.

    >>> rnn_scan(zeros(2, 1, 1), ones(1, 1), ones(1, 1), relu=True).tolist()
    [[[1.0]], [[1.0]]]
    """
    states = xp.empty_like(x)
    for t in _steps(len(x), reverse):
        h = x[t] + h @ weight.T
        h = states[t] = xp.maximum(h, 0) if relu else xp.tanh(h)
    return states


def _rnn_grad_specs(g: Spec, states: Spec, weight: Spec, *, reverse: bool, relu: bool) -> tuple[Spec, Spec]:
    first = Spec(g.shape[1:], g.dtype)
    _check("rnn_scan_grad", g, first, weight, 1)
    return g, first


@primitive(
    infer=_rnn_grad_specs,
    returns=("x", "h"),
    dtype="promote",
    kinds="f",
    domain=_DOMAIN,
    flops=lambda g, states, weight, out, reverse, relu: _flops(weight, g, 4),
    samples=(*_samples("o", "o", "w", gates=1), *_samples("o", "o", "w", gates=1, relu=True)),
    public=False,
    differentiable=False,
)
def rnn_scan_grad(xp, g, states, weight, *, reverse: bool = False, relu: bool = False):
    """rnn_scan's gradients for x and h, g being that of its states.

    >>> rnn_scan_grad(ones(1, 1, 1), zeros(1, 1, 1), ones(1, 1)).h.tolist()
    [[1.0]]
    """
    gx, gh = xp.empty_like(g), xp.zeros(g.shape[1:], g.dtype)
    for t in _steps(len(g), not reverse):
        gx[t] = (g[t] + gh) * ((states[t] > 0) if relu else 1 - states[t] * states[t])
        gh = gx[t] @ weight
    return gx, gh
