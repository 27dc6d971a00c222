"""Judges the newest commit of a history: has a benchmark reached another level with it?

A change is told once, by the commit with which enough results agree (history.py), so a level that was accepted by
going on is not held against each commit that follows.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .gate import Finding, GateOptions, GateReport, Side, by_rank, moved_together
from .history import ALPHA, BEFORE, LEAST_BEFORE, MIN_EFFECT, RECENT, ChangePoint, change_points
from .ledger import AROUND, Release, drift
from .quantity import percent
from .result import Benchmark
from .stats import Comparison, Verdict

NEEDED = LEAST_BEFORE + RECENT


@dataclass(frozen=True, slots=True)
class Measured:
    """One commit's value of a benchmark: the median over its runs of each run's best sample."""

    commit: str
    value: float


def judge_history(
    series: Mapping[Benchmark, Sequence[Measured]],
    head: str,
    machine: str,
    min_effect: float = MIN_EFFECT,
    notes: Sequence[str] = (),
    release: Release | None = None,
) -> GateReport:
    """Judges commit `head` against the commits before it.

    Args:
        series: what each benchmark measured on one machine, in the order of the commits, the newest last.
        notes: sentences for the report.
        release: the last one before head; what got worse since then is a drift.
    """
    changes = {
        benchmark: change_points([each.value for each in measured], min_effect)
        for benchmark, measured in series.items()
        if len(measured) >= NEEDED
    }
    findings = []
    young = 0
    for benchmark, measured in series.items():
        if len(measured) < NEEDED and measured[-1].commit == head:
            young += 1
            continue
        finding = _finding(benchmark, measured, head, changes.get(benchmark, []))
        if release is not None and finding.verdict == Verdict.NO_CHANGE:
            finding, said = _drifted(finding, measured, release, min_effect)
            notes = (*notes, *said)
        findings.append(finding)
    commits = {each.commit for measured in series.values() for each in measured}
    problem = None
    if head not in commits:
        problem = "Head has no results on this machine: run the benchmarks and give their results."
    elif not findings:
        problem = f"No benchmark was measured at {NEEDED} commits yet: a history tells nothing before."
    elif young:
        notes = (*notes, f"{young} benchmark{'s' if young > 1 else ''} with less than {NEEDED} commits not judged yet.")
    return GateReport(
        base=Side(f"{len(commits - {head})} commits", 0),
        head=Side(head, 0),
        machine=machine,
        options=GateOptions(alpha=ALPHA, min_effect=min_effect),
        findings=() if problem else by_rank(findings),
        problem=problem,
        notes=(*notes, *_together(series, changes)),
        over_history=True,
    )


def _finding(benchmark: Benchmark, measured: Sequence[Measured], head: str, changes: Sequence[ChangePoint]) -> Finding:
    values = [each.value for each in measured]
    if measured[-1].commit != head:
        reason = "Head has no result of it (failed, renamed or removed): run it, or drop it from the base."
        return Finding(benchmark, Verdict.MISSING, reason, values[-1], None)
    if not all(0 < value < math.inf for value in values):
        reason = f"A commit's best sample is 0 {benchmark.unit}: measure more work in a round."
        return Finding(benchmark, Verdict.NOT_COMPARABLE, reason, values[-2], values[-1])
    if not changes or changes[-1].seen != len(values) - 1:
        return Finding(benchmark, Verdict.NO_CHANGE, None, values[-2], values[-1])
    change = changes[-1]
    worse = (change.ratio > 1) == (benchmark.direction == "lower")
    before, after = values[max(0, change.index - BEFORE) : change.index], values[change.index :]
    return Finding(
        benchmark,
        Verdict.REGRESSION if worse else Verdict.IMPROVEMENT,
        None,
        statistics.median(before),
        statistics.median(after),
        Comparison(change.ratio, None, None, change.p_value, len(before), len(after)),
        change.p_value,
        since=measured[change.index].commit,
    )


def _drifted(
    finding: Finding, measured: Sequence[Measured], release: Release, min_effect: float
) -> tuple[Finding, list[str]]:
    """The finding as a drift where it got worse since the release, with a sentence on its best level."""
    values = [each.value for each in measured]
    released = sum(each.commit in release.commits for each in measured)
    found = drift(values, released, finding.benchmark.direction, min_effect)
    if found is None:
        return finding, []
    before, after = values[max(0, released - AROUND) : released], values[-RECENT:]
    said = f"{finding.benchmark.name} drifted: {percent(found.since.ratio)} since {release.name}"
    said += f", {percent(found.best)} worse than its best." if found.best >= 1 + min_effect else "."
    drifting = replace(
        finding,
        verdict=Verdict.DRIFT,
        base=statistics.median(before),
        head=statistics.median(after),
        comparison=found.since,
        corrected_p=found.since.p_value,
        since=release.name,
    )
    return drifting, [said]


def _together(
    series: Mapping[Benchmark, Sequence[Measured]], changes: Mapping[Benchmark, Sequence[ChangePoint]]
) -> list[str]:
    """As `moved_together`, of what changed lately: the same jump is told a commit earlier here and later there."""
    worse = []
    for benchmark, found in changes.items():
        if found and found[-1].seen >= len(series[benchmark]) - RECENT:
            worse.append(found[-1].ratio if benchmark.direction == "lower" else 1 / found[-1].ratio)
    return moved_together(worse, len(changes))
