"""Benchmark, Result, Run: what one process measured at one commit on one machine, and the versioned JSON it is kept in.

    {"format": "perflab.run", "version": 1,
     "project": "demo", "commit": "5b78858e...", "branch": "main", "dirty": false,
     "machine": {"name": ..., "cpu": ..., "cores": ..., "os": ..., "python": ...},
     "created": "2026-01-31T12:00:00+00:00", "tool": "pytest-benchmark 5.3.1",
     "environment": {"Python": "3.11.9", "numpy": "2.4.0", "OMP_NUM_THREADS": "1"},
     "results": [{"name": ..., "params": {...}, "unit": "s", "direction": "lower", "samples": [...]}]}

A result has "min_effect" too where the benchmark says what change of it matters. Any harness can write such a file:
"format", "version" and "results" with "name" and "samples" are enough, the rest has defaults (unit "s", direction
"lower", no parameters, an unknown machine, measured when the file was written).

A run is one process: its samples share a memory layout, a warm-up and a hash seed, so they say little about the next
process. Statistics therefore count runs, never samples.
"""

import json
import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Self, TypeVar, cast

from .environment import environment_of
from .errors import BenchmarkFormatError
from .machine import UNKNOWN, Machine

FORMAT = "perflab.run"
VERSION = 1

T = TypeVar("T")
Direction = Literal["lower", "higher"]
Key = tuple[str, tuple[tuple[str, str], ...], str, str]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What is measured: name + parameters + unit + direction. Two results belong together when all four are equal.

    Attributes:
        name: such as "tests/test_ops.py::test_add[64x64]".
        params: parameters by name, as text.
        unit: of the samples; "s" for times.
        direction: which way is better, "lower" or "higher".
    """

    name: str
    params: Mapping[str, str] = field(default_factory=dict)
    unit: str = "s"
    direction: Direction = "lower"

    @property
    def key(self) -> Key:
        """The four together, hashable and sortable."""
        return self.name, tuple(sorted(self.params.items())), self.unit, self.direction

    @property
    def params_text(self) -> str:
        """The parameters in words: `batch=64, size=1`."""
        return ", ".join(f"{name}={value}" for name, value in sorted(self.params.items()))

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark in one process.

    Attributes:
        samples: finite, not negative, at least one, in the benchmark's unit.
        min_effect: the smallest change that matters, as a share, where the benchmark says so itself.
    """

    benchmark: Benchmark
    samples: tuple[float, ...]
    min_effect: float | None = None

    def __post_init__(self) -> None:
        if not self.samples:
            raise BenchmarkFormatError(f"{self.benchmark.name}: it has no samples; measure at least one round")
        for sample in self.samples:
            if not math.isfinite(sample) or sample < 0:
                name = self.benchmark.name
                raise BenchmarkFormatError(f"{name}: a sample is {sample}; use a monotonic timer and measure again")

    @property
    def median(self) -> float:
        """The middle of the samples, for people to look at."""
        return statistics.median(self.samples)

    @property
    def best(self) -> float:
        """The one value that stands for this process: what disturbs it only makes it worse."""
        return min(self.samples) if self.benchmark.direction == "lower" else max(self.samples)


