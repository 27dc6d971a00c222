"""The measured commits behind a head, in git's order: what the gate holds a commit against.

Only what head has behind it counts, so results of branches that were rebased or pushed over say nothing, and it does
not matter in which order results were uploaded. Runs of a dirty work tree are of no commit, and are left out.
"""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from perflab.benchmarks.gate import GateOptions, GateReport
from perflab.benchmarks.git import ancestors, commit_of, is_shallow, last_tag
from perflab.benchmarks.ledger import Release
from perflab.benchmarks.result import Benchmark
from perflab.benchmarks.trend import Measured, judge_history

from .errors import NotFound
from .lab import Lab
from .schema import Run

EVERY_RUN = 1_000_000
STALE_COMMITS, STALE_DAYS = 50, 30


@dataclass(frozen=True, slots=True)
class Behind:
    """What lies behind a head.

    Attributes:
        head: its whole SHA; project: in which it was measured; machine: the fingerprint of where.
        commits: head and all that it has behind it, newest first.
        runs: every run of the project on that machine that counts.
    """

    head: str
    project: str
    machine: str
    commits: Sequence[str]
    runs: Sequence[Run]


def behind(lab: Lab, project: str | None, folder: Path, head: str | None) -> Behind:
    """Raises NotFound where the lab has no results of head."""
    sha = commit_of(folder, head or "HEAD")
    heads = [run for run in lab.runs(project, sha, limit=EVERY_RUN) if run.results]
    if not heads:
        raise NotFound(f"the lab has no results of head, {sha}; run the benchmarks and upload them")
    runs = lab.runs(heads[0].project, limit=EVERY_RUN)
    machine = heads[0].machine.fingerprint
    counted = [run for run in runs if run.results and not run.dirty and run.machine.fingerprint == machine]
    return Behind(sha, heads[0].project, machine, ancestors(folder, sha), counted)


def nearest(found: Behind, folder: Path) -> tuple[str, list[str]]:
    """The nearest measured commit behind head, with sentences on how far it is.

    Raises NotFound where none was measured on this machine.
    """
    measured: dict[str, datetime] = {}
    for run in found.runs:
        measured[run.commit] = max(run.created, measured.get(run.commit, run.created))
    distance = next((at for at, commit in enumerate(found.commits) if at and commit in measured), None)
    if distance is None:
        cut = ", and this clone is shallow: fetch the rest" if is_shallow(folder) else ""
        raise NotFound(
            f"none of the {len(found.commits) - 1} commits behind head was measured on this machine{cut}; "
            "measure the base commit here"
        )
    base = found.commits[distance]
    notes = [f"Base is the nearest measured commit behind head, {distance} back."]
    now = measured.get(found.head, measured[base])
    days = (now - measured[base]).days
    if distance > STALE_COMMITS or days > STALE_DAYS:
        notes.append(f"The baseline is stale: {distance} commits and {days} days old; measure a newer one.")
    return base, notes


def judge_behind(lab: Lab, found: Behind, folder: Path, options: GateOptions) -> GateReport:
    """Judges head against the history behind it."""
    order = {commit: at for at, commit in enumerate(reversed(found.commits))}
    counted = {run.id for run in found.runs}
    series: dict[Benchmark, list[Measured]] = {}
    machine = ""
    for each in lab.series(found.project, machine=found.machine):
        values: defaultdict[str, list[float]] = defaultdict(list)
        for point in each.points:
            if point.commit in order and point.run in counted:
                values[point.commit].append(each.value(point))
        machine = str(each.machine)
        benchmark = options.by_new_name(each.benchmark)
        found_at = {one.commit: one for one in series.get(benchmark, [])}
        found_at |= {commit: Measured(commit, _middle(values[commit])) for commit in values}
        if found_at:
            series[benchmark] = [found_at[commit] for commit in sorted(found_at, key=order.__getitem__)]
    tag = last_tag(folder, found.head)
    release = Release(tag, frozenset(ancestors(folder, tag))) if tag else None
    return judge_history(series, found.head, machine, options.min_effect, release=release)


def _middle(values: Sequence[float]) -> float:
    """Their median; most commits have one run, for which that is a detour."""
    return values[0] if len(values) == 1 else statistics.median(values)
