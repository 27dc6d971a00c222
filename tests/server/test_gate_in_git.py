"""The gate in a repository: what lies behind head decides what it is held against."""

import json
import os
import random
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from perflab.benchmarks.machine import Machine

from .conftest import MACHINE, Files, Perflab

OTHER = Machine.of(name="bob", cpu="Another CPU", cores=4, os="Linux x86_64", python="CPython 3.11")
AUTHOR = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Repository:
    """A git repository in the folder that `perflab` runs in, and a lab there."""

    def __init__(self, folder: Path, perflab: Perflab, files: Files) -> None:
        self.folder, self.perflab, self.files = folder, perflab, files
        self.uploads = 0
        self.git("init", "--quiet", "--initial-branch=main")
        (folder / ".gitignore").write_text(".perflab\n*.json\n")
        self.git("add", ".gitignore")

    def git(self, *arguments: str) -> str:
        environment = {**os.environ, **AUTHOR}
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, name: str = "work") -> str:
        self.git("commit", "--quiet", "--allow-empty", "-m", name)
        return self.git("rev-parse", "HEAD")

    def measure(
        self,
        commit: str,
        *values: float,
        machine: Machine = MACHINE,
        benchmark: str = "step",
        days: int = 0,
    ) -> None:
        """A run for each value."""
        for value in values:
            self.uploads += 1
            path = self.files.run(
                f"{self.uploads}.json", value, machine=machine, benchmark=benchmark, minutes=self.uploads + days * 1440
            )
            assert self.perflab("upload", path, "--commit", commit, "--project", "demo")[0] == 0

    def gate(self, *arguments: str) -> tuple[int, str]:
        code, out, err = self.perflab("gate", *arguments)
        return code, out + err


STEADY = (1.00, 1.01, 0.99, 1.02)
SLOWER = (1.20, 1.21, 1.19, 1.22)


@pytest.fixture
def repository(perflab: Perflab, files: Files) -> Repository:
    return Repository(Path.cwd(), perflab, files)


# ---- the nearest measured commit


def test_the_nearest_measured_commit_is_the_baseline(repository: Repository) -> None:
    base = repository.commit()
    repository.measure(base, *STEADY)
    for _ in range(2):
        repository.commit("not measured")
    head = repository.commit()
    repository.measure(head, *SLOWER)
    code, out = repository.gate()
    assert code == 1
    assert f"base {base} (4 runs), head {head} (4 runs)" in out
    assert "Base is the nearest measured commit behind head, 3 back." in out
    assert "stale" not in out


def test_a_change_of_the_docs_alone_passes(repository: Repository) -> None:
    repository.measure(repository.commit(), *STEADY)
    (repository.folder / "README.md").write_text("more words")
    repository.git("add", "README.md")
    repository.measure(repository.commit("docs"), *reversed(STEADY))
    assert repository.gate()[0] == 0


def test_the_first_run_of_all_is_no_pass(repository: Repository) -> None:
    repository.commit()
    assert repository.gate()[0] == 3  # there is no lab yet
    repository.measure(repository.commit(), *STEADY)
    code, out = repository.gate("--output", "verdict.json")
    assert code == json.loads(Path("verdict.json").read_text())["exit_code"] == 2
    assert "None of the 1 commits behind head was measured on this machine; measure the base commit here." in out
    head = repository.commit()
    code, out = repository.gate()
    assert code == 2
    assert f"The lab has no run of commit {head}; upload one, or look at the runs it has." in out


def test_a_baseline_of_another_cpu_is_none(repository: Repository) -> None:
    here, there = repository.commit(), repository.commit()
    repository.measure(here, *STEADY)
    repository.measure(there, *STEADY, machine=OTHER)
    repository.measure(repository.commit(), *SLOWER)
    code, out = repository.gate()
    assert (code, f"base {here}" in out, "2 back" in out) == (1, True, True)


