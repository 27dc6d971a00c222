"""Ceilings: what a machine can do at most. `perflab machine` measures them once and keeps them in a file."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import CeilingsError


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Measured with all threads of a machine.

    Attributes:
        fingerprint, machine: which one (benchmarks/machine.py), for programs and in words.
        flops_per_s: of a float32 matrix product in cache-friendly blocks.
        bytes_per_s: of a triad a = b + s c over arrays far larger than the caches, reads and writes together.
    """

    fingerprint: str
    machine: str
    flops_per_s: float
    bytes_per_s: float


def default_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Where a user's caches are: `$XDG_CACHE_HOME`, else `~/.cache`."""
    folder = environ.get("XDG_CACHE_HOME")
    return (Path(folder) if folder else Path.home() / ".cache") / "perflab" / "ceilings.json"


def save(ceilings: Ceilings, path: Path) -> None:
    """Write the file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(asdict(ceilings), indent=2) + "\n", encoding="utf-8")
    part.replace(path)


def load(path: Path) -> Ceilings:
    """Read a file of `save`. Raises CeilingsError where it is none, FileNotFoundError where there is none."""
    try:
        found = Ceilings(**json.loads(path.read_text(encoding="utf-8")))
        valid = min(float(found.flops_per_s), float(found.bytes_per_s)) > 0
    except (TypeError, ValueError) as error:
        raise CeilingsError(f"{path}: not a file of `perflab machine`; measure again with it ({error})") from error
    if not valid:
        raise CeilingsError(f"{path}: a ceiling is not above 0; measure again with `perflab machine`")
    return found
