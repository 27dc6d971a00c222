"""The profiler: records training loops, and reads, writes and answers questions about traces.

`profile` and `record_function` need the compiled runtime and are imported when first used; everything else does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .builder import TraceBuilder
from .errors import ProfilerError, ProfileStateError, TraceFormatError, TraceInvariantError
from .schedule import ProfilerAction, schedule
from .trace import Trace, Track

if TYPE_CHECKING:
    from .session import profile, record_function

__all__ = [
    "ProfileStateError",
    "ProfilerAction",
    "ProfilerError",
    "Trace",
    "TraceBuilder",
    "TraceFormatError",
    "TraceInvariantError",
    "Track",
    "profile",
    "record_function",
    "schedule",
]


def __getattr__(name: str) -> object:
    if name in ("profile", "record_function"):
        return getattr(import_module(".session", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