def test_commits_that_were_rebased_or_pushed_over_do_not_count(repository: Repository) -> None:
    base = repository.commit()
    repository.measure(base, *STEADY)
    gone = repository.commit("to be pushed over")
    repository.measure(gone, *SLOWER)
    repository.git("reset", "--quiet", "--hard", base)
    head = repository.commit("the same, rebased")
    repository.measure(head, *SLOWER)
    code, out = repository.gate()
    assert (code, f"base {base}" in out) == (1, True)
    assert gone not in out


def test_a_merge_has_both_sides_behind_it(repository: Repository) -> None:
    repository.commit()
    repository.git("checkout", "--quiet", "-b", "side")
    side = repository.commit("on the side")
    repository.measure(side, *STEADY)
    repository.git("checkout", "--quiet", "main")
    repository.commit("on main")
    repository.git("merge", "--quiet", "--no-edit", "side")
    repository.measure(repository.git("rev-parse", "HEAD"), *STEADY)
    code, out = repository.gate()
    assert (code, f"base {side}" in out) == (0, True)


def test_a_detached_head_is_judged_like_any(repository: Repository) -> None:
    base, head = repository.commit(), repository.commit()
    repository.measure(base, *STEADY)
    repository.measure(head, *SLOWER)
    repository.git("checkout", "--quiet", "--detach", head)
    assert repository.gate()[0] == 1
    assert repository.gate("--head", "HEAD~1")[0] == 2


