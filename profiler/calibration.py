"""What it takes to record, measured once in a process and stored in its traces."""

from perflab.runtime import _core

_ENTERED = 200
_TRIES = 8


def measured() -> dict[str, float]:
    """Ns for each `op` with its kernel (`shapes` of it), `annotation`, other `event` and `hold` of the GIL.

    Nothing may record now.
    """
    op, shapes, event, hold = _core.measure_event_costs()
    costs = {
        "op": op,
        "shapes": shapes,
        "annotation": max(_annotation(True) - _annotation(False), 0.0),
        "event": event,
        "hold": hold,
    }
    return {kind: round(ns, 1) for kind, ns in costs.items()}


def _annotation(recorded: bool) -> float:
    """Ns for a part of the program that is entered and left."""
    if recorded:
        _core.recorder_start(2 * _ENTERED * _TRIES)
    try:
        return min(_of_annotation() for _ in range(_TRIES)) / _ENTERED * _core.recorder_clock()[2]
    finally:
        if recorded:
            _core.recorder_stop()
            _core.recorder_drain()


def _of_annotation() -> int:
    part = _core.Annotation("")
    began = _core.recorder_ticks()
    for _ in range(_ENTERED):
        with part:
            pass
    return _core.recorder_ticks() - began
