"""A gate's report as JUnit XML: each benchmark a test that passed, failed (it regressed) or could not be judged."""

from xml.etree import ElementTree

from .gate import GateReport
from .report import change_in_words, headline, printable
from .stats import Verdict


def junit(report: GateReport) -> str:
    """The whole document, ending in a newline."""
    suite = ElementTree.Element("testsuite", name="perflab gate")
    for finding in report.findings:
        case = _case(suite, printable(finding.benchmark.name))
        if finding.verdict == Verdict.REGRESSION:
            ElementTree.SubElement(case, "failure", message=change_in_words(finding), type=finding.verdict)
        elif finding.reason:
            ElementTree.SubElement(case, "error", message=finding.reason, type=finding.verdict)
        else:
            ElementTree.SubElement(case, "system-out").text = f"{finding.verdict}: {change_in_words(finding)}"
    if report.problem or not report.findings:
        case = _case(suite, "gate")
        ElementTree.SubElement(case, "error", message=report.problem or headline(report), type="could not judge")
    counts = {"tests": len(suite)} | {f"{kind}s": len(suite.findall(f"*/{kind}")) for kind in ("failure", "error")}
    suite.attrib |= {name: str(count) for name, count in counts.items()}
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, "unicode")}\n'


def _case(suite: ElementTree.Element, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname="perflab", name=name)
