"""Exact counters of one call: what it did, op by op, however long that took.

Identical code gives identical counters on every machine and under any load, so they are held without tolerance, where
times need statistics. Out are counts that depend on time: the engine gives the GIL away when a backward pass proves
long.
"""

import gc
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np

from perflab.profiler import Trace, profile
from perflab.profiler.analysis.costs import worked_out
from perflab.profiler.analysis.memory import memory_curve
from perflab.profiler.analysis.ops import ops
from perflab.profiler.analysis.parts import synchronizations

from .collector import collector_rests
from .errors import BenchmarkFormatError
from .quantity import BYTES, change, plain

FORMAT, VERSION = "perflab.counters", 2


@dataclass(frozen=True, slots=True)
class OpCounters:
    """All calls of one op: how many, how many ran a kernel, how many blocks of memory they took and of how many
    bytes, and the floating-point operations that their inputs ask for, 0 where the op tells none."""

    calls: int
    kernels: int
    allocations: int
    bytes: int
    flops: int


NOTHING = OpCounters(0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of one call.

    Attributes:
        nodes: nodes of the autograd graph that ran backward.
        syncs: times that the host waited for a device.
        peak_bytes: most memory in use at once, above what was in use before.
        ops: by the op's name. Composites count their calls; the rest is counted for the ops that they are made of.
    """

    nodes: int
    syncs: int
    peak_bytes: int
    ops: Mapping[str, OpCounters]


def count(call: Callable[[], object]) -> Counters:
    """The counters of a call. Call it once before: a first call traces gradients and makes what later ones reuse.

    Garbage is collected before and not meanwhile: what others left would be freed in the midst at random.
    """
    gc.collect()
    with collector_rests(), profile() as prof:
        call()
    return counters(prof.trace)


def counters(trace: Trace) -> Counters:
    """The counters of everything on a trace of perflab.runtime."""
    columns, slices = ops(trace), trace.slices
    kernel = slices.category == trace.string_id("kernel")
    flops, _ = worked_out(trace, columns)
    launched = np.bincount(slices.parent[kernel & (slices.parent >= 0)], minlength=len(slices))[columns.row]
    curve = memory_curve(trace)
    found = {}
    for name in np.unique(columns.name).tolist():
        mine = columns.name == name
        found[trace.strings[name]] = OpCounters(
            int(mine.sum()),
            int(launched[mine].sum()),
            int(columns.allocations[mine].sum()),
            int(columns.allocated_bytes[mine].sum()),
            int(flops[mine].sum()),
        )
    return Counters(
        nodes=len(trace.select(category="autograd")),
        syncs=int(synchronizations(trace).sum()),
        peak_bytes=curve.peak_bytes - int(curve.allocated[0]) if len(curve.allocated) else 0,
        ops=dict(sorted(found.items())),
    )


def differences(base: Counters, head: Counters) -> list[str]:
    """What head counts otherwise than base, a line for each op and counter, the ops with the most bytes first."""
    lines = []
    names = base.ops.keys() | head.ops.keys()
    pairs = {name: (base.ops.get(name, NOTHING), head.ops.get(name, NOTHING)) for name in names}
    for name in sorted(names, key=lambda name: (-abs(pairs[name][1].bytes - pairs[name][0].bytes), name)):
        before, after = pairs[name]
        parts = [
            change(a, b, BYTES) if counter == "bytes" else f"{plain(a)} -> {plain(b)} {counter}"
            for counter in (field.name for field in fields(OpCounters))
            if (a := getattr(before, counter)) != (b := getattr(after, counter))
        ]
        if parts:
            lines.append(f"{name}: {', '.join(parts)}")
    if base.nodes != head.nodes:
        lines.append(f"graph: {plain(base.nodes)} -> {plain(head.nodes)} nodes")
    if base.syncs != head.syncs:
        lines.append(f"devices: {plain(base.syncs)} -> {plain(head.syncs)} synchronizations")
    if base.peak_bytes != head.peak_bytes:
        lines.append(f"peak memory: {change(base.peak_bytes, head.peak_bytes, BYTES)}")
    return lines


@dataclass(frozen=True, slots=True)
class CountersFile:
    """Counters by benchmark, as a repository keeps them to hold later ones against."""

    benchmarks: Mapping[str, Counters]

    def to_json(self) -> str:
        """The text of the file, one line an op, sorted, so that a change shows as a small diff."""
        benchmarks = [
            f' {json.dumps(name)}: {{"nodes": {it.nodes}, "syncs": {it.syncs}, "peak_bytes": {it.peak_bytes}, '
            + '"ops": {\n'
            + ",\n".join(f"  {json.dumps(op)}: {json.dumps(asdict(counts))}" for op, counts in sorted(it.ops.items()))
            + "}}"
            for name, it in sorted(self.benchmarks.items())
        ]
        body = ",\n".join(benchmarks)
        return f'{{"format": "{FORMAT}", "version": {VERSION}, "benchmarks": {{\n{body}\n}}}}\n'

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The file that `to_json` wrote; raises BenchmarkFormatError for any other."""
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                raise ValueError(f"its format is {data['format']!r}")
            if data["version"] != VERSION:
                raise ValueError(f"its version is {data['version']!r}, and this perflab reads {VERSION}")
            return cls({str(name): _counters(item) for name, item in data["benchmarks"].items()})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BenchmarkFormatError(
                f"this is no file of counters ({error}); remove it, and write it anew with pytest --perflab-update"
            ) from None


def _counters(item: Mapping[str, Any]) -> Counters:
    found = {name: OpCounters(**counts) for name, counts in item["ops"].items()}
    result = Counters(item["nodes"], item["syncs"], item["peak_bytes"], found)
    numbers = [
        *(result.nodes, result.syncs, result.peak_bytes),
        *(number for it in found.values() for number in asdict(it).values()),
    ]
    if not all(type(number) is int for number in numbers):
        raise ValueError("a counter is no whole number")
    return result
