"""Collectives that end together on all ranks: which slice of one rank belongs to which of another.

What runs on devices is taken where there is any, else the ranges that the backends put on threads (`gloo:all_reduce`).
Of one process group and kind, the numbers that torch gives (`Seq`) tell which belong together; without these the first
belongs to the first, if all ranks have as many.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..trace import Int64s, Trace
from .ops import KERNELS, of_category
from .parts import named

COMMUNICATION = re.compile(r"(?i).*(n|r|one|ms)ccl|.*nvshmem|.*all_?(reduce|gather|to_?all)|.*reduce_?scatter")
_RANGES = re.compile(r"(nccl|gloo|mpi|ucc|xccl|hccl|cncl):\w+")  # of torch's backends, on threads
_TOGETHER = re.compile(r"(?i)all_?(reduce|gather|to_?all)|reduce_?scatter|barrier|SendRecv")
_ONE_WAY = re.compile(r"nccl:(send|recv|coalesced|batch)")  # where these are, SendRecv may be of two ranks alone
_SEQUENCE, _GROUP, _KIND = "Seq", "Process Group Name", "Collective name"


class Key(NamedTuple):
    """Which collective: what it does, in which process group, and the how-manieth of these."""

    kind: str
    group: str
    number: int


class Part(NamedTuple):
    """A rank's part of a collective, in ns."""

    start: int
    end: int


def collective_parts(trace: Trace, is_rank: NDArray[np.bool_] | None = None) -> dict[Key, Part]:
    """The collectives of one rank: of all slices, or of those that are marked. Numbers are -1 - n where torch gave
    none: those of two ranks compare only where both have as many."""
    rows = _rows(trace, is_rank)
    args = {
        key: dict(column) for key in (_SEQUENCE, _GROUP, _KIND) if (column := trace.slice_args.get(key)) is not None
    }
    found: dict[Key, Part] = {}
    counted: dict[tuple[str, str], int] = defaultdict(int)
    slices = trace.slices
    ends = slices.end
    for row, name in zip(rows.tolist(), trace.name_of(rows), strict=True):
        kind = str(args.get(_KIND, {}).get(row, name.partition("(")[0].partition("<")[0]))
        group = str(args.get(_GROUP, {}).get(row, ""))
        if not _TOGETHER.search(kind):
            continue
        number = args.get(_SEQUENCE, {}).get(row)
        if not isinstance(number, int):
            counted[kind, group] += 1
            number = -counted[kind, group]
        found.setdefault(Key(kind, group, number), Part(int(slices.start[row]), int(ends[row])))
    return found


def _rows(trace: Trace, is_rank: NDArray[np.bool_] | None) -> Int64s:
    ranges = named(trace, _RANGES) & ~of_category(trace, ("gpu_user_annotation",))
    chosen = of_category(trace, KERNELS) & named(trace, COMMUNICATION)
    if named(trace, _ONE_WAY).any():
        chosen &= ~named(trace, re.compile(r"(?i).*SendRecv"))
    if not chosen.any():
        chosen = ranges
    return np.flatnonzero(chosen if is_rank is None else chosen & is_rank)


def common(parts: Mapping[str, Mapping[Key, Part]]) -> dict[Key, dict[str, Part]]:
    """By collective the part of each rank, of the collectives that at least two ranks have, in the order of their
    ends. `parts`: of each rank."""
    counts: dict[tuple[str, str], set[int]] = defaultdict(set)
    for of_rank in parts.values():
        own: dict[tuple[str, str], int] = defaultdict(int)
        for key in of_rank:
            own[key.kind, key.group] += key.number < 0
        for both, count in own.items():
            counts[both].add(count)
    found: dict[Key, dict[str, Part]] = defaultdict(dict)
    for rank, of_rank in parts.items():
        for key, part in of_rank.items():
            if key.number >= 0 or len(counts[key.kind, key.group]) == 1:
                found[key][rank] = part
    several = [(key, of_ranks) for key, of_ranks in found.items() if len(of_ranks) > 1]
    return dict(sorted(several, key=lambda one: max(part.end for part in one[1].values())))
