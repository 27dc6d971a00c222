"""The gate holds head against the nearest measured commit that git says lies behind it."""

import json
from pathlib import Path

import pytest

from perflab.benchmarks.machine import Machine

from .conftest import Files, Perflab
from .repository import SLOWER, STEADY, Repository

OTHER = Machine.of(name="bob", cpu="Another CPU", cores=4, os="Linux x86_64", python="CPython 3.11")


def test_the_nearest_measured_commit_is_the_baseline(repository: Repository) -> None:
    base = repository.commit()
    repository.measure(base, *STEADY)
    for _ in range(2):
        repository.commit("not measured")
    head = repository.commit("the head")
    repository.measure(head, *SLOWER)
    code, out = repository.gate()
    assert code == 1
    assert f"base {base} (4 runs), head {head} (4 runs)" in out
    assert "Base is the nearest measured commit behind head, 3 back." in out
    between = [f"{repository.git('rev-parse', '--short', f'HEAD~{back}')} not measured" for back in (1, 2)]
    assert f"Since base: {repository.git('rev-parse', '--short', head)} the head; {'; '.join(between)}." in out
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


def test_a_commit_that_was_pushed_over_does_not_count(repository: Repository) -> None:
    base = repository.commit()
    repository.measure(base, *STEADY)
    gone = repository.commit("to be pushed over")
    repository.measure(gone, *SLOWER)
    repository.git("reset", "--quiet", "--hard", base)
    head = repository.commit("in its place")
    repository.measure(head, *SLOWER)
    code, out = repository.gate()
    assert (code, f"base {base}" in out) == (1, True)
    assert gone not in out


def test_a_rebased_branch_is_held_against_where_it_stands_now(repository: Repository) -> None:
    repository.commit()
    repository.git("checkout", "--quiet", "-b", "side")
    before = repository.commit("work of the branch")
    repository.measure(before, *STEADY)
    repository.git("checkout", "--quiet", "main")
    main = repository.commit("main goes on, slower")
    repository.measure(main, *SLOWER)
    repository.git("checkout", "--quiet", "side")
    repository.git("rebase", "--quiet", "--keep-empty", "main")
    after = repository.git("rev-parse", "HEAD")
    repository.measure(after, *SLOWER)
    code, out = repository.gate()
    assert (code, f"base {main}" in out) == (0, True)
    assert after != before and before not in out


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
    repository.measure(dirty, *SLOWER, dirty=True)
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
