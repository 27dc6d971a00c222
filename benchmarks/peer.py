"""A library in a process of its own, for settings that it reads when it starts. It samples a statement when asked."""

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from types import TracebackType
from typing import Self

from .beside import statement


class Peer:
    """Samples a statement in another process: each call is one sample, in seconds.

    library: its name. names: where the function is that makes the statement's names from library and statement, as
    "module:function". environment: added to this process's own.
    """

    def __init__(self, library: str, names: str, text: str, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, library, names, text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def __call__(self) -> float:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


def _serve(library_name: str, names: str, text: str) -> None:
    library = import_module(library_name)
    library.set_num_threads(1)
    module, _, function = names.partition(":")
    sample = statement(text, getattr(import_module(module), function)(library, text))
    for _ in sys.stdin:
        print(sample(), flush=True)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
