"""Judges head against base: a verdict for each benchmark, one exit code, and the causes where traces tell them.

Exit codes: 1 when any benchmark regressed (even if others could not be judged); else 2 when anything could not be
judged; else 0. So a gate that measured nothing, or something else than its baseline, never passes.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import IntEnum

from perflab.profiler.analysis.diff import TraceDiff

from .causes import Causes, explain
from .environment import changes
from .errors import GateOptionError
from .quantity import percent
from .result import Benchmark, Key, Result, Run
from .stats import Comparison, Verdict, compare, holm, runs_needed, verdict


class Exit(IntEnum):
    """The process exit code of a gate."""

    PASS = 0
    REGRESSION = 1
    COULD_NOT_JUDGE = 2


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What counts as a regression; it must pass both.

    Attributes:
        alpha: the chance that identical code fails, over all benchmarks of one gate together. Smaller needs more runs.
        min_effect: the smallest change that matters, as a share: 0.03 lets pass what is less than 3 % slower, however
            certain it is.
        renamed: new names of benchmarks by their old ones, which what was measured before stands under.
    """

    alpha: float = 0.05
    min_effect: float = 0.03
    renamed: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise GateOptionError(f"alpha is {self.alpha:g}; give a chance between 0 and 1, such as 0.05")
        if not 0 <= self.min_effect < float("inf"):
            raise GateOptionError(f"min_effect is {self.min_effect:g}; give a share from 0, such as 0.05 for 5 %")

    def by_new_name(self, benchmark: Benchmark) -> Benchmark:
        """The benchmark by the name that it has now."""
        new = self.renamed.get(benchmark.name)
        return benchmark if new is None else replace(benchmark, name=new)


