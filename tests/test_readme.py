"""What the README says is tried: its files are written, its commands run in its order, its outputs looked for."""

import os
import re
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from perflab.profiler import chrome
from perflab.profiler.analysis.averages import key_averages

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SERVER = "http://127.0.0.1:8765"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED_FILE = re.compile(r"^`(\w+\.py)`, [^\n]*(?:\n[^\n]+)*:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The benchmark is run once a commit; the processes after it are made of the first, so that this takes seconds.
PRELUDE = """
python() {
    local first=.first-$(git rev-parse HEAD)
    if [[ "$*" == *pytest* && -e $first ]]; then command python -S .again.py bench.json; return; fi
    command python "$@" && if [[ "$*" == *pytest* ]]; then touch "$first"; fi
}
"""
AGAIN = """
import json, sys
run = json.load(open(sys.argv[1]))
stats = run["benchmarks"][0]["stats"]
stats["data"] = [seconds * 1.001 for seconds in stats["data"]]
json.dump(run, open(sys.argv[1], "w"))
"""


@dataclass
class Said:
    """A command of the README with what the README says that it prints, and what it printed here."""

    command: str
    told: str
    printed: str


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with its output."""
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in re.split(r"^\$ ", block, flags=re.M)[1:]]


@dataclass
class Walk:
    """Walks through the README in a folder."""

    folder: Path
    address: str = SERVER
    said: list[Said] = field(default_factory=list)

    def run(self, command: str) -> str:
        command = command.replace(SERVER, self.address)
        bash = ["bash", "-o", "pipefail", "-c", PRELUDE + command]
        done = subprocess.run(bash, cwd=self.folder, env=environment(), capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def commit(self) -> None:
        self.run("git add '*.py' && git commit -q -m 'a change'")

    def change(self, diff: str) -> None:
        """Make the README's change and measure again what was measured before."""
        old, new = (re.search(rf"^\{sign}(.*)$", diff, re.MULTILINE) for sign in "-+")
        assert old and new
        file = self.folder / "train.py"
        text = file.read_text()
        assert text.count(old[1]) == 1
        file.write_text(text.replace(old[1], new[1]))
        self.commit()
        for said in list(self.said):
            self.run(said.command)

    @contextmanager
    def served(self, told: str) -> Iterator[None]:
        command = [Path(sys.executable).with_name("perflab"), "serve", "--port", "0"]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout
                printed = server.stdout.readline()
                address = re.search(r"http://[\d.:]+", printed)
                assert address, printed
                self.address = address[0]
                self.said.append(Said("perflab serve", told, printed.replace(self.address, SERVER)))
                yield
            finally:
                server.send_signal(signal.SIGINT)

    def follow(self) -> None:
        blocks = [(kind, text) for kind, text in BLOCK.findall(README) if kind in ("console", "diff")]
        for number, (kind, text) in enumerate(blocks):
            if kind == "diff":
                self.change(text)
                continue
            for command, told in commands(text):
                if command == "perflab serve":
                    with self.served(told):
                        self.ask(blocks[number + 1 :])
                    return
                self.said.append(Said(command, told, self.run(command)))

    def ask(self, rest: list[tuple[str, str]]) -> None:
        """What the README does while the server runs."""
        with urllib.request.urlopen(self.address, timeout=30) as page:
            assert "training" in page.read().decode()
        for _, text in rest:
            self.said += [Said(command, told, self.run(command)) for command, told in commands(text)]


def environment() -> dict[str, str]:
    """This one with a git that knows an author, and the commands of this Python first."""
    who = {f"GIT_{role}_{what}": "somebody" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "PATH": path, "PYTHONWARNINGS": "default"}


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """The whole README, walked through once."""
    walk = Walk(tmp_path_factory.mktemp("readme") / "training")
    walk.folder.mkdir()
    for name, text in NAMED_FILE.findall(README):
        (walk.folder / name).write_text(text)
    (walk.folder / ".again.py").write_text(AGAIN)
    walk.run("git init -q -b main")
    walk.commit()
    walk.follow()
    return walk


def of(walk: Walk, beginning: str) -> Said:
    (found,) = [said for said in walk.said if said.command.startswith(beginning)]
    return found


def alike(text: str) -> str:
    """Without SHAs, which are new each time."""
    return re.sub(r"\b[0-9a-f]{12,40}\b", "SHA", text)


def test_every_command_of_the_readme_was_run(walk: Walk) -> None:
    told = [command for kind, text in BLOCK.findall(README) if kind == "console" for command, _ in commands(text)]
    assert [said.command for said in walk.said] == told
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["perflab.commands"]
    tried = set(re.findall(r"perflab (\w+)", "\n".join(told)))
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    assert tried <= set(declared)
    assert tried | set(re.findall(r"^(?: {4}|\$ |`)perflab (\w+)", pages, re.MULTILINE)) == set(declared) - {"demo"}
    assert "`make demo`" in README


def test_the_table_has_the_columns_and_ops_of_the_readme(walk: Walk) -> None:
    table = of(walk, "python train.py")
    told, printed = (re.split(r" {2,}", text.splitlines()[1].strip()) for text in (table.told, table.printed))
    assert told == printed
    assert len(table.told.splitlines()) == len(table.printed.splitlines())
    # the change that the README makes later runs the loop again, so the ops that it adds to are in the trace twice
    counts = {row.name: row.count for row in key_averages(chrome.read(walk.folder / "trace.json.gz"))}
    rows = [line.split() for line in table.told.splitlines()[3:-3]]
    assert len(rows) == 10
    twice = {"log_softmax": 20, "exp": 20, "mul": 20, "sum": 20}
    for row in rows:
        assert counts[row[0]] == int(row[-2]) + twice.get(row[0], 0), row


def test_the_trace_answers_as_the_readme_says(walk: Walk) -> None:
    report = of(walk, "perflab report")
    assert re.search(r"ops, 20 steps of", report.told) and re.search(r"ops, 20 steps of", report.printed)
    assert "things to do" in report.told and "things to do" in report.printed
    answer = of(walk, "perflab sql")
    told, printed = (text.splitlines() for text in (answer.told, answer.printed))
    assert len(told) == len(printed) and told[0].split() == printed[0].split()
    assert any("matmul" in line for line in told) and any("matmul" in line for line in printed)
    doctor = of(walk, "perflab doctor")
    told, printed = (re.sub(r"\d+", "N", text).splitlines() for text in (doctor.told, doctor.printed))
    assert told == printed[:2]  # a note may follow, on a slice too short for the clock


def test_uploads_say_what_the_readme_says(walk: Walk) -> None:
    uploads = [said for said in walk.said if "perflab upload" in said.command]
    assert len(uploads) == 3
    for said in uploads:
        assert alike(said.printed) == alike(said.told)


def test_the_comparison_is_laid_out_as_in_the_readme(walk: Walk) -> None:
    compared = of(walk, "perflab compare")
    told, printed = (alike(text).splitlines() for text in (compared.told, compared.printed))
    assert printed[0] == told[0]
    assert printed[1].startswith("on ")
    assert printed[3].split() == told[3].split() == ["benchmark", "base", "head", "change", "p", "verdict"]
    assert printed[4].startswith("bench.py::test_step  ")


def test_the_gate_names_the_cause_of_the_readme(walk: Walk) -> None:
    gate = of(walk, "perflab gate")
    verdict = "failed" if "exit code 1" in gate.printed else "passed"
    assert gate.printed.startswith(f"perflab gate: {verdict}, 1 ")
    # how long things took is this machine's affair; that log_softmax is new is not
    line = r"\d\. log_softmax: .*0 -> 1 calls a step, \+100 KiB allocated a step"
    assert re.search(line, gate.printed), gate.printed
    assert re.search(line, gate.told)
    assert gate.printed.splitlines()[-2] == gate.told.splitlines()[-2]


def test_serve_says_where(walk: Walk) -> None:
    assert of(walk, "perflab serve").printed == of(walk, "perflab serve").told
