import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

COMMANDS = {
    "upload",
    "serve",
    "compare",
    "gate",
    "demo",
    "doctor",
    "sql",
    "report",
    "run",
    "machine",
    "memory",
    "bench",
    "calibrate",
    "token",
    "lab",
    "worker",
}
# What `perflab --help` must not pay for.
HEAVY = ("numpy", "fastapi", "sqlalchemy", "plotly", "httpx", "jinja2", "uvicorn", "perflab.runtime")


def test_commands_are_entry_points() -> None:
    assert {point.name for point in entry_points(group="perflab.commands")} == COMMANDS


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_entry_point_loads(name: str) -> None:
    (point,) = entry_points(group="perflab.commands", name=name)
    assert point.load().help


def test_packages_are_typed_and_mapped(root: Path) -> None:
    packages = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["scikit-build"]["wheel"]["packages"]
    assert packages == {f"perflab/{folder.parent.name}": folder.parent.name for folder in root.glob("*/py.typed")}
    assert not (root / "__init__.py").exists(), "perflab is a namespace package"


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from perflab.profiler.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"heavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "assert not heavy, heavy\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert all(name in result.stdout for name in COMMANDS), result.stdout
