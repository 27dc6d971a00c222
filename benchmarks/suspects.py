"""Which benchmarks may have changed: what measuring in turn goes on with, and what it leaves as unchanged.

A benchmark is a suspect while its ratio, head over base, is at least half of the smallest change that matters, either
way. The others are done after a few processes. On results of two cores that others kept busy, 24 processes a side for
suspects alone tell +5 % in nine of ten cases, and a benchmark takes about 5 processes a side
(`python -m perflab.benchmarks.simulation`).
"""

from collections.abc import Sequence
from dataclasses import replace

from .gate import Finding, GateOptions, GateReport, by_rank, judge
from .quantity import percent
from .result import Run
from .stats import Verdict


def suspects(base: Sequence[Run], head: Sequence[Run], options: GateOptions) -> list[str]:
    """Names, old ones as well, of the benchmarks that may have changed, by the runs so far."""
    names = {it.benchmark.name for it in judge(base, head, options).findings if may_have_changed(it, options)}
    return [*names, *(old for old, new in options.renamed.items() if new in names)]


def may_have_changed(finding: Finding, options: GateOptions) -> bool:
    """Whether the finding's ratio is worth more processes; False where nothing was compared."""
    return finding.comparison is not None and is_suspect(finding.worse, _matters(finding, options))


def is_suspect(ratio: float, matters: float) -> bool:
    """Whether a ratio is at least half of the smallest change that matters, a share."""
    return max(ratio, 1 / ratio) >= 1 + matters / 2


def settled(report: GateReport) -> GateReport:
    """The report on what was measured by rounds: what was left early did not change, though its runs be few; what is
    slower and still not certain is named."""
    findings = [_settled(finding, report.options) for finding in report.findings]
    notes = [
        f"{it.benchmark.name} may be slower, by {percent(it.worse)}: its processes did not agree; "
        "give more of them (--processes) to know."
        for it in findings
        if it.verdict == Verdict.NO_CHANGE and it.worse >= 1 + _matters(it, report.options)
    ]
    return replace(report, findings=by_rank(findings), notes=(*report.notes, *notes))


def _settled(finding: Finding, options: GateOptions) -> Finding:
    if finding.verdict != Verdict.NOT_ENOUGH_SAMPLES or may_have_changed(finding, options):
        return finding
    return replace(finding, verdict=Verdict.NO_CHANGE, reason=None)


def _matters(finding: Finding, options: GateOptions) -> float:
    return options.min_effect if finding.min_effect is None else finding.min_effect
