"""Masks what a trace tells of people and machines: home folders, users, hosts, jobs, command lines, the values of
environment variables, and secrets.

Names, arguments and metadata are masked in the Trace; the file that it was read from is not touched. What is masked
stays as it is when it is masked again.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from ..trace import ArgColumn, Args, Json, Trace
from .findings import Finding, Findings

MASK = "***"
_HOME = re.compile(
    r"/(?:home|Users)/+[^/\\\s\"':]+|/root(?=/|$)"
    # Users of Windows may have spaces in their names: what is between two backslashes is one.
    r"|[A-Z]:\\+Users\\+(?:[^\\/\n\"':*?<>|]+(?=\\)|[^/\\\s\"':]+)",
    re.IGNORECASE,
)
_SECRET = re.compile(
    r"\b(?:hf_\w{20,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|sk-[\w-]{20,}|xox[abpr]-[\w-]{10,}"
    r"|perflab_[\w-]{20,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,})"
    r"|(?<=Bearer )\S{8,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_HINT = re.compile(
    r"(?i:/home/|/users/|\\users\\|/root)|hf_|gh[pousr]_|github_pat_|glpat-|sk-|xox|perflab_|AKIA|eyJ|Bearer |://"
)
# Keys whose value is masked whatever it is.
_PRIVATE = re.compile(
    r"^(?:user|username|user_name|login|logname|host|hostname|host_name|node|nodename|node_name|job|job_name|job_id"
    r"|slurm_job_\w+)$|passw|secret|api_?key|credential|authorization|(?:access|auth|bearer|hf|wandb)_?token$",
    re.IGNORECASE,
)
_HOST = re.compile(r"^(?:host|hostname|host_name|nodename|node_name|slurmd_nodename)$", re.IGNORECASE)
# What a process was started with is masked whole; of variables, the names stay.
_STARTED = re.compile(r"^(?:env|environ|environment|env_?vars|cmdline|cmd_line|command_?line|argv)$", re.IGNORECASE)
# What torch calls a file where it is told no name: HOST_PID.TIME.pt.trace.json.
_TORCH_FILE = re.compile(r"^.+(?=_\d+\.\d+\.pt\.trace\.json(?:\.\w+)?$)")
_SHORTEST_HOST = 4  # characters; a shorter name is a word of too many other things


def masked(trace: Trace, findings: Findings) -> Trace:
    """The same trace without what names people, machines and secrets."""
    mask = Mask(hosts_in(trace.metadata))
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


def masked_file_name(name: str) -> str:
    """The name of a trace's file without the host that torch puts there."""
    return Mask().text(_TORCH_FILE.sub(MASK, name))


def hosts_in(value: Json) -> frozenset[str]:
    """The names of hosts that metadata tells by its keys."""
    found = set()
    if isinstance(value, Mapping):
        for key, item in value.items():
            if _HOST.search(key) and isinstance(item, str) and len(item) >= _SHORTEST_HOST and item != MASK:
                found.add(item)
            found |= hosts_in(item)
    elif isinstance(value, list):
        for item in value:
            found |= hosts_in(item)
    return frozenset(found)


class Mask:
    """Masks texts and values, and counts those that it changed."""

    def __init__(self, hosts: Collection[str] = ()) -> None:
        """`hosts` are masked wherever they stand as a word."""
        self.count = 0
        self._tables: dict[int, tuple[list[Json], list[Json]]] = {}  # by identity: as they were, masked
        longest_first = sorted(hosts, key=lambda host: (-len(host), host))
        self._hosts = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)") if hosts else None

    def text(self, text: str) -> str:
        """A text without home folders, hosts and secrets."""
        clean, before = self._once(text), text
        while clean != before:  # what was taken out may have stood between the parts of something else
            clean, before = self._once(clean), clean
        self.count += clean != text
        return clean

    def _once(self, text: str) -> str:
        if _HINT.search(text):
            text = _SECRET.sub(MASK, _HOME.sub("~", text))
        return text if self._hosts is None else self._hosts.sub(MASK, text)

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
        if _STARTED.search(key) and value:
            return self._started(value)
        if _PRIVATE.search(key) and isinstance(value, str | int | float) and not isinstance(value, bool) and value:
            return self._masked(value)
        if key == "machine" and isinstance(value, Mapping) and value.get("name"):
            return {**self.value(value), "name": self._masked(value["name"])}  # as perflab's own traces tell the host
        return self.value(value)

    def _started(self, value: Json) -> Json:
        if isinstance(value, Mapping):
            return {self.text(name): self._started(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._started(item) for item in value]
        return self._masked(value) if isinstance(value, str) and value else value

    def _masked(self, value: Json) -> str:
        self.count += value != MASK
        return MASK

    def args(self, args: Args) -> Args:
        """Columns of arguments, likewise."""
        return {self.text(key): self._column(key, column) for key, column in args.items()}

    def _column(self, key: str, column: ArgColumn) -> ArgColumn:
        if column.table is None:
            return column
        if _PRIVATE.search(key) or _STARTED.search(key):
            return replace(column, table=[self._of_key(key, value) for value in column.table])
        if id(column.table) not in self._tables:
            self._tables[id(column.table)] = (column.table, [self.value(value) for value in column.table])
        return replace(column, table=self._tables[id(column.table)][1])
