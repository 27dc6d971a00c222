"""A gate's report: Markdown for a comment in a review, text for a terminal, and JSON (docs/gate.schema.json)."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from .causes import Cause, Causes
from .gate import Exit, Finding, GateReport, Side
from .history import RECENT
from .quantity import NANOSECONDS, percent, quantity, scale_of
from .stats import Verdict

FORMAT = "perflab.gate"
VERSION = 1
NOTHING = "-"
PASSING = {
    Verdict.IMPROVEMENT: "improved",
    Verdict.WAIVED: "waived",
    Verdict.NEW: "new",
    Verdict.DRIFT: "worse than at the last release",
}


def markdown(report: GateReport) -> str:
    """Markdown, ending in a newline; names from outside are escaped."""
    lines = [f"## perflab gate: {headline(report)}", "", _sides(report, "`")]
    if report.machine:
        lines += [f"on {_escape(report.machine)}"]
    if report.problem:
        lines += ["", f"**{_escape(report.problem)}**"]
    if report.findings:
        lines += ["", "| benchmark | base | head | change | p | verdict |", "|---|---:|---:|---:|---:|---|"]
        lines += [
            "| " + " | ".join(_cells(finding, f"`{_code(finding.benchmark.name)}`")) + " |"
            for finding in report.findings
        ]
    reasons = _reasons(report)
    if reasons:
        lines += ["", *(f"- `{_code(name)}`: {_escape(reason)}" for name, reason in reasons)]
    for title, causes in explanations(report, lambda name: f"`{_code(name)}`"):
        lines += ["", f"### {title}", "", _escape(causes.headline), ""]
        lines += [f"{index}. {_escape(line)}" for index, line in enumerate(cause_lines(causes), 1)]
    lines += ["", f"<sub>{_rule(report)}{''.join(f' {_escape(note)}' for note in report.notes)}</sub>", ""]
    return "\n".join(lines)


def text(report: GateReport) -> str:
    """Plain text for a terminal, ending in a newline."""
    lines = [f"perflab gate: {headline(report)}", _sides(report, "")]
    if report.machine:
        lines += [f"on {report.machine}"]
    if report.problem:
        lines += ["", report.problem]
    if report.findings:
        rows = [["benchmark", "base", "head", "change", "p", "verdict"]]
        rows += [_cells(finding, printable(finding.benchmark.name)) for finding in report.findings]
        widths = [max(len(row[column]) for row in rows) for column in range(6)]
        aligned = [
            [
                cell.ljust(width) if column in (0, 5) else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            for row in rows
        ]
        lines += ["", *("  ".join(row).rstrip() for row in aligned)]
    reasons = _reasons(report)
    if reasons:
        lines += ["", *(f"{printable(name)}: {reason}" for name, reason in reasons)]
    for title, causes in explanations(report, printable):
        lines += ["", f"{title}: {causes.headline}"]
        lines += [f"  {index}. {printable(line)}" for index, line in enumerate(cause_lines(causes), 1)]
    lines += ["", _rule(report), *report.notes, ""]
    return "\n".join(lines)


def as_json(report: GateReport) -> dict[str, Any]:
    """The whole report as what JSON can hold, with "format" and "version"."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "exit_code": int(report.exit_code),
        "headline": headline(report),
        **asdict(report),
        "findings": [_finding(finding) for finding in report.findings],
        "notes": list(report.notes),
        "causes": _causes(report.causes) if report.causes else None,
    }


def json_text(report: GateReport) -> str:
    """The same as text, ending in a newline."""
    return json.dumps(as_json(report), indent=2, allow_nan=False) + "\n"


def _causes(causes: Causes) -> dict[str, Any]:
    listed = {side: [asdict(cause) for cause in getattr(causes, side)] for side in ("grew", "shrank")}
    return {"headline": causes.headline, **asdict(causes), **listed}


def _finding(finding: Finding) -> dict[str, Any]:
    data = asdict(finding)
    data["benchmark"]["params"] = dict(finding.benchmark.params)
    data["verdict"] = str(finding.verdict)
    data["causes"] = _causes(finding.causes) if finding.causes else None
    return data


