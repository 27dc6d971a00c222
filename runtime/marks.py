"""Marks: work of the runtime around ops that a recording names, in PyTorch's words."""

from . import _core


class mark:
    """Names what happens in its `with` block on the timeline, where one is recorded."""

    __slots__ = ("_began", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._began = 0

    def __enter__(self) -> None:
        self._began = _core.recorder_ticks() if _core.is_recording() else 0

    def __exit__(self, *_error: object) -> None:
        if self._began:
            _core.record_annotation(_core.intern(self._name), self._began)
