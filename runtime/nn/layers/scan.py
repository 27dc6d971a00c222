"""Recurrent cells: step by step, and over a whole sequence by the ops of ops/recurrent.py."""

from abc import ABC, abstractmethod
from typing import Any

from ..._core import Tensor
from ...autograd import Function, enable_grad, grad, is_grad_enabled
from ...creation import zeros
from ...ops.pointwise import relu, sigmoid, tanh
from ...ops.recurrent import gru_scan, gru_scan_grad, lstm_scan, lstm_scan_grad, rnn_scan, rnn_scan_grad
from ...ops.reduce import sum
from ...ops.shape import concat, reshape, split_every, unsqueeze
from .. import functional as F

# What a cell remembers: its output h, of an LSTM also c.
State = tuple[Tensor, ...]


class Cell(ABC):
    """The arithmetic of a recurrent cell.

    gates: how many there are. bias_inside: the bias of the state's shares cannot be added to the inputs' shares.
    """

    gates = 1
    bias_inside = False

    @abstractmethod
    def step(self, x: Tensor, h: Tensor, state: State) -> State:
        """The next state, from the shares of input and state in the gates."""
        raise NotImplementedError(f"{type(self).__name__} defines no step(self, x, h, state)")

    @abstractmethod
    def scan(self, x: Tensor, w: Tensor, b: Any, state: State, reverse: bool) -> tuple[Tensor, State, State]:
        """The outputs of all steps, the rest of the last state, and what scan_grad keeps.

        x: the inputs' shares. w, b: weight and, where it is inside, bias of the state's shares. state: the first.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no scan(...)")

    @abstractmethod
    def scan_grad(
        self, g: Tensor, rest: State, out: Tensor, w: Tensor, state: State, kept: State, reverse: bool
    ) -> tuple[Tensor, Tensor, State]:
        """The gradients of the shares of inputs and states, and of the first state; g, rest: of scan's outputs."""
        raise NotImplementedError(f"{type(self).__name__} defines no scan_grad(...)")


class Plain(Cell):
    """tanh, or relu, of the sum of the shares."""

    def __init__(self, relu: bool) -> None:
        self.relu = relu

    def step(self, x: Tensor, h: Tensor, state: State) -> State:
        return (relu(x + h) if self.relu else tanh(x + h),)

    def scan(self, x: Tensor, w: Tensor, b: Any, state: State, reverse: bool) -> tuple[Tensor, State, State]:
        return rnn_scan(x, *state, w, reverse=reverse, relu=self.relu), (), ()

    def scan_grad(
        self, g: Tensor, rest: State, out: Tensor, w: Tensor, state: State, kept: State, reverse: bool
    ) -> tuple[Tensor, Tensor, State]:
        by_x, by_h = rnn_scan_grad(g, out, w, reverse=reverse, relu=self.relu)
        return by_x, by_x, (by_h,)


