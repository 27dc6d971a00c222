"""What was around a run, for a change that no commit explains: the versions of what was imported, and variables that
decide speed.

It is told beside results and never compared by the gate: whether a new numpy is at fault, people decide.
"""

import os
import platform
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import packages_distributions, version

from .errors import BenchmarkFormatError

# Threads, devices and allocators. Variables that hold paths are left out: they name people and machines.
VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "MALLOC_ARENA_MAX",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PERFLAB_ALLOC_CONF",
    "PYTHONDEVMODE",
    "PYTHONMALLOC",
    "PYTHONOPTIMIZE",
)
UNSET = "none"


def variables() -> dict[str, str]:
    """Those of VARIABLES that are set."""
    return {name: os.environ[name] for name in VARIABLES if name in os.environ}


def this_environment() -> dict[str, str]:
    """Python's version, those of the packages that this process has imported so far, and the variables that are set."""
    imported = {name.partition(".")[0] for name in list(sys.modules)}
    packages = packages_distributions()
    found = {package for name in imported for package in packages.get(name, ())}
    return {
        "Python": platform.python_version(),
        **{name: version(name) for name in sorted(found, key=str.casefold)},
        **variables(),
    }


def environment_of(value: object) -> dict[str, str]:
    """An environment from what JSON holds; raises BenchmarkFormatError where it is no object of texts."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise BenchmarkFormatError('environment is not an object of texts; write it as {"numpy": "2.4.0"}')
    return dict(value)


def changes(base: Iterable[Mapping[str, str]], head: Iterable[Mapping[str, str]]) -> list[str]:
    """What is not the same on both sides, such as "numpy 2.3.1 -> 2.4.0"; nothing where a side has told nothing."""
    sides = [[told for told in side if told] for side in (base, head)]
    if not all(sides):
        return []
    names = sorted({name for side in sides for told in side for name in told}, key=str.casefold)
    pairs = [(name, *(_values(side, name) for side in sides)) for name in names]
    return [f"{name} {before} -> {after}" for name, before, after in pairs if before != after]


def _values(side: Iterable[Mapping[str, str]], name: str) -> str:
    return " or ".join(sorted({told.get(name, UNSET) for told in side}))
