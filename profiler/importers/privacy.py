"""Masks what a trace tells of people and machines: home folders, users, hosts, jobs and secrets.

Names, arguments and metadata are masked in the Trace; the file that it was read from is not touched.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from ..trace import ArgColumn, Args, Json, Trace
from .findings import Finding, Findings

MASK = "***"
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\+Users\\+)[^/\\\s\"':]+|/root(?=/|$)")
_SECRET = re.compile(
    r"\b(?:hf_\w{20,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|sk-[\w-]{20,}|xox[abpr]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,})"
    r"|(?<=Bearer )\S{8,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_HINT = re.compile(r"/home/|/Users/|\\Users\\|/root|hf_|gh[pousr]_|github_pat_|glpat-|sk-|xox|AKIA|eyJ|Bearer |://")
# Keys whose value is masked whatever it is.
_PRIVATE = re.compile(
    r"^(?:user|username|user_name|login|logname|host|hostname|host_name|node|nodename|node_name|job|job_name|job_id"
    r"|slurm_job_\w+)$|passw|secret|api_?key|credential|authorization|(?:access|auth|bearer|hf|wandb)_?token$",
    re.IGNORECASE,
)


def masked(trace: Trace, findings: Findings) -> Trace:
    """The same trace without what names people, machines and secrets."""
    mask = Mask()
    clean = replace(
        trace,
        strings=[mask.text(text) for text in trace.strings],
        tracks=[replace(track, name=mask.text(track.name), process=mask.text(track.process)) for track in trace.tracks],
        slice_args=mask.args(trace.slice_args),
        instant_args=mask.args(trace.instant_args),
        metadata=mask.value(trace.metadata),
    )
    findings.add("masked", mask.count)
    return clean if mask.count else trace


def masked_finding(finding: Finding) -> Finding:
    """A finding whose texts from the file are masked."""
    mask = Mask()
    return replace(finding, what=mask.text(finding.what), examples=tuple(map(mask.text, finding.examples)))


class Mask:
    """Masks texts and values, and counts those that it changed."""

    def __init__(self) -> None:
        self.count = 0
        self._tables: dict[int, tuple[list[Json], list[Json]]] = {}  # by identity: as they were, masked

    def text(self, text: str) -> str:
        """A text without home folders and secrets."""
        if not _HINT.search(text):
            return text
        clean = _SECRET.sub(MASK, _HOME.sub("~", text))
        self.count += clean != text
        return clean

    def value(self, value: Json) -> Json:
        """A value without these, and without what private keys hold."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self._of_key(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value

    def _of_key(self, key: str, value: Json) -> Json:
        if _PRIVATE.search(key) and isinstance(value, str | int | float) and not isinstance(value, bool) and value:
            self.count += 1
            return MASK
        return self.value(value)

    def args(self, args: Args) -> Args:
        """Columns of arguments, likewise."""
        return {self.text(key): self._column(key, column) for key, column in args.items()}

    def _column(self, key: str, column: ArgColumn) -> ArgColumn:
        if column.table is None:
            return column
        if _PRIVATE.search(key):
            return replace(column, table=[self._of_key(key, value) for value in column.table])
        if id(column.table) not in self._tables:
            self._tables[id(column.table)] = (column.table, [self.value(value) for value in column.table])
        return replace(column, table=self._tables[id(column.table)][1])
