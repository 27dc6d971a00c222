"""What a recording in modelled time may hold: nothing of the machine that it was made on, so that every run's is equal.

Left out are the GIL, collections of garbage, the process's memory, and the threads that computed the results. Threads
are numbered from 1, as are nodes, launches, leaves and addresses of devices' memory in the order in which they appear.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .events import (
    ALLOC,
    DEVICE_MASK,
    EDGE,
    FREE,
    GIL,
    KERNEL,
    LAUNCH,
    LEAF,
    NODE,
    OP,
    OUTPUT_ALLOCATED,
    STACK,
    TO_LEAF,
    USE,
)
from .gil_track import GilRecord
from .recording import Recording
from .trace import Int64s

_PID = 1000  # of the process; those of devices are their numbers


def modelled(recording: Recording, workers: set[int]) -> Recording:
    """The recording without what no model says. workers: the threads that computed the results."""
    lanes = [(thread, _kept(events)) for thread, events in recording.events if thread not in workers]
    lanes = [(thread, events) for thread, events in lanes if len(events)]
    threads: dict[int, int] = {}
    for thread, _ in sorted(lanes, key=lambda lane: int(lane[1]["t0"].min())):
        threads.setdefault(thread, len(threads) + 1)
    if lanes:
        every = np.concatenate([events for _, events in lanes])
        _number(every)
        parts = np.split(every, np.cumsum([len(events) for _, events in lanes])[:-1])
        lanes = [(threads[thread], part) for (thread, _), part in zip(lanes, parts, strict=True)]
    return replace(
        recording,
        events=lanes,
        pid=_PID,
        threads={number: recording.threads.get(thread, "") or f"thread {number}" for thread, number in threads.items()},
        allocated_bytes=0,
        reserved=[],
        resident=[],
        collections=[],
        gil=GilRecord(),
        metadata={key: value for key, value in recording.metadata.items() if key != "runId"},
    )


def _kept(events: NDArray[np.void]) -> NDArray[np.void]:
    kind = events["kind"]
    of_host = ((kind == ALLOC) | (kind == FREE)) & (events["flags"] & DEVICE_MASK == 0)
    of_host |= (kind == USE) & (events["flags"] <= DEVICE_MASK)
    of_host[1:] |= of_host[:-1] & (kind[1:] == STACK)
    kept: NDArray[np.void] = events[(kind > 0) & (kind != GIL) & ~of_host]
    kept["flags"][kept["kind"] == OP] &= np.uint16(~OUTPUT_ALLOCATED & 0xFFFF)
    return kept


def _number(events: NDArray[np.void]) -> None:
    kind, to_leaf = events["kind"], (events["kind"] == EDGE) & (events["flags"] & TO_LEAF > 0)
    nodes = [("sequence", np.isin(kind, (OP, NODE, EDGE))), ("address", (kind == EDGE) & ~to_leaf)]
    launches = [("sequence", np.isin(kind, (LAUNCH, KERNEL)))]
    leaves = [("address", (kind == LEAF) | to_leaf)]
    memory = [("address", np.isin(kind, (ALLOC, FREE, USE))), ("bytes", kind == LEAF)]
    for places, by_value in ((nodes, True), (launches, True), (leaves, False), (memory, False)):
        _rank(events, places, by_value)
    events["address"][kind == OP] = 0


def _rank(events: NDArray[np.void], places: list[tuple[str, NDArray[np.bool_]]], by_value: bool) -> None:
    """Numbers above 0 become 1, 2, ... in their order, or in that of the events that they first stand on."""
    values: Int64s = np.concatenate([events[field][chosen].astype(np.int64) for field, chosen in places])
    at = np.concatenate([np.flatnonzero(chosen) for _, chosen in places])
    known, first = np.unique(values[np.argsort(at, kind="stable")], return_index=True)
    positive = np.flatnonzero(known > 0)
    order = positive if by_value else positive[np.argsort(first[positive])]
    rank = np.zeros(len(known), dtype=np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    for field, chosen in places:
        events[field][chosen] = rank[np.searchsorted(known, events[field][chosen].astype(np.int64))]
