"""Op: everything that perflab knows about one operation, as its declaration says it (registry.py makes them)."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import OpError, ShapeError
from .spec import Axes, Cost, DType, Indices, Mask, Spec

# Kinds of attributes, as the core stores them (core/op.h).
_KINDS: dict[Any, str] = {
    int: "i",
    int | None: "i",
    bool | None: "i",
    bool: "b",
    float: "f",
    DType: "d",
    DType | None: "d",
    tuple[int, ...]: "t",
    Axes: "a",
}
# Shape rules that count axes.
_ALONG_AXES = ("reduce", "extremum", "place_of_extremum", "same_axis", "transpose", "squeeze")
# PyTorch's spellings of the array API's names.
_TORCH_NAMES = {
    "axis": "dim",
    "axes": "dims",
    "keepdims": "keepdim",
    "shape": "size",
    "k": "diagonal",
    "shift": "shifts",
}


def torch_names(body: Callable[..., Any]) -> dict[str, str]:
    """PyTorch's spellings of a function's parameters, where it has none of that name itself."""
    names = inspect.signature(body).parameters
    spelled = {torch: own for own, torch in _TORCH_NAMES.items() if own in names and torch not in names}
    return spelled | ({"dims": "axis"} if "axis" in names and "axes" not in names else {})


@dataclass(frozen=True)
class Input:
    """A tensor parameter. like: only its shape and dtype are read. cast: takes part in promotion, has a gradient."""

    name: str
    like: bool
    cast: bool


@dataclass(frozen=True)
class Attribute:
    name: str
    alias: str
    kind: str
    required: bool
    preset: Any


@dataclass(frozen=True)
class Sample:
    """One call that the tests sweep. An input is a shape, filled with random values, or an array."""

    inputs: tuple[Any, ...]
    attributes: dict[str, Any]


def sample(*inputs: Any, **attributes: Any) -> Sample:
    return Sample(inputs, attributes)


@dataclass(frozen=True)
class Gradient:
    """A formula and what its parameters ask for.

    keeps: parameter, input number (-1 for the output or outputs), whether it is declared to read the shape alone.
    passes: attributes that it hands on to other ops; looks: attributes whose values it reads, by their annotation.
    """

    formula: Callable[..., Any]
    keeps: tuple[tuple[str, int, bool], ...]
    passes: tuple[str, ...]
    looks: tuple[str, ...]


@dataclass(eq=False)
class Op:
    name: str
    doc: str
    body: Callable[..., Any]
    inputs: tuple[Input, ...]
    rest: Input | None  # of a list op: what follows `inputs`, any number
    attributes: tuple[Attribute, ...]
    rule: str | None
    infer: Callable[..., Any] | None
    dtype: str
    kinds: str
    flops: Callable[..., int] | None
    read: Callable[..., int] | None
    source: str | None
    samples: tuple[Sample, ...]
    domain: tuple[float, float]
    aliases: tuple[str, ...]
    public: bool
    method: bool
    view: bool
    several: bool
    returns: Any  # the named tuple of several outputs whose number the declaration says, or None
    pointwise: bool
    updates: bool
    differentiable: bool
    autocast: str | None  # "lower", "float32" or None
    in_place: bool
    gradient: Gradient | None = None
    # Of a user's op: what computes on tensors of a CUDA device, as run() of cuda/bodies.py does with body.
    on_cuda: Callable[..., None] | None = None
    rewrites: dict[str, Callable[..., Any]] = field(default_factory=dict)
    handle: Any = field(default=None, repr=False)

    @property
    def op(self) -> "Op":
        return self

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return self.doc

    @property
    def __signature__(self) -> inspect.Signature:
        """As the handle takes it: attributes also go by position, and what a list op joins goes in a list."""
        parameters = list(inspect.signature(self.body).parameters.values())[1:]
        parameters = [p.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in parameters]
        more = [inspect.signature(rewrite).parameters[name] for name, rewrite in self.rewrites.items()]
        return inspect.Signature(parameters + more)

    @property
    def spreads(self) -> bool:
        """Whether the items of its first attribute may stand for it, as in reshape(x, 2, 3)."""
        first = self.attributes[:1]
        return any(a.kind == "t" and (len(self.attributes) == 1 or a.name == "shape") for a in first)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    def input(self, i: int) -> Input:
        if i < len(self.inputs) or self.rest is None:
            return self.inputs[i]
        return self.rest

    def along(self, array: Any) -> Any:
        """The array as a body that works along axes is given it: a tensor of no dimensions has axis 0, as in PyTorch,
        where NumPy knows none.
        """
        return array.reshape(1) if array.ndim == 0 and self.rule in _ALONG_AXES else array

    def check_shape(self, found: tuple[int, ...], inferred: tuple[int, ...]) -> None:
        """Raise ShapeError where a body gave another shape than infer, which would broadcast in silence."""
        if self.infer and found != inferred:
            raise ShapeError(f"{self.name}: its kernel gave shape {found}, its shape rule says {inferred}")

    def mask(self, fact: Callable[[Input], bool]) -> int:
        """The inputs of which `fact` holds, as bits; of a list op, bit 0 speaks for all."""
        if self.rest is not None:
            return int(all(fact(i) for i in (*self.inputs, self.rest)))
        return sum(1 << n for n, i in enumerate(self.inputs) if fact(i))

    @property
    def has_gradient(self) -> bool:
        return self.differentiable and any(i.cast for i in (*self.inputs, *([self.rest] if self.rest else [])))

    @property
    def gradient_mask(self) -> int:
        """The inputs that have a gradient, as bits; of a list op, bit 0 speaks for all."""
        if not self.has_gradient:
            return 0
        return 1 if self.rest is not None else self.mask(lambda i: i.cast)

    def vjp(self, formula: Callable[..., Any]) -> Callable[..., Any]:
        """Attach the gradient: `ct` is the gradient of the output, a tuple of them for an op with several outputs.

        Its other parameters say what is kept from the forward call: `out` the output (the named tuple of those that
        are read, where `returns` names several), an input's name that input
        (`a: Spec` its shape and dtype alone). Keyword-only parameters are the call's attributes: plain, to be handed on
        to other ops; annotated, to look at the value (the traced program then serves that value alone).
        It returns one gradient per input, None where there is none.
        """
        if self.gradient:
            raise OpError(f"{self.name}: it has a vjp already")
        names = [*(i.name for i in self.inputs), *([self.rest.name] if self.rest else [])]
        attributes = [a.name for a in self.attributes]
        keeps: list[tuple[str, int, bool]] = []
        passes: list[str] = []
        looks: list[str] = []
        for name, p in inspect.signature(formula).parameters.items():
            if name == "ct":
                continue
            if p.kind is p.KEYWORD_ONLY:
                if name not in attributes:
                    raise OpError(f"{self.name}: vjp asks for attribute '{name}', but the op has {_listed(attributes)}")
                (passes if p.annotation is p.empty else looks).append(name)
            elif name == "out" or name in names:
                keeps.append(
                    (name, -1 if name == "out" else names.index(name), p.annotation in (Spec, tuple[Spec, ...]))
                )
            else:
                raise OpError(f"{self.name}: vjp asks for '{name}', but the op has {_listed(['out', *names])}")
        self.gradient = Gradient(formula, tuple(keeps), tuple(passes), tuple(looks))
        return formula

    def keywords(self, rewrite: Callable[..., Any]) -> Callable[..., Any]:
        """Attach what keywords mean that the body does not take, in terms of the op without them.

        rewrite gets the handle that was called, the op's or that of its in-place form, and the arguments.
        """
        for name, p in inspect.signature(rewrite).parameters.items():
            if p.kind is p.KEYWORD_ONLY:
                self.rewrites[name] = rewrite
        return rewrite

    def cost(self, inputs: Sequence[Spec], outputs: Sequence[Spec], **attributes: Any) -> Cost:
        """FLOPs and bytes of one call, from the shapes that went in and came out."""
        if self.view:
            return Cost(0, 0, 0)
        assert self.flops
        out = outputs if self.several else outputs[0]
        flops = self.flops(*inputs, out=out, **attributes)
        if self.read:
            read = self.read(*inputs, out=out, **attributes)
        else:
            read = sum(s.nbytes for i, s in enumerate(inputs) if not self.input(i).like)
        return Cost(flops, read, sum(s.nbytes for s in outputs))

    def missing(self) -> list[str]:
        """The parts that its declaration lacks."""
        parts = {
            "a docstring": self.doc,
            "rule or infer": self.rule or self.infer,
            "flops": self.view or self.flops,
            "samples": self.samples,
            "vjp": not self.has_gradient or self.gradient,
        }
        return [part for part, there in parts.items() if not there]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


Signature = tuple[tuple[Input, ...], Input | None, tuple[Attribute, ...]]


def read_signature(name: str, body: Callable[..., Any]) -> Signature:
    """Inputs, what follows them in a list op, and attributes, from the body's parameters after `xp`."""
    inputs: list[Input] = []
    rest = None
    attributes: list[Attribute] = []
    for p in list(inspect.signature(body).parameters.values())[1:]:
        if p.kind is p.KEYWORD_ONLY:
            if p.annotation not in _KINDS:
                raise OpError(f"{name}: annotate '{p.name}' with int, bool, float, DType, tuple[int, ...] or Axes")
            required = p.default is p.empty
            preset = None if required else p.default
            attributes.append(Attribute(p.name, _TORCH_NAMES.get(p.name, ""), _KINDS[p.annotation], required, preset))
            continue
        entry = Input(p.name, like=p.annotation is Spec, cast=p.annotation not in (Spec, Indices, Mask))
        if p.kind is p.VAR_POSITIONAL:
            rest = entry
        else:
            inputs.append(entry)
    return tuple(inputs), rest, tuple(attributes)
