"""Puts ranks on one clock by their collectives, which end at one moment on all ranks.

Files name the epoch time of their zero, on clocks of machines that may differ by milliseconds. Where the ends of
collectives say that a rank's clock is off by more than these ends scatter, the rank is moved.
"""

from collections.abc import Mapping

import numpy as np

from ..analysis.collectives import Key, Part, common
from ..analysis.ranks import ClockFit

LEAST = 3  # collectives that two sets of ranks must share
_FURTHEST = 2 * 10**18  # ns; what is moved must fit 64 bits
_SHARE = 0.95  # of the ends that lie within what is stated


def fitted(parts: Mapping[str, Mapping[Key, Part]]) -> ClockFit:
    """How much each rank is to be moved; `parts` are its collectives on the clock that its file names.

    Ranks that share collectives with those already placed are placed one after the other, the one with the most first;
    the move is the median of what the ends differ by.
    """
    shared = common(parts)
    names = sorted(parts)
    moves = {names[0]: 0}
    spreads: list[int] = []
    was_moved = False
    while waiting := [name for name in names if name not in moves]:
        offsets = {name: _offsets(name, shared, moves) for name in waiting}
        name = max(waiting, key=lambda waiting: len(offsets[waiting]))
        ends = offsets[name]
        if len(ends) < LEAST:
            break
        offset = round(np.median(ends))
        spread = round(np.quantile(np.abs(ends - offset), _SHARE))
        if abs(offset) <= spread:  # the clocks agree as far as can be told
            offset, spread = 0, round(np.quantile(np.abs(ends), _SHARE))
        was_moved |= offset != 0
        moves[name] = offset
        spreads.append(spread)
    if len(moves) < len(names):
        return ClockFit("unknown", len(shared), 0, dict.fromkeys(names, 0))
    return ClockFit("collectives" if was_moved else "agreed", len(shared), max(spreads, default=0), moves)


def _offsets(name: str, shared: Mapping[Key, Mapping[str, Part]], moves: Mapping[str, int]) -> np.ndarray:
    """By how much later than this rank the placed ones end each collective, on their common clock."""
    found = []
    for of_ranks in shared.values():
        placed = [of_ranks[other].end + move for other, move in moves.items() if other in of_ranks]
        if name in of_ranks and placed:
            apart = sum(end - of_ranks[name].end for end in placed) // len(placed)
            found.append(max(min(apart, _FURTHEST), -_FURTHEST))
    return np.array(found, dtype=np.int64)
