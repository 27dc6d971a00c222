"""A folder with what the processes of one commit left: run files, and a trace where one was taken.

*.json      a run each, as pytest-benchmark or perflab wrote it
*.json.gz   a trace of a benchmark each, from a process that was profiled, which is none of those that were timed
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perflab.profiler import chrome
from perflab.profiler.analysis.diff import diff

from . import formats
from .causes import explain
from .errors import BenchmarkFormatError
from .gate import Finding, GateOptions, GateReport, judge
from .result import Run
from .stats import Verdict

RUNS, TRACES = "*.json", "*.json.gz"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a folder holds: runs by name of file, and the path of each benchmark's trace."""

    runs: Sequence[Run]
    traces: Mapping[str, Path]


def read(folder: Path) -> Measured:
    """What the folder holds; raises BenchmarkFormatError where a file cannot be read, or there is no folder."""
    if not folder.is_dir():
        raise BenchmarkFormatError(f"{folder} is no folder; name one with the run files of a commit")
    runs = [formats.read(path) for path in sorted(folder.glob(RUNS))]
    return Measured(runs, {_benchmark(path): path for path in sorted(folder.glob(TRACES))})


def _benchmark(trace: Path) -> str:
    """The benchmark that it is a trace of."""
    return str(chrome.read(trace).metadata.get("benchmark", ""))


def judge_measured(base: Measured, head: Measured, options: GateOptions, notes: Sequence[str] = ()) -> GateReport:
    """Judges the runs of one folder against those of another; the traces of what regressed tell the causes."""
    report = judge(base.runs, head.runs, options, notes=notes)
    before = {options.renamed.get(name, name): path for name, path in base.traces.items()}
    findings = tuple(_explained(finding, before, head.traces) for finding in report.findings)
    return replace(report, findings=findings, notes=(*report.notes, *shared_causes(findings)))


def shared_causes(findings: Sequence[Finding]) -> list[str]:
    """A sentence for each op that makes up most of several regressions: they are one thing to mend."""
    regressed: dict[str, list[str]] = {}
    for finding in findings:
        ops = [cause for cause in finding.causes.grew if cause.kind == "op"] if finding.causes else []
        if ops:
            regressed.setdefault(ops[0].name, []).append(finding.benchmark.name)
    return [
        f"{len(names)} regressions have one cause, {op}: {', '.join(names)}."
        for op, names in regressed.items()
        if len(names) > 1
    ]


def _explained(finding: Finding, base: Mapping[str, Path], head: Mapping[str, Path]) -> Finding:
    name = finding.benchmark.name
    if finding.verdict != Verdict.REGRESSION or name not in base or name not in head:
        return finding
    before, after = (chrome.read(side[name]) for side in (base, head))
    return replace(finding, causes=explain(diff(before, after)))
