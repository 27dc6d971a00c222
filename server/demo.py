"""The main job on real input: train a model as it is and with a mistake, keep both in a lab, and judge them."""

import hashlib
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from perflab.benchmarks import report
from perflab.benchmarks.gate import Exit
from perflab.benchmarks.machine import this_machine

from .errors import DemoFailed
from .lab import Lab, LocalLab
from .schema import CommitComparison, CommitFacts, Label, Origin
from .settings import Settings

PROJECT = "demo"
MODULE = "perflab.benchmarks.char_lm"
VARIANTS = {"base": "looks embeddings up", "onehot": "multiplies by one-hot rows instead"}
PROCESSES = 5
STEPS = 1000

# Trains one variant in a process of its own and leaves run.json in the folder, and trace.json.gz where profiled.
# What it returns is the last line that the process printed.
Train = Callable[[str, Path, bool], str]


def demo(settings: Settings, train: Train | None = None) -> int:
    """Run the demo on the lab of these settings, printing as it goes; 0 when the gate failed as it should, else 1."""
    with closing(LocalLab.open(settings, create=True)) as lab:
        comparison = _measure_and_judge(lab, train or train_in_process)
    print(f"\n{report.text(comparison.report)}")
    if comparison.exit_code == Exit.REGRESSION:
        print("The gate failed, as it should: in CI, exit code 1 of `perflab gate` stops this change.", flush=True)
        return 0
    print("The gate did not fail, though the change is slower by design: this machine may be too busy; try again.")
    return 1


def demo_commits() -> dict[str, str]:
    """An invented commit for each variant: the SHA-1 of its name and the module's source, so that it follows both."""
    spec = find_spec(MODULE)
    source = Path(spec.origin).read_bytes() if spec and spec.origin else b""
    return {variant: hashlib.sha1(variant.encode() + b"\0" + source).hexdigest() for variant in VARIANTS}


def train_in_process(variant: str, folder: Path, profiled: bool) -> str:
    """Train a variant in a Python of its own; raises DemoFailed."""
    command = [sys.executable, "-m", MODULE, "--variant", variant, "--out", str(folder), "--steps", str(STEPS)]
    done = subprocess.run([*command, "--trace"] if profiled else command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        raise DemoFailed(
            f"training the variant {variant} ended with {done.returncode}, saying {said[-1]!r}; mend that first"
        )
    return (done.stdout.strip().splitlines() or [""])[-1]


def _measure_and_judge(lab: Lab, train: Train) -> CommitComparison:
    commits = demo_commits()
    print("Training a character-level language model on Python's own documentation, under the profiler:")
    for variant, does in VARIANTS.items():
        print(f"  {variant:8}{does:38}commit {commits[variant][:12]}")
    print("Both commits are invented for the demo: their SHAs are hashes of the variant's source.")
    print(
        f"{PROCESSES} processes each, in turn, so that a machine that speeds up or slows down does so for both:",
        flush=True,
    )
    total = PROCESSES * len(VARIANTS)
    for process in range(PROCESSES):
        for place, variant in enumerate(VARIANTS):
            print(f"  {process * len(VARIANTS) + place + 1:2}/{total}  {variant:8}", end="", flush=True)
            with tempfile.TemporaryDirectory(prefix="perflab-demo-") as folder:
                said = train(variant, Path(folder), process == 0)
                _upload(lab, Path(folder), Origin(project=PROJECT, commit=commits[variant], branch=f"demo-{variant}"))
            print(said, flush=True)
    lab.describe(PROJECT, _facts(commits))
    comparison = lab.compare(commits["base"], commits["onehot"], PROJECT)
    lab.keep_judgement(PROJECT, comparison.report)
    return comparison


def _facts(commits: Mapping[str, str]) -> list[CommitFacts]:
    """What git would say of the invented commits, the base first."""
    now = datetime.now(UTC)
    return [
        CommitFacts(sha=sha, subject=f"{variant}: {VARIANTS[variant]}", authored=now, behind=behind)
        for behind, (variant, sha) in enumerate(commits.items())
    ]


def _upload(lab: Lab, folder: Path, origin: Origin) -> None:
    """Everything that one process left becomes one run."""
    key = uuid.uuid4().hex
    for path in sorted(folder.iterdir()):
        lab.upload(path, Label(name=path.name, said=origin, machine=this_machine(), key=key))
