"""Gradients as programs: a formula is run once on symbols; the ops that it calls become rows that the engine runs.

A program is pruned to the inputs that need a gradient, and what it keeps of the forward call shrinks with it: a tensor
of which only the shape is still read is kept as a shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from .errors import OpError
from .op import Op

_OPERATORS: dict[str, Any] = {}  # what a symbol's operators call, by op name


class Symbol:
    """A value inside a formula: a cotangent, a kept tensor, or the result of a call. Its shape is not known."""

    __slots__ = ("_ndim", "_tape")

    def __init__(self, tape: "Tape", ndim: int | None = None) -> None:
        self._tape = tape
        self._ndim = ndim

    @property
    def ndim(self) -> int:
        """The rank; only of the op's inputs. A formula that looks at it is traced for every combination of ranks."""
        if self._ndim is None:
            raise OpError(f"{self._tape.op.name}: its vjp may ask for the rank of inputs alone")
        self._tape.specialised = True
        return self._ndim

    @property
    def mT(self) -> Any:
        return _OPERATORS["transpose"](self, -2, -1)

    def __bool__(self) -> NoReturn:
        raise OpError(f"{self._tape.op.name}: its vjp branches on a value, but it is traced without values: use where")

    __hash__ = object.__hash__


def _operator(name: str, *, swapped: bool = False) -> Any:
    def call(self: Symbol, *other: Any) -> Any:
        return _OPERATORS[name](*other, self) if swapped else _OPERATORS[name](self, *other)

    return call


_SLOTS = {op: op for op in ("add", "sub", "mul", "pow", "matmul", "neg", "eq", "ne", "lt", "le", "gt", "ge")}
for _slot, _op in (_SLOTS | {"truediv": "div"}).items():
    setattr(Symbol, f"__{_slot}__", _operator(_op))
    if _op in ("add", "sub", "mul", "pow", "div"):
        setattr(Symbol, f"__r{_slot}__", _operator(_op, swapped=True))


class Several:
    """The outputs of an op that has several. A formula may only return it: one gradient per input of a list op."""

    __slots__ = ("items",)

    def __init__(self, tape: "Tape", count: int) -> None:
        self.items = tuple(Symbol(tape) for _ in range(count))


class Passed:
    """An attribute of the forward call that a formula hands on without looking."""

    __slots__ = ("name", "op")

    def __init__(self, op: Op, name: str) -> None:
        self.op = op
        self.name = name

    def _refuse(self, *_: object) -> NoReturn:
        raise OpError(f"{self.op.name}: its vjp looks at '{self.name}': annotate the parameter to be given its value")

    __bool__ = __iter__ = __len__ = __index__ = __getitem__ = __eq__ = __lt__ = __gt__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _refuse
    __hash__ = object.__hash__


@dataclass(eq=False)
class TracedCall:
    op: Op
    inputs: list[Any]  # symbols and numbers
    attributes: dict[str, Any]
    forward: dict[str, str]  # attributes taken over from the forward call
    results: tuple[Symbol, ...]


class Tape:
    """What a formula did."""

    def __init__(self, op: Op, nin: int) -> None:
        self.op = op
        self.nin = nin
        self.calls: list[TracedCall] = []
        self.specialised = False

    def call(self, op: Op, inputs: list[Any], attributes: dict[str, Any]) -> Any:
        plain: dict[str, Any] = {}
        forward: dict[str, str] = {}
        mine = {a.name: a.kind for a in self.op.attributes}
        for a in op.attributes:
            value = attributes.pop(a.name, attributes.pop(a.alias, None) if a.alias in attributes else a.preset)
            if not isinstance(value, Passed):
                plain[a.name] = value
            elif mine[value.name] != a.kind:
                raise OpError(
                    f"{self.op.name}: its vjp passes '{value.name}' on as {op.name}'s '{a.name}' of another kind: "
                    "annotate the parameter to be given its value"
                )
            else:
                forward[a.name] = value.name
        if attributes:
            raise OpError(f"{op.name}: it has no attribute {', '.join(attributes)}")
        result: Any
        if op.returns:
            result = results = op.returns._make(Symbol(self) for _ in op.returns._fields)
        elif op.several:
            result = Several(self, self.nin)
            results = result.items
        else:
            result = Symbol(self)
            results = (result,)
        self.calls.append(TracedCall(op, inputs, plain, forward, results))
        return result


