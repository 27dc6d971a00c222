"""A series in the space of a word: drawn on the server, since a page may show hundreds."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from .project_views import SeriesRow

# In units of the picture, which is stretched to the room that it gets.
WIDTH, HEIGHT = 160, 32
PAD = 3
COLUMNS = 64
# Of the median, to each side, that is shown at least: noise of one percent does not look like a cliff.
ROOM = 0.06


@dataclass(frozen=True)
class Sparkline:
    """Paths of the line up to the last change, and from there on."""

    before: str
    after: str


def sparkline(row: SeriesRow, commits: int) -> Sparkline:
    """Draw a row over the axis of a project of so many commits: rows stand below each other commit by commit."""
    low, high = _range(row.values)
    changed = row.changes[-1].place if row.changes else 0
    split = row.places[changed] if changed else -1
    columns: dict[int, list[float]] = {}
    step = max((commits - 1) / COLUMNS, 1)
    for place, value in zip(row.places, row.values, strict=True):
        columns.setdefault(int(place / step), []).append(value)
    points = [
        (
            round(PAD + (WIDTH - 2 * PAD) * min(column * step, commits - 1) / max(commits - 1, 1)),
            round(PAD + (HEIGHT - 2 * PAD) * (1 - _share(statistics.median(values), low, high))),
        )
        for column, values in columns.items()
    ]
    at = sum(column < int(split / step) for column in columns) if split >= 0 else len(points)
    return Sparkline(before=_path(points[:at]), after=_path(points[max(at - 1, 0) :]) if split >= 0 else "")


def _range(values: Sequence[float]) -> tuple[float, float]:
    middle = statistics.median(values)
    ordered = sorted(values)
    cut = len(ordered) // 50  # a single outlier may leave the picture
    low, high = ordered[cut], ordered[-1 - cut]
    return min(low, middle * (1 - ROOM)), max(high, middle * (1 + ROOM))


def _share(value: float, low: float, high: float) -> float:
    return min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 0.5


def _path(points: Sequence[tuple[int, int]]) -> str:
    """The points on a line, each relative to the one before."""
    if not points:
        return ""
    path, (x, y) = f"M{points[0][0]} {points[0][1]}", points[0]
    steps = []
    for to_x, to_y in points[1:]:
        steps.append(f"{to_x - x} {to_y - y}".replace(" -", "-"))
        x, y = to_x, to_y
    return f"{path}l{' '.join(steps).replace(' -', '-')}" if steps else f"{path}h0"
