"""The kinds of checks, and all of them on one op."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import PerflabError
from ..op import Op, Sample
from ..registry import Composite
from .costs import check_cost, check_saved
from .derive import Groups, broadcast, zero_d, zero_size
from .devices import check_device, moves
from .gradients import check_gradient, check_second_gradient, differentiable
from .halves import check_halves
from .inputs import Entry, call, fill, internal, natural, tensors
from .layouts import check_layouts, check_repeated
from .values import check_shape, check_value, reference


def check_op(op: Any, samples: Sequence[Sample] | None = None) -> dict[str, str]:
    """Check an op in every one of KINDS; AssertionError says what differs.

    op: a function such as `rt.add`, a custom_op, or a declaration. samples: by default those of its declaration; each,
    made by sample(*inputs, **attributes), gives for every tensor a shape, which is filled with random numbers, or an
    array. Samples with nothing in them, of no dimensions, and broadcast are made of these.

    Returns for each kind on how many samples it was checked or, in words, why the op has nothing to check there.
    """
    entry: Entry = op if isinstance(op, Op | Composite) else op.record
    if isinstance(entry, Op) and callable(op):  # a custom_op may have a gradient that its declaration does not know
        flows = entry.differentiable and getattr(op, "has_gradient", True)
        entry = replace(entry, handle=op, differentiable=flows)
    return {kind: check_kind(entry, kind, samples) for kind in KINDS}


def check_kind(entry: Entry, name: str, samples: Sequence[Sample] | None = None) -> str:
    """One kind of check; what check_op returns for it."""
    kind = KINDS[name]
    if words := kind.excuse(entry):
        return words
    samples = entry.samples if samples is None else samples
    if internal(entry):  # a sample of its own says what fits
        samples = [s for s in samples if any(d is s for d in next(kind.derive(entry, s)))] or samples
    done, refused = 0, ""
    for one in samples:
        for group in kind.derive(entry, one):
            refusals = ["" if s is one else refusal_of(entry, s) for s in group]
            counts = [check(entry, name, s) for s, refusal in zip(group, refusals, strict=True) if not refusal]
            done, refused = done + sum(counts), refused or next(filter(None, refusals), "")
            if any(counts):
                break
    if done:
        return f"{done} sample{'s' * (done > 1)}"
    if not refused:
        raise AssertionError(f"{entry.name}: no sample allows the check '{name}': add a larger one, of shapes")
    return f"refused: {refused}"


def check(entry: Entry, name: str, sample: Sample) -> bool:
    """One kind of check on one sample."""
    try:
        return KINDS[name].check(entry, sample)
    except Exception as error:
        error.add_note(f"{entry.name}, {name}: {sample}")
        raise


def refusal_of(entry: Entry, sample: Sample) -> str:
    """What the op says when it does not take a derived sample; nothing if it does. An internal op's body may say it."""
    arrays = fill(entry, sample, natural(entry))
    try:
        if internal(entry):
            reference(entry, sample, arrays)
        call(entry, sample, tensors(arrays))
    except PerflabError as error:
        own = rf"{entry.name}: " if isinstance(entry, Op) and entry.public else r"[\w:]+: "
        assert internal(entry) or re.match(own, str(error)), f"the refusal does not name the op: {error!r}"
        return str(error)
    except Exception as error:
        if internal(entry):
            return f"{entry.name}: its body refuses {sample.inputs}: {error}"
        error.add_note(f"{entry.name}, {sample}: it is neither taken nor refused by a ShapeError in words")
        raise
    return ""


@dataclass(frozen=True)
class Kind:
    """check: whether a sample had something to check. derive: the samples made of one. excuse: why, by its declaration,
    an op has nothing of the kind; empty if it has.
    """

    check: Callable[[Any, Sample], bool]
    excuse: Callable[[Entry], str] = lambda entry: ""
    derive: Callable[[Entry, Sample], Groups] = lambda entry, sample: iter([[sample]])


def composed(entry: Entry) -> str:
    return "it is made of ops, of which each is checked" if isinstance(entry, Composite) else ""


def no_gradient(entry: Entry) -> str:
    if isinstance(entry, Op):
        return "" if entry.has_gradient else "it has no gradient"
    return "" if differentiable(entry, entry.samples[0]) else "no part of it has a gradient"


def keeps_nothing(entry: Entry) -> str:
    if isinstance(entry, Op) and entry.has_gradient and entry.gradient is None:
        return "its gradient is a Function, which saves what it likes"
    return composed(entry) or no_gradient(entry)


def no_floats(entry: Entry) -> str:
    return "" if isinstance(entry, Composite) or "f" in entry.kinds else "it takes no floats"


def check_all(entry: Entry, sample: Sample) -> bool:
    """Values, gradients, bytes kept and cost."""
    for name in ("value", "gradient", "second gradient", "saved bytes", "cost bytes"):
        if not KINDS[name].excuse(entry):
            KINDS[name].check(entry, sample)
    return True


KINDS = {
    "value": Kind(check_value, composed),
    "shape rule": Kind(check_shape, composed),
    "gradient": Kind(check_gradient, no_gradient),
    "second gradient": Kind(check_second_gradient, no_gradient),
    "saved bytes": Kind(check_saved, keeps_nothing),
    "cost bytes": Kind(check_cost, composed),
    "16-bit floats": Kind(check_halves, no_floats),
    "zero-size": Kind(check_all, derive=zero_size),
    "0-d": Kind(check_all, derive=zero_d),
    "non-contiguous": Kind(check_layouts),
    "broadcast": Kind(check_repeated, derive=broadcast),
    "device": Kind(check_device, moves),
}
