"""All answers about a trace at once; `dataclasses.asdict` of them is JSON."""

from dataclasses import dataclass, replace

import numpy as np

from ..analysis.advice import Advice, advise
from ..analysis.averages import OpAverage, key_averages
from ..analysis.blocks import blocks
from ..analysis.contention import blocked
from ..analysis.critical import PathOwner, critical_path
from ..analysis.devices import DeviceUse, device_use
from ..analysis.diff import TraceDiff, diff
from ..analysis.dispatch import Dispatch, dispatch
from ..analysis.growth import Growth, growth
from ..analysis.memory import MemoryPeak, memory_curve, memory_peak
from ..analysis.outliers import OutlierStep, outlier_steps
from ..analysis.parts import StepParts, step_parts
from ..analysis.roofline import OpRoof, roofline
from ..analysis.summary import Summary, summarize
from ..analysis.threads import thread_name
from ..ceilings import Ceilings
from ..trace import Json, Trace

LISTED = 15  # rows of a list that names what costs most


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """`curve`: bytes in use at even moments. `fragmentation`: the share of reserved memory not in use at the peak."""

    peak: MemoryPeak
    fragmentation: float
    curve: tuple[int, ...]
    growth: Growth


@dataclass(frozen=True, slots=True)
class GilShare:
    """How long, and in how many waits, one thread waited while another held the GIL; threads by name."""

    waiter: str
    holder: str
    ns: int
    waits: int


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that is asked of a trace. Lists name what costs most, the largest first; what a trace does not know is
    None or empty. Times are ns."""

    summary: Summary
    notes: dict[str, Json]
    advice: tuple[Advice, ...]
    steps: tuple[StepParts, ...]
    outliers: tuple[OutlierStep, ...]
    ops_ns: int  # self time of all ops together
    ops: tuple[OpAverage, ...]
    modules: tuple[OpAverage, ...]
    devices: tuple[DeviceUse, ...]
    dispatch: Dispatch | None
    critical_ns: int
    critical_tracks: int  # which the path is on
    critical_path: tuple[PathOwner, ...]
    memory: MemoryUse | None
    gil: tuple[GilShare, ...]
    ceilings: Ceilings | None
    roofline: tuple[OpRoof, ...]
    diff: TraceDiff | None


# Metadata that says what a trace lacks, or how it was recorded.
_NOTES = (
    *("droppedEvents", "maxEvents", "reason", "gil", "gilRefusal", "gilLost", "gilTrouble"),
    *("commit", "branch", "machine", "versions"),
)
_MOMENTS = 60


def answers(trace: Trace, ceilings: Ceilings | None = None, base: Trace | None = None) -> Answers:
    """Ask everything; with `ceilings`, how far ops are from them, and with `base`, what changed since."""
    found, path = dispatch(trace), critical_path(trace)
    devices, ops = device_use(trace), key_averages(trace).rows
    return Answers(
        summary=summarize(trace),
        notes={key: trace.metadata[key] for key in _NOTES if key in trace.metadata},
        advice=tuple(advise(trace, ceilings)),
        steps=tuple(step_parts(trace)),
        outliers=tuple(outlier_steps(trace)),
        ops_ns=sum(row.self_ns for row in ops),
        ops=ops[:LISTED],
        modules=key_averages(trace, "module").rows[:LISTED],
        devices=tuple(devices),
        dispatch=replace(found, ops=found.ops[:LISTED]) if found else None,
        critical_ns=path.total_ns,
        critical_tracks=len({piece.track for piece in path.pieces}),
        critical_path=path.owners[:LISTED],
        memory=_memory(trace),
        gil=tuple(
            GilShare(thread_name(trace, pair.waiter), thread_name(trace, pair.holder), pair.ns, pair.waits)
            for pair in blocked(trace)[:LISTED]
        ),
        ceilings=ceilings,
        roofline=tuple(roofline(trace, ceilings)[:LISTED]) if ceilings and not devices else (),
        diff=diff(base, trace) if base is not None else None,
    )


def _memory(trace: Trace) -> MemoryUse | None:
    known = blocks(trace)
    peak = memory_peak(trace, known)
    if peak is None:
        return None
    begin, end = known.time[0], known.time[-1]
    moments = begin + (end - begin) * np.arange(1, _MOMENTS + 1) // _MOMENTS
    held = known.total[np.searchsorted(known.time, moments, side="right") - 1]
    return MemoryUse(peak, memory_curve(trace).fragmentation, tuple(held.tolist()), growth(trace, known))
