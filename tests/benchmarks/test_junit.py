"""The gate's report as JUnit XML."""

from collections.abc import Callable
from xml.etree import ElementTree

from perflab.benchmarks.gate import judge
from perflab.benchmarks.junit import junit
from perflab.benchmarks.result import Run

MakeRuns = Callable[..., list[Run]]
STEADY = [1.00, 1.01, 0.99, 1.02, 0.98]
SLOWER = [1.10, 1.11, 1.09, 1.12, 1.08]


def test_each_benchmark_is_a_test(runs: MakeRuns, head_runs: MakeRuns) -> None:
    report = judge(runs({"add": STEADY, "mul": STEADY, "gone": STEADY}), head_runs({"add": STEADY, "mul": SLOWER}))
    assert junit(report) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuite name="perflab gate" tests="3" failures="1" errors="1">\n'
        '  <testcase classname="perflab" name="mul">\n'
        '    <failure message="+10.0 % (+6.9 % to +13.1 %)" type="regression" />\n'
        "  </testcase>\n"
        '  <testcase classname="perflab" name="gone">\n'
        '    <error message="Head has no result of it (failed, renamed or removed): run it, or drop it from the base." '
        'type="missing" />\n'
        "  </testcase>\n"
        '  <testcase classname="perflab" name="add">\n'
        "    <system-out>no change: +0.0 % (-2.9 % to +3.0 %)</system-out>\n"
        "  </testcase>\n"
        "</testsuite>\n"
    )


def test_a_gate_that_could_not_judge_is_an_error(head_runs: MakeRuns) -> None:
    suite = ElementTree.fromstring(junit(judge([], head_runs({"add": STEADY}))).encode())
    assert suite.attrib == {"name": "perflab gate", "tests": "1", "failures": "0", "errors": "1"}
    error = suite.find("testcase/error")
    assert error is not None
    assert error.attrib["message"].startswith("There is no baseline: ")


def test_odd_names_are_still_xml(runs: MakeRuns, head_runs: MakeRuns) -> None:
    names = ['a/b[x y] <&>"', "\U0001f600", "nul \0 and \x1b[31m", "lone \udcff"]
    report = judge(runs(dict.fromkeys(names, STEADY)), head_runs(dict.fromkeys(names, STEADY)))
    suite = ElementTree.fromstring(junit(report).encode())
    assert sorted(case.attrib["name"] for case in suite) == sorted(
        ['a/b[x y] <&>"', "\U0001f600", "nul \\x00 and \\x1b[31m", "lone \\udcff"]
    )
