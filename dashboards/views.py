"""What each page is given. Moments are in UTC, durations ns, sizes bytes, results in their unit."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from perflab.profiler.analysis.diff import TraceDiff
from perflab.profiler.trace import Trace

# The commit of what has none, as git writes it.
NO_COMMIT = "0" * 40


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A run as lists show it; `traces` are ids, `step_ns` is the median step of the first."""

    id: int
    project: str
    commit: str
    branch: str | None
    machine: str
    machine_detail: str
    tool: str
    created: datetime
    dirty: bool
    traces: Sequence[int]
    results: int
    step_ns: float | None


@dataclass(frozen=True, kw_only=True)
class RunsView:
    """The newest runs; at most `limit`. `project` and `commit` are what they are filtered by, None for all."""

    projects: Sequence[str]
    project: str | None
    commit: str | None
    runs: Sequence[RunRow]
    limit: int


@dataclass(frozen=True, kw_only=True)
class HealthFinding:
    """A kind of oddity: what is there, what it means for the numbers, and examples with their moments in ns, None where
    they have none."""

    severity: str
    kind: str
    count: int
    what: str
    advice: str
    examples: Sequence[tuple[str, int | None]] = ()


@dataclass(frozen=True, kw_only=True)
class Health:
    """What the doctor says of a trace."""

    verdict: str
    sentence: str
    format: str
    findings: Sequence[HealthFinding]


@dataclass(frozen=True, kw_only=True)
class TraceRow:
    """A trace of a run; `bytes` is the file's size as it came."""

    id: int
    name: str
    bytes: int
    step_ns: float | None
    peak_bytes: int | None
    ops: int | None
    health: Health | None = None


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
class TraceLink:
    """Another trace that one can be compared with."""

    id: int
    label: str


@dataclass(frozen=True, kw_only=True)
class TraceView:
    """One trace; `step` is the step number asked for, None for the median one."""

    id: int
    name: str
    run: RunRow
    trace: Trace
    others: Sequence[TraceLink] = ()
    step: int | None = None
    health: Health | None = None


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a comparison: a commit with its runs that hold results, and the trace that stands for it; or a run, a
    machine or a trace, which has a `name`. `address` is where it is looked at.

    `trace_name` is what the trace was uploaded as; it and `trace` are None where the side has no trace.
    """

    project: str
    commit: str
    runs: int | None
    trace: int | None
    trace_name: str | None
    address: str
    name: str = ""

    @property
    def title(self) -> str:
        """Its name; of a commit, the beginning of its SHA."""
        return self.name or self.commit[:8]


@dataclass(frozen=True, kw_only=True)
class VerdictRow:
    """The verdict on one benchmark: head over base with its interval; `base` and `head` are medians over runs, whose
    values are `base_values` and `head_values` where they are known, all in `unit`."""

    benchmark: str
    unit: str
    verdict: str
    reason: str
    ratio: float | None
    low: float | None
    high: float | None
    base: float | None
    head: float | None
    base_runs: int
    head_runs: int
    series: str
    base_values: Sequence[float] = ()
    head_values: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something around a measurement, on both sides; empty where it is not known."""

    name: str
    base: str
    head: str


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A kind of things to compare; options are how each is asked for, and its words, the newest first."""

    name: str
    sentence: str
    options: Sequence[tuple[str, str]]
    project: str = ""


@dataclass(frozen=True, kw_only=True)
class GateRow:
    """What a gate came to; `result` is "passed", "regression" or "could not judge", sides are SHAs or words."""

    id: int
    project: str
    base: str
    head: str
    created: datetime
    result: str
    headline: str


@dataclass(frozen=True, kw_only=True)
class GatesView:
    """The newest of what gates came to, at most `limit`, of one project where it is named."""

    project: str | None
    gates: Sequence[GateRow]
    limit: int


@dataclass(frozen=True, kw_only=True)
class GateView:
    """One of them with its report; `causes` are titles, what a step took, and the lines of the bill; `compared` says
    that the lab has results of both commits."""

    gate: GateRow
    machine: str | None
    notes: Sequence[str]
    verdicts: Sequence[VerdictRow]
    causes: Sequence[tuple[str, str, Sequence[str]]]
    compared: bool


@dataclass(frozen=True, kw_only=True)
class CompareView:
    """Two of a kind side by side; `diff` and `traces` are None where a side has no trace.

    `judged` is false where only traces are compared, so that nothing is said about benchmarks; `warnings` are
    sentences that a reader must see first; `swapped` is the address of head and base the other way, `data` are names
    and addresses of the page's tables.
    """

    base: Side
    head: Side
    machine: str | None
    judged: bool
    verdicts: Sequence[VerdictRow]
    diff: TraceDiff | None
    traces: tuple[Trace, Trace] | None = None
    facts: Sequence[Fact] = ()
    warnings: Sequence[str] = ()
    swapped: str = ""
    data: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What a gate said of a benchmark at a commit."""

    gate: int
    verdict: str


@dataclass(frozen=True, kw_only=True)
class SeriesPoint:
    """The runs of one commit in a series: `values` holds one for each run, in the series' unit. `subject` and
    `authored` are what git says of the commit; `judged` is what gates that had it as head said, the newest first.
    `dirty`: it was measured with changes that were not committed.

    `verdict` is the one against the baseline with its `reason`, both empty for the baseline itself; `ratio` is the
    commit over the baseline with its interval from `low` to `high`, None where there is none.
    """

    commit: str
    branch: str | None
    created: datetime
    runs: Sequence[int]
    values: Sequence[float]
    verdict: str = ""
    reason: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    subject: str = ""
    authored: datetime | None = None
    judged: Sequence[Judged] = ()
    dirty: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.values)


@dataclass(frozen=True, kw_only=True)
class SeriesChange:
    """Where the level of a series changed: the place of the first point on the new level, which is `ratio` times the
    old one."""

    place: int
    ratio: float
    worse: bool


@dataclass(frozen=True, kw_only=True)
class SeriesView:
    """A benchmark over commits on one machine, oldest first, at least one; `baseline` is the place of a point.

    `older` commits are not among the points; `query` is what the series is asked for with.
    """

    project: str
    benchmark: str
    params: str
    unit: str
    direction: str
    machine: str
    fingerprint: str
    points: Sequence[SeriesPoint]
    query: str
    older: int = 0
    baseline: int = 0
    changes: Sequence[SeriesChange] = ()

    def change_at(self, place: int) -> SeriesChange | None:
        """The change that begins with the point at `place`."""
        return next((change for change in self.changes if change.place == place), None)
