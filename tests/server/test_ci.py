"""The workflow files of docs/ci, their steps run in a clone of a local remote."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

# A suite whose clock is its own: what a round takes is what the package's file says. What is slower makes a copy.
SUITE = """
import itertools, pathlib, pytest
from perflab import runtime as rt

ticks = itertools.count()
seconds = float(pathlib.Path("seconds").read_text())

a = rt.ones(64, 64)

def clock():
    return next(ticks) * seconds

def step():
    return (a.copy() if seconds > 0.001 else a) + 1

@pytest.mark.benchmark(timer=clock)
def test_step(benchmark):
    benchmark.pedantic(step, rounds=3)
"""
# other plugins take a second of each process
PLUGINS = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_PLUGINS": "pytest_benchmark.plugin,perflab.benchmarks.plugin",
}
FEWER = " --processes 4"  # the suite's clock is exact
AUTHOR = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, env={**os.environ, **AUTHOR}, check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone on a branch of its own; main is at the remote."""
    remote, work = tmp_path / "remote.git", tmp_path / "work"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    git(tmp_path, "clone", "--quiet", str(remote), str(work))
    (work / "benchmarks").mkdir()
    (work / "benchmarks" / "test_it.py").write_text(SUITE)
    (work / "seconds").write_text("0.001")
    (work / ".gitignore").write_text("__pycache__\n.pytest_cache\ngate.*\n.benchmarks\nsummary\n")
    git(work, "checkout", "--quiet", "-b", "main")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "-m", "base")
    git(work, "push", "--quiet", "origin", "main")
    git(work, "checkout", "--quiet", "-b", "work")
    return work


def change(folder: Path, seconds: str) -> None:
    (folder / "seconds").write_text(seconds)
    git(folder, "commit", "--quiet", "--allow-empty", "-am", "a change")


def run(command: str, folder: Path, **environment: str) -> tuple[int, str]:
    """As a runner does it: bash that stops at the first failure."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, **PLUGINS, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def github(root: Path) -> dict[str, Any]:
    """The named steps of the workflow."""
    workflow = yaml.safe_load((root / "docs/ci/github.yml").read_text())
    return {step["name"]: step for step in workflow["jobs"]["gate"]["steps"] if "name" in step}


def test_a_slower_branch_fails_on_github(github: dict[str, Any], clone: Path) -> None:
    change(clone, "0.0012")
    code, out = run(github["Gate"]["run"] + FEWER, clone, GITHUB_BASE_REF="main")
    assert code == 1, out
    assert "failed, 1 of 1 benchmark regressed" in out
    assert run(github["Summary"]["run"], clone, GITHUB_STEP_SUMMARY="summary")[0] == 0
    summary = (clone / "summary").read_text()
    assert "| `benchmarks/test_it.py::test_step` | 1 ms | 1.2 ms | +20.0 %" in summary
    # both sides were profiled besides
    assert "### Why `benchmarks/test_it.py::test_step`" in summary
    assert re.search(r"^\d\. copy: .*0 -> 1 calls a step, \+16 KiB allocated a step", summary, re.MULTILINE)
    assert re.search(r"Since base: [0-9a-f]{7,} a change\.", summary)
    suite = ElementTree.parse(clone / "gate.xml").getroot()
    assert suite.attrib["failures"] == "1"
    # the second work tree is gone
    assert run("git worktree list", clone)[1].count("\n") == 1


def test_only_the_comment_needs_a_token_and_a_fork_leaves_it_out(github: dict[str, Any]) -> None:
    with_token = [name for name, step in github.items() if "env" in step]
    assert with_token == ["Comment"]
    assert "github.event.pull_request.head.repo.full_name == github.repository" in github["Comment"]["if"]
    assert all(github[name]["if"].startswith("always()") for name in ("Summary", "Comment"))


def test_a_change_of_the_docs_passes_on_gitlab(root: Path, clone: Path) -> None:
    job = yaml.safe_load((root / "docs/ci/gitlab.yml").read_text())["performance"]
    change(clone, "0.001")
    code, out = run("\n".join(job["script"]) + FEWER, clone, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")
    assert code == 0, out
    assert "passed, 1 benchmark" in out
    assert ElementTree.parse(clone / job["artifacts"]["reports"]["junit"]).getroot().attrib["failures"] == "0"