def headline(report: GateReport) -> str:
    """The answer in a line: what regressed, else what could not be judged, else a pass."""
    counts = Counter(finding.verdict for finding in report.findings)
    total = len(report.findings)
    unjudged = sum(1 for finding in report.findings if finding.reason)
    rest = f", {unjudged} could not be judged" if unjudged else ""
    if report.exit_code == Exit.REGRESSION:
        return f"failed, {counts[Verdict.REGRESSION]} of {_benchmarks(total)} regressed{rest}"
    if report.exit_code == Exit.COULD_NOT_JUDGE:
        return f"could not judge{f' {unjudged} of {_benchmarks(total)}' if unjudged else ''}"
    more = [f", {counts[said]} {word}" for said, word in PASSING.items() if counts[said]]
    return f"passed, {_benchmarks(total)}{''.join(more)}"


def _benchmarks(count: int) -> str:
    return f"{count} benchmark{'' if count == 1 else 's'}"


def _sides(report: GateReport, quote: str) -> str:
    if report.over_history:
        return f"head {quote}{report.head.commit}{quote} after {report.base.commit}"
    return f"base {_side(report.base, quote)}, head {_side(report.head, quote)}"


def _side(side: Side, quote: str) -> str:
    if not side.runs:
        return "without runs"
    return f"{quote}{side.commit}{quote} ({side.runs} run{'' if side.runs == 1 else 's'})"


def _cells(finding: Finding, name: str) -> list[str]:
    scale = scale_of(finding.benchmark.unit)
    values = [NOTHING if value is None else quantity(value, scale) for value in (finding.base, finding.head)]
    p = finding.corrected_p
    chance = NOTHING if p is None else "< 0.0001" if p < 0.0001 else f"{p:.2g}"
    said = f"{finding.verdict} since {finding.since[:12]}" if finding.since else str(finding.verdict)
    return [name, *values, change_in_words(finding), chance, said]


def change_in_words(finding: Finding) -> str:
    """Such as "+10.0 % (+6.9 % to +13.1 %)"; "-" where nothing was compared."""
    comparison = finding.comparison
    if comparison is None:
        return NOTHING
    words = percent(comparison.ratio)
    if comparison.low is not None and comparison.high is not None:
        words += f" ({percent(comparison.low)} to {percent(comparison.high)})"
    return words


def _reasons(report: GateReport) -> list[tuple[str, str]]:
    return [(finding.benchmark.name, finding.reason) for finding in report.findings if finding.reason]


def explanations(report: GateReport, shown: Callable[[str], str]) -> list[tuple[str, Causes]]:
    """Titles and causes: of the commits, then of each benchmark that has its own."""
    title = "Why" if report.exit_code == Exit.REGRESSION else "What changed in the traces"
    found = [(title, report.causes)] if report.causes else []
    own = [(f"Why {shown(each.benchmark.name)}", each.causes) for each in report.findings if each.causes]
    return found + own


def cause_lines(causes: Causes) -> list[str]:
    """The lines of the bill, in words."""
    lines = [_cause_line(cause) for cause in (*causes.grew, *causes.shrank)]
    if causes.other_ns:
        lines.append(f"all other ops: {quantity(causes.other_ns, NANOSECONDS, signed=True)} a step")
    return lines


def _cause_line(cause: Cause) -> str:
    return cause.text if cause.share is None else f"{cause.text}; {cause.share * 100:.0f} % of the difference"


def _rule(report: GateReport) -> str:
    options = report.options
    if report.over_history:
        return (
            f"A verdict needs {RECENT} results on the new level, p <= {options.alpha:g} (rank test against those "
            f"before) and a change of at least {options.min_effect * 100:g} %."
        )
    return (
        f"A verdict needs p <= {options.alpha:g} (rank test over runs, corrected for the number of benchmarks) "
        f"and a change of at least {options.min_effect * 100:g} %; the interval is at {(1 - options.alpha) * 100:g} %."
    )


def printable(name: str) -> str:
    """Without control characters, which would move a terminal's cursor or break a table's row."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name)


def _escape(line: str) -> str:
    """As Markdown text; an underscore inside a word means nothing there."""
    return re.sub(r"[\\`*\[\]|<]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", printable(line))


def _code(name: str) -> str:
    """Inside backticks, in a table's cell: a bar needs its backslash there too, and a backtick has none."""
    return printable(name).replace("|", "\\|").replace("`", "'")
