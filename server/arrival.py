"""An uploaded file that was read and checked, on its way into the tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from perflab.benchmarks.machine import Machine
from perflab.benchmarks.result import Result

from .schema import UploadKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What becomes rows: a trace has a summary, a benchmark file has results.

    Uploads of one `key`, commit and machine are one run. `commit` is a whole SHA, `sha256` that of the file's bytes.
    `masked`: nothing here names people or machines.
    """

    project: str
    commit: str
    branch: str | None
    machine: Machine
    key: str
    created: datetime
    tool: str
    dirty: bool
    kind: UploadKind
    name: str
    sha256: str
    bytes: int
    masked: bool = False
    summary: dict[str, Any] | None = None
    results: tuple[Result, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
