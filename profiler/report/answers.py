"""All answers about a trace at once; `dataclasses.asdict` of them is JSON."""

from dataclasses import dataclass, replace

import numpy as np

from ..analysis.advice import Advice, advise
from ..analysis.averages import OpAverage, key_averages
from ..analysis.blocks import blocks
from ..analysis.contention import Convoy, GilThread, blocked, convoys, gil_threads
from ..analysis.critical import PathOwner, critical_path
from ..analysis.devices import DeviceUse, device_use
from ..analysis.diff import TraceDiff, diff
from ..analysis.dispatch import Dispatch, dispatch
from ..analysis.functions import FunctionTime, python_functions
from ..analysis.garbage import Garbage, garbage
from ..analysis.growth import Growth, growth
from ..analysis.memory import RESIDENT, MemoryPeak, memory_curve, memory_peak
from ..analysis.outliers import OutlierStep, outlier_steps
from ..analysis.overhead import recording_share
from ..analysis.parts import StepParts, step_parts
from ..analysis.ranks import Ranks, ranks
from ..analysis.roofline import OpRoof, roofline
from ..analysis.summary import Summary, summarize
from ..analysis.tasks import CoroutineUse, LoopUse, coroutines, loops
from ..analysis.threads import thread_name
from ..ceilings import Ceilings
from ..resident import PEAK
from ..torch_clock import UNCERTAINTY
from ..trace import Int64s, Json, Trace

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
class GilUse:
    """A thread's use of the GIL; see `analysis.contention.GilThread`."""

    name: str
    acquisitions: int
    held_ns: int
    longest_hold_ns: int
    waited_ns: int
    longest_wait_ns: int


@dataclass(frozen=True, slots=True)
class GilConvoy:
    """A thread that waits long for the GIL again and again; see `analysis.contention.Convoy`."""

    thread: str
    holder: str
    acquisitions: int
    waited_ns: int
    held_ns: int


@dataclass(frozen=True, slots=True)
class ResidentUse:
    """The memory that the system gave the process; `curve` at even moments."""

    first_bytes: int
    peak_bytes: int
    last_bytes: int
    curve: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that is asked of a trace. Lists name what costs most, the largest first; what a trace does not know is
    None or empty. Times are ns."""

    summary: Summary
    notes: dict[str, Json]
    recording_share: float  # of the steps' time; 0 where it is not known
    advice: tuple[Advice, ...]
    steps: tuple[StepParts, ...]
    outliers: tuple[OutlierStep, ...]
    ops_ns: int  # self time of all ops together
    ops: tuple[OpAverage, ...]
    modules: tuple[OpAverage, ...]
    sampled_ns: int  # self time of all sampled functions together
    functions: tuple[FunctionTime, ...]
    loops: tuple[LoopUse, ...]
    coroutines: tuple[CoroutineUse, ...]
    devices: tuple[DeviceUse, ...]
    ranks: Ranks | None
    dispatch: Dispatch | None
    critical_ns: int
    critical_tracks: int  # which the path is on
    critical_path: tuple[PathOwner, ...]
    memory: MemoryUse | None
    resident: ResidentUse | None
    garbage: tuple[Garbage, ...]
    gil_threads: tuple[GilUse, ...]
    gil: tuple[GilShare, ...]
    gil_unheld_ns: int  # of the waiting, in which nobody held it
    convoys: tuple[GilConvoy, ...]
    ceilings: Ceilings | None
    roofline: tuple[OpRoof, ...]
    diff: TraceDiff | None


# Metadata that says what a trace lacks, or how it was recorded.
_NOTES = (
    *("droppedEvents", "maxEvents", "budget", "shed", "reason"),
    *("gil", "gilRefusal", "gilLost", "gilTrouble", "torchTrouble", UNCERTAINTY),
    *("commit", "branch", "machine", "versions"),
)
_MOMENTS = 60


def answers(trace: Trace, ceilings: Ceilings | None = None, base: Trace | None = None) -> Answers:
    """Ask everything; with `ceilings`, how far ops are from them, and with `base`, what changed since."""
    found, path = dispatch(trace), critical_path(trace)
    devices, ops, functions = device_use(trace), key_averages(trace).rows, python_functions(trace)
    users, pairs = gil_threads(trace), blocked(trace)
    return Answers(
        summary=summarize(trace),
        notes={key: trace.metadata[key] for key in _NOTES if key in trace.metadata},
        recording_share=recording_share(trace),
        advice=tuple(advise(trace, ceilings)),
        steps=tuple(step_parts(trace)),
        outliers=tuple(outlier_steps(trace)),
        ops_ns=sum(row.self_ns for row in ops),
        ops=ops[:LISTED],
        modules=key_averages(trace, "module").rows[:LISTED],
        sampled_ns=sum(each.self_ns for each in functions),
        functions=tuple(functions[:LISTED]),
        loops=tuple(loops(trace)),
        coroutines=tuple(coroutines(trace)[:LISTED]),
        devices=tuple(devices),
        ranks=ranks(trace),
        dispatch=replace(found, ops=found.ops[:LISTED]) if found else None,
        critical_ns=path.total_ns,
        critical_tracks=len({piece.track for piece in path.pieces}),
        critical_path=path.owners[:LISTED],
        memory=_memory(trace),
        resident=_resident(trace),
        garbage=tuple(garbage(trace)),
        gil_threads=tuple(_gil_use(trace, use) for use in users[:LISTED]),
        gil=tuple(
            GilShare(thread_name(trace, pair.waiter), thread_name(trace, pair.holder), pair.ns, pair.waits)
            for pair in pairs[:LISTED]
        ),
        gil_unheld_ns=max(sum(use.waited_ns for use in users) - sum(pair.ns for pair in pairs), 0),
        convoys=tuple(_gil_convoy(trace, found) for found in convoys(trace)[:LISTED]),
        ceilings=ceilings,
        roofline=tuple(roofline(trace, ceilings)[:LISTED]) if ceilings and not devices else (),
        diff=diff(base, trace) if base is not None else None,
    )


def _gil_use(trace: Trace, use: GilThread) -> GilUse:
    name = thread_name(trace, use.track)
    return GilUse(name, use.acquisitions, use.held_ns, use.longest_hold_ns, use.waited_ns, use.longest_wait_ns)


def _gil_convoy(trace: Trace, found: Convoy) -> GilConvoy:
    names = thread_name(trace, found.track), thread_name(trace, found.holder)
    return GilConvoy(*names, found.acquisitions, found.waited_ns, found.held_ns)


def _resident(trace: Trace) -> ResidentUse | None:
    time, value = trace.counter(RESIDENT)
    if not len(time):
        return None
    held = value.astype(np.int64)[_even_moments(time)].tolist()
    most, told = int(value.max()), trace.metadata.get(PEAK)
    peak = max(most, told) if isinstance(told, int) else most  # between the samples it may have been more
    return ResidentUse(int(value[0]), peak, int(value[-1]), tuple(held))


def _even_moments(time: Int64s) -> Int64s:
    """The places in ascending times of what held at even moments."""
    moments = time[0] + (time[-1] - time[0]) * np.arange(1, _MOMENTS + 1) // _MOMENTS
    places: Int64s = np.searchsorted(time, moments, side="right") - 1
    return places


def _memory(trace: Trace) -> MemoryUse | None:
    known = blocks(trace)
    peak = memory_peak(trace, known)
    if peak is None:
        return None
    held = known.total[_even_moments(known.time)]
    return MemoryUse(peak, memory_curve(trace).fragmentation, tuple(held.tolist()), growth(trace, known))