@dataclass(frozen=True, slots=True)
class Run:
    """One execution (process) at one commit on one machine.

    Attributes:
        project, commit, branch: None where the file did not say.
        created: when it was measured, with a time zone.
        tool: what measured it, such as "pytest-benchmark 5.3.1".
        results: one for each benchmark.
        dirty: whether the working tree differed from the commit.
        environment: versions and variables by name; empty where the file did not say.
    """

    project: str | None
    commit: str | None
    branch: str | None
    machine: Machine
    created: datetime
    tool: str
    results: tuple[Result, ...]
    dirty: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seen: set[Key] = set()
        for result in self.results:
            if result.benchmark.key in seen:
                raise BenchmarkFormatError(
                    f"{result.benchmark.name}: it comes twice in one run; give each benchmark its own name"
                )
            seen.add(result.benchmark.key)

    def to_json(self) -> str:
        """The run as JSON text of this version; floats survive exactly."""
        machine = self.machine
        data = {
            "format": FORMAT,
            "version": VERSION,
            "project": self.project,
            "commit": self.commit,
            "branch": self.branch,
            "dirty": self.dirty,
            "machine": {
                "name": machine.name,
                "cpu": machine.cpu,
                "cores": machine.cores,
                "os": machine.os,
                "python": machine.python,
            },
            "created": self.created.astimezone(UTC).isoformat(),
            "tool": self.tool,
            "environment": dict(self.environment),
            "results": [
                {
                    "name": result.benchmark.name,
                    "params": dict(result.benchmark.params),
                    "unit": result.benchmark.unit,
                    "direction": result.benchmark.direction,
                    "samples": list(result.samples),
                    **({} if result.min_effect is None else {"min_effect": result.min_effect}),
                }
                for result in self.results
            ],
        }
        return json.dumps(data, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The run that `to_json` wrote.

        Raises:
            BenchmarkFormatError: not JSON, not a run, of another version, or a field is missing or of the wrong type.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BenchmarkFormatError(
                f"a run file is JSON, and this is not ({error}); write it with Run.to_json"
            ) from None
        return cls.from_data(data)

    @classmethod
    def from_data(cls, data: object, created: datetime | None = None) -> Self:
        """As `from_json`, from what the JSON holds; `created` (now) is when it was measured if that does not say."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise BenchmarkFormatError(
                f'a run file has "format": "{FORMAT}" at its top, and this has not; write it with Run.to_json'
            )
        version = data.get("version")
        if version != VERSION:
            newer = isinstance(version, int) and version > VERSION
            raise BenchmarkFormatError(
                f"the run file is of version {version!r} and this perflab reads version {VERSION}; "
                + ("upgrade perflab" if newer else "measure again with this perflab")
            )
        told = data.get("created")
        return cls(
            project=_optional(data, "project"),
            commit=_optional(data, "commit"),
            branch=_optional(data, "branch"),
            dirty=_get(data, "dirty", bool) if "dirty" in data else False,
            machine=_machine(_get(data, "machine", dict)) if "machine" in data else UNKNOWN,
            created=created or datetime.now(UTC) if told is None else moment(told),
            tool=_optional(data, "tool") or "",
            environment=environment_of(data.get("environment", {})),
            results=tuple(_result(item) for item in _get(data, "results", list)),
        )


def _machine(facts: Mapping[str, Any]) -> Machine:
    return Machine.of(
        name=_get(facts, "name", str),
        cpu=_get(facts, "cpu", str),
        cores=_get(facts, "cores", int),
        os=_get(facts, "os", str),
        python=_get(facts, "python", str),
    )


def _result(item: object) -> Result:
    if not isinstance(item, dict):
        raise BenchmarkFormatError(
            f"an entry of results is {type(item).__name__}, not an object; write the file with Run.to_json"
        )
    direction = item.get("direction", "lower")
    if direction not in ("lower", "higher"):
        raise BenchmarkFormatError(f'direction is {direction!r}; give "lower" or "higher", whichever is better')
    params = _get(item, "params", dict) if "params" in item else {}
    benchmark = Benchmark(
        _get(item, "name", str),
        {str(key): str(value) for key, value in params.items()},
        _get(item, "unit", str) if "unit" in item else "s",
        cast(Direction, direction),
    )
    samples = tuple(number(sample, benchmark.name) for sample in _get(item, "samples", list))
    return Result(benchmark, samples, share(item.get("min_effect"), benchmark.name))


def number(value: object, name: str) -> float:
    """A JSON number as a sample of the benchmark called `name`; above what a float can hold, infinite.

    Raises:
        BenchmarkFormatError: it is no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BenchmarkFormatError(f"{name}: a sample is {value!r}, not a number; measure it again")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def share(value: object, name: str) -> float | None:
    """The smallest change that matters to the benchmark called `name`; None where it does not say.

    Raises:
        BenchmarkFormatError: it is no share.
    """
    if value is None:
        return None
    given = number(value, name)
    if not 0 <= given < math.inf:
        raise BenchmarkFormatError(f"{name}: its smallest change that matters is {given}; give a share from 0")
    return given


def moment(text: object) -> datetime:
    """An ISO 8601 time, in UTC where it names no zone.

    Raises:
        BenchmarkFormatError: it is none.
    """
    try:
        time = datetime.fromisoformat(text if isinstance(text, str) else "")
    except ValueError:
        raise BenchmarkFormatError(f"the time is {text!r}; give ISO 8601 such as 2026-01-31T12:00:00+00:00") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _get(data: Mapping[str, Any], key: str, kind: type[T]) -> T:
    value = data.get(key)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        came = f"is {type(value).__name__}" if key in data else "is missing"
        raise BenchmarkFormatError(f"{key} {came} where a run file has {kind.__name__}; write it with Run.to_json")
    return value


def _optional(data: Mapping[str, Any], key: str) -> str | None:
    return None if data.get(key) is None else _get(data, key, str)
