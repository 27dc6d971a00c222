"""A snapshot of an allocator in words."""

from collections.abc import Sequence

from ..memory_snapshot import Segment
from ..quantity import BYTES, plain, quantity
from .section import Section, Table

_OWNERS = 8


def snapshot_section(segments: Sequence[Segment]) -> Section:
    """What is reserved, what is in use, why the rest is not given back, and whose the used blocks are."""
    reserved, used = sum(one.bytes for one in segments), sum(one.used for one in segments)
    empty = sum(one.bytes for one in segments if not one.used)
    free = [block.bytes for one in segments for block in one.blocks if block.state == "free"]
    taken = [block for one in segments for block in one.blocks if block.state != "free"]
    rounding = sum(block.bytes - block.asked for block in taken)
    shares = (
        ("in use", used - rounding),
        ("lost to rounding", rounding),
        ("free in segments that are partly used", reserved - used - empty),
        ("free in whole segments: empty_cache gives them back", empty),
    )
    owners: dict[str, list[int]] = {}
    for block in taken:
        owners.setdefault(block.op or "(no stack)", []).append(block.asked)
    ranked = sorted(owners.items(), key=lambda one: -sum(one[1]))[:_OWNERS]
    return Section(
        "Snapshot",
        (
            f"{_counted(len(segments), 'segment')}, {_size(reserved)} reserved, {_size(used)} in use.",
            f"The largest free block has {_size(max(free, default=0))}.",
        ),
        (
            Table(
                ("memory", "bytes", "share"),
                tuple((word, _size(size), f"{size / max(reserved, 1):.1%}") for word, size in shares),
            ),
            Table(
                ("allocated by", "in use", "blocks"),
                tuple((word, _size(sum(sizes)), plain(len(sizes))) for word, sizes in ranked),
            ),
        ),
    )


def _size(count: float) -> str:
    return quantity(count, BYTES)


def _counted(count: int, noun: str) -> str:
    return f"{plain(count)} {noun}{'' if count == 1 else 's'}"
