"""What the recorder left, as plain data: arrays of events and the tables that their numbers stand for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .call_stacks import CallStacks
from .events import ANNOTATION, COMPOSITE, NODE, OP, STEP_MARK
from .garbage import Collection
from .gil_track import GilRecord
from .stack_track import StackRecord
from .torch_recorder import TorchRecord
from .trace import Int64s, Json

Events: TypeAlias = NDArray[np.void]
Inputs: TypeAlias = Sequence[tuple[str, tuple[int, ...]]]
Shapes: TypeAlias = Sequence[Inputs]
Cost: TypeAlias = Callable[[str, Inputs, str, int], tuple[int, int]]  # op, inputs, dtype and bytes of the output


@dataclass(frozen=True, slots=True)
class Clock:
    """What turns ticks into ns: `ns0` is the epoch time of `tick0`."""

    tick0: int
    ns0: int
    ns_per_tick: float

    def ns_between(self, ticks: Int64s, origin: int) -> Int64s:
        """Ns from the tick `origin` to each of `ticks`."""
        scaled: Int64s = np.rint((ticks - origin) * self.ns_per_tick).astype(np.int64)
        return scaled


@dataclass(frozen=True, slots=True)
class Recording:
    """What one recorded window left behind."""

    events: list[tuple[int, Events]]  # thread id, its events of dtype EVENT
    clock: Clock
    pid: int
    ops: list[str]  # by op id
    dtypes: list[str]  # by dtype code
    strings: list[str]  # by string id
    shapes: Shapes  # by shapes id: dtype and shape of each input
    threads: dict[int, str] = field(default_factory=dict)  # names by thread id
    process: str = "python"  # its name
    number: int = 0  # of the first event: those of children go on from here
    devices: list[str] = field(default_factory=lambda: ["cpu"])  # by number
    allocated_bytes: int = 0  # when the window began
    on_devices: dict[int, int] = field(default_factory=dict)  # the same, by device
    reserved: list[tuple[int, int]] = field(default_factory=list)  # (tick, bytes), as sampled
    reserved_on_devices: list[tuple[int, int, int]] = field(default_factory=list)  # (device, tick, bytes), the same
    resident: list[tuple[int, int]] = field(default_factory=list)  # the same, of the process
    collections: list[Collection] = field(default_factory=list)  # of garbage
    stack: StackRecord | None = None  # samples of Python's
    call_stacks: CallStacks = field(default_factory=CallStacks)  # of ops and allocations
    torch: TorchRecord | None = None
    tasks: dict[int, str] = field(default_factory=dict)  # names of asyncio's tasks by number
    gil: GilRecord = field(default_factory=GilRecord)
    metadata: dict[str, Json] = field(default_factory=dict)
    cost: Cost | None = None  # FLOPs and bytes of a call
    children: list["Recording"] = field(default_factory=list)  # of forked processes, on the same clock

    def is_between_steps(self, thread: int) -> bool:
        """Whether `thread`, in which the steps run, did nothing and ended no step.

        That other threads work, that an event loop runs its tasks, or that memory is freed, makes no step.
        """
        for number, events in self.events:
            if np.isin(events["kind"], _WORK if number == thread else [STEP_MARK]).any():
                return False
        return self.torch is None or self.torch.is_empty


_WORK = [OP, NODE, ANNOTATION, COMPOSITE, STEP_MARK]