def call_on_symbols(handle: Any, args: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """What an op does when a symbol is among its tensors: `set_callbacks` hands it to the core."""
    op: Op = handle.op
    if op.rest is None:
        inputs, given = list(args[: len(op.inputs)]), list(args[len(op.inputs) :])
    else:
        inputs, given = list(args[0]), list(args[1:])
    if given and op.spreads and isinstance(given[0], int):
        given = [tuple(given)]
    names = [a.name for a in op.attributes]
    tape: Tape = next(i._tape for i in inputs if isinstance(i, Symbol))
    return tape.call(op, inputs, dict(zip(names, given, strict=False)) | attributes)


def trace(op: Op, ndims: Sequence[int], nout: int, mask: int, attributes: dict[str, Any]) -> dict[str, Any]:
    """The backward program of `op` for inputs of these ranks, `nout` outputs, and gradients for the inputs in `mask`.

    See `Program` in core/node.h for its parts. A list op's program serves all of its inputs.
    """
    assert op.gradient
    tape = Tape(op, len(ndims))
    cts = [Symbol(tape) for _ in range(nout)]
    kept: list[tuple[Symbol, int, bool]] = []
    given: dict[str, Any] = {"ct": tuple(cts) if op.several else cts[0]}
    for name, which, spec in op.gradient.keeps:
        if which < 0 and op.returns:
            outs = [(Symbol(tape), -1 - k, spec) for k in range(nout)]
            kept += outs
            given[name] = op.returns._make(s for s, _, _ in outs)
        elif which < 0:
            kept.append((Symbol(tape), -1, spec))
            given[name] = kept[-1][0]
        elif op.rest is not None and which == len(op.inputs):
            rest = [(Symbol(tape, ndims[i]), i, spec) for i in range(which, len(ndims))]
            kept += rest
            given[name] = tuple(s for s, _, _ in rest)
        else:
            kept.append((Symbol(tape, ndims[which]), which, spec))
            given[name] = kept[-1][0]
    given |= {name: Passed(op, name) for name in op.gradient.passes}
    given |= {name: attributes[name] for name in op.gradient.looks}
    grads = _one_per_input(op, op.gradient.formula(**given), len(ndims))
    wanted = grads if op.rest is not None else [g for i, g in enumerate(grads) if mask >> i & 1]
    program = _emit(op, tape, cts, kept, wanted)
    program["specialised"] = tape.specialised or bool(op.gradient.looks)
    return program


def _one_per_input(op: Op, result: Any, nin: int) -> list[Symbol | None]:
    several = result.items if isinstance(result, Several) else result if isinstance(result, tuple) else (result,)
    grads = list(several)
    if op.rest is not None and op.rest.like:  # what follows the inputs is shapes
        grads += [None] * (nin - len(grads))
    if len(grads) != nin:
        raise OpError(
            f"{op.name}: its vjp returns {len(grads)} gradients for {nin} inputs: return None where there is none"
        )
    for g in grads:
        if g is not None and not isinstance(g, Symbol):
            raise OpError(f"{op.name}: its vjp returns {g!r}: build gradients from ct with ops, or return None")
    return grads


def _emit(
    op: Op, tape: Tape, cts: list[Symbol], kept: list[tuple[Symbol, int, bool]], wanted: list[Symbol | None]
) -> dict[str, Any]:
    needed: set[Symbol] = {g for g in wanted if g is not None}
    read = set(needed)  # of which the data is read, not the shape alone
    calls: list[TracedCall] = []
    for call in reversed(tape.calls):
        if needed.isdisjoint(call.results):
            continue
        calls.insert(0, call)
        for i, value in enumerate(call.inputs):
            if isinstance(value, Symbol):
                needed.add(value)
                if not call.op.input(i).like:
                    read.add(value)
    saves: list[tuple[int, bool]] = []
    slots = {ct: i for i, ct in enumerate(cts)}
    for symbol, which, spec in kept:
        if symbol not in needed:
            continue
        if spec and symbol in read:
            name = "out" if which < 0 else op.input(which).name
            raise OpError(f"{op.name}: its vjp reads the values of '{name}', which it declares as Spec")
        slots[symbol] = len(cts) + len(saves)
        saves.append((which, symbol not in read))
    if op.several:
        saves += [(-1 - k, True) for k in range(len(cts))]
    first_constant = len(cts) + len(saves)
    constants: list[Any] = []
    for value in (v for call in calls for v in call.inputs):
        if not isinstance(value, Symbol) and _place(value, constants) < 0:
            constants.append(value)
    nslots = first_constant + len(constants)
    for call in calls:
        for symbol in call.results:
            slots[symbol] = nslots
            nslots += 1
    outs = [-1 if g is None else slots[g] for g in wanted]
    rows: list[tuple[Any, ...]] = []
    used = set(outs)  # walking backwards: slots that something later reads
    for call in reversed(calls):
        ins = [slots[v] if isinstance(v, Symbol) else first_constant + _place(v, constants) for v in call.inputs]
        dead = sorted(s for s in set(ins) - used if s < first_constant or s >= first_constant + len(constants))
        used |= set(ins)
        donate = call.op.pointwise and ins[0] in dead and ins.count(ins[0]) == 1
        first, nout = slots[call.results[0]], len(call.results)
        rows.insert(0, (call.op.handle, ins, first, nout, dead, donate, call.attributes, call.forward))
    return {"saves": saves, "constants": constants, "calls": rows, "outs": outs, "nslots": nslots}


def _place(value: Any, constants: list[Any]) -> int:
    return next((i for i, c in enumerate(constants) if type(c) is type(value) and c == value), -1)


def set_operators(handles: dict[str, Any]) -> None:
    """What the operators of symbols call; freeze() says it once."""
    _OPERATORS.update(handles)
