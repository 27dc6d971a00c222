"""Two commits side by side: the gate's report over their results, and the difference of their traces."""

from collections.abc import Callable, Sequence

from perflab.benchmarks import result
from perflab.benchmarks.gate import GateOptions, judge
from perflab.profiler.analysis.diff import diff
from perflab.profiler.trace import Trace as FullTrace

from .schema import Commit, CommitComparison, RunDetail, Trace


def compare(
    base: tuple[Commit, Sequence[RunDetail]],
    head: tuple[Commit, Sequence[RunDetail]],
    options: GateOptions,
    read: Callable[[int], FullTrace],
) -> CommitComparison:
    """Compare the runs of two commits; `read` gives the whole trace of an id."""
    base_commit, base_runs = base
    head_commit, head_runs = head
    base_trace, head_trace = representative(base_runs), representative(head_runs)
    difference = None
    if base_trace is not None and head_trace is not None:
        difference = diff(read(base_trace.id), read(head_trace.id))
    report = judge(measured(base_runs), measured(head_runs), options, difference)
    return CommitComparison(
        project=head_commit.project,
        base=base_commit.sha,
        head=head_commit.sha,
        base_trace=base_trace,
        head_trace=head_trace,
        report=report,
        exit_code=int(report.exit_code),
        diff=difference,
    )


def representative(runs: Sequence[RunDetail]) -> Trace | None:
    """The trace whose step time is the median of the traces' step times; None where no run has a trace."""
    traces = sorted((trace for detail in runs for trace in detail.run.traces), key=_step_time)
    return traces[(len(traces) - 1) // 2] if traces else None


def measured(runs: Sequence[RunDetail]) -> list[result.Run]:
    """The runs that have results, as the gate reads them."""
    return [
        result.Run(
            project=detail.run.project,
            commit=detail.run.commit,
            branch=detail.run.branch,
            machine=detail.run.machine,
            created=detail.run.created,
            tool=detail.run.tool,
            results=detail.results,
            dirty=detail.run.dirty,
            environment=detail.run.environment,
        )
        for detail in runs
        if detail.results
    ]


def _step_time(trace: Trace) -> int:
    return int(trace.summary["step_ns"])
