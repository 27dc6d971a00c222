"""A line that says how far an upload is."""

import sys
from types import TracebackType
from typing import Self


class Progress:
    """Writes "what 42 %" over and over to a terminal's line, and removes it at the end; silent where there is none."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = ""

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` bytes are read."""
        text = f"{self._what} {done * 100 // total} %" if done < total else f"{self._what}: checking"
        if sys.stderr.isatty() and text != self._shown:
            self._write(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        print(f"\r{text.ljust(len(self._shown))}", end="" if text else "\r", file=sys.stderr, flush=True)
        self._shown = text
