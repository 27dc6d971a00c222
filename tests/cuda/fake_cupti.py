"""As much of cupti-python as perflab uses: the tests say which calls were made, and what work they began."""

import enum
import sys
import threading
import time
import types
from typing import Any

AHEAD = 5_000_000_000  # ns, of the monotonic clock
LONG = 2_000_000  # ns that a call takes at least


class ActivityKind(enum.IntEnum):
    MEMCPY, MEMSET, DRIVER, RUNTIME, CONCURRENT_KERNEL, OVERHEAD = 1, 2, 4, 5, 10, 17


class ActivityMemcpyKind(enum.IntEnum):
    HTOD, DTOH = 1, 2


class ActivityOverheadKind(enum.IntEnum):
    CUPTI_BUFFER_FLUSH = 1 << 16


class ActivityThreadIdType(enum.IntEnum):
    DEFAULT, SYSTEM = 0, 1


class FakeCupti(types.ModuleType):
    """The module `cupti.cupti`; `begin` makes a call with work. Records come when flushed, of enabled kinds."""

    ActivityKind, ActivityMemcpyKind, ActivityOverheadKind = ActivityKind, ActivityMemcpyKind, ActivityOverheadKind
    ActivityThreadIdType = ActivityThreadIdType

    class cuptiError(Exception):
        pass

    def __init__(self) -> None:
        super().__init__("cupti.cupti")
        self.enabled: set[ActivityKind] = set()
        self.refused: set[ActivityKind] = set()
        self.waiting: list[Any] = []
        self.calls = 0

    def set_thread_id_type(self, kind: ActivityThreadIdType) -> None:
        assert kind is ActivityThreadIdType.SYSTEM

    def activity_register_callbacks(self, requested: Any, completed: Any) -> None:
        size, most = requested()
        assert size > 0 and most == 0
        self.completed = completed

    def activity_enable(self, kind: ActivityKind) -> None:
        if kind in self.refused:
            raise self.cuptiError("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")
        self.enabled.add(kind)

    def activity_disable(self, kind: ActivityKind) -> None:
        self.enabled.discard(kind)

    def get_timestamp(self) -> int:
        return time.monotonic_ns() + AHEAD

    def activity_flush_all(self, flag: int) -> None:
        records, self.waiting = self.waiting, []
        if records:
            self.completed(records)

    def add(self, kind: ActivityKind, **fields: Any) -> None:
        if kind in self.enabled:
            self.waiting.append(types.SimpleNamespace(kind=int(kind), **fields))

    def begin(self, kind: ActivityKind, ns: int, stream: int, **fields: Any) -> None:
        """A call of this thread, and its work of `ns`, which begins when the call ends."""
        self.calls += 1
        start = self.get_timestamp()
        time.sleep(LONG / 1e9)
        end = self.get_timestamp()
        thread = threading.get_native_id()
        self.add(ActivityKind.DRIVER, correlation_id=self.calls, thread_id=thread, start=start, end=end)
        where = {"correlation_id": self.calls, "device_id": 0, "stream_id": stream}
        self.add(kind, start=end, end=end + ns, **where, **fields)


def install() -> FakeCupti:
    """Let `from cupti import cupti` find it."""
    package, module = types.ModuleType("cupti"), FakeCupti()
    package.cupti = module  # type: ignore[attr-defined]
    sys.modules["cupti"], sys.modules["cupti.cupti"] = package, module
    return module
