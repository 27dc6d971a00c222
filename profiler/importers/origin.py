"""Which tool wrote a Chrome trace, and what it says of events that it lost."""

from ..trace import Json, Trace
from .findings import Findings

_XPROF_LIMIT = 1_000_000  # events that XProf writes at most


def told_by(trace: Trace, findings: Findings) -> str:
    """The tool's name; its own word of dropped events becomes a finding."""
    told = trace.metadata
    viztracer = told.get("viztracer_metadata")
    if isinstance(viztracer, dict):
        if viztracer.get("overflow"):
            findings.add("dropped", tool="VizTracer", why="its buffer overflowed (tracer_entries), and the oldest went")
        return "VizTracer"
    if "versions" in told and "perflab" in (told["versions"] if isinstance(told["versions"], dict) else ()):
        if lost := _count(told.get("droppedEvents")):
            findings.add("dropped", lost, tool="perflab", why=f"{lost:,} of them")
        return "perflab"
    if "deviceProperties" in told or "trace_id" in told or _has_category(trace, ("cpu_op", "Operator")):
        return "torch.profiler"
    events = len(trace.slices) + len(trace.instants) + len(trace.counters)
    if any(track.process.startswith(("/host:", "/device:")) for track in trace.tracks):
        if events >= _XPROF_LIMIT:
            findings.add("dropped", tool="XProf", why=f"it writes at most {_XPROF_LIMIT:,}")
        return "JAX / XProf"
    return "Chrome JSON"


def _has_category(trace: Trace, categories: tuple[str, ...]) -> bool:
    return any(trace.string_id(category) >= 0 for category in categories)


def _count(value: Json) -> int:
    return value if isinstance(value, int) else 0
