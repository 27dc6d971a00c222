"""From an uploaded file to rows and a kept blob: all of it, or nothing."""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO

from perflab.benchmarks import formats
from perflab.benchmarks.errors import BenchmarkError
from perflab.benchmarks.machine import UNKNOWN, Machine
from perflab.dashboards.views import NO_COMMIT
from perflab.profiler import columns_file, importers
from perflab.profiler.analysis.summary import summarize
from perflab.profiler.doctor import examine
from perflab.profiler.errors import ProfilerError
from perflab.profiler.importers.privacy import masked_file_name
from perflab.profiler.trace import Trace

from .arrival import Arrival
from .blobs import Blobs, Staged
from .errors import LabRefused, Refused
from .schema import UNMASKED, Label, Origin, Upload
from .sha import whole_sha
from .store import Store

# What a compressed trace may unpack to: some seven million events. Reading takes three times that in memory.
LARGEST_TRACE = 2 << 30


def ingest(store: Store, blobs: Blobs, stream: BinaryIO, label: Label) -> Upload:
    """Take in one file; the same file again for the same commit and machine changes nothing.

    Raises Refused when the file is neither a trace nor a benchmark file, or when its project or commit is unknown, and
    LabRefused when the lab cannot write. Nothing is written then.
    """
    with arrived(blobs, stream, label) as staged:
        return ingest_staged(store, blobs, staged, label)


@contextlib.contextmanager
def arrived(blobs: Blobs, stream: BinaryIO, label: Label) -> Iterator[Staged]:
    """A file on its way into the lab, until the block ends; raises LabRefused where the lab cannot write."""
    try:
        with blobs.stage(stream) as staged:
            yield staged
    except OSError as error:
        raise LabRefused(
            f"the lab cannot keep {_shown(label.name)} ({error.strerror or error}); look at its disk and rights, "
            "then try again"
        ) from error


def ingest_staged(store: Store, blobs: Blobs, staged: Staged, label: Label) -> Upload:
    """As `ingest`, of a file that has arrived."""
    label = dataclasses.replace(label, name=_shown(label.name))
    arrival, trace = _read(staged, label, store.register.masks)
    upload = store.add(arrival, lambda: blobs.keep(staged))
    if trace is not None:
        derived = arrival.sha256 if arrival.masked else f"{arrival.sha256}{UNMASKED}"
        blobs.keep_derived(derived, lambda file: columns_file.save(trace, file))
    return upload


def machine_json(machine: Machine) -> str:
    """The text that `parse_machine` reads."""
    facts = dataclasses.asdict(machine)
    del facts["fingerprint"]
    return json.dumps(facts)


def parse_machine(text: str) -> Machine:
    """The machine in a JSON object with the keys name, cpu, cores, os and python; raises Refused."""
    try:
        return _machine(json.loads(text))
    except (ValueError, RecursionError):
        raise Refused(
            "machine is not a JSON object with the texts name, cpu, os, python and the number cores; give these five"
        ) from None


def _read(staged: Staged, label: Label, masks: Callable[[str], bool]) -> tuple[Arrival, Trace | None]:
    if staged.size == 0:
        raise Refused(f"{label.name} is empty; write it again and upload it then")
    try:
        if formats.holds_results(staged.path):
            arrival = _read_benchmarks(staged, label)
            return _masked(arrival) if masks(arrival.project) else arrival, None
        return _read_trace(staged, label, masks)
    except (BenchmarkError, ProfilerError) as error:
        raise Refused(str(error).replace(staged.path.name, label.name)) from error


def _read_benchmarks(staged: Staged, label: Label) -> Arrival:
    run = formats.parse(staged.path.read_bytes(), label.name, label.created)
    return _arrival(
        staged,
        label,
        Origin(project=run.project, commit=run.commit, branch=run.branch),
        kind="benchmarks",
        machine=label.machine or UNKNOWN if run.machine == UNKNOWN else run.machine,
        created=run.created,
        tool=run.tool,
        dirty=run.dirty,
        results=run.results,
        environment=run.environment,
    )


