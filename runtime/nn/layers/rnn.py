"""Recurrent layers and their cells. Parameters and their order are PyTorch's."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from ..._core import Tensor, lowered
from ...creation import empty, zeros
from ...errors import ArgumentError, ShapeError
from ...ops.index import index_select
from ...ops.shape import concat, reshape, split_every, squeeze, stack, transpose, unsqueeze
from ...spec import DType
from .. import functional as F
from .. import init
from ..functional.dropout import check_probability
from ..module import Module
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .scan import Cell, Gru, Lstm, Plain, Scan, State, run_steps

# A batch of sequences of one length, or packed.
Sequences = Tensor | PackedSequence

_PLAIN: dict[str, Cell] = {"tanh": Plain(relu=False), "relu": Plain(relu=True)}


def _plain(name: str, nonlinearity: str) -> Cell:
    if nonlinearity not in _PLAIN:
        raise ArgumentError(f"{name}: nonlinearity is tanh or relu, not {nonlinearity!r}")
    return _PLAIN[nonlinearity]


def _init(module: Module, hidden_size: int) -> None:
    bound = 1 / math.sqrt(hidden_size) if hidden_size else 0.0
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


class _Cell(Module):
    """One step of a recurrent layer."""

    _cell: Cell

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, device: Any = None, dtype: DType | None = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = self._cell.gates * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        self.bias_ih = Parameter(empty((rows,), device=device, dtype=dtype)) if bias else None
        self.bias_hh = Parameter(empty((rows,), device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's initial values: uniform within 1 / sqrt(hidden_size)."""
        _init(self, self.hidden_size)

    def _next(self, input: Tensor, state: State | None) -> State:
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__}: the input is (N, {self.input_size}) or ({self.input_size},), not {input.shape}"
            )
        wanted = (*input.shape[:-1], self.hidden_size)
        if state is None:
            state = (zeros(wanted, dtype=input.dtype, device=input.device),) * (
                2 if isinstance(self._cell, Lstm) else 1
            )
        for part in state:
            if part.shape != wanted:
                raise ShapeError(f"{type(self).__name__}: a state of shape {wanted} is needed, not {part.shape}")
        x = F.linear(input, self.weight_ih, self.bias_ih)
        return self._cell.step(x, F.linear(state[0], self.weight_hh, self.bias_hh), tuple(map(lowered, state)))

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(_Cell):
    """tanh (or relu) of affine maps of the input and the last output h: (N, input_size), h (N, hidden_size) to h."""

    _cell = _PLAIN["tanh"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity
        self._cell = _plain("RNNCell", nonlinearity)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._next(input, None if hx is None else (hx,))[0]


class LSTMCell(_Cell):
    """One step of an LSTM: (N, input_size) and (h, c), both (N, hidden_size), to the next (h, c)."""

    _cell = Lstm()

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = self._next(input, hx)
        return h, c


class GRUCell(_Cell):
    """One step of a GRU: (N, input_size) and h, (N, hidden_size), to the next h."""

    _cell = Gru()

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._next(input, None if hx is None else (hx,))[0]


class _Recurrent(Module):
    """Layers of cells over a sequence, perhaps in both directions."""

    _cell: Cell

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ArgumentError(f"{type(self).__name__}: num_layers is at least 1, not {num_layers}")
        if not 0 <= proj_size < hidden_size and (proj_size or hidden_size):
            raise ArgumentError(f"{type(self).__name__}: proj_size is less than hidden_size, not {proj_size}")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        check_probability(type(self).__name__, self.dropout)
        rows, out = self._cell.gates * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else out * len(self._directions())
            for direction in self._directions():
                end = f"_l{layer}{direction}"
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, out)}
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
                shapes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
                for name, shape in shapes.items():
                    setattr(self, name + end, Parameter(empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    def _directions(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def reset_parameters(self) -> None:
        """PyTorch's initial values: uniform within 1 / sqrt(hidden_size)."""
        _init(self, self.hidden_size)

    def _outputs(self, input: Sequences, state: State | None) -> tuple[Sequences, State]:
        if isinstance(input, PackedSequence):
            return self._run_packed(input, state)
        if not isinstance(input, Tensor):
            raise ArgumentError(
                f"{type(self).__name__}: the input is a Tensor or a PackedSequence, not {type(input).__name__}: "
                "nn.utils.rnn.pad_sequence and pack_sequence make them of lists"
            )
        return self._run(input, state)

    def _run(self, input: Tensor, state: State | None) -> tuple[Tensor, State]:
        """The outputs of the last layer, and the last state of each layer and direction."""
        if input.ndim not in (2, 3) or input.shape[-1] != self.input_size:
            wanted = f"(N, L, {self.input_size})" if self.batch_first else f"(L, N, {self.input_size})"
            raise ShapeError(f"{type(self).__name__}: the input is {wanted}, or without N, not {input.shape}")
        single = input.ndim == 2
        if single:
            input = unsqueeze(input, 1)
        elif self.batch_first:
            input = transpose(input, 0, 1)
        input, final = self._layers(input, self._first_states(input, input.shape[1], state, single), self._scan)
        if single:
            return squeeze(input, 1), tuple(squeeze(part, 1) for part in final)
        return (transpose(input, 0, 1) if self.batch_first else input), final

    def _run_packed(self, input: PackedSequence, state: State | None) -> tuple[PackedSequence, State]:
        """_run, of a packed batch; the states are in the order that the sequences came in."""
        data, order, back = input.data, input.sorted_indices, input.unsorted_indices
        if data.ndim != 2 or data.shape[-1] != self.input_size:
            raise ShapeError(f"{type(self).__name__}: packed data is (elements, {self.input_size}), not {data.shape}")
        runs = input.runs()
        states = self._first_states(data, runs[0][2], state, False, order)

        def scan(data: Tensor, state: State, end: str, backwards: bool) -> tuple[Tensor, State]:
            return self._scan_runs(runs, data, state, end, backwards)

        data, final = self._layers(data, states, scan)
        if back is not None:
            final = tuple(index_select(part, 1, back) for part in final)
        return input._replace(data=data), final

    def _layers(
        self, input: Tensor, states: Iterator[State], scan: Callable[[Tensor, State, str, bool], tuple[Tensor, State]]
    ) -> tuple[Tensor, State]:
        lasts: list[State] = []
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                input = F.dropout(input, self.dropout)
            outs = []
            for direction in self._directions():
                out, last = scan(input, next(states), f"_l{layer}{direction}", bool(direction))
                outs.append(out)
                lasts.append(last)
            input = concat(outs, axis=-1) if len(outs) > 1 else outs[0]
        return input, tuple(stack(parts) for parts in zip(*lasts, strict=True))

    def _first_states(
        self, input: Tensor, n: int, state: State | None, single: bool, order: Tensor | None = None
    ) -> Iterator[State]:
        """The first state of each layer and direction: what was given, in another order of sequences, or zeros."""
        count = self.num_layers * len(self._directions())
        widths = (self.proj_size or self.hidden_size, *([self.hidden_size] if isinstance(self._cell, Lstm) else []))
        if state is None:
            first = tuple(zeros((n, width), dtype=input.dtype, device=input.device) for width in widths)
            return iter([first] * count)
        for part, width in zip(state, widths, strict=True):
            wanted = (count, width) if single else (count, n, width)
            if part.shape != wanted:
                raise ShapeError(f"{type(self).__name__}: a state of shape {wanted} is needed, not {part.shape}")
        state = state if order is None else tuple(index_select(part, 1, order) for part in state)
        apart = (split_every(unsqueeze(part, 1) if single else part, 1, 0) for part in state)
        return (tuple(squeeze(part, 0) for part in parts) for parts in zip(*apart, strict=True))

    def _scan(self, input: Tensor, state: State, end: str, backwards: bool) -> tuple[Tensor, State]:
        """One layer in one direction over (L, N, features): its outputs and its last state."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        parameters = tuple(lowered(getattr(self, name + end, None)) for name in names)
        input, state = lowered(input), tuple(map(lowered, state))
        w_out = getattr(self, "weight_hr" + end, None)
        if w_out is not None or len(input) == 0:
            return run_steps(self._cell, input, parameters, w_out, state, backwards)
        out, *rest = Scan.apply(self._cell, backwards, input, *parameters, *state)
        return out, (out[0 if backwards else -1], *rest)

    def _scan_runs(
        self, runs: list[tuple[int, int, int]], data: Tensor, state: State, end: str, backwards: bool
    ) -> tuple[Tensor, State]:
        """_scan over packed data, one run of steps with equally many sequences after the other."""
        outs: list[Tensor] = []
        ended: list[State] = []  # of sequences that end before the longest one
        now: State = tuple(part[:0] for part in state)
        for start, steps, n in reversed(runs) if backwards else runs:
            if backwards:  # the sequences that end here begin here
                now = tuple(concat([a, b[len(a) : n]]) for a, b in zip(now, state, strict=True))
            else:
                before = now if outs else state
                ended.append(tuple(part[n:] for part in before))
                now = tuple(part[:n] for part in before)
            x = reshape(data[start : start + steps * n], (steps, n, -1))
            out, now = self._scan(x, now, end, backwards)
            outs.append(reshape(out, (steps * n, -1)))
        last = now if backwards else tuple(concat([*parts]) for parts in zip(now, *reversed(ended), strict=True))
        return concat(outs[::-1] if backwards else outs), last

    def extra_repr(self) -> str:
        shown = {
            "num_layers": (self.num_layers, 1),
            "bias": (self.bias, True),
            "batch_first": (self.batch_first, False),
            "dropout": (self.dropout, 0.0),
            "bidirectional": (self.bidirectional, False),
            "proj_size": (self.proj_size, 0),
        }
        given = "".join(f", {name}={value}" for name, (value, preset) in shown.items() if value != preset)
        return f"{self.input_size}, {self.hidden_size}{given}"


class RNN(_Recurrent):
    """Layers of RNNCell: (L, N, input_size) and h0 to the outputs (L, N, hidden_size) and the last h.

    h: (num_layers * directions, N, hidden_size), zeros by default. batch_first: input and output are (N, L, ...).
    All may be without N. A packed batch (nn.utils.rnn) gives a packed one. dropout: between the layers, while training.
    With two directions their outputs are joined.
    """

    _cell = _PLAIN["tanh"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device=device, dtype=dtype
        )
        self.nonlinearity = nonlinearity
        self._cell = _plain("RNN", nonlinearity)

    def forward(self, input: Sequences, hx: Tensor | None = None) -> tuple[Sequences, Tensor]:
        out, (h,) = self._outputs(input, None if hx is None else (hx,))
        return out, h


class LSTM(_Recurrent):
    """Layers of LSTMCell, as RNN; the state is (h, c). proj_size: h is a linear map of the output, of that size."""

    _cell = Lstm()

    def forward(
        self, input: Sequences, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Sequences, tuple[Tensor, Tensor]]:
        out, (h, c) = self._outputs(input, hx)
        return out, (h, c)


class GRU(_Recurrent):
    """Layers of GRUCell, as RNN."""

    _cell = Gru()

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device=device, dtype=dtype
        )

    def forward(self, input: Sequences, hx: Tensor | None = None) -> tuple[Sequences, Tensor]:
        out, (h,) = self._outputs(input, None if hx is None else (hx,))
        return out, h
