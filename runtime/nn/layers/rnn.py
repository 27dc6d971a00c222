"""Recurrent layers and their cells. Parameters and their order are PyTorch's."""

import math
from collections.abc import Iterator

from ..._core import Tensor, lowered
from ...creation import empty, zeros
from ...errors import ArgumentError, ShapeError
from ...ops.shape import concat, split, squeeze, stack, transpose, unsqueeze
from ...spec import DType
from .. import functional as F
from .. import init
from ..functional.dropout import check_probability
from ..module import Module
from ..parameter import Parameter
from .scan import Cell, Gru, Lstm, Plain, Scan, State, run_steps

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

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, *, dtype: DType | None = None) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = self._cell.gates * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), dtype=dtype))
        self.bias_ih = Parameter(empty((rows,), dtype=dtype)) if bias else None
        self.bias_hh = Parameter(empty((rows,), dtype=dtype)) if bias else None
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
            state = (zeros(wanted, dtype=input.dtype),) * (2 if isinstance(self._cell, Lstm) else 1)
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
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype=dtype)
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
                    setattr(self, name + end, Parameter(empty(shape, dtype=dtype)))
        self.reset_parameters()

    def _directions(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def reset_parameters(self) -> None:
        """PyTorch's initial values: uniform within 1 / sqrt(hidden_size)."""
        _init(self, self.hidden_size)

    def _run(self, input: Tensor, state: State | None) -> tuple[Tensor, State]:
        """The outputs of the last layer, and the last state of each layer and direction."""
        if not isinstance(input, Tensor):
            raise ArgumentError(
                f"{type(self).__name__}: the input is a Tensor; packed sequences are not there: pad the sequences, and "
                "mask the outputs"
            )
        if input.ndim not in (2, 3) or input.shape[-1] != self.input_size:
            wanted = f"(N, L, {self.input_size})" if self.batch_first else f"(L, N, {self.input_size})"
            raise ShapeError(f"{type(self).__name__}: the input is {wanted}, or without N, not {input.shape}")
        single = input.ndim == 2
        if single:
            input = unsqueeze(input, 1)
        elif self.batch_first:
            input = transpose(input, 0, 1)
        states = self._first_states(input, state, single)
        lasts: list[State] = []
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                input = F.dropout(input, self.dropout)
            outs = []
            for direction in self._directions():
                out, last = self._scan(input, next(states), f"_l{layer}{direction}", bool(direction))
                outs.append(out)
                lasts.append(last)
            input = concat(outs, axis=-1) if len(outs) > 1 else outs[0]
        final = tuple(stack(parts) for parts in zip(*lasts, strict=True))
        if single:
            return squeeze(input, 1), tuple(squeeze(part, 1) for part in final)
        return (transpose(input, 0, 1) if self.batch_first else input), final

    def _first_states(self, input: Tensor, state: State | None, single: bool) -> Iterator[State]:
        """The first state of each layer and direction: what was given, or zeros."""
        count, n = self.num_layers * len(self._directions()), input.shape[1]
        widths = (self.proj_size or self.hidden_size, *([self.hidden_size] if isinstance(self._cell, Lstm) else []))
        if state is None:
            first = tuple(zeros((n, width), dtype=input.dtype) for width in widths)
            return iter([first] * count)
        for part, width in zip(state, widths, strict=True):
            wanted = (count, width) if single else (count, n, width)
            if part.shape != wanted:
                raise ShapeError(f"{type(self).__name__}: a state of shape {wanted} is needed, not {part.shape}")
        apart = (split(unsqueeze(part, 1) if single else part, 1, 0) for part in state)
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
    All may be without N. dropout: between the layers, while training. With two directions their outputs are joined.
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
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype=dtype)
        self.nonlinearity = nonlinearity
        self._cell = _plain("RNN", nonlinearity)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        out, (h,) = self._run(input, None if hx is None else (hx,))
        return out, h


class LSTM(_Recurrent):
    """Layers of LSTMCell, as RNN; the state is (h, c). proj_size: h is a linear map of the output, of that size."""

    _cell = Lstm()

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        out, (h, c) = self._run(input, hx)
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
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        out, (h,) = self._run(input, None if hx is None else (hx,))
        return out, h
