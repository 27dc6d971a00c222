"""Which traces of a lab go when room is wanted, and why; results of benchmarks are small, and stay for good.

A trace stays where its commit is one of the newest of its project, is named (as a release is), is a baseline of a kept
gate, or is where a series came to another level; or the last before, which it is held against. Of the rest one
commit in `Rules.thin` stays. Where that is not enough for a quota, the oldest of those that are left go, too, but for
the commits that stay for a reason.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from perflab.benchmarks.history import change_points

from .blobs import Blobs
from .errors import LabError
from .schema import Run, Series, Trace
from .settings import DEFAULT_NEWEST, DEFAULT_THIN
from .store import Store

EVERY_RUN = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What stays.

    Attributes:
        newest: commits of each project; thin: of the older ones, one in so many.
        named: whole SHAs, such as those of releases.
        quota: bytes of files, with what was made of them; None for as many as there are.
    """

    newest: int = DEFAULT_NEWEST
    thin: int = DEFAULT_THIN
    named: frozenset[str] = frozenset()
    quota: int | None = None


@dataclass(frozen=True, slots=True)
class Leaving:
    """A trace that goes, with the bytes that this sets free: none where another run has the same file."""

    run: Run
    trace: Trace
    bytes: int
    why: str


def leaving(store: Store, blobs: Blobs, rules: Rules) -> list[Leaving]:
    """The traces that go by these rules, oldest first."""
    sizes = blobs.sizes()
    found: list[Leaving] = []
    spare: list[tuple[Run, Trace]] = []
    for project in store.projects():
        runs = store.runs(project=project.name, limit=EVERY_RUN)[::-1]
        commits = list(dict.fromkeys(run.commit for run in runs))
        kept = _kept(store, project.name, commits, rules)
        older = [commit for commit in commits if commit not in kept]
        thinned = set(older) - set(older[:: rules.thin])
        for run in runs:
            if run.commit in thinned:
                found += [Leaving(run, trace, 0, f"thinned: one commit in {rules.thin} stays") for trace in run.traces]
            elif run.commit not in kept:
                spare += [(run, trace) for trace in run.traces]
    held = _held(store)
    found = [_freeing(each, held, sizes) for each in found]
    left = sizes.total() - sum(each.bytes for each in found)
    if rules.quota is not None:
        for run, trace in sorted(spare, key=lambda each: each[0].created):
            if left <= rules.quota:
                break
            each = _freeing(Leaving(run, trace, 0, "over the quota"), held, sizes)
            left -= each.bytes
            found.append(each)
    return sorted(found, key=lambda each: (each.run.created, each.trace.id))


def remove(store: Store, blobs: Blobs, traces: Iterable[Leaving]) -> None:
    """Remove these traces, and their files where no other run has them."""
    for each in traces:
        store.remove_trace(each.trace.id, partial(blobs.delete, each.trace.sha256))


def _kept(store: Store, project: str, commits: Sequence[str], rules: Rules) -> set[str]:
    kept = set(commits[max(0, len(commits) - rules.newest) :]) | (rules.named & set(commits))
    for judgement in store.judgements(project, EVERY_RUN):
        kept |= {judgement.base}
    try:
        every = store.series(project)
    except LabError:  # it has no results
        every = []
    for series in every:
        kept |= set(_changes(series))
    return kept


def _changes(series: Series) -> list[str]:
    """The commits at which a series came to another level, each with the one before."""
    values: dict[str, float] = {}
    for point in series.points:
        values.setdefault(point.commit, series.value(point))
    commits = list(values)
    return [commits[at] for each in change_points(list(values.values())) for at in (each.index - 1, each.index)]


def _held(store: Store) -> dict[str, int]:
    """How many traces have each file."""
    counts: dict[str, int] = {}
    for run in store.runs(limit=EVERY_RUN):
        for trace in run.traces:
            counts[trace.sha256] = counts.get(trace.sha256, 0) + 1
    return counts


def _freeing(each: Leaving, held: dict[str, int], sizes: dict[str, int]) -> Leaving:
    held[each.trace.sha256] -= 1
    freed = sizes.get(each.trace.sha256, 0) if not held[each.trace.sha256] else 0
    return Leaving(each.run, each.trace, freed, each.why)
