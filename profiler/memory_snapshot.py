"""Segments and blocks of an allocator at one moment, from what `memory_snapshot()` gives: ours, and torch's."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from .errors import TraceFormatError
from .importers import plain_pickle, torch_snapshot
from .trace import Json

State: TypeAlias = Literal["allocated", "awaiting", "free"]
# torch's words, of which "pending" is the older one
_STATES: dict[str, State] = {
    "active_allocated": "allocated",
    "active_awaiting_free": "awaiting",
    "active_pending_free": "awaiting",
    "inactive": "free",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a segment: in use, freed but awaited by another stream, or free. `asked` is 0 where nothing is in it.

    `op` is what allocated it, or the innermost function of Python; empty where no stack was recorded.
    """

    address: int
    bytes: int
    asked: int
    state: State
    op: str


@dataclass(frozen=True, slots=True)
class Segment:
    """Memory that came from the device in one piece, with its blocks in the order of addresses."""

    device: int
    address: int
    bytes: int
    stream: int
    pool: str  # "small" or "large"
    is_expandable: bool
    blocks: Sequence[Block]

    @property
    def used(self) -> int:
        """Bytes that cannot be handed out now."""
        return sum(block.bytes for block in self.blocks if block.state != "free")


def read(path: str | os.PathLike[str]) -> list[Segment]:
    """The segments in a file: a snapshot that torch pickled, or what `memory_snapshot()` gives, as JSON.

    Raises TraceFormatError where it is neither, OSError where it cannot be opened.
    """
    name = Path(path).name
    with open(path, "rb") as file:
        is_pickle = file.read(2) in plain_pickle.MAGIC
        file.seek(0)
        if is_pickle:
            return segments(torch_snapshot.load(file, name)["segments"], name)
        try:
            document = json.load(file)
        except ValueError as error:
            raise TraceFormatError(f"{name}: neither a pickle of torch's nor JSON ({error})") from None
    found = document.get("segments") if isinstance(document, dict) else document
    if not isinstance(found, list):
        raise TraceFormatError(
            f"{name}: JSON, but no list of segments; write it with json.dump(rt.memory.memory_snapshot(), file)"
        )
    return segments(found, name)


def segments(found: Sequence[dict[str, Json]], name: str = "the snapshot") -> list[Segment]:
    """The segments of what `memory_snapshot()` gave; `name` is for the message of the TraceFormatError."""
    owners = torch_snapshot.Owners()
    try:
        return [_segment(one, owners) for one in found]
    except torch_snapshot.DAMAGE as error:
        raise TraceFormatError(
            f"{name}: a segment is not as memory_snapshot() gives it ({type(error).__name__}: {error})"
        ) from None


def _segment(found: dict[str, Json], owners: torch_snapshot.Owners) -> Segment:
    blocks = []
    for block in torch_snapshot.blocks(found, owners):
        state = _STATES[block["state"]]
        asked = int(block["size"]) if state != "free" else 0
        op = block["op"] if state != "free" else ""
        blocks.append(Block(int(block["addr"]), int(block["bytes"]), asked, state, op))
    return Segment(
        device=int(found.get("device", 0)),
        address=int(found["address"]),
        bytes=int(found["total_size"]),
        stream=int(found.get("stream", 0)),
        pool=torch_snapshot.text(found.get("segment_type", "large")),
        is_expandable=bool(found.get("is_expandable", False)),
        blocks=blocks,
    )