def test_a_shallow_clone_says_so(repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base, head = repository.commit(), repository.commit()
    repository.measure(base, *STEADY)
    repository.measure(head, *STEADY)
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", "--depth", "1", f"file://{repository.folder}", str(clone))
    monkeypatch.chdir(clone)
    code, out = repository.gate("--lab", str(repository.folder / ".perflab"))
    assert code == 2
    assert "was measured on this machine, and this clone is shallow: fetch the rest; measure the base" in out
    code, out = repository.gate("--against", base)
    assert code == 3
    assert "here, in a shallow clone; fetch the rest (git fetch --unshallow" in out


def test_results_of_a_dirty_tree_are_no_baseline(repository: Repository) -> None:
    clean, dirty = repository.commit(), repository.commit()
    repository.measure(clean, *STEADY)
    for value in SLOWER:
        path = repository.files.run(f"dirty{value}.json", value)
        path.write_text(path.read_text().replace('"dirty": false', '"dirty": true'))
        assert repository.perflab("upload", path, "--commit", dirty, "--project", "demo")[0] == 0
    repository.measure(repository.commit(), *SLOWER)
    code, out = repository.gate()
    assert (code, f"base {clean}" in out) == (1, True)


@pytest.mark.parametrize(("commits", "days", "stale"), [(3, 2, False), (51, 2, True), (3, 31, True)])
def test_a_stale_baseline_is_said(repository: Repository, commits: int, days: int, stale: bool) -> None:
    repository.measure(repository.commit(), *STEADY)
    head = ""
    for _ in range(commits):
        head = repository.commit()
    repository.measure(head, *STEADY, days=days)
    code, out = repository.gate()
    assert code == 0
    assert (f"The baseline is stale: {commits} commits and {days} days old; measure a newer one." in out) == stale


def test_outside_of_a_repository_it_is_a_wrong_call(perflab: Perflab, files: Files) -> None:
    assert perflab("upload", files.run("run.json", 1.0), "--commit", "12" * 20)[0] == 0
    code, _, err = perflab("gate")
    assert code == 3
    assert "not a git repository" in err


# ---- the history


def noise(count: int, seed: int = 0) -> list[float]:
    chance = random.Random(seed)
    return [chance.lognormvariate(0, 0.01) for _ in range(count)]


def measured(repository: Repository, values: list[float], **more: str) -> list[str]:
    commits = [repository.commit() for _ in values]
    for commit, value in zip(commits, values, strict=True):
        repository.measure(commit, value, **more)  # type: ignore[arg-type]
    return commits


def test_a_new_level_fails_once_five_results_agree(repository: Repository) -> None:
    values = noise(25)
    commits = measured(repository, [*values[:20], *(1.1 * value for value in values[20:])])
    for at in range(13, 24):
        assert repository.gate("--history", "--head", commits[at])[0] == 0
    code, out = repository.gate("--history", "--output", "verdict.json")
    assert code == 1
    assert f"regression since {commits[20][:12]}" in out
    assert "head " + commits[24] + " after 24 commits" in out
    assert json.loads(Path("verdict.json").read_text())["findings"][0]["since"] == commits[20]


def test_a_lucky_fast_run_before_head_is_no_alarm(repository: Repository) -> None:
    values = noise(24)
    values[-2] = 0.5
    measured(repository, values)
    assert repository.gate("--history")[0] == 0


def test_results_that_came_late_stand_where_git_has_them(repository: Repository) -> None:
    values = noise(25)
    values = [*values[:20], *(1.1 * value for value in values[20:])]
    commits = [repository.commit() for _ in values]
    for at in random.Random(1).sample(range(25), 25):
        repository.measure(commits[at], values[at])
    code, out = repository.gate("--history")
    assert (code, f"regression since {commits[20][:12]}" in out) == (1, True)


def test_the_last_tag_behind_head_is_the_release(repository: Repository) -> None:
    measured(repository, noise(20))
    repository.git("tag", "v1.0")
    measured(repository, [1.05 * value for value in noise(25, 1)])
    repository.git("tag", "v1.1")  # on head itself: what it ships is held against what v1.0 did
    code, out = repository.gate("--history")
    assert code == 0
    assert "drift since v1.0" in out
    assert "step drifted: +" in out and " since v1.0" in out


def test_a_history_that_is_too_short_says_so(repository: Repository) -> None:
    commits = measured(repository, noise(13))
    code, out = repository.gate("--history")
    assert code == 2
    assert "No benchmark was measured at 14 commits yet: a history tells nothing before." in out
    more = repository.commit()
    repository.measure(more, 1.0)
    repository.measure(more, 1.0, benchmark="new")
    code, out = repository.gate("--history")
    assert code == 0
    assert "1 benchmark with less than 14 commits not judged yet." in out
    repository.measure(repository.commit(), 1.0, benchmark="new")
    code, out = repository.gate("--history")
    assert (code, "missing" in out) == (2, True)
    assert repository.gate("--history", "--head", commits[0])[0] == 2


# ---- waivers


def waive(repository: Repository, *, ceiling: float = 1.3, days: int = 1, metric: str = "s") -> None:
    expires = (date.today() + timedelta(days=days)).isoformat()
    (repository.folder / "waivers.toml").write_text(
        f'[[waiver]]\nbenchmark = "step"\nmetric = "{metric}"\nceiling = {ceiling}\nexpires = {expires}\n'
        'reason = "#12"\n'
    )


@pytest.fixture
def slower(repository: Repository) -> Repository:
    repository.measure(repository.commit(), *STEADY)
    repository.measure(repository.commit(), *SLOWER)
    return repository


def test_a_waiver_lets_a_regression_pass_and_says_so(slower: Repository) -> None:
    waive(slower, days=0)
    code, out = slower.gate("--waivers", "waivers.toml")
    assert code == 0
    assert "passed, 1 benchmark, 1 waived" in out
    assert f"step is waived until {date.today().isoformat()}, up to +30.0 %: #12." in out


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"days": -1}, "The waiver for step expired on "),
        ({"ceiling": 1.1}, "step is worse than its waiver allows (until "),
        ({"metric": "bytes"}, "A waiver names step in bytes, which was not judged."),
    ],
)
def test_a_waiver_that_does_not_cover_it_fails(slower: Repository, how: dict[str, int], sentence: str) -> None:
    waive(slower, **how)  # type: ignore[arg-type]
    code, out = slower.gate("--waivers", "waivers.toml")
    assert (code, sentence in out) == (1, True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "waivers.toml: No such file or directory; name a file of waivers"),
        ("x", "waivers.toml: Expected '=' after a key"),
        (
            "a = 1",
            "waivers.toml: it holds more than [[waiver]], [[removed]] and [[renamed]]; give a table for each benchmark",
        ),
        (
            '[[waiver]]\nbenchmark = "a"',
            "a waiver has benchmark, metric, ceiling, expires, reason, no more and no less",
        ),
        ("ceiling = 0.9", "waivers.toml: the ceiling for step is 0.9; give a ratio above 1"),
        ('expires = "soon"', "waivers.toml: expires is 'soon'; look at the example in docs/gate.md"),
        ('reason = " "', "waivers.toml: the waiver for step has no reason; say why it is allowed"),
        ('[[removed]]\nbenchmark = "a"', "waivers.toml: a removed has benchmark, reason, no more and no less"),
        ('[[removed]]\nbenchmark = "a"\nreason = ""', "that a is removed has no reason; say why it is gone"),
    ],
)
def test_a_bad_file_of_waivers_is_a_wrong_call(slower: Repository, text: str | None, sentence: str) -> None:
    path = slower.folder / "waivers.toml"
    if text is not None and "=" in text and not text.startswith(("a", "[")):
        waive(slower)
        key = text.partition(" ")[0]
        path.write_text("\n".join(text if line.startswith(key) else line for line in path.read_text().splitlines()))
    elif text is not None:
        path.write_text(text)
    code, out = slower.gate("--waivers", "waivers.toml")
    assert (code, sentence in out) == (3, True), out


