"""How much of the time of slices was recording itself, by what the trace says that an event costs.

An event is written when it is over: that belongs to what is around it.
"""

import numpy as np

from ..trace import Float64s, Trace
from .among import among
from .ops import COMPOSITE_ARG
from .steps import step_names, step_rows

RECORDING_COSTS = "recordingCosts"  # metadata: ns; see profiler/calibration.py


def recording_ns(trace: Trace) -> Float64s:
    """For each slice the ns that recording took inside it; 0 where the trace does not say what events cost."""
    slices = trace.slices
    inside = np.zeros(len(slices))
    cost = _costs(trace)
    if not cost.any():
        return inside
    order = np.argsort(slices.depth, kind="stable")
    levels = np.split(order, np.flatnonzero(np.diff(slices.depth[order])) + 1)
    for rows in reversed(levels[1:]):
        np.add.at(inside, slices.parent[rows], cost[rows] + inside[rows])
    return inside


def recording_share(trace: Trace) -> float:
    """The share of the steps' time that recording took; 0 where it is not known."""
    rows = step_rows(trace)
    total = trace.slices.duration[rows].sum()
    return float(recording_ns(trace)[rows].sum() / total) if total else 0.0


def _costs(trace: Trace) -> Float64s:
    told = trace.metadata.get(RECORDING_COSTS)
    told = told if isinstance(told, dict) else {}
    op, annotation, event = (_number(told.get(kind)) for kind in ("op", "annotation", "event"))
    slices, strings = trace.slices, trace.strings
    cost = np.zeros(len(slices))
    for category, ns in (("cpu_op", op), ("user_annotation", annotation), ("autograd", event)):
        cost[slices.category == trace.string_id(category)] = ns
    cost[among(slices.name, step_names(trace), len(strings))] = event
    if COMPOSITE_ARG in trace.slice_args:  # written by Python, as parts of the program are
        cost[trace.slice_args[COMPOSITE_ARG].rows] = annotation
    return cost


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
