"""A trace in a few numbers."""

from dataclasses import dataclass, replace
from statistics import median

from ..trace import Trace
from .averages import OpAverage, key_averages
from .gil import wait_rows
from .memory import memory_curve
from .steps import steps

_TOP = 10
_LONGEST = 1000  # characters of a name, which may have millions


@dataclass(frozen=True, slots=True)
class Summary:
    """What a list of traces shows of each; `dataclasses.asdict` of it is JSON."""

    span_ns: int
    steps: int
    step_ns: int  # median, 0 where there are no steps
    ops: int
    peak_bytes: int
    gil_wait_ns: int
    top_ops: tuple[OpAverage, ...]  # by self time


def summarize(trace: Trace) -> Summary:
    """The summary of a whole trace."""
    begin, end = trace.span()
    durations = [step.duration for step in steps(trace)]
    averages = key_averages(trace)
    return Summary(
        span_ns=end - begin,
        steps=len(durations),
        step_ns=round(median(durations)) if durations else 0,
        ops=sum(row.count for row in averages),
        peak_bytes=memory_curve(trace).peak_bytes,
        gil_wait_ns=int(trace.slices.duration[wait_rows(trace)].sum()),
        top_ops=tuple(replace(row, name=row.name[:_LONGEST]) for row in averages.rows[:_TOP]),
    )
