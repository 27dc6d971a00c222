"""on_trace_ready handlers that write files."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from .identity import rank, run_id


class Exporter(Protocol):
    """What writes its trace: a profile."""

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None: ...


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Exporter], None]:
    """A handler for `on_trace_ready` that writes each window to a file of its own in `dir_name`, which it makes.

    The file is called `WORKER.TIME.pt.trace.json`, or `.json.gz`, as TensorBoard wants it; TIME is in ns since 1970.
    Without `worker_name` WORKER is the run's id, the rank where RANK says one, and the process's id:
    `5f3c1e0a9b2d_rank3_4711`. Raises OSError where the folder or the file cannot be written.
    """
    folder = Path(dir_name)

    def write(prof: Exporter) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{worker_name or _worker()}.{time.time_ns()}.pt.trace.json"
        prof.export_chrome_trace(folder / (name + ".gz" if use_gzip else name))

    return write


def _worker() -> str:
    run, number = re.sub(r"[^\w.-]", "-", run_id()), rank()
    return f"{run}_{'' if number is None else f'rank{number}_'}{os.getpid()}"