def _masked(arrival: Arrival) -> Arrival:
    """Without the names of hosts; a machine stays what it is."""
    return dataclasses.replace(
        arrival,
        masked=True,
        name=masked_file_name(arrival.name),
        machine=dataclasses.replace(arrival.machine, name=""),
    )


def _read_trace(staged: Staged, label: Label, masks: Callable[[str], bool]) -> tuple[Arrival, Trace]:
    found = importers.read(staged.path, LARGEST_TRACE, mask=False)
    trace = found.trace
    if not (len(trace.slices) or len(trace.counters) or len(trace.instants)):
        lost = next((f" {finding.what}" for finding in found.findings if finding.severity == "error"), "")
        raise Refused(f"{label.name} is a trace without events; record at least one step and upload it again.{lost}")
    told = trace.metadata
    arrival = _arrival(
        staged,
        label,
        Origin(project=_text(told.get("project")), commit=_text(told.get("commit")), branch=_text(told.get("branch"))),
        kind="trace",
        machine=_told_machine(told.get("machine")) or label.machine or UNKNOWN,
        created=_began(trace) or label.created or datetime.now(UTC),
        tool=_text(told.get("tool")) or "trace",
        dirty=told.get("dirty") is True,
    )
    if masks(arrival.project):
        arrival, found = _masked(arrival), found.masked()
    summary = dataclasses.asdict(summarize(found.trace)) | {"health": _health(found)}
    return dataclasses.replace(arrival, summary=summary), found.trace


def _health(found: importers.Import) -> dict[str, Any]:
    report = examine(found)
    return {"sentence": report.sentence, **dataclasses.asdict(report)}


def _arrival(staged: Staged, label: Label, told: Origin, **facts: Any) -> Arrival:
    """The arrival with its origin settled: what the uploader states, else what the file says, else the fallback."""
    origins = (label.said, told, label.fallback)
    project, commit, branch = (
        next((value for origin in origins if (value := getattr(origin, field))), None)
        for field in ("project", "commit", "branch")
    )
    if project is None:
        raise Refused(f"{label.name} does not say its project; name it with --project")
    if commit is None or (commit == NO_COMMIT and facts["kind"] == "benchmarks"):
        raise Refused(f"{label.name} does not say its commit; give the whole SHA with --commit")
    return Arrival(
        project=short_name("project", project, 200),
        commit=whole_sha(commit),
        branch=branch and short_name("branch", branch, 500),
        key=short_name("key", label.key or staged.sha256, 200),
        name=label.name,
        sha256=staged.sha256,
        bytes=staged.size,
        **facts,
    )


def _shown(name: str) -> str:
    """A file's name as messages and pages can show it."""
    return "".join(char if char.isprintable() else "?" for char in name)[-200:] or "the file"


def short_name(what: str, text: str, limit: int) -> str:
    """A name without the spaces around it; raises Refused where it is too long, empty or cannot be printed."""
    name = text.strip()
    if not name or len(name) > limit or not name.isprintable():
        raise Refused(f"{what} {text[:60]!r} is no name; give up to {limit} printable characters")
    return name


def _machine(told: object) -> Machine:
    """The machine of a JSON object with these five keys; raises ValueError."""
    if not isinstance(told, Mapping):
        raise ValueError(told)
    texts = {key: told.get(key) for key in ("name", "cpu", "os", "python")}
    cores = told.get("cores")
    if not all(isinstance(text, str) for text in texts.values()) or not isinstance(cores, int):
        raise ValueError(told)
    return Machine.of(cores=cores, **{key: str(text) for key, text in texts.items()})


def _told_machine(told: object) -> Machine | None:
    try:
        return _machine(told)
    except ValueError:
        return None


def _began(trace: Trace) -> datetime | None:
    """When the trace began, where it says the epoch time of its zero."""
    base = trace.metadata.get("baseTimeNanoseconds")
    if not isinstance(base, int) or base <= 0:
        return None
    try:
        return datetime.fromtimestamp((base + trace.span()[0]) / 1e9, UTC)
    except (OverflowError, ValueError):
        return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
