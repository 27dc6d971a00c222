"""Several traces become one."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .analysis.costs import COSTS
from .builder import TraceBuilder
from .trace import Trace, Track

_BASE = "baseTimeNanoseconds"


def add(builder: TraceBuilder, trace: Trace, shift: int, rename: Callable[[Track], Track]) -> None:
    """Add all of a trace `shift` ns later, on tracks that are renamed. Lanes are found anew."""
    string = np.array([builder.string(text) for text in trace.strings], dtype=np.int32)
    tracks = [replace(rename(track), lane=0) for track in trace.tracks]
    track = np.array([builder.track(each) for each in tracks], dtype=np.int32)
    slices, instants, counters, flows = trace.slices, trace.instants, trace.counters, trace.flows
    first = builder.slices(
        slices.start + shift, slices.duration, track[slices.track], string[slices.name], string[slices.category]
    )
    moment = builder.instants(
        instants.time + shift, track[instants.track], string[instants.name], string[instants.category]
    )
    builder.counters(counters.time + shift, track[counters.track], string[counters.name], counters.value)
    builder.flows(string[flows.name], first + flows.source, first + flows.target)
    for give, begin, args in (
        (builder.slice_args, first, trace.slice_args),
        (builder.instant_args, moment, trace.instant_args),
    ):
        for key, column in args.items():
            give(key, begin + column.rows, column.values, column.table)


def merged(traces: Sequence[Trace]) -> Trace:
    """Traces of the processes of one program, on one clock; metadata are the first one's, with all costs and drops."""
    metadata = dict(traces[0].metadata)
    metadata[_BASE] = base = min(trace.metadata[_BASE] for trace in traces)
    if dropped := sum(trace.metadata.get("droppedEvents", 0) for trace in traces):
        metadata["droppedEvents"] = dropped
    if costs := [row for trace in traces for row in trace.metadata.get(COSTS, ())]:
        metadata[COSTS] = costs
    builder = TraceBuilder(metadata)
    for trace in traces:
        add(builder, trace, trace.metadata[_BASE] - base, lambda track: track)
    return builder.build()
