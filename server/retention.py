"""Which traces of a lab go when room is wanted, and why; results of benchmarks are small, and stay for good.

A trace stays where its commit is one of the newest of its project, is a release (git told of its tag, or it is named),
is a baseline of a kept gate, or is where a series came to another level; or the last before, which it is held against.
Of the rest one commit in `Rule.thin` stays. Where that is not enough for a quota, the oldest of those that are left go,
too, but for the commits that stay for a reason.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from perflab.benchmarks.history import change_points

from .blobs import Blobs
from .errors import NotFound
from .keeping import Rule
from .schema import Run, Series, Trace
from .store import Store

EVERY_RUN = 1_000_000


@dataclass(frozen=True, slots=True)
class Leaving:
    """A trace that goes, with the bytes that this sets free: none where another run has the same file."""

    run: Run
    trace: Trace
    bytes: int
    why: str


@dataclass(frozen=True, slots=True)
class Removed:
    """What was removed, and the bytes that this set free."""

    traces: int
    files: int
    bytes: int

    def __str__(self) -> str:
        traces, files = (
            f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((self.traces, "trace"), (self.files, "file"))
        )
        return f"{traces} and {files} that no upload has, {self.bytes:,} bytes"


class _Room:
    """The bytes of the files of some runs, while traces leave."""

    def __init__(self, sizes: Mapping[str, int], runs: Iterable[Run]) -> None:
        self._sizes = sizes
        self._held = Counter(trace.sha256 for run in runs for trace in run.traces)
        self.bytes = sum(sizes.get(sha256, 0) for sha256 in self._held)

    def leave(self, trace: Trace) -> int:
        """The bytes that this sets free."""
        self._held[trace.sha256] -= 1
        freed = 0 if self._held[trace.sha256] else self._sizes.get(trace.sha256, 0)
        self.bytes -= freed
        return freed


def leaving(store: Store, blobs: Blobs, rules: Iterable[Rule], named: frozenset[str] = frozenset()) -> list[Leaving]:
    """The traces that go by these rules, oldest first; commits that are `named` stay. Without a rule nothing goes."""
    by_project = {rule.project: rule for rule in rules}
    of_lab = by_project.get(None)
    sizes = blobs.sizes()
    lab = _Room(sizes, store.runs(limit=EVERY_RUN))
    beside = sizes.total() - lab.bytes  # files of results
    found: list[Leaving] = []
    spare: list[tuple[Run, Trace]] = []
    for project in store.projects():
        rule = by_project.get(project.name, of_lab)
        if rule is None:
            continue
        runs = store.runs(project=project.name, limit=EVERY_RUN)[::-1]
        room = _Room(sizes, runs)
        thinned, rest = _sorted_out(store, project.name, runs, rule, named)
        for run, trace in thinned:
            room.leave(trace)
            found.append(Leaving(run, trace, lab.leave(trace), f"thinned: one commit in {rule.thin} stays"))
        while rule.project is not None and rule.quota is not None and rest and room.bytes > rule.quota:
            run, trace = rest.pop(0)
            room.leave(trace)
            found.append(Leaving(run, trace, lab.leave(trace), "over the project's quota"))
        spare += rest
    spare.sort(key=lambda each: each[0].created)
    while of_lab is not None and of_lab.quota is not None and spare and beside + lab.bytes > of_lab.quota:
        run, trace = spare.pop(0)
        found.append(Leaving(run, trace, lab.leave(trace), "over the quota"))
    return sorted(found, key=lambda each: (each.run.created, each.trace.id))


def remove(store: Store, blobs: Blobs, traces: Iterable[Leaving]) -> None:
    """Remove these traces, and their files where no other run has them."""
    for each in traces:
        store.keeping.remove_trace(each.trace.id, partial(blobs.delete, each.trace.sha256))


def orphans(store: Store, blobs: Blobs) -> dict[str, int]:
    """Files that no upload has, by their hash, and their bytes: of uploads that were refused by a worker, or whose
    process was killed. One that is just coming may be among them."""
    sizes = blobs.sizes()  # first: what comes from here on is not in it
    needed = store.keeping.needed()
    return {sha256: size for sha256, size in sizes.items() if sha256 not in needed}


def tidy(store: Store, blobs: Blobs) -> Removed:
    """Remove what goes by the lab's rules, files that no upload has, and what killed processes left half-written."""
    return make_room(store, blobs, leaving(store, blobs, store.keeping.rules()), orphans(store, blobs))


def make_room(store: Store, blobs: Blobs, traces: Sequence[Leaving], files: Mapping[str, int]) -> Removed:
    """Remove these traces, these files but for those that an upload has by now, and what killed processes left."""
    remove(store, blobs, traces)
    gone = remove_orphans(store, blobs, files)
    blobs.sweep()
    return removed(traces, gone)


def remove_orphans(store: Store, blobs: Blobs, files: Mapping[str, int]) -> dict[str, int]:
    """Remove these files, but for those that an upload has by now; which were removed."""
    return {
        sha256: size
        for sha256, size in files.items()
        if store.keeping.remove_file(sha256, partial(blobs.delete, sha256))
    }


def removed(traces: Sequence[Leaving], files: Mapping[str, int]) -> Removed:
    """These traces and files, counted."""
    return Removed(len(traces), len(files), sum(each.bytes for each in traces) + sum(files.values()))


Traces = list[tuple[Run, Trace]]


def _sorted_out(
    store: Store, project: str, runs: Sequence[Run], rule: Rule, named: frozenset[str]
) -> tuple[Traces, Traces]:
    """The traces that are thinned, and those that stay for no other reason than that they were not, oldest first."""
    commits = list(dict.fromkeys(run.commit for run in runs))
    kept = _kept(store, project, commits, rule.newest) | named
    older = [commit for commit in commits if commit not in kept]
    left = set(older[:: rule.thin])
    traces = [(run, trace) for run in runs if run.commit not in kept for trace in run.traces]
    return [each for each in traces if each[0].commit not in left], [each for each in traces if each[0].commit in left]


def _kept(store: Store, project: str, commits: Sequence[str], newest: int) -> set[str]:
    kept = set(commits[max(0, len(commits) - newest) :])
    kept |= {told.sha for told in store.commits(project) if told.is_release}
    kept |= {judgement.base for judgement in store.judgements(project, EVERY_RUN)}
    try:
        every = store.series(project)
    except NotFound:  # it has no results
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
