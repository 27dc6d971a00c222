"""Chrome JSON traces, as Perfetto, chrome://tracing and torch.profiler write and read them."""

from .chrome_read import read
from .chrome_write import write

__all__ = ["read", "write"]
