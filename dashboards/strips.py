"""Two samples beside each other in the space of a word: a dot for each run, a line at each median."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, PAD = 150, 5
ROWS = (6, 16)  # where base and head stand
ROOM = 0.03  # of the median, to each side, that is shown at least


@dataclass(frozen=True)
class Strip:
    """Where dots and medians stand, base's first."""

    dots: Sequence[tuple[float, int, str]]
    medians: Sequence[tuple[float, int, str]]


def strip(base: Sequence[float], head: Sequence[float]) -> Strip | None:
    """Both on one axis; None where a side has no runs."""
    if not (base and head):
        return None
    middle = statistics.median((*base, *head))
    low, high = min(*base, *head, middle * (1 - ROOM)), max(*base, *head, middle * (1 + ROOM))
    sides = (("base", base, ROWS[0]), ("head", head, ROWS[1]))

    def at(value: float) -> float:
        return round(PAD + (WIDTH - 2 * PAD) * (value - low) / (high - low or 1), 1)

    return Strip(
        dots=[(at(value), y, name) for name, values, y in sides for value in values],
        medians=[(at(statistics.median(values)), y, name) for name, values, y in sides],
    )
