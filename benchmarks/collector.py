"""Work beside which the garbage collector rests."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_rests() -> Iterator[None]:
    """Nothing is collected inside, for counts that others' garbage would change, or for much that stays alive."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
