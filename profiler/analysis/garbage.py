"""Collections of Python's garbage, by generation."""

from dataclasses import dataclass

import numpy as np

from ..trace import Trace

CATEGORY = "gc"  # of the slices
GENERATION, COLLECTED = "Generation", "Collected"  # arguments of them


@dataclass(frozen=True, slots=True)
class Garbage:
    """The collections of one generation: how many, how long they took, and how many objects they freed."""

    generation: int
    count: int
    ns: int
    longest_ns: int
    collected: int


def garbage(trace: Trace) -> list[Garbage]:
    """By falling generation; empty where the trace has no collections."""
    rows, count = trace.select(category=CATEGORY), len(trace.slices)
    args, duration = trace.slice_args, trace.slices.duration[rows]
    generation, collected = (
        args[key].dense(count, missing)[rows] if key in args else np.full(len(rows), missing)
        for key, missing in ((GENERATION, -1), (COLLECTED, 0))
    )
    return [
        Garbage(
            generation=number,
            count=int(own.sum()),
            ns=int(duration[own].sum()),
            longest_ns=int(duration[own].max()),
            collected=int(collected[own].sum()),
        )
        for number in sorted(set(generation.tolist()), reverse=True)
        for own in [generation == number]
    ]
