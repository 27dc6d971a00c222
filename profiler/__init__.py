"""The profiler: records training loops, and reads, writes and answers questions about traces.

`profile` and `record_function` need the compiled runtime, traces need numpy: each is imported when first used, so that
the `perflab` command starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import ProfilerError, ProfileStateError, TraceFormatError, TraceInvariantError
from .schedule import ProfilerAction, schedule

if TYPE_CHECKING:
    from .builder import TraceBuilder
    from .function import profile_function
    from .handler import tensorboard_trace_handler
    from .ring import Ring
    from .session import profile, record_function
    from .trace import Trace, Track

__all__ = [
    "ProfileStateError",
    "ProfilerAction",
    "ProfilerError",
    "Ring",
    "Trace",
    "TraceBuilder",
    "TraceFormatError",
    "TraceInvariantError",
    "Track",
    "profile",
    "profile_function",
    "record_function",
    "schedule",
    "tensorboard_trace_handler",
]


_LATER = {
    "Ring": ".ring",
    "Trace": ".trace",
    "TraceBuilder": ".builder",
    "Track": ".trace",
    "profile": ".session",
    "profile_function": ".function",
    "record_function": ".session",
    "tensorboard_trace_handler": ".handler",
}


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext perflab.profiler` calls: it adds the cell magic `%%profile`."""
    from .notebook import load

    load(shell)


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(_LATER[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