@dataclass(frozen=True, slots=True)
class Finding:
    """One benchmark's verdict.

    Attributes:
        reason: why it could not be judged, a sentence; None where it was.
        base, head: the median over runs of each run's best sample, in the benchmark's unit; None where a side has none.
        comparison: None where nothing could be compared.
        corrected_p: the comparison's p-value, corrected for the number of benchmarks.
        min_effect: the smallest change that matters, where the benchmark says so itself.
        since: in a history, the first commit on the new level; for a drift, the release.
        causes: what traces of this benchmark on both sides say about the difference; None without them.
    """

    benchmark: Benchmark
    verdict: Verdict
    reason: str | None
    base: float | None
    head: float | None
    comparison: Comparison | None = None
    corrected_p: float | None = None
    min_effect: float | None = None
    since: str | None = None
    causes: Causes | None = None

    @property
    def worse(self) -> float:
        """How many times worse than base; below 1, better; 1 where nothing was compared."""
        ratio = self.comparison.ratio if self.comparison else 1.0
        return ratio if self.benchmark.direction == "lower" else 1 / ratio


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the gate, as the report names it: its commit ("3 commits" where it has several) and how many runs."""

    commit: str
    runs: int


@dataclass(frozen=True, slots=True)
class GateReport:
    """What the gate found.

    Attributes:
        machine: head's, in words; None where it has none, or several.
        findings: worst first, then by name.
        problem: why nothing could be judged, a sentence; None where something was.
        notes: sentences that change no verdict.
        causes: what traces of the two commits say about the difference, whatever benchmark; None without them.
        over_history: whether head was judged against the commits before it (trend.py), not against one.
    """

    base: Side
    head: Side
    machine: str | None
    options: GateOptions
    findings: tuple[Finding, ...] = ()
    problem: str | None = None
    notes: tuple[str, ...] = ()
    causes: Causes | None = None
    over_history: bool = False

    @property
    def exit_code(self) -> Exit:
        if any(finding.verdict == Verdict.REGRESSION for finding in self.findings):
            return Exit.REGRESSION
        if self.problem or any(finding.reason for finding in self.findings):
            return Exit.COULD_NOT_JUDGE
        if all(finding.verdict == Verdict.NEW for finding in self.findings):  # or nothing was found at all
            return Exit.COULD_NOT_JUDGE
        return Exit.PASS


TOGETHER_FROM, TOGETHER_SHARE, TOGETHER_WITHIN = 5, 0.8, 1.1  # benchmarks, share of them, ratio between them
ALIKE = 0.8  # names that share so much may be one benchmark
ORDER = (
    Verdict.REGRESSION,
    Verdict.WAIVED,
    Verdict.NOT_COMPARABLE,
    Verdict.MISSING,
    Verdict.NOT_ENOUGH_SAMPLES,
    Verdict.DRIFT,
    Verdict.NEW,
    Verdict.IMPROVEMENT,
    Verdict.NO_CHANGE,
)


def judge(
    base: Sequence[Run],
    head: Sequence[Run],
    options: GateOptions = GateOptions(),
    trace_diff: TraceDiff | None = None,
    notes: Sequence[str] = (),
) -> GateReport:
    """Judges head's runs against base's.

    Args:
        base, head: one run for each process; several a side, of one machine (base's runs of other machines are set
            aside).
        options: what counts as a regression.
        trace_diff: the difference of a base and a head trace, where both exist.
        notes: sentences on how it was measured, for the report.
    """
    machines = {run.machine.fingerprint for run in head}
    used = [run for run in base if machines == {run.machine.fingerprint}]
    problem = _problem(base, head, used)
    findings = () if problem else _findings(used, head, options)
    return GateReport(
        base=_side(used or base),
        head=_side(head),
        machine=str(head[0].machine) if len(machines) == 1 else None,
        options=options,
        findings=findings,
        problem=problem,
        notes=(*notes, *_notes(base, used, head), *_together(findings)),
        causes=explain(trace_diff) if trace_diff else None,
    )


def _problem(base: Sequence[Run], head: Sequence[Run], used: Sequence[Run]) -> str | None:
    """Why nothing can be judged, a sentence."""
    heads, bases = ("; ".join(sorted({str(run.machine) for run in side})) for side in (head, base))
    if not head:
        return "There are no head runs: run the benchmarks and give their results."
    if not any(run.results for run in head):
        return "The head runs hold no results: look at why no benchmark ran, then run them again."
    if len({run.machine.fingerprint for run in head}) > 1:
        return f"The head runs come from several machines ({heads}): give those of one."
    if not base:
        return "There is no baseline: run the benchmarks at the base commit on this machine and give their results."
    if not used:
        return (
            f"The baseline is from another machine ({bases}) than head ({heads}): "
            "measure the base commit on this machine too."
        )
    if not any(run.results for run in used):
        return "The baseline's runs hold no results: look at why no benchmark ran there, then run them again."
    return None


def _findings(base: Sequence[Run], head: Sequence[Run], options: GateOptions) -> tuple[Finding, ...]:
    bases, heads = _by_benchmark(base, options), _by_benchmark(head, options)
    findings: list[Finding] = []
    compared: list[tuple[Finding, Comparison]] = []
    for key in bases.keys() | heads.keys():
        benchmark = options.by_new_name((heads.get(key) or bases[key])[0].benchmark)
        before, after = ([result.best for result in side.get(key, ())] for side in (bases, heads))
        refusal = _refusal(benchmark, before, after)
        if refusal:
            findings.append(Finding(benchmark, *refusal, _median(before), _median(after)))
        else:
            finding = Finding(benchmark, Verdict.NO_CHANGE, None, _median(before), _median(after))
            finding = replace(finding, min_effect=heads[key][-1].min_effect)
            compared.append((finding, compare(before, after, options.alpha)))
    findings = _with_renames(findings)
    corrected = holm([comparison.p_value for _, comparison in compared])
    for (finding, comparison), p in zip(compared, corrected, strict=True):
        said = verdict(
            comparison,
            p,
            direction=finding.benchmark.direction,
            benchmarks=len(compared),
            alpha=options.alpha,
            min_effect=options.min_effect if finding.min_effect is None else finding.min_effect,
        )
        reason = _too_few(comparison, len(compared), options.alpha) if said == Verdict.NOT_ENOUGH_SAMPLES else None
        findings.append(replace(finding, verdict=said, reason=reason, comparison=comparison, corrected_p=p))
    return by_rank(findings)


def _with_renames(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with a hint where one that is missing looks like one that is new."""
    new = {each.benchmark.name: each.benchmark for each in findings if each.verdict == Verdict.NEW}
    hinted = []
    for finding in findings:
        if finding.verdict == Verdict.MISSING:
            close = get_close_matches(finding.benchmark.name, new, 1, ALIKE)
            if close and new[close[0]].unit == finding.benchmark.unit:
                finding = replace(finding, reason=f"{finding.reason} Was it renamed to {close[0]}?")
        hinted.append(finding)
    return hinted


