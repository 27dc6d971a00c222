"""Which machine a result comes from: a fingerprint of stable, coarse facts.

Results are compared only when their fingerprints are equal. The fingerprint holds what decides speed and does not
change from run to run: the CPU's model, the number of its cores, the system and architecture, the Python
implementation and its minor version (an interpreter upgrade moves every Python benchmark by more than a gate allows
for, so it starts a series of its own instead of blaming a commit). It leaves out what changes by itself: clock rates,
boot ids, kernel and Python patch levels, and the host's name, since the runners of a CI pool are the same machine
under a new name each time.
"""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as results see it.

    Attributes:
        fingerprint: 16 hex digits, equal exactly when cpu, cores, os and python are.
        name: the host's name, for people; not part of the fingerprint.
        cpu: the CPU's model, "" where unknown.
        cores: logical cores, 0 where unknown.
        os: system and architecture, such as "Linux x86_64".
        python: implementation and minor version, such as "CPython 3.11".
    """

    fingerprint: str
    name: str
    cpu: str
    cores: int
    os: str
    python: str

    @classmethod
    def of(cls, *, name: str, cpu: str, cores: int, os: str, python: str) -> Self:
        """The machine with these facts; the fingerprint follows from them."""
        cpu = " ".join(cpu.split())
        facts = json.dumps([cpu, cores, os, python], ensure_ascii=True)
        return cls(hashlib.sha256(facts.encode()).hexdigest()[:16], name, cpu, cores, os, python)

    def __str__(self) -> str:
        cores = f"{self.cores} cores" if self.cores else "unknown cores"
        return ", ".join(part for part in (self.cpu or "unknown CPU", cores, self.os, self.python) if part)


UNKNOWN = Machine.of(name="", cpu="", cores=0, os="", python="")


def this_machine() -> Machine:
    """The machine that runs this process."""
    return Machine.of(
        name=platform.node(),
        cpu=_cpu_model(),
        cores=os.cpu_count() or 0,
        os=f"{platform.system()} {platform.machine()}",
        python=_python(platform.python_implementation(), platform.python_version()),
    )


def from_pytest_benchmark(machine_info: Mapping[str, object]) -> Machine:
    """The machine that pytest-benchmark describes as `machine_info`; what an old version left out counts as unknown."""
    cpu = machine_info.get("cpu")
    cpu = cpu if isinstance(cpu, Mapping) else {}
    cores = cpu.get("count")
    return Machine.of(
        name=_text(machine_info.get("node")),
        # brand_raw since py-cpuinfo 6; brand before
        cpu=_text(cpu.get("brand_raw")) or _text(cpu.get("brand")),
        cores=cores if type(cores) is int else 0,
        os=f"{_text(machine_info.get('system'))} {_text(machine_info.get('machine'))}".strip(),
        python=_python(_text(machine_info.get("python_implementation")), _text(machine_info.get("python_version"))),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _python(implementation: str, version: str) -> str:
    return f"{implementation} {'.'.join(version.split('.')[:2])}".strip()


@cache
def _cpu_model() -> str:
    """The model's name from where py-cpuinfo takes it too, so that both give one fingerprint."""
    try:
        return _field(Path("/proc/cpuinfo").read_text(), "model name") or _field(_output("lscpu"), "Model name")
    except OSError:
        return _output("sysctl", "-n", "machdep.cpu.brand_string") or platform.processor()


def _field(text: str, name: str) -> str:
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, env={**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
