"""What each page is given. Times of day are aware datetimes, durations ns, results seconds or the benchmark's unit."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from perflab.profiler.analysis.diff import TraceDiff
from perflab.profiler.trace import Trace


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A run as lists show it; `compare` is what the compare page's address calls it."""

    id: int
    project: str
    commit: str
    branch: str | None
    machine: str
    machine_detail: str
    tool: str
    created: datetime
    dirty: bool
    traces: int
    results: int
    step_ns: float | None
    compare: str


@dataclass(frozen=True, kw_only=True)
class RunsView:
    """The runs list; `project` is the one filtered by, None for all."""

    projects: Sequence[str]
    project: str | None
    runs: Sequence[RunRow]


@dataclass(frozen=True, kw_only=True)
class TraceRow:
    """A trace of a run; `bytes` is the file's size as it came."""

    id: int
    name: str
    bytes: int
    step_ns: float | None
    peak_bytes: int | None
    ops: int | None


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """A result of a run. Values are in `unit`; `series` is the address of its history."""

    benchmark: str
    params: str
    unit: str
    samples: Sequence[float]
    series: str


@dataclass(frozen=True, kw_only=True)
class RunView:
    """One run with its traces and results."""

    run: RunRow
    traces: Sequence[TraceRow]
    results: Sequence[ResultRow]


@dataclass(frozen=True, kw_only=True)
class TraceView:
    """One trace; `step` is the step number asked for, None for the median one."""

    id: int
    name: str
    run: RunRow
    trace: Trace
    step: int | None = None


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a comparison: what it is called, its commit, and where it is looked at."""

    label: str
    commit: str
    machine: str
    link: str


@dataclass(frozen=True, kw_only=True)
class VerdictRow:
    """The verdict on one benchmark: head over base with its interval; values are medians in `unit`."""

    benchmark: str
    unit: str
    verdict: str
    reason: str
    ratio: float | None
    low: float | None
    high: float | None
    base: float | None
    head: float | None
    base_samples: int
    head_samples: int
    series: str


@dataclass(frozen=True, kw_only=True)
class CompareView:
    """Two runs or traces side by side; `diff` is None where a side has no trace."""

    base: Side
    head: Side
    verdicts: Sequence[VerdictRow]
    diff: TraceDiff | None
    warnings: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class SeriesPoint:
    """One result of a series: its samples' lowest, median and highest, in the series' unit.

    `compare` is what the compare page's address calls the run; `verdict` is the one against the baseline,
    empty where nobody judged.
    """

    run: int
    commit: str
    branch: str | None
    created: datetime
    samples: int
    low: float
    median: float
    high: float
    compare: str
    verdict: str = ""


@dataclass(frozen=True, kw_only=True)
class SeriesView:
    """A benchmark over commits on one machine, oldest first; `baseline` is a commit of it or None."""

    project: str
    benchmark: str
    params: str
    unit: str
    direction: str
    machine: str
    points: Sequence[SeriesPoint]
    baseline: str | None = None


@dataclass(frozen=True, kw_only=True)
class SeriesLink:
    """A series in the list of all."""

    project: str
    benchmark: str
    params: str
    machine: str
    results: int
    address: str
