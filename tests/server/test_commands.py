"""The sub-commands, from the command line to the exit code."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from perflab.benchmarks.machine import Machine
from perflab.benchmarks.report import FORMAT
from perflab.benchmarks.result import Run
from perflab.server.client import Client
from perflab.server.errors import Unreachable
from perflab.server.lab import LocalLab
from perflab.server.settings import Settings

from .conftest import BASE, HEAD, MACHINE, Files, Perflab


@pytest.fixture
def measured(perflab: Perflab, files: Files) -> None:
    """Two commits in the embedded lab; head is slower, and its trace says why."""
    for process in range(4):
        for commit, seconds in ((BASE, 1.0), (HEAD, 2.0)):
            path = files.run(f"{commit}{process}.json", seconds + process / 100)
            assert perflab("upload", path, "--commit", commit)[0] == 0
    for commit, time in ((BASE, 100), (HEAD, 300)):
        assert perflab("upload", files.trace("trace.json", time), "--commit", commit, "--project", "demo")[0] == 0


def checkout(folder: Path) -> str:
    """Make a git repository with one commit; its SHA."""
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q", "-b", "trunk"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def test_upload_says_what_was_taken(perflab: Perflab, files: Files) -> None:
    path = files.run("bench.json", 1.0)
    assert perflab("upload", path, "--commit", BASE) == (0, f"bench.json: 1 result of demo at {BASE[:12]}, run 1\n", "")
    assert perflab("upload", path, "--commit", BASE) == (
        0,
        f"bench.json: 1 result of demo at {BASE[:12]}, run 1 (the lab had this file already)\n",
        "",
    )
    trace = files.trace("trace.json", 100)
    assert perflab("upload", trace, "--commit", BASE) == (
        0,
        f"trace.json: a trace of here at {BASE[:12]}, run 2\n",
        "",
    )
    assert Path(".perflab/lab.sqlite").exists()


def test_upload_takes_a_folder_of_ranks_as_one_trace(perflab: Perflab, files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in range(2):
        (folder / f"{rank}.json").write_bytes(files.trace(f"{rank}.json", 100).read_bytes())
    code, out, _ = perflab("upload", folder, "--commit", BASE, "--project", "demo")
    assert (code, out.splitlines()[0]) == (0, f"ranks.tar: a trace of demo at {BASE[:12]}, run 1")
    (folder / "1.json").touch()
    again = perflab("upload", folder, "--commit", BASE, "--project", "demo")[1].splitlines()[0]
    assert again == f"ranks.tar: a trace of demo at {BASE[:12]}, run 1 (the lab had this file already)"


def test_upload_takes_a_folder_of_results_run_by_run(perflab: Perflab, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    for number, commit in enumerate((BASE, HEAD)):
        result = {"commit_hash": commit, "date": number + 1, "results": {"t.time_x": [[1.5], []]}, "params": {}}
        (folder / f"{number}.json").write_text(json.dumps(result))
    code, out, _ = perflab("upload", folder, "--project", "demo")
    assert (code, out.splitlines()) == (
        0,
        [
            f"results-1.json: 1 result of demo at {BASE[:12]}, run 1",
            f"results-2.json: 1 result of demo at {HEAD[:12]}, run 2",
        ],
    )


def test_strict_refuses_what_is_not_healthy(perflab: Perflab, files: Files) -> None:
    cut = files.write("cut.json", '[{"ph":"X","name":"a","ts":1,"dur":2},{"ph":"X"')
    assert perflab("upload", cut, "--commit", BASE, "--project", "demo", "--strict") == (
        3,
        "",
        "perflab: cut.json is incomplete: The file ends at byte 47, in the middle of the data; without --strict it is"
        " taken as it is\n",
    )
    assert not Path(".perflab").exists()
    for path in (files.trace("trace.json", 100), files.run("run.json", 1.0)):
        assert perflab("upload", path, "--commit", BASE, "--project", "demo", "--strict")[0] == 0


def test_upload_asks_git(perflab: Perflab, files: Files) -> None:
    sha = checkout(Path.cwd())
    folder = Path("below")
    folder.mkdir()
    os.chdir(folder)
    assert perflab("upload", files.trace("trace.json", 100)) == (
        0,
        f"trace.json: a trace of here at {sha[:12]}, run 1\n",
        "",
    )
    lab = LocalLab.open(Settings(Path(".perflab")), create=False)
    assert lab.runs()[0].branch == "trunk"
    lab.close()


def test_upload_takes_a_file_of_any_name(perflab: Perflab, files: Files) -> None:
    name = os.fsdecode(b"a \xff\n.json")
    path = files.trace(name, 100)
    assert perflab("upload", path, "--commit", BASE) == (0, f"a ??.json: a trace of here at {BASE[:12]}, run 1\n", "")


def test_upload_refuses_in_one_sentence(perflab: Perflab, files: Files) -> None:
    page = files.write("page.html", "<html></html>")
    trace = files.trace("trace.json", 100)
    for arguments, sentence in (
        (
            (page, "--commit", BASE),
            "page.html: this is HTML, not a trace; download the trace itself, not a page about it",
        ),
        ((trace,), "trace.json does not say its commit; give the whole SHA with --commit"),
        (
            (trace, "--commit", "main"),
            "commit 'main' is no whole SHA; give the 40 hex digits that `git rev-parse` prints",
        ),
        ((trace, "--commit", BASE, "--lab", page), f"{page} is a file, and a lab is a folder; name another with --lab"),
        (
            ("gone.json", "--commit", BASE),
            "gone.json cannot be read (No such file or directory); name a trace or a benchmark file",
        ),
    ):
        assert perflab("upload", *arguments) == (3, "", f"perflab: {sentence}\n")
    lab = LocalLab.open(Settings(Path(".perflab")), create=False)
    assert lab.runs() == []
    lab.close()


@pytest.mark.usefixtures("measured")
def test_compare_prints_verdicts_and_causes(perflab: Perflab) -> None:
    code, out, err = perflab("compare", BASE[:7], HEAD[:7])
    assert (code, err) == (0, "")
    assert out.startswith(f"base {BASE} (4 runs), head {HEAD} (4 runs)\n")
    assert "regression" in out
    assert "matmul" in out


@pytest.mark.usefixtures("measured")
def test_the_gate_fails_and_says_why(perflab: Perflab) -> None:
    code, out, err = perflab("gate", "--baseline", BASE, "--head", HEAD)
    assert (code, err) == (1, "")
    assert "perflab gate: failed, 1 of 1 benchmark regressed" in out
    assert "matmul" in out
    assert perflab("gate", "--baseline", HEAD, "--head", BASE)[0] == 0
    assert perflab("gate", "--baseline", BASE, "--head", HEAD, "--min-effect", "1.5")[0] == 0


@pytest.mark.usefixtures("measured")
def test_the_gate_writes_its_report(perflab: Perflab) -> None:
    gate = ("gate", "--baseline", BASE, "--head", HEAD)
    code, text, _ = perflab(*gate)
    assert code == 1
    outputs = [word for name in ("a.md", "b.json", "c.xml", "d.txt") for word in ("--output", name)]
    assert perflab(*gate, *outputs) == (1, text, "")
    assert Path("a.md").read_text().startswith("## perflab gate: failed")
    written = json.loads(Path("b.json").read_text())
    assert (written["format"], written["exit_code"]) == (FORMAT, 1)
    assert '<testsuite name="perflab gate" tests="1" failures="1" errors="0">' in Path("c.xml").read_text()
    assert Path("d.txt").read_text() == text
    assert perflab(*gate, "--output", "no/such/folder.txt") == (
        3,
        "",
        "perflab: nothing can be written to no/such/folder.txt (No such file or directory); name another file\n",
    )
    assert perflab(*gate, "--output", "report.html") == (
        3,
        "",
        "perflab: report.html tells no form of report; name a file that ends in .json, .md, .txt, .xml\n",
    )
    assert sorted(path.name for path in Path.cwd().iterdir()) == [".perflab", "a.md", "b.json", "c.xml", "d.txt"]


@pytest.mark.usefixtures("measured")
def test_a_soft_gate_reports_and_ends_with_0(perflab: Perflab) -> None:
    gate = ("gate", "--baseline", BASE, "--head", HEAD)
    code, out, _ = perflab(*gate, "--soft", "--output", "report.json")
    assert (code, out) == (0, perflab(*gate)[1])
    assert json.loads(Path("report.json").read_text())["exit_code"] == 1
    assert perflab("gate", "--baseline", BASE, "--head", "0" * 40, "--soft")[0] == 0
    assert perflab(*gate, "--soft", "--alpha", "0")[0] == 3


@pytest.mark.usefixtures("measured")
def test_a_gate_that_is_called_wrongly_ends_with_3(perflab: Perflab) -> None:
    for arguments, sentence in (
        (
            ("--baseline", "main", "--head", HEAD),
            "commit 'main' is no SHA; give at least the first 7 of its 40 hex digits",
        ),
        (("--baseline", BASE), "git has no commit checked out here; name the commit to judge with --head"),
        (
            ("--baseline", BASE, "--head", HEAD, "--alpha", "0"),
            "alpha is 0; give a chance between 0 and 1, such as 0.05",
        ),
        (
            ("--baseline", BASE, "--head", HEAD, "--lab", "other"),
            "there is no lab in other; upload a file to make one, or name another with --lab",
        ),
    ):
        assert perflab("gate", *arguments) == (3, "", f"perflab: {sentence}\n")
    assert perflab("gate")[0] == perflab("gate", "--baseline", BASE, "--no-such-option")[0] == 3


@pytest.mark.usefixtures("measured")
def test_a_gate_that_cannot_judge_ends_with_2(perflab: Perflab, files: Files) -> None:
    unknown = "0" * 40
    code, out, _ = perflab("gate", "--baseline", unknown, "--head", HEAD, "--output", "report.json")
    assert code == json.loads(Path("report.json").read_text())["exit_code"] == 2
    assert f"Project demo has no run of commit {unknown}; upload one, or look at the runs it has." in out
    only_base = files.run("only.json", 1.0, benchmark="only at base")
    assert perflab("upload", only_base, "--commit", HEAD)[0] == 0
    code, out, _ = perflab("gate", "--baseline", HEAD, "--head", BASE)
    assert code == 2
    assert "only at base" in out
    checked_out = checkout(Path.cwd())
    code, out, _ = perflab("gate", "--baseline", BASE)
    assert code == 2
    assert f"The lab has no run of commit {checked_out}; upload one, or look at the runs it has." in out


def test_a_gate_never_judges_across_machines(perflab: Perflab, files: Files) -> None:
    other = Machine.of(name="bob", cpu="Another CPU", cores=4, os="Linux x86_64", python="CPython 3.11")
    for process in range(4):
        for commit, machine in ((BASE, other), (HEAD, MACHINE)):
            path = files.run(f"{commit}{process}.json", 1.0 + process / 100, machine=machine)
            assert perflab("upload", path, "--commit", commit)[0] == 0
    code, out, _ = perflab("gate", "--baseline", BASE, "--head", HEAD)
    assert code == 2
    assert "The baseline is from another machine (Another CPU, 4 cores" in out


def test_no_server_is_said(perflab: Perflab, files: Files) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        code, out, err = perflab("upload", files.trace("trace.json", 100), "--commit", BASE, "--server", url)
    assert (code, out) == (3, "")
    assert err.startswith(f"perflab: no server answers at {url} (")
    assert err.endswith("start one with `perflab serve`, or use --lab\n")
    with pytest.raises(Unreachable):
        Client("no url").projects()


def test_calibrate_tells_what_can_be_gated(perflab: Perflab, files: Files) -> None:
    for process in range(12):
        files.run(f"{process}.json", 1 + process / 1000)
    code, out, err = perflab("calibrate", files.folder)
    assert (code, err) == (0, "")
    assert out.startswith("smallest change told in 85% of gates of 10 + 10 processes\n\nstep  spread   0.")
    code, out, _ = perflab("calibrate", files.folder, "--processes", "20")
    assert (code, out) == (2, "There are 12 runs, and a side has 20 processes: measure as many.\n")
    assert perflab("calibrate", "nowhere") == (
        3,
        "",
        "perflab: nowhere is no folder; name one with the run files of a commit\n",
    )


def test_bench_leaves_a_run_file(perflab: Perflab) -> None:
    code, out, err = perflab("bench", "--output", "run.json", "--rounds", "2", "--", sys.executable, "-c", "")
    assert (code, err) == (0, "")
    assert re.fullmatch(r".* -c '': [\d.]+ \w+ \(median [\d.]+ \w+\)\n", out)
    (result,) = Run.from_json(Path("run.json").read_text()).results
    assert len(result.samples) == 2
    assert perflab("bench", "no_such:step", "--output", "run.json")[0] == 3
