"""Slow-downs that are known and allowed for a while, in a TOML file of the repository.

[[waiver]]
benchmark = "benchmarks/test_step.py::test_step[cnn]"
metric = "s"              # the benchmark's unit
ceiling = 1.10            # how many times the base it may take
expires = 2026-12-31      # the last day on which it counts
reason = "the new padding is right and slower; #123"

A benchmark that head has no result of, on purpose, is named as well:

[[removed]]
benchmark = "benchmarks/test_step.py::test_step[rnn]"
reason = "the lstm's covers it"

One that has another name now goes on under it:

[[renamed]]
benchmark = "benchmarks/test_step.py::test_step[gpt]"
was = "benchmarks/test_step.py::test_step[transformer]"
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar

from .errors import BenchmarkFormatError
from .gate import GateReport, by_rank
from .quantity import percent
from .stats import Verdict


@dataclass(frozen=True, slots=True)
class Waiver:
    """One of them; `ceiling` is a ratio of worse over base, above 1, whatever direction is better."""

    benchmark: str
    metric: str
    ceiling: float
    expires: date
    reason: str

    def __post_init__(self) -> None:
        if not 1 < self.ceiling < float("inf"):
            raise BenchmarkFormatError(f"the ceiling for {self.benchmark} is {self.ceiling:g}; give a ratio above 1")
        if not self.reason.strip():
            raise BenchmarkFormatError(f"the waiver for {self.benchmark} has no reason; say why it is allowed")


@dataclass(frozen=True, slots=True)
class Removed:
    """A benchmark that was taken away, or renamed, on purpose."""

    benchmark: str
    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise BenchmarkFormatError(f"that {self.benchmark} is removed has no reason; say why it is gone")


@dataclass(frozen=True, slots=True)
class Renamed:
    """A benchmark's name now, and what it was."""

    benchmark: str
    was: str


@dataclass(frozen=True, slots=True)
class Waivers:
    """What a file says."""

    slower: Sequence[Waiver] = ()
    removed: Sequence[Removed] = ()
    renamed: Sequence[Renamed] = ()


def read(path: Path) -> Waivers:
    """The waivers of that file.

    Raises:
        BenchmarkFormatError: it cannot be read or is no such file; one sentence that begins with its name.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        slower, removed, renamed = (data.pop(name, []) for name in ("waiver", "removed", "renamed"))
        if data or not all(isinstance(tables, list) for tables in (slower, removed, renamed)):
            raise BenchmarkFormatError(
                "it holds more than [[waiver]], [[removed]] and [[renamed]]; give a table for each benchmark"
            )
        return Waivers(
            [_table(Waiver, item) for item in slower],
            [_table(Removed, item) for item in removed],
            [_table(Renamed, item) for item in renamed],
        )
    except OSError as error:
        raise BenchmarkFormatError(f"{path}: {error.strerror}; name a file of waivers") from None
    except (ValueError, BenchmarkFormatError) as error:
        raise BenchmarkFormatError(f"{path}: {error}") from None


T = TypeVar("T", Waiver, Removed, Renamed)
KINDS: dict[str, Any] = {
    "benchmark": str,
    "metric": str,
    "ceiling": int | float,
    "expires": date,
    "reason": str,
    "was": str,
}


def _table(kind: type[T], item: Any) -> T:
    names = [field.name for field in fields(kind)]
    if not isinstance(item, dict) or sorted(item) != sorted(names):
        raise BenchmarkFormatError(f"a {kind.__name__.lower()} has {', '.join(names)}, no more and no less")
    for name in names:
        if not isinstance(item[name], KINDS[name]) or isinstance(item[name], datetime):
            raise BenchmarkFormatError(f"{name} is {item[name]!r}; look at the example in docs/gate.md")
    return kind(**item)


def waive(report: GateReport, waivers: Waivers, today: date) -> GateReport:
    """The report with the regressions that a waiver covers today, and what was removed, marked as waived, and a
    sentence on each that covered one, expired, or names nothing that was judged."""
    by_name = {(waiver.benchmark, waiver.metric): waiver for waiver in waivers.slower}
    removed = {each.benchmark: each.reason for each in waivers.removed}
    findings, notes = [], []
    for finding in report.findings:
        if finding.verdict == Verdict.MISSING and finding.benchmark.name in removed:
            notes.append(f"{finding.benchmark.name} is removed: {removed[finding.benchmark.name]}.")
            finding = replace(finding, verdict=Verdict.WAIVED, reason=None)
        waiver = by_name.pop((finding.benchmark.name, finding.benchmark.unit), None)
        if waiver is not None and finding.verdict == Verdict.REGRESSION:
            until = f"until {waiver.expires.isoformat()}, up to {percent(waiver.ceiling)}: {waiver.reason}"
            if today > waiver.expires:
                notes.append(f"The waiver for {waiver.benchmark} expired on {waiver.expires.isoformat()}.")
            elif finding.worse > waiver.ceiling:
                notes.append(f"{waiver.benchmark} is worse than its waiver allows ({until}).")
            else:
                notes.append(f"{waiver.benchmark} is waived {until}.")
                finding = replace(finding, verdict=Verdict.WAIVED)
        findings.append(finding)
    notes += [
        f"A waiver names {waiver.benchmark} in {waiver.metric}, which was not judged." for waiver in by_name.values()
    ]
    return replace(report, findings=by_rank(findings), notes=(*report.notes, *notes))
