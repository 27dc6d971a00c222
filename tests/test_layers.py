"""Who may import whom, strictly one way (read with ast: nothing is imported here)."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent

# What each package may import of the others.
ALLOWED = {
    "runtime": set(),
    "profiler": {"runtime"},
    "dashboards": {"profiler"},
    "benchmarks": {"runtime", "profiler"},
    "server": {"profiler", "dashboards", "benchmarks"},
}
# Inside runtime a module may import those of the lines above its own, and its own package.
RUNTIME = (
    {"_core"},
    {"errors", "hooks"},
    {"presence", "backends"},
    {"spec", "alloc_conf"},
    {"promotion", "device"},
    {"sim", "pinned"},
    {"op"},
    {"program"},
    {"registry"},
    {"ops"},
    {"creation"},
    {"interchange", "storage", "text"},
    {"fft", "info", "linalg"},
    {"generator", "memory"},
    {"random"},
    {"subscript"},
    {"tensor"},
    {"cuda"},
    {"autograd"},
    {"autocast"},
    {"dispatch", "checkpoint", "library", "testing"},
    {"flops"},
    {"nn", "optim", "data", "serialization"},
    {"amp", "utils"},
    {"__init__"},
)
# Measures a server, and is not in the wheel.
FREE = {"benchmarks/lab_load.py"}
# The only places that may import these.
ONLY = {
    "perflab.runtime": (
        "runtime/",
        "profiler/costs.py",
        "profiler/session.py",
        "profiler/recorder.py",
        "profiler/cupti.py",
        "profiler/calibration.py",
        "profiler/family.py",
        "profiler/window.py",
        "profiler/gil.py",
        "profiler/stacks.py",
        "profiler/replay_engine.py",  # the allocator itself decides what it would have done
        "profiler/importers/chrome.py",
        "profiler/importers/chrome_columns.py",
        "profiler/importers/chrome_events.py",
        "profiler/importers/spill.py",
        "profiler/chrome_write.py",
        "benchmarks/",
    ),
    "cupy": ("runtime/cuda/bodies.py",),
    "cupti": ("profiler/cupti.py",),
    "plotly": ("dashboards/",),
    "sqlalchemy": (
        "server/database.py",
        "server/migrations/",
        "server/rows.py",
        "server/jobs.py",
        "server/keeping.py",
        "server/runs.py",
        "server/tables.py",
        "server/store.py",
        "server/series.py",
        "server/access/register.py",
    ),
    "alembic": ("server/migrations/",),
    "obstore": ("server/s3.py",),
    "duckdb": ("profiler/sql.py", "profiler/trace_tables.py"),
    "perfetto": ("profiler/perfetto.py",),
    "google.protobuf": ("profiler/importers/perfetto_packets.py",),
    "zstandard": ("profiler/importers/compressed.py",),
    "fastapi": ("server/",),
    "starlette": ("server/",),
    "uvicorn": ("server/",),
    "httpx": (
        "benchmarks/lab_load.py",
        "server/",
    ),
}
# The only C++ files that may know Python.
KNOWS_PYTHON = re.compile(r"(bind_\w+|py_\w+)\.(cpp|h)|py\.h|bind\.h|gil\.cpp|module\.cpp")
PYTHON_INCLUDE = re.compile(
    r'^\s*#\s*include\s*[<"](Python\.h|nanobind/.*|(?:.*/)?py(?:_\w+)?\.h|(?:.*/)?bind_\w+\.h)[>"]', re.MULTILINE
)


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything that a file imports."""
    package = ("perflab", *file.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            base += node.module.split(".") if node.module else []
            for alias in node.names:
                yield node.lineno, ".".join([*base, alias.name])


@functools.cache
def every_import() -> list[tuple[str, int, str]]:
    """Path from the root, line and imported name, over all packages."""
    return [
        (file.relative_to(ROOT).as_posix(), line, name)
        for package in ALLOWED
        for file in sorted((ROOT / package).rglob("*.py"))
        for line, name in imports(file)
    ]


def inside(name: str, module: str) -> bool:
    return name == module or name.startswith(module + ".")


def test_layers_between_packages() -> None:
    found = {
        f"{path}:{line}: {path.split('/')[0]} may not import {name}"
        for path, line, name in every_import()
        if path not in FREE
        and name.startswith("perflab.")
        and name.split(".")[1] not in ALLOWED[path.split("/")[0]] | {path.split("/")[0]}
    }
    assert not found, "\n".join(sorted(found))


def test_layers_inside_runtime() -> None:
    rank = {module: place for place, line in enumerate(RUNTIME) for module in line}
    found = []
    for path, line, name in every_import():
        if not path.startswith("runtime/") or not inside(name, "perflab.runtime"):
            continue
        own = path.removeprefix("runtime/").removesuffix(".py").split("/")[0]
        other = [*name.split("."), "__init__"][2]
        if own not in rank or (other not in rank and (ROOT / "runtime" / f"{other}.py").exists()):
            found.append(f"{path}:{line}: {own if own not in rank else other} has no place in RUNTIME yet")
        elif other != own and rank.get(other, len(RUNTIME)) >= rank[own]:
            found.append(f"{path}:{line}: runtime.{own} may not import {name}")
    assert not found, "\n".join(sorted(found))


def test_layers_of_libraries() -> None:
    found = {
        f"{path}:{line}: only {', '.join(places)} may import {module}"
        for path, line, name in every_import()
        for module, places in ONLY.items()
        if inside(name, module) and not path.startswith(places)
    }
    assert not found, "\n".join(sorted(found))


def test_layers_of_the_core() -> None:
    found = [
        f"{file.relative_to(ROOT)}: only bind_*, py_*, gil.cpp and module.cpp may include {include}"
        for file in sorted((ROOT / "runtime/core").rglob("*"))
        if file.suffix in {".cpp", ".h"} and not KNOWS_PYTHON.fullmatch(file.name)
        for include in PYTHON_INCLUDE.findall(file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(sorted(found))
