"""What a trace tells, with ids resolved, so that two of them can be compared."""

import dataclasses
from typing import Any

from perflab.profiler import Trace


def told(trace: Trace) -> dict[str, Any]:
    """Everything on a trace as plain values, in its order."""

    def texts(ids: Any) -> list[str]:
        return [trace.strings[number] for number in ids.tolist()]

    def tracks(ids: Any) -> list[Any]:
        return [dataclasses.astuple(trace.tracks[number]) for number in ids.tolist()]

    slices, instants, counters, flows = trace.slices, trace.instants, trace.counters, trace.flows
    return {
        "slices": (slices.start.tolist(), slices.duration.tolist(), slices.depth.tolist(), slices.parent.tolist()),
        "names": (texts(slices.name), texts(slices.category), tracks(slices.track)),
        "instants": (instants.time.tolist(), texts(instants.name), texts(instants.category), tracks(instants.track)),
        "counters": (counters.time.tolist(), texts(counters.name), tracks(counters.track), counters.value.tolist()),
        "flows": (flows.source.tolist(), flows.target.tolist(), texts(flows.name)),
        "args": [
            sorted((key, [(row, repr(value)) for row, value in column]) for key, column in args.items())
            for args in (trace.slice_args, trace.instant_args)
        ],
        "metadata": trace.metadata,
    }
