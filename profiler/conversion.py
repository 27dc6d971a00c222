"""Turns the recorder's events into a Trace. Needs no runtime: arrays and tables of names in, columns out.

On a thread's track lie steps and annotations, composites and backward nodes, ops, and in each op its kernel: they
nest. Arrows lead from each node to the nodes that ran behind it, and to the sums into gradients of leaves. Waiting for
the GIL and holding it begin and end anywhere, so they lie on a track of their own beside it; its tid is the thread's
plus `GIL_TID`, and the argument `Thread` of its slices is the thread's tid.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .analysis.blocks import EARLIER_BLOCKS
from .analysis.costs import COSTS
from .analysis.graph import ACCUMULATE, EDGE_FLOW, FORWARD_FLOW, LEAF_ARG
from .analysis.ops import COMPOSITE_ARG
from .analysis.steps import STEP
from .builder import TraceBuilder
from .causes import CauseArgs
from .device_memory import DeviceMemory
from .device_track import DeviceTrack
from .edges import EdgeEnds
from .events import (
    ALLOC,
    ANNOTATION,
    BACKENDS,
    COMPOSITE,
    DEVICE_MASK,
    DTYPE_MASK,
    DTYPE_SHIFT,
    EDGE,
    FREE,
    GIL,
    HAS_KERNEL,
    KERNEL,
    LAUNCH,
    LEAF,
    NAME_INTERNED,
    NODE,
    OP,
    STEP_MARK,
    TASK_RUN,
    TASK_WAIT,
)
from .garbage import GarbageTrack
from .gil_track import GilTrack
from .memory_track import MemoryTrack
from .memory_uses import MemoryUses, uses_of
from .merge import merged
from .pages import Page, Pages, pages_of, trace_of
from .recording import Cost, Recording
from .stack_track import StackTrack
from .stretches import NOTHING, Placed, Stretch, cut, kernel_begins, portions
from .task_track import TaskTrack
from .torch_track import TorchTrack
from .trace import Int64s, Json, Trace, Track

GIL_TID = 10_000_000  # above the highest thread id of Linux
STACK_TID = 20_000_000
TASK_TID = 30_000_000  # of the first lane of tasks, the others above it as far apart

_INPUT_TYPES = {  # as torch spells them
    "bool": "bool",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long int",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def to_trace(recording: Recording, *, shapes: bool = True, memory: bool = True) -> Trace:
    """The trace of a recording, with or without input shapes and memory events.

    Where nobody else holds the recording, its events go while the trace grows.
    """
    children = [to_trace(child, shapes=shapes, memory=False) for child in recording.children]
    pages = _Conversion(recording, shapes, memory).pages()
    del recording
    trace = trace_of(pages)
    return merged([trace, *children]) if children else trace


def to_pages(recording: Recording, *, shapes: bool = True, memory: bool = True) -> Pages:
    """The same trace as pages, made while they are taken: for a long recording that is only written."""
    if recording.children:
        return pages_of(to_trace(recording, shapes=shapes, memory=memory))
    return _Conversion(recording, shapes, memory).pages()


class _Conversion:
    def __init__(self, recording: Recording, shapes: bool, memory: bool) -> None:
        self._builder = TraceBuilder(recording.metadata)
        self._clock, self._pid, self._ops = recording.clock, recording.pid, recording.ops
        self._process = recording.process
        self._dtypes = recording.dtypes
        self._names = recording.threads
        self._op_names = self._ids(recording.ops)
        self._backward_names = self._ids([backward_name(name) for name in recording.ops])
        self._strings = self._ids(recording.strings)
        self._kernel_names = np.full(len(recording.ops) << 8, -1, dtype=np.int64)  # by op and flags, as they come
        table = recording.shapes if shapes else ()
        self._dims: list[Json] = [[list(shape) for _, shape in inputs] for inputs in table]
        self._types: list[Json] = [[_INPUT_TYPES.get(dtype, dtype) for dtype, _ in inputs] for inputs in table]
        self._modules: list[Json] = list(recording.strings)
        self._tracks = _Lookup()
        self._look_ahead(recording)
        self._memory: MemoryTrack | None = None
        self._device_memory: DeviceMemory | None = None
        if memory:
            self._follow_memory(recording)

    def _look_ahead(self, recording: Recording) -> None:
        """Find out when each piece begins, which tracks there are, and which ops made nodes that ran."""
        pieces, made, ran, ran_number, edges = [], [_NONE], [_NONE], [_NONE], EdgeEnds()
        acquisitions, tasks, launches = [NOTHING], [NOTHING], [NOTHING]
        streams, self._allocating = set[int](), set[int]()
        called = [np.empty((0, 4), dtype=np.int64)]
        for piece in cut(recording.events, recording.number):
            stretch = piece.whole()
            if not len(stretch):
                continue
            kind, sequence, t0 = stretch["kind"], stretch["sequence"].astype(np.int64), stretch["t0"]
            made.append(sequence[(kind == OP) & (sequence > 0)])
            called.append(_calls(stretch.at((kind == OP) & (stretch["shapes"] > 0))))
            nodes = (kind == NODE) & (sequence > 0)
            ran.append(sequence[nodes])
            ran_number.append(stretch.number[nodes])
            edges.add(stretch)
            pieces.append((piece, np.array([t0[0], t0.min(), t0.max()])))
            self._tracks[piece.thread] = self._track(piece.thread)
            if np.any(kind == GIL):
                acquisitions.append(stretch.at(kind == GIL))
            changes = ((kind == ALLOC) | (kind == FREE)) & (stretch["flags"] & DEVICE_MASK > 0)
            self._allocating.update(np.unique(stretch["flags"][changes] & DEVICE_MASK).tolist())
            streams.update(np.unique(stretch["address"][kind == KERNEL]).tolist())
            if np.any(kind == LAUNCH):
                launches.append(stretch.at((kind == LAUNCH) & (sequence > 0)))
            if np.any(kind >= TASK_RUN):
                tasks.append(stretch.at((kind == TASK_RUN) | (kind == TASK_WAIT)))
        begins = [*(int(ticks[1]) for _, ticks in pieces), *(tick for tick, _ in recording.reserved)]
        begins += [record.began for record in (recording.stack, recording.torch) if record]
        begins += [tick for tick, _ in recording.resident] + [one.began for one in recording.collections]
        if recording.gil.holds is not None and len(recording.gil.holds):
            begins.append(int(recording.gil.holds["wait"].min()))
        self._origin = min(begins, default=recording.clock.tick0)
        base = int(self._ns(np.array([recording.clock.tick0]))[0])
        self._builder.metadata["baseTimeNanoseconds"] = recording.clock.ns0 - base
        if recording.cost and self._dims:
            self._builder.metadata[COSTS] = self._costs(recording, recording.cost, np.concatenate(called))
        self._pieces = [Placed(piece, *self._ns(ticks).tolist()) for piece, ticks in pieces]
        self._made = np.unique(np.concatenate(made))
        order = np.argsort(np.concatenate(ran), kind="stable")
        self._ran, self._ran_number = np.concatenate(ran)[order], np.concatenate(ran_number)[order]
        of_names = (recording.ops, self._modules, recording.call_stacks)
        self._causes = CauseArgs(self._ran, self._builder, *of_names)
        self._edge_ends, self._edges = edges.joined()
        self._garbage = GarbageTrack(recording.collections, self._builder, self._ns, self._track)
        of_stack = (self._builder, self._ns, self._stack_track)
        self._stack = StackTrack(recording.stack, *of_stack) if recording.stack else None
        # arrows of other kinds are numbered by the events
        events = recording.number + sum(len(events) for _, events in recording.events)
        self._gil = GilTrack(
            recording.gil,
            Stretch.joined(acquisitions),
            recording.strings,
            self._builder,
            self._ns,
            self._gil_track,
            events,
        )
        names = (recording.devices, recording.strings, self._ops, self._dtypes)
        self._devices = DeviceTrack(self._builder, self._ns, *names, Stretch.joined(launches), streams)
        of_torch = (self._builder, self._ns, self._pid, self._track, events + self._gil.arrows)
        self._torch = TorchTrack(recording.torch, *of_torch) if recording.torch else None
        of_tasks = (recording.tasks, recording.strings, self._builder, self._ns, self._lane)
        self._tasks = TaskTrack(Stretch.joined(tasks), *of_tasks)

    def _follow_memory(self, recording: Recording) -> None:
        stacks = recording.call_stacks.texts
        self._memory = MemoryTrack(
            self._builder,
            self._ns,
            self._track(recording.pid),
            recording.reserved,
            recording.resident,
            recording.allocated_bytes,
            self._uses(recording, on_devices=False),
            stacks,
        )
        if self._allocating:
            uses, sampled = self._uses(recording, on_devices=True), recording.reserved_on_devices
            of_devices = (recording.devices, recording.on_devices, sampled, self._allocating, uses, stacks)
            self._device_memory = DeviceMemory(self._builder, self._ns, *of_devices)

    def _costs(self, recording: Recording, cost: Cost, calls: NDArray[np.int64]) -> Json:
        """The costs of each op for each of its inputs' shapes: name, shapes, types, FLOPs, bytes."""
        table = {}
        for name, shapes, dtype, size in calls.tolist():
            if (name, shapes) in table:
                continue
            op, inputs = self._ops[name], recording.shapes[shapes]
            flops, moved = cost(op, inputs, self._dtypes[dtype], size)
            if moved:
                table[name, shapes] = [op, self._dims[shapes], self._types[shapes], flops, moved]
        return list(table.values())

    def _uses(self, recording: Recording, on_devices: bool) -> MemoryUses:
        """What memory was for: one way through all events before they become a trace."""
        numbers = range(recording.number, recording.number + sum(len(events) for _, events in recording.events))
        uses = uses_of(portions(self._pieces.copy(), self._ns), numbers, recording.strings, self._ns, on_devices)
        if known := uses.known_before(recording.strings, recording.devices):
            before = self._builder.metadata.setdefault(EARLIER_BLOCKS, [])
            assert isinstance(before, list)
            before += known
        return uses

    def pages(self) -> Pages:
        builder = self._builder
        return Pages(builder.strings, builder.tracks, builder.metadata, self._each_page())

    def _each_page(self) -> Iterator[Page]:
        for stretch, middle, until in portions(self._pieces, self._ns, self._gil.cuts):
            self._add_begun(stretch)
            self._add_kernels(middle)
            self._devices.add(stretch, self._tracks.of, self._add_shapes)
            self._gil.add(until)
            self._garbage.add(until)
            self._tasks.add(until)
            if self._stack:
                self._stack.add(until)
            if self._torch:
                self._torch.add(until)
            if self._memory:
                on_cpu = (stretch["kind"] != ALLOC) & (stretch["kind"] != FREE) | (stretch["flags"] & DEVICE_MASK == 0)
                self._memory.add(stretch.at(on_cpu), middle, self._tracks.of, until)
            if self._device_memory:
                self._device_memory.add(stretch, self._tracks.of, until)
            yield self._builder.take_page()

    def _ids(self, names: Sequence[str]) -> NDArray[np.int64]:
        return np.array([self._builder.string(name) for name in names], dtype=np.int64)

    def _ns(self, ticks: Int64s) -> Int64s:
        return self._clock.ns_between(ticks, self._origin)

    def _name(self, thread: int) -> str:
        return self._names.get(thread, f"thread {thread}")

    def _track(self, thread: int) -> int:
        return self._builder.track(Track(self._pid, thread, self._name(thread), self._process))

    def _gil_track(self, thread: int) -> int:
        return self._builder.track(Track(self._pid, thread + GIL_TID, f"{self._name(thread)} GIL", self._process))

    def _lane(self, thread: int, number: int, name: str) -> int:
        tid = thread + TASK_TID + number * (TASK_TID - STACK_TID)
        return self._builder.track(Track(self._pid, tid, f"{self._name(thread)}: {name}", "python"))

    def _stack_track(self, thread: int) -> int:
        return self._builder.track(Track(self._pid, thread + STACK_TID, f"{self._name(thread)} Python", self._process))

    def _add_begun(self, stretch: Stretch) -> None:
        """The slices that begin with their events. Of those with the same times the one added first is outside."""
        kind = stretch["kind"]
        steps, annotations, composites, nodes, edges, leaves, ops = (
            stretch.at(kind == number) for number in (STEP_MARK, ANNOTATION, COMPOSITE, NODE, EDGE, LEAF, OP)
        )
        texts = [f"{STEP}{number}" for number in steps["name"].tolist()]
        self._add(steps, self._ns(steps["t0"]), "t2", self._ids(texts), "user_annotation")
        self._add(annotations, self._ns(annotations["t0"]), "t2", self._strings[annotations["name"]], "user_annotation")
        names = self._strings[composites["name"]]
        handles = self._add(composites, self._ns(composites["t0"]), "t2", names, "cpu_op")
        self._builder.slice_args(COMPOSITE_ARG, handles, np.ones(len(composites), dtype=bool))
        self._causes.add(stretch)
        self._add_nodes(nodes, edges)
        self._add_leaves(leaves)
        self._add_ops(ops, stretch)

    def _add_kernels(self, ops: Stretch) -> None:
        kernels = ops.at(ops["flags"] & HAS_KERNEL > 0)
        self._add(kernels, kernel_begins(kernels, self._ns), "t2", self._names_of_kernels(kernels), "kernel")

    def _add(self, events: Stretch, start: Int64s, end: str, names: Int64s, category: str) -> Int64s:
        """Slices from `start`, in ns, to one of the stamps of each event; their handles."""
        first = self._builder.slices(
            start, self._ns(events[end]) - start, self._tracks.of(events.thread), names, self._builder.string(category)
        )
        return np.arange(first, first + len(events))

    def _add_nodes(self, nodes: Stretch, edges: Stretch) -> None:
        interned = nodes["flags"] & NAME_INTERNED > 0
        names = np.empty(len(nodes), dtype=np.int64)
        names[interned] = self._strings[nodes["name"][interned]]
        names[~interned] = self._backward_names[nodes["name"][~interned]]
        handles = self._add(nodes, self._ns(nodes["t0"]), "t2", names, "autograd")
        sequence = nodes["sequence"].astype(np.int64)
        self._builder.slice_args("Sequence number", handles, sequence)
        self._causes.tell(nodes, handles)
        tied = np.isin(sequence, self._made)
        self._builder.flow_ends(handles[tied], nodes.number[tied], self._builder.string(FORWARD_FLOW), True)
        self._add_edge_ends(nodes.number, handles)
        edges = edges.at(np.isin(edges.number, self._edges))
        order = np.argsort(nodes.number)  # an edge follows its node
        sources = order[np.searchsorted(nodes.number[order], edges.number) - 1]
        self._builder.flow_ends(handles[sources], edges.number, self._builder.string(EDGE_FLOW), False)

    def _add_leaves(self, leaves: Stretch) -> None:
        builder = self._builder
        name = np.full(len(leaves), builder.string(ACCUMULATE))
        handles = self._add(leaves, self._ns(leaves["t0"]), "t2", name, "autograd")
        builder.slice_args(LEAF_ARG, handles, leaves["address"].astype(np.int64))
        if self._dims:
            builder.slice_args("Input Dims", handles, leaves["shapes"], table=self._dims)
            builder.slice_args("Input type", handles, leaves["shapes"], table=self._types)
        self._add_edge_ends(leaves.number, handles)

    def _add_edge_ends(self, numbers: Int64s, handles: Int64s) -> None:
        """The ends of the edges that lead to events of these numbers."""
        places, ids = _each_of(self._edge_ends, numbers)
        self._builder.flow_ends(handles[places], self._edges[ids], self._builder.string(EDGE_FLOW), True)

    def _add_ops(self, ops: Stretch, stretch: Stretch) -> None:
        builder = self._builder
        handles = self._add(ops, self._ns(ops["t0"]), "t2", self._op_names[ops["name"]], "cpu_op")
        sequence = ops["sequence"].astype(np.int64)
        made = sequence > 0
        builder.slice_args("Sequence number", handles[made], sequence[made])
        self._add_shapes(handles, ops)
        scope = ops["scope"]
        builder.slice_args("Module Hierarchy", handles[scope > 0], scope[scope > 0], table=self._modules)
        self._causes.tell_ops(ops, handles, stretch)
        # an arrow to each node of that number that ran: its id is the number of the node's event
        places, each = _each_of(self._ran, sequence[made])
        builder.flow_ends(handles[made][places], self._ran_number[each], builder.string(FORWARD_FLOW), False)

    def _add_shapes(self, handles: Int64s, events: Stretch) -> None:
        known = events["shapes"] > 0
        if self._dims and known.any():
            ids = events["shapes"][known]
            self._builder.slice_args("Input Dims", handles[known], ids, table=self._dims)
            self._builder.slice_args("Input type", handles[known], ids, table=self._types)

    def _names_of_kernels(self, kernels: Stretch) -> Int64s:
        codes = kernels["name"].astype(np.int64) << 8 | kernels["flags"] & 0xFF
        names: Int64s = self._kernel_names[codes]
        if names.min(initial=0) < 0:
            for code in np.unique(codes[names < 0]).tolist():
                dtype = self._dtypes[code >> DTYPE_SHIFT & DTYPE_MASK]
                text = f"{self._ops[code >> 8]}_{BACKENDS[code & HAS_KERNEL]}_{dtype}"
                self._kernel_names[code] = self._builder.string(text)
            names = self._kernel_names[codes]
        return names


