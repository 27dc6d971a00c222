"""perflab's own file, which any harness can write: see `perflab.benchmarks.result`."""

from datetime import datetime
from typing import Any

from ..result import FORMAT, Run


def knows(document: Any) -> bool:
    return isinstance(document, dict) and document.get("format") == FORMAT


def read(document: Any, created: datetime) -> Run:
    return Run.from_data(document, created)