def moved_together(worse: Sequence[float], judged: int) -> list[str]:
    """A sentence where nearly all benchmarks changed by nearly the same ratio, as another machine makes them.

    Args:
        worse: how many times worse each benchmark that changed is.
        judged: how many benchmarks were judged.
    """
    if judged < TOGETHER_FROM or len(worse) < TOGETHER_SHARE * judged:
        return []
    middle = statistics.median(worse)
    if min(worse) < middle / TOGETHER_WITHIN or max(worse) > middle * TOGETHER_WITHIN:
        return []
    return [
        f"{len(worse)} of {judged} benchmarks moved together, by {percent(middle)}: "
        "that may be the machine and not the code; measure in turn, with --against."
    ]


def _together(findings: Sequence[Finding]) -> list[str]:
    changed = [it.worse for it in findings if it.verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT)]
    return moved_together(changed, sum(not finding.reason for finding in findings))


def by_rank(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Worst verdict first, then the largest change, then by name."""
    return tuple(sorted(findings, key=_rank))


def _rank(finding: Finding) -> tuple[int, float, Key]:
    ratio = finding.comparison.ratio if finding.comparison else 1.0
    return ORDER.index(finding.verdict), -max(ratio, 1 / ratio), finding.benchmark.key


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _by_benchmark(runs: Sequence[Run], options: GateOptions) -> dict[Key, list[Result]]:
    found: dict[Key, list[Result]] = {}
    for run in runs:
        for result in run.results:
            found.setdefault(options.by_new_name(result.benchmark).key, []).append(result)
    return found


def _refusal(benchmark: Benchmark, base: Sequence[float], head: Sequence[float]) -> tuple[Verdict, str | None] | None:
    """Verdict where the two cannot be compared at all, and a sentence where that is no pass."""
    if not base:
        return Verdict.NEW, None
    if not head:
        return (
            Verdict.MISSING,
            "Head has no result of it (failed, renamed or removed): run it, or drop it from the base.",
        )
    if min(*base, *head) <= 0:
        return Verdict.NOT_COMPARABLE, f"A run's best sample is 0 {benchmark.unit}: measure more work in a round."
    return None


def _too_few(comparison: Comparison, benchmarks: int, alpha: float) -> str:
    over = f" over {benchmarks} benchmarks" if benchmarks > 1 else ""
    return (
        f"{comparison.n_base} base and {comparison.n_head} head runs cannot reach p <= {alpha:g}{over}: "
        f"give {runs_needed(alpha, benchmarks)} runs a side."
    )


def _side(runs: Sequence[Run]) -> Side:
    commits = {run.commit for run in runs if run.commit}
    commit = next(iter(commits)) if len(commits) == 1 else f"{len(commits)} commits" if commits else "no commit given"
    return Side(commit, len(runs))


def _notes(base: Sequence[Run], used: Sequence[Run], head: Sequence[Run]) -> tuple[str, ...]:
    notes = []
    aside = len(base) - len(used)
    if used and aside:
        notes.append(f"{aside} base run{'s' if aside > 1 else ''} of other machines set aside.")
    for side, runs in (("Base", used), ("Head", head)):
        if any(run.dirty for run in runs):
            notes.append(f"{side} was measured with uncommitted changes.")
    if changed := changes((run.environment for run in used), (run.environment for run in head)):
        notes.append(f"The environment is not the same: {', '.join(changed)}.")
    return tuple(notes)
