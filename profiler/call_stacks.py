"""Python's stacks at ops and allocations, as text."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .trace import Json

Frame: TypeAlias = tuple[str, int, str, int]  # file, line, function, the line at which that begins


@dataclass(frozen=True, slots=True)
class CallStacks:
    """By number, from 0, which is none: the whole stack, the innermost frame first, and the line that is the user's."""

    texts: list[Json] = field(default_factory=lambda: [""])
    sources: list[Json] = field(default_factory=lambda: [""])

    @classmethod
    def of(cls, stacks: Sequence[Sequence[Frame]], own: str) -> "CallStacks":
        """Of the recorder's stacks. Frames of files in the folder `own` are nobody's line."""
        inside = os.path.join(own, "")
        found = cls()
        for stack in stacks:
            found.texts.append(";".join(f"{file}({line}): {function}" for file, line, function, _ in stack))
            outside = (f"{file}:{line}" for file, line, *_ in stack if not file.startswith(inside))
            found.sources.append(next(outside, ""))
        return found
