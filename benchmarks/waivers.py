"""Slow-downs that are known and allowed for a while, in a TOML file of the repository.

[[waiver]]
benchmark = "benchmarks/test_step.py::test_step[cnn]"
metric = "s"              # the benchmark's unit
ceiling = 1.10            # how many times the base it may take
expires = 2026-12-31      # the last day on which it counts
reason = "the new padding is right and slower; #123"
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

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


def read(path: Path) -> Sequence[Waiver]:
    """The waivers of that file.

    Raises:
        BenchmarkFormatError: it cannot be read or is no such file; one sentence that begins with its name.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        items = data.pop("waiver", [])
        if data or not isinstance(items, list):
            raise BenchmarkFormatError("it holds more than [[waiver]] tables; give one for each benchmark")
        return [_waiver(item) for item in items]
    except OSError as error:
        raise BenchmarkFormatError(f"{path}: {error.strerror}; name a file of waivers") from None
    except (ValueError, BenchmarkFormatError) as error:
        raise BenchmarkFormatError(f"{path}: {error}") from None


def _waiver(item: Any) -> Waiver:
    kinds: dict[str, Any] = {"benchmark": str, "metric": str, "ceiling": int | float, "expires": date, "reason": str}
    names = [field.name for field in fields(Waiver)]
    if not isinstance(item, dict) or sorted(item) != sorted(names):
        raise BenchmarkFormatError(f"a waiver has {', '.join(names)}, no more and no less")
    for name, kind in kinds.items():
        if not isinstance(item[name], kind) or isinstance(item[name], datetime):
            raise BenchmarkFormatError(f"{name} is {item[name]!r}; look at the example in docs/gate.md")
    return Waiver(**item)


def waive(report: GateReport, waivers: Sequence[Waiver], today: date) -> GateReport:
    """The report with the regressions that a waiver covers today marked as waived, and a sentence on each waiver that
    covered one, expired, or names nothing that was judged."""
    by_name = {(waiver.benchmark, waiver.metric): waiver for waiver in waivers}
    findings, notes = [], []
    for finding in report.findings:
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
