"""Chrome JSON traces, as Perfetto, chrome://tracing and torch.profiler write and read them."""

import os
from typing import BinaryIO

from .chrome_write import write
from .importers import read as read_any
from .trace import Trace

__all__ = ["read", "write"]


def read(source: str | os.PathLike[str] | BinaryIO) -> Trace:
    """The trace that `importers.read` finds, with nothing masked: what `write` wrote comes back as it was."""
    return read_any(source, mask=False).trace
