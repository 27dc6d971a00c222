"""A project with a long history, made by arithmetic alone: benchmarks that move, drift, are noisy, or stop."""

import hashlib
import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np

from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Benchmark, Result, Run
from perflab.server.lab import LocalLab
from perflab.server.schema import CommitFacts, Label

MACHINE = Machine.of(name="ci-4", cpu="AMD EPYC 7763", cores=4, os="Linux x86_64", python="CPython 3.11")
BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
SUITES = (
    ("train/step.py", ("forward", "backward", "optimizer", "whole_step", "grad_accumulation")),
    ("ops/pointwise.py", ("add", "mul", "gelu", "silu", "layer_norm", "dropout")),
    ("ops/linalg.py", ("matmul", "bmm", "einsum", "solve")),
    ("ops/reduce.py", ("sum", "mean", "softmax", "log_softmax", "argmax")),
    ("data/loader.py", ("collate", "shuffle", "prefetch")),
    ("memory/allocator.py", ("small_blocks", "large_blocks", "fragmented")),
)
WORK = (
    "Fuse the bias into the matmul",
    "Loader: read ahead by two batches",
    "Allocator: keep large blocks",
    "Clip gradients by their norm",
    "Docs",
)
SIZES = ("64", "256", "1024", "4096")


def sha(number: int) -> str:
    """The commit of that number."""
    return hashlib.sha1(f"commit {number}".encode()).hexdigest()


def benchmarks(count: int) -> list[Benchmark]:
    """So many of them."""
    made = [
        Benchmark(f"{suite}::test_{name}", {"size": size})
        for size in (*SIZES, *(f"{2**power}" for power in range(13, 24)))
        for suite, names in SUITES
        for name in names
    ]
    return made[:count]


def levels(commits: int, at: int, random: np.random.Generator) -> np.ndarray:
    """The true level of the benchmark numbered `at`, commit by commit, of which each has one way to behave."""
    level = np.full(commits, 10 ** random.uniform(-7, -1))
    if at % 9 == 2:
        level[-commits // 5 :] *= 1.14  # a regression
    if at % 9 == 5:
        level[-commits // 3 :] *= 0.86  # an improvement
    if at % 9 == 7:
        level[-commits // 2 :] *= np.geomspace(1, 1.09, commits - commits // 2)  # a drift
    if at == 3:
        level[-4:] *= 1.4  # too new for a history to tell
    return level


def runs(commits: int, count: int) -> Iterator[Run]:
    """A run of each commit, oldest first. The last benchmark ends after three quarters of them."""
    random = np.random.default_rng(5)
    known = benchmarks(count)
    noise = random.choice((0.004, 0.01, 0.03), len(known))[:, None]
    values = np.array([levels(commits, at, random) for at in range(len(known))])
    values = values * np.exp(random.normal(0, 1, values.shape) * noise)
    for number in range(commits):
        ended = number >= commits * 3 // 4
        yield Run(
            project="trainer",
            commit=sha(number),
            branch="main",
            machine=MACHINE,
            created=BEGIN + timedelta(hours=3 * number),
            tool="a test",
            results=tuple(
                Result(benchmark, tuple((values[at, number] * random.uniform(1, 1.02, 3)).tolist()))
                for at, benchmark in enumerate(known[: -1 if ended else None])
            ),
        )


def fill(lab: LocalLab, commits: int, count: int) -> None:
    """Give a lab the project `trainer`."""
    facts = [
        CommitFacts(
            sha=sha(number),
            subject=f"{WORK[number % len(WORK)]} ({number})",
            authored=BEGIN + timedelta(hours=3 * number - 1),
            behind=number,
            release=f"v0.{(number // 50)}" if number >= 50 else None,
            released=number // 50 * 50 if number >= 50 else None,
        )
        for number in range(commits)
    ]
    for run in runs(commits, count):
        lab.upload_stream(io.BytesIO(run.to_json().encode()), Label(name=f"{run.commit[:8]}.json"))
    lab.describe("trainer", facts)