class Lstm(Cell):
    """Hochreiter and Schmidhuber, 1997, with a forget gate (Gers and others, 2000)."""

    gates = 4

    def step(self, x: Tensor, h: Tensor, state: State) -> State:
        i, f, g, o = split_every(x + h, x.shape[-1] // 4, -1)
        c = sigmoid(f) * state[1] + sigmoid(i) * tanh(g)
        return sigmoid(o) * tanh(c), c

    def scan(self, x: Tensor, w: Tensor, b: Any, state: State, reverse: bool) -> tuple[Tensor, State, State]:
        out, cells, gates = lstm_scan(x, *state, w, reverse=reverse)
        return out, (cells[0 if reverse else -1],), (cells, gates)

    def scan_grad(
        self, g: Tensor, rest: State, out: Tensor, w: Tensor, state: State, kept: State, reverse: bool
    ) -> tuple[Tensor, Tensor, State]:
        cells, gates = kept
        by_x, by_h, by_c = lstm_scan_grad(g, *rest, gates, cells, state[1], w, reverse=reverse)
        return by_x, by_x, (by_h, by_c)


class Gru(Cell):
    """Cho and others, 2014, with the reset gate behind the product, as PyTorch has it."""

    gates = 3
    bias_inside = True

    def step(self, x: Tensor, h: Tensor, state: State) -> State:
        size = x.shape[-1] // 3
        x_r, x_z, x_n = split_every(x, size, -1)
        h_r, h_z, h_n = split_every(h, size, -1)
        new = tanh(x_n + sigmoid(x_r + h_r) * h_n)
        return (new + sigmoid(x_z + h_z) * (state[0] - new),)

    def scan(self, x: Tensor, w: Tensor, b: Any, state: State, reverse: bool) -> tuple[Tensor, State, State]:
        out, gates = gru_scan(
            x, *state, w, zeros(w.shape[:1], dtype=w.dtype, device=w.device) if b is None else b, reverse=reverse
        )
        return out, (), (gates,)

    def scan_grad(
        self, g: Tensor, rest: State, out: Tensor, w: Tensor, state: State, kept: State, reverse: bool
    ) -> tuple[Tensor, Tensor, State]:
        by_x, by_shares, by_h = gru_scan_grad(g, *kept, out, *state, w, reverse=reverse)
        return by_x, by_shares, (by_h,)


def input_shares(cell: Cell, input: Tensor, w_x: Tensor, b_x: Any, b_h: Any) -> Tensor:
    """The inputs' shares of all steps, one product; with the states' bias, where the cell lets it."""
    return F.linear(input, w_x, b_x if b_h is None or cell.bias_inside else b_x + b_h)


def run_steps(
    cell: Cell, input: Tensor, parameters: tuple[Any, ...], w_out: Any, state: State, reverse: bool
) -> tuple[Tensor, State]:
    """One layer over (L, N, features), step by step: its outputs and its last state. w_out: of h's projection."""
    w_x, w_h, b_x, b_h = parameters
    length, n, _ = input.shape
    shares = reshape(input_shares(cell, input, w_x, b_x, b_h), (length * n, -1))
    inside = b_h if cell.bias_inside else None
    steps = split_every(shares, n, 0) if length else ()
    outs = []
    for x in reversed(steps) if reverse else steps:
        state = cell.step(x, F.linear(state[0], w_h, inside), state)
        if w_out is not None:
            state = (F.linear(state[0], w_out), *state[1:])
        outs.append(state[0])
    if reverse:
        outs.reverse()
    joined: Any = reshape(concat(outs, axis=0), (length, n, -1))
    return joined, state


class Scan(Function):
    """One layer over (L, N, features) by the cell's scan: its outputs and the rest of its last state.

    apply(cell, reverse, input, w_x, w_h, b_x, b_h, *state)
    """

    @staticmethod
    def forward(
        ctx: Any, cell: Cell, reverse: bool, input: Any, w_x: Any, w_h: Any, b_x: Any, b_h: Any, *state: Any
    ) -> Any:
        shares = input_shares(cell, input, w_x, b_x, b_h)
        out, rest, kept = cell.scan(shares, w_h, b_h if cell.bias_inside else None, state, reverse)
        ctx.cell, ctx.reverse = cell, reverse
        ctx.save_for_backward(input, w_x, w_h, b_x, b_h, *state, out, *kept)
        return out, *rest

    @staticmethod
    def backward(ctx: Any, g: Any, *rest: Any) -> Any:
        cell, reverse, needed = ctx.cell, ctx.reverse, ctx.needs_input_grad[2:]
        inputs, (out, *kept) = ctx.saved_tensors[: len(needed)], ctx.saved_tensors[len(needed) :]
        if is_grad_enabled():
            return None, None, *_differentiable_gradients(cell, reverse, inputs, needed, (g, *rest))
        input, w_x, w_h, _, _, *state = inputs
        by_x, by_h, by_state = cell.scan_grad(g, rest, out, w_h, tuple(state), tuple(kept), reverse)
        x, h = (reshape(by, (-1, by.shape[-1])) for by in (by_x, by_h))
        before = concat([out[1:], unsqueeze(state[0], 0)] if reverse else [unsqueeze(state[0], 0), out[:-1]], axis=0)
        return (
            None,
            None,
            reshape(x @ w_x, input.shape) if needed[0] else None,
            x.mT @ reshape(input, (-1, input.shape[-1])) if needed[1] else None,
            h.mT @ reshape(before, (-1, before.shape[-1])) if needed[2] else None,
            sum(x, axis=0) if needed[3] else None,
            sum(h, axis=0) if needed[4] else None,
            *by_state,
        )


def _differentiable_gradients(
    cell: Cell, reverse: bool, inputs: Any, needed: tuple[bool, ...], gradients: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The gradients that are needed, by the cell's steps, so that they have gradients themselves."""
    with enable_grad():
        # other tensors than outside, so that the gradients stop at them
        apart: list[Any] = [a if a is None else reshape(a, a.shape) for a in inputs]
        out, state = run_steps(cell, apart[0], tuple(apart[1:5]), None, tuple(apart[5:]), reverse)
        wanted = [a for a, need in zip(apart, needed, strict=True) if need]
        found = iter(grad((out, *state[1:]), wanted, gradients, create_graph=True))
    return tuple(next(found) if need else None for need in needed)
