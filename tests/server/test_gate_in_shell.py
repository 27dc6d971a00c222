"""The gate as a step of a shell script."""

import json
import subprocess
import sys
from pathlib import Path

from .repository import STEADY, Repository


def test_a_pipe_does_not_swallow_the_verdict(slower: Repository) -> None:
    script = "import sys; from perflab.profiler.cli import main; sys.exit(main(sys.argv[1:]))"
    gate = f'"{sys.executable}" -c "{script}" gate --output verdict.json'
    # as in a workflow's step that shows the report; the last ends as the gate does
    for shown in ("| head -1", "> /dev/full", "| cat; exit ${PIPESTATUS[0]}"):
        Path("verdict.json").unlink(missing_ok=True)
        done = subprocess.run(["bash", "-c", f"{gate} {shown}"], capture_output=True, check=False)
        assert json.loads(Path("verdict.json").read_text())["exit_code"] == 1
    assert done.returncode == 1


def test_odd_names_go_through_the_lab(repository: Repository) -> None:
    names = ["a/b.py::test[x/y z]", "\U0001f600 | `x` <b>", "tab\tand\x00nul"]
    base, head = repository.commit(), repository.commit()
    for name in names:
        repository.measure(base, *STEADY, 1.005, benchmark=name)
        repository.measure(head, *STEADY, 1.005, benchmark=name)
    code, out = repository.gate("--output", "gate.md", "--output", "gate.xml", "--output", "gate.json")
    assert code == 0, out
    findings = json.loads(Path("gate.json").read_text())["findings"]
    assert {finding["benchmark"]["name"] for finding in findings} == set(names)
    assert r"tab\tand\x00nul" in out
    assert "| `\U0001f600 \\| 'x' <b>` |" in Path("gate.md").read_text()
