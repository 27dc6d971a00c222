"""Replays of a history of memory in words."""

from collections.abc import Sequence

from ..memory_history import MemoryHistory
from ..quantity import BYTES, plain, quantity
from ..replay import RECORDED, Replay
from .section import Section, Table


def replays_section(history: MemoryHistory, replays: Sequence[Replay]) -> Section:
    """What each configuration reserved; `replays` are those of `history`."""
    base = replays[0]
    sentences = [
        f"{plain(len(history) - history.earlier)} allocations and frees on {history.device},"
        f" {_size(base.peak_allocated)} in use at most."
    ]
    if history.earlier:
        there = int(history.allocated[history.earlier - 1])
        sentences.append(f"{_size(there)} were in use before; configurations begin with these close together.")
    sentences += [
        f"{one.conf}: out of memory after {plain(len(one.time))} of them, when {_size(one.refused)} were asked for."
        for one in replays
        if one.refused
    ]
    sentences.append(_verdict(base, [one for one in replays[1:] if not one.refused]))
    rows = tuple(
        (
            one.conf,
            "out of memory" if one.refused else _size(one.peak_reserved),
            "" if one.refused else f"{one.peak_reserved / max(base.peak_reserved, 1):.3f}",
            f"{one.peak_fragmentation:.1%}",
            f"{one.mean_fragmentation:.1%}",
            plain(one.device_allocations),
        )
        for one in replays
    )
    headings = ("configuration", "reserved", "ratio", "unused", "mean", "device allocs")
    return Section("Replay", tuple(sentence for sentence in sentences if sentence), (Table(headings, rows),))


def _verdict(base: Replay, others: Sequence[Replay]) -> str:
    """Whether one of the others helps."""
    if not others:
        return ""
    least = min(others, key=lambda one: one.peak_reserved)
    than = "what was recorded" if base.conf == RECORDED else base.conf
    if base.refused:
        return f"{least.conf} goes through, with {_size(least.peak_reserved)} reserved at most."
    saved = base.peak_reserved - least.peak_reserved
    if saved <= 0:
        return f"None of them reserves less than {than}."
    return f"{least.conf} reserves {_size(saved)} ({saved / base.peak_reserved:.1%}) less than {than}."


def _size(count: float) -> str:
    return quantity(count, BYTES)
