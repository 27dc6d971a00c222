"""Every answer of a lab: what the store returns, what the routes send and what the client reads back.

Times are in UTC, durations in integer nanoseconds, sizes in bytes. Machine, Benchmark and Result are those of
perflab.benchmarks, so that a result means the same in a file, in the lab and in an answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from perflab.benchmarks.gate import GateReport
from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark, Result
from perflab.profiler.analysis.diff import TraceDiff

UNMASKED = ".unmasked"

UploadKind = Literal["trace", "benchmarks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """Why a request was refused: one sentence that says what came and what to do."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an upload comes from; None where the uploader does not say, and the file may."""

    project: str | None = None
    commit: str | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What comes with an uploaded file.

    `said` is what the uploader states; it goes before what the file says, and that before `fallback`. `machine` and
    `created` serve files that do not say. Uploads of one `key`, commit and machine are one run; without a key a file is
    a run by itself.
    """

    name: str
    said: Origin = Origin()
    fallback: Origin = Origin()
    machine: Machine | None = None
    created: datetime | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file as it was taken in: `new` is false when the lab had it already for this commit and machine. `health` is
    what the doctor says of a trace."""

    name: str
    kind: UploadKind
    new: bool
    sha256: str
    bytes: int
    project: str
    commit: str
    run: int
    trace: int | None
    results: int
    health: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project and how many runs it has; `latest` is when the newest of them was measured."""

    name: str
    runs: int
    latest: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit that the lab knows: all 40 hex digits of its SHA."""

    project: str
    sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A trace without its events: the file as it came, and the summary of its events.

    `masked`: whatever the lab shows of it names no people and machines; the file does.
    """

    id: int
    run: int
    name: str
    bytes: int
    sha256: str
    masked: bool
    summary: dict[str, Any]

    @property
    def derived(self) -> str:
        """What is made of the file is kept by this name: a file may be masked for one project and not for another."""
        return self.sha256 if self.masked else f"{self.sha256}{UNMASKED}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution at one commit on one machine, with its traces and the number of its results.

    `created` is when it was measured, `uploaded` when it came to the lab; `dirty` says that the working tree differed
    from the commit; `branch` is None where nobody named one; `environment` has versions and variables by name, and is
    empty where the upload did not say.
    """

    id: int
    project: str
    commit: str
    branch: str | None
    machine: Machine
    created: datetime
    uploaded: datetime
    tool: str
    dirty: bool
    environment: Mapping[str, str]
    traces: tuple[Trace, ...]
    results: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """A run with its results."""

    run: Run
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectBenchmark:
    """A benchmark of a project and the machines that it was measured on."""

    project: str
    benchmark: Benchmark
    machines: tuple[Machine, ...]
    results: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One result in a series; `minimum` and `median` are over its samples, in the benchmark's unit. `dirty`: the work
    tree differed from the commit."""

    run: int
    commit: str
    branch: str | None
    created: datetime
    samples: int
    minimum: float
    median: float
    dirty: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A benchmark's results over commits on one machine. A commit stands after its ancestors where git told of them,
    else by its first run. Of a commit that was measured as it is, results of a dirty work tree are left out."""

    project: str
    benchmark: Benchmark
    machine: Machine
    points: tuple[Point, ...]

    def value(self, point: Point) -> float:
        """What stands for a run: its least sample, or its median where higher is better."""
        return point.minimum if self.benchmark.direction == "lower" else point.median


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """What git says of a commit: the first line of its message, and when its author made it.

    `behind` counts the commits that it has behind it, which puts each after all its ancestors; `release` is the nearest
    tag behind it, `released` counts the commits behind that. None where git does not say, as in a shallow clone.
    """

    sha: str
    subject: str
    authored: datetime
    behind: int | None = None
    release: str | None = None
    released: int | None = None

    @property
    def is_release(self) -> bool:
        """Whether the tag is its own."""
        return self.released is not None and self.released == self.behind


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFacts:
    """What git says of commits of a project."""

    project: str
    commits: list[CommitFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A commit that was measured: when its first run was, and the branch of that; `facts` where git told them."""

    sha: str
    branch: str | None
    created: datetime
    facts: CommitFacts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """The newest commits of a project, oldest first, and the series of what was measured at them.

    `missing` are benchmarks with results at none of these commits, only at older ones.
    """

    project: str
    commits: tuple[Measured, ...]
    series: tuple[Series, ...]
    missing: tuple[Benchmark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One SELECT, over what is named: one trace, or the runs of a project and of commits, or all.

    `commits` is a SHA, or a range `A..B`: those after A up to B, in the order of series; either end may be left out.
    """

    query: str
    project: str | None = None
    commits: str | None = None
    trace: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Rows of plain values, with names and SQL types of their columns; `cut` says that there were more than `limit`.

    `seconds` is how long the question took, without the reading of traces.
    """

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    limit: int
    cut: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJudgement:
    """A gate's report that is to be kept."""

    project: str
    report: GateReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a gate came to: sides as its report names them, its exit code and its answer in a line."""

    id: int
    project: str
    base: str
    head: str
    created: datetime
    exit_code: int
    headline: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementDetail:
    """A judgement with its whole report."""

    judgement: Judgement
    report: GateReport


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitComparison:
    """Head against base: the gate's report over their results, and the difference of one trace each.

    `exit_code` is the gate's: 0 pass, 1 regression, 2 could not judge. The traces are those with the median step time
    of their commit; `diff` is None unless both commits have a trace.
    """

    project: str
    base: str
    head: str
    base_trace: Trace | None
    head_trace: Trace | None
    report: GateReport
    exit_code: int
    diff: TraceDiff | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """From `commit` on a series is on another level: `ratio` is the new over the old, `worse` whether that is bad."""

    commit: str
    ratio: float
    worse: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesStanding:
    """How a series stands among the newest commits of its project.

    `values` are medians over the runs of `commits`, oldest first; `moves` every change of level; `drift` the newest
    results over the best level before them, where it was lost in steps too small to be blamed on a commit; `behind`
    commits and `days` tell for how long it was not measured.
    """

    benchmark: Benchmark
    machine: Machine
    commits: tuple[str, ...]
    values: tuple[float, ...]
    moves: tuple[Moved, ...]
    drift: float | None
    behind: int
    days: int
