"""The gate that measures in turn, where a side has nothing to measure."""

import json
import sys
from pathlib import Path

from .repository import Repository

SCRIPT = """
import json, sys
results = [{"name": "step", "samples": [1.0]}]
json.dump({"format": "perflab.run", "version": 1, "results": results}, open(sys.argv[1], "w"))
"""
COMMAND = ("--", sys.executable, "-IS", "bench.py", "{file}")


def test_a_branch_that_brings_the_first_benchmarks_could_not_be_judged(repository: Repository) -> None:
    base = repository.commit()
    repository.git("checkout", "--quiet", "-b", "work")
    (repository.folder / "bench.py").write_text(SCRIPT)
    repository.git("add", "bench.py")
    repository.commit("benchmarks")
    code, out = repository.gate("--against", "main", "--output", "verdict.json", *COMMAND)
    assert code == json.loads(Path("verdict.json").read_text())["exit_code"] == 2
    assert f"No process of base left results: it ended with 2, saying \"{sys.executable}: can't open file" in out
    assert "mend that first" in out
    # once they are on main, there is something to judge against
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "work")
    repository.git("checkout", "--quiet", "work")
    repository.commit("more work")
    code, out = repository.gate("--against", "main", *COMMAND)
    assert (code, "passed, 1 benchmark" in out, base in out) == (0, True, False)