def _each_of(ascending: Int64s, values: Int64s) -> tuple[Int64s, Int64s]:
    """Every pair of places (in `values`, in `ascending`) at which the same number stands."""
    first, last = (np.searchsorted(ascending, values, side=side) for side in ("left", "right"))
    count = last - first
    each = np.repeat(first, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(np.arange(len(values)), count), each


def _calls(ops: Stretch) -> NDArray[np.int64]:
    """Name, shapes, dtype and bytes of a call of each op for each of its inputs' shapes."""
    _, first = np.unique(ops["name"].astype(np.int64) << 32 | ops["shapes"], return_index=True)
    dtype = ops["flags"][first] >> DTYPE_SHIFT & DTYPE_MASK
    columns = (ops["name"][first], ops["shapes"][first], dtype, ops["bytes"][first])
    return np.stack([column.astype(np.int64) for column in columns], axis=1)


class _Lookup(dict[int, int]):
    """A few numbers by others."""

    def of(self, keys: Int64s) -> Int64s:
        """The number of each key."""
        known = np.array(sorted(self), dtype=np.int64)
        numbers = np.array([self[key] for key in known.tolist()], dtype=np.int64)
        found: Int64s = numbers[np.searchsorted(known, keys)]
        return found


def backward_name(op: str) -> str:
    """Name of the backward node of an op, as torch names them: `AddBackward0`, `TakeAlongBackward0`."""
    return "".join(word[:1].upper() + word[1:] for word in op.split("_")) + "Backward0"


_NONE = np.empty(0, dtype=np.int64)
