"""Lays out a graph in rows, so that every edge leads from a row to a higher one (Sugiyama, Tagawa and Toda, 1981).

Edges over several rows are led through places between the boxes of each. Rows are ordered by the mean of the
neighbours, as long as fewer edges cross; then boxes are moved as near to the mean of their neighbours as they fit.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_SWEEPS = 8
_LANE = 0.12  # width that an edge needs beside boxes of width 1
_PLACES = 5000  # beyond them a layout takes seconds, and nobody can read it


@dataclass(frozen=True)
class Layout:
    """Middles of boxes of width 1, from `x` = 0.5 on, in row numbers from 0; and the points of each edge."""

    x: Sequence[float]
    row: Sequence[int]
    paths: Sequence[Sequence[tuple[float, int]]]
    width: float
    rows: int


@dataclass
class _Place:
    """A box, or where an edge goes through a row."""

    row: int
    width: float = 1.0
    x: float = 0.0
    below: list["_Place"] = field(default_factory=list)
    above: list["_Place"] = field(default_factory=list)


def lay_out(count: int, edges: Sequence[tuple[int, int]], gap: float) -> Layout | None:
    """Places for boxes 0 to count - 1, at least `gap` apart. An edge leads to a box with a higher number.

    None where too many edges go over too many rows.
    """
    row = [0] * count
    for source, target in sorted(edges):
        row[target] = max(row[target], row[source] + 1)
    if sum(row[target] - row[source] for source, target in edges) > _PLACES:
        return None
    places = [_Place(row[box]) for box in range(count)]
    chains = [_chain(places[source], places[target]) for source, target in edges]
    rows: list[list[_Place]] = [[] for _ in range(max(row, default=-1) + 1)]
    for place in _by_depth(places, chains):
        rows[place.row].append(place)
    rows = _untangled(rows)
    _straighten(rows, gap)
    left = min((place.x - place.width / 2 for line in rows for place in line), default=0)
    right = max((place.x + place.width / 2 for line in rows for place in line), default=0)
    return Layout(
        x=[place.x - left for place in places],
        row=row,
        paths=[[(place.x - left, place.row) for place in chain] for chain in chains],
        width=right - left,
        rows=len(rows),
    )


def _chain(source: _Place, target: _Place) -> list[_Place]:
    between = [_Place(row, _LANE) for row in range(source.row + 1, target.row)]
    chain = [source, *between, target]
    for low, high in pairwise(chain):
        low.above.append(high)
        high.below.append(low)
    return chain


def _by_depth(places: Sequence[_Place], chains: Sequence[Sequence[_Place]]) -> list[_Place]:
    """All places; what hangs together stands together."""
    found: dict[int, _Place] = {}
    stack = [place for place in reversed(places) if not place.below]
    while stack:
        place = stack.pop()
        if id(place) not in found:
            found[id(place)] = place
            stack.extend(reversed(place.above))
    return list(found.values())


def _untangled(rows: list[list[_Place]]) -> list[list[_Place]]:
    best, fewest = rows, _crossings(rows)
    for sweep in range(_SWEEPS):
        upwards = sweep % 2 == 0
        rows = [list(line) for line in rows]
        for line in rows:
            _number(line)
        for line in rows[1:] if upwards else reversed(rows[:-1]):
            line.sort(key=lambda place: _mean(place, place.below if upwards else place.above))
            _number(line)
        crossings = _crossings(rows)
        if crossings < fewest:
            best, fewest = rows, crossings
    return best


def _number(line: Sequence[_Place]) -> None:
    for number, place in enumerate(line):
        place.x = number


def _mean(place: _Place, neighbours: Sequence[_Place]) -> float:
    return sum(other.x for other in neighbours) / len(neighbours) if neighbours else place.x


def _crossings(rows: Sequence[Sequence[_Place]]) -> int:
    for line in rows:
        _number(line)
    count = 0
    for line in rows:
        seen: list[float] = []  # where edges end that begin further to the left
        for _, end in sorted((place.x, other.x) for place in line for other in place.above):
            count += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return count


def _straighten(rows: Sequence[Sequence[_Place]], gap: float) -> None:
    for line in rows:
        _fit(line, [place.x for place in line], gap)
    for sweep in range(2 * _SWEEPS):
        upwards = sweep % 2 == 0
        for line in rows if upwards else reversed(rows):
            _fit(line, [_mean(place, place.below if upwards else place.above) for place in line], gap)
    for line in rows:
        _fit(line, [_mean(place, place.below + place.above) for place in line], gap)


def _fit(line: Sequence[_Place], wanted: Sequence[float], gap: float) -> None:
    """Put places as near to where they are wanted (least squares) as their widths and order allow; edges first."""
    offsets = [0.0]
    for left, right in pairwise(line):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + gap)
    blocks: list[tuple[float, float, int]] = []  # mean, weight and size of those that touch: pool adjacent violators
    for place, x, offset in zip(line, wanted, offsets, strict=False):
        mean, weight, size = x - offset, 1 / place.width, 1
        while blocks and blocks[-1][0] > mean:
            other, more, members = blocks.pop()
            mean, weight, size = (mean * weight + other * more) / (weight + more), weight + more, size + members
        blocks.append((mean, weight, size))
    starts = [mean for mean, _, size in blocks for _ in range(size)]
    for place, start, offset in zip(line, starts, offsets, strict=False):
        place.x = start + offset
