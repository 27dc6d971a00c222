"""Turns the recorder's events into a Trace. Needs no runtime: arrays and tables of names in, columns out.

On a thread's track lie steps and annotations, composites and backward nodes, ops, and in each op its kernel: they
nest. Waiting for the GIL and holding it begin and end anywhere, so they lie on a track of their own beside it; its tid
is the thread's plus `GIL_TID`, and the argument `Thread` of its slices is the thread's tid.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .analysis.gil import HELD, THREAD, WAIT
from .analysis.ops import MEMORY
from .analysis.steps import STEP
from .builder import TraceBuilder
from .trace import Int64s, Json, Trace, Track

EVENT = np.dtype(
    [("t0", "<i8"), ("t1", "<i8"), ("t2", "<i8"), ("kind", "<u2"), ("flags", "<u2"), ("name", "<u4"),
     ("sequence", "<u8"), ("address", "<u8"), ("bytes", "<u8"), ("shapes", "<u4"), ("scope", "<u4")]
)  # fmt: skip
OP, NODE, ALLOC, FREE, GIL, ANNOTATION, STEP_MARK, COMPOSITE = range(1, 9)  # values of `kind`
GIL_TID = 10_000_000  # above the highest thread id of Linux

_BACKENDS = ("view", "native", "numpy")  # bits 0-2 of an op's flags; a view has no kernel
_DTYPES = ("bool", "int32", "int64", "float32", "float64")  # bits 3-7
_OUTPUT_ALLOCATED = 1 << 8
_NAME_INTERNED = 1  # flag of a node: its name is an interned string
_INPUT_TYPES = dict(zip(_DTYPES, ("bool", "int", "long int", "float", "double"), strict=True))  # as torch spells them

Events: TypeAlias = NDArray[np.void]
Shapes: TypeAlias = Sequence[Sequence[tuple[str, tuple[int, ...]]]]


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
    strings: list[str]  # by string id
    shapes: Shapes  # by shapes id: dtype and shape of each input
    threads: dict[int, str] = field(default_factory=dict)  # names by thread id
    allocated_bytes: int = 0  # when the window began
    reserved: list[tuple[int, int]] = field(default_factory=list)  # (tick, bytes), as sampled
    metadata: dict[str, Json] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not any(len(events) for _, events in self.events)


def to_trace(recording: Recording, *, shapes: bool = True, memory: bool = True) -> Trace:
    """The trace of a recording, with or without input shapes and memory events."""
    return _Conversion(recording).trace(shapes, memory)


@dataclass(frozen=True, slots=True)
class _Part:
    """The events of one kind in one array of them, and the track of their thread."""

    thread: int
    track: int
    events: Events
    rows: Int64s

    def column(self, name: str) -> NDArray[Any]:
        return self.events[name][self.rows]


class _Conversion:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._builder = TraceBuilder(recording.metadata)
        self._op_names = self._ids(recording.ops)
        self._strings = self._ids(recording.strings)
        ticks = [events["t0"][events["kind"] > 0] for _, events in recording.events]
        ticks.append(np.array([tick for tick, _ in recording.reserved], dtype=np.int64))
        self._origin = int(min((column.min() for column in ticks if len(column)), default=recording.clock.tick0))
        base = self._ns(np.array([recording.clock.tick0]))
        self._builder.metadata["baseTimeNanoseconds"] = recording.clock.ns0 - int(base[0])

    def trace(self, shapes: bool, memory: bool) -> Trace:
        # Of slices with the same times the one added first is around the others.
        steps, annotations, composites = (list(self._parts(kind)) for kind in (STEP_MARK, ANNOTATION, COMPOSITE))
        for part in steps:
            texts = np.array([self._builder.string(f"{STEP}{number}") for number in part.column("name").tolist()])
            self._add(part, "t0", texts, "user_annotation")
        for part in annotations:
            self._add(part, "t0", self._strings[part.column("name")], "user_annotation")
        for part in composites:
            self._add(part, "t0", self._strings[part.column("name")], "cpu_op")
        nodes = [(part, self._add_nodes(part)) for part in self._parts(NODE)]
        ops = [(part, self._add_ops(part, shapes)) for part in self._parts(OP)]
        self._tie(ops, nodes)
        for part in self._parts(GIL):
            self._add_gil(part)
        if memory:
            self._add_memory()
        return self._builder.build()

    def _ids(self, names: Sequence[str]) -> NDArray[np.int64]:
        return np.array([self._builder.string(name) for name in names], dtype=np.int64)

    def _ns(self, ticks: Int64s) -> Int64s:
        return self._recording.clock.ns_between(ticks, self._origin)

    def _parts(self, kind: int) -> Iterator[_Part]:
        for thread, events in self._recording.events:
            rows = np.flatnonzero(events["kind"] == kind)
            if len(rows):
                yield _Part(thread, self._track(thread), events, rows)

    def _track(self, thread: int, *, gil: bool = False) -> int:
        name = self._recording.threads.get(thread, f"thread {thread}")
        tid, name = (thread + GIL_TID, f"{name} GIL") if gil else (thread, name)
        return self._builder.track(Track(self._recording.pid, tid, name, "python"))

    def _add(self, part: _Part, begin: str, names: NDArray[Any], category: str) -> Int64s:
        """Slices from the stamp `begin` to the end of each event; their handles."""
        start, end = self._ns(part.column(begin)), self._ns(part.column("t2"))
        first = self._builder.slices(start, end - start, part.track, names, self._builder.string(category))
        return np.arange(first, first + len(part.rows))

    def _add_nodes(self, part: _Part) -> Int64s:
        backward = self._ids([backward_name(name) for name in self._recording.ops])
        name = part.column("name")
        interned = (part.column("flags") & _NAME_INTERNED) > 0
        names = np.empty(len(name), dtype=np.int64)
        names[interned] = self._strings[name[interned]]
        names[~interned] = backward[name[~interned]]
        handles = self._add(part, "t0", names, "autograd")
        self._builder.slice_args("Sequence number", handles, part.column("sequence"))
        return handles

    def _add_ops(self, part: _Part, shapes: bool) -> Int64s:
        builder = self._builder
        name, flags = part.column("name"), part.column("flags")
        handles = self._add(part, "t0", self._op_names[name], "cpu_op")
        builder.slice_args("External id", handles, handles + 1)
        sequence = part.column("sequence")
        builder.slice_args("Sequence number", handles[sequence > 0], sequence[sequence > 0])
        if shapes:
            ids = part.column("shapes")
            table = self._recording.shapes
            dims: list[Json] = [[list(shape) for _, shape in inputs] for inputs in table]
            types: list[Json] = [[_INPUT_TYPES.get(dtype, dtype) for dtype, _ in inputs] for inputs in table]
            builder.slice_args("Input Dims", handles[ids > 0], ids[ids > 0], table=dims)
            builder.slice_args("Input type", handles[ids > 0], ids[ids > 0], table=types)
        scope = part.column("scope")
        modules: list[Json] = list(self._recording.strings)
        builder.slice_args("Module Hierarchy", handles[scope > 0], scope[scope > 0], table=modules)

        ran = np.flatnonzero(flags & 7)
        kernels = _Part(part.thread, part.track, part.events, part.rows[ran])
        kernel_handles = self._add(kernels, "t1", self._kernel_names(name[ran], flags[ran]), "kernel")
        builder.slice_args("External id", kernel_handles, handles[ran] + 1)
        return handles

    def _kernel_names(self, op: NDArray[Any], flags: NDArray[Any]) -> NDArray[np.int64]:
        code = op.astype(np.int64) << 8 | flags & 0xFF
        ids = np.zeros(len(self._recording.ops) << 8, dtype=np.int64)
        for kernel in np.flatnonzero(np.bincount(code, minlength=1)).tolist():
            name = self._recording.ops[kernel >> 8]
            ids[kernel] = self._builder.string(f"{name}_{_BACKENDS[kernel & 7]}_{_DTYPES[kernel >> 3 & 31]}")
        names: NDArray[np.int64] = ids[code]
        return names

    def _tie(self, ops: list[tuple[_Part, Int64s]], nodes: list[tuple[_Part, Int64s]]) -> None:
        """Arrows from each op to the backward node that it made."""
        if not ops or not nodes:
            return
        made = np.concatenate([part.column("sequence") for part, _ in ops])
        handles = np.concatenate([handles for _, handles in ops])
        order = np.argsort(made, kind="stable")
        ran = np.concatenate([part.column("sequence") for part, _ in nodes])
        node_handles = np.concatenate([handles for _, handles in nodes])
        place = np.minimum(np.searchsorted(made, ran, sorter=order), len(made) - 1)
        known = (made[order[place]] == ran) & (ran > 0)
        self._builder.flows(self._builder.string("fwdbwd"), handles[order[place[known]]], node_handles[known])

    def _add_gil(self, part: _Part) -> None:
        builder = self._builder
        asked, got, gave = (self._ns(part.column(stamp)) for stamp in ("t0", "t1", "t2"))
        reasons = part.column("name")
        track, category = self._track(part.thread, gil=True), builder.string("gil")
        for prefix, start, end in ((WAIT, asked, got), (HELD, got, gave)):
            ids = self._ids([prefix + text for text in self._recording.strings])
            first = builder.slices(start, end - start, track, ids[reasons], category)
            builder.slice_args(THREAD, np.arange(first, first + len(start)), np.full(len(start), part.thread))

    def _add_memory(self) -> None:
        builder, recording = self._builder, self._recording
        samples = np.array(recording.reserved, dtype=np.int64).reshape(-1, 2)
        sampled, reserved = self._ns(samples[:, 0]), samples[:, 1]
        main, allocated_counter = self._track(recording.pid), builder.string("Allocated")
        builder.counters(sampled, main, builder.string("Reserved"), reserved)
        builder.counters(sampled[:1], main, allocated_counter, recording.allocated_bytes)
        changes = [change for thread, events in recording.events for change in self._changes(thread, events)]
        if not changes:
            return
        time, track, address, size = (np.concatenate(column) for column in zip(*changes, strict=True))
        order = np.argsort(time, kind="stable")
        time, track, address, size = time[order], track[order], address[order], size[order]
        allocated = recording.allocated_bytes + np.cumsum(size)
        builder.counters(time, main, allocated_counter, allocated)
        first = builder.instants(time, track, builder.string(MEMORY), builder.string("cpu_instant_event"))
        handles = np.arange(first, first + len(time))
        builder.instant_args("Addr", handles, address)
        builder.instant_args("Bytes", handles, size)
        builder.instant_args("Total Allocated", handles, allocated)
        if len(samples):
            known = np.maximum(np.searchsorted(sampled, time, side="right") - 1, 0)
            builder.instant_args("Total Reserved", handles, reserved[known])

    def _changes(self, thread: int, events: Events) -> Iterator[tuple[NDArray[Any], ...]]:
        """Time, track, address and bytes of allocations and frees, and of the outputs that ops allocated."""
        kind = events["kind"]
        outputs = (kind == OP) & ((events["flags"] & _OUTPUT_ALLOCATED) > 0)
        for chosen, stamp, sign in ((kind == ALLOC, "t0", 1), (kind == FREE, "t0", -1), (outputs, "t1", 1)):
            rows = np.flatnonzero(chosen)
            if len(rows):
                size = sign * events["bytes"][rows].astype(np.int64)
                track = np.full(len(rows), self._track(thread))
                yield self._ns(events[stamp][rows]), track, events["address"][rows].astype(np.int64), size


def backward_name(op: str) -> str:
    """Name of the backward node of an op, as torch names them: `AddBackward0`, `TakeAlongBackward0`."""
    return "".join(word[:1].upper() + word[1:] for word in op.split("_")) + "Backward0"
