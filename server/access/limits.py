"""How often someone may ask: a bucket of permits for each token or address, filled at a steady rate.

Buckets are kept in memory, each server process its own: N processes let through at most N times as much.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock

MOST_BUCKETS = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_second` for good, and up to `burst` at once."""

    per_second: float
    burst: int


PER_TOKEN = Rate(per_second=400, burst=1200)  # a CI farm of one token, or a person who pans a timeline
PER_STRANGER = Rate(per_second=10, burst=100)  # who has shown no token, by address; share links too
REFUSED = Rate(per_second=0.2, burst=10)  # wrong tokens, by address


class Limits:
    """Buckets by key. Safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # permits, and when they were counted

    def wait(self, key: Hashable, rate: Rate) -> float:
        """Take a permit: 0, or the seconds until there is one."""
        now = self._clock()
        with self._lock:
            left, since = self._buckets.pop(key, (float(rate.burst), now))
            left = min(float(rate.burst), left + (now - since) * rate.per_second)
            wait = 0.0 if left >= 1 else (1 - left) / rate.per_second
            self._buckets[key] = (left if wait else left - 1, now)
            while len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)  # who has not asked for longest has a full bucket again
        return wait


def neighbourhood(address: str) -> str:
    """What a limit by address goes by: an IPv4 address, or the /64 of an IPv6 one, which a single machine has whole."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(ip_network((parsed, 64), strict=False))
    return address