def test_a_benchmark_that_was_removed_on_purpose_is_no_alarm(repository: Repository) -> None:
    base, head = repository.commit(), repository.commit()
    for benchmark in ("step", "gone"):
        repository.measure(base, *STEADY, benchmark=benchmark)
    repository.measure(head, *STEADY)
    code, out = repository.gate()
    assert (code, "gone" in out, "missing" in out) == (2, True, True)
    (repository.folder / "waivers.toml").write_text('[[removed]]\nbenchmark = "gone"\nreason = "step covers it"\n')
    code, out = repository.gate("--waivers", "waivers.toml")
    assert (code, "gone is removed: step covers it." in out) == (0, True)


RENAMED = '[[renamed]]\nbenchmark = "new name"\nwas = "step"\n'


@pytest.mark.parametrize("mode", [(), ("--history",)])
def test_a_renamed_benchmark_goes_on_with_what_it_was(repository: Repository, mode: tuple[str, ...]) -> None:
    (repository.folder / "waivers.toml").write_text(RENAMED)
    for at, value in enumerate(noise(25)):
        commit = repository.commit()
        for run in range(5):
            benchmark = "step" if at < 20 else "new name"
            repository.measure(commit, (1.2 if at >= 20 else 1) * value * (1 + run / 1000), benchmark=benchmark)
    at_rename = repository.git("rev-parse", "HEAD~4")
    code, out = repository.gate(*mode, "--head", "HEAD" if mode else at_rename)
    assert (code, "step" in out.replace("test_step", "")) == (2, True)  # without the file, the old name is missing
    code, out = repository.gate(*mode, "--head", "HEAD" if mode else at_rename, "--waivers", "waivers.toml")
    assert (code, "missing" in out) == (1, False)
    assert "new name" in out and "regression" in out


# ---- from the shell


def test_a_pipe_does_not_swallow_the_verdict(slower: Repository) -> None:
    script = "import sys; from perflab.profiler.cli import main; sys.exit(main(sys.argv[1:]))"
    gate = f'"{sys.executable}" -c "{script}" gate --output verdict.json'
    # as in a workflow's step that shows the report
    for shown in ("| cat", "| head -1", "> /dev/full"):
        Path("verdict.json").unlink(missing_ok=True)
        subprocess.run(["bash", "-c", f"{gate} {shown}"], capture_output=True, check=False)
        assert json.loads(Path("verdict.json").read_text())["exit_code"] == 1
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {gate} | cat"], capture_output=True, check=False)
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
