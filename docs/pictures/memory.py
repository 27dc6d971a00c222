"""Makes the pictures of docs/memory.md. blocks.svg: what the allocator of a fresh device does step by step.
snapshot.svg: the model of `make demo` on the host, in the middle of a step. replay.png: batches of different lengths.

python docs/pictures/memory.py
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from perflab import runtime as rt
from perflab.dashboards import blockmap
from perflab.profiler import profile
from perflab.profiler.memory_snapshot import Segment, segments
from perflab.runtime import nn, optim

FOLDER = Path(__file__).parent
PERFLAB = Path(sys.executable).with_name("perflab")
DEVICE = "sim:0"


def mebibytes(count: int) -> rt.Tensor:
    """A tensor of so many MiB, on a device that nothing else uses."""
    made: rt.Tensor = rt.empty((count << 20,), dtype=rt.uint8, device=DEVICE)
    return made


def blocks() -> list[tuple[str, list[Segment]]]:
    """The steps, each with what is there after it."""
    moments: list[tuple[str, list[Segment]]] = []

    def now(sentence: str) -> None:
        moments.append((sentence, segments(rt.memory.memory_snapshot(DEVICE))))

    a, b, c = mebibytes(6), mebibytes(5), mebibytes(4)
    now("1. 6, 5 and 4 MiB: one segment comes from the device, and is split")
    del b
    now("2. the second is freed: a hole")
    d = mebibytes(3)
    now("3. 3 MiB: into the smallest free block that is large enough; what is left of it is split off")
    del a, d
    now("4. the first and the last are freed: they join what is free beside them")
    e = mebibytes(12)
    now("5. 12 MiB: 16 MiB are free, but not in one piece, so another segment comes")
    del c, e
    return moments


def snapshot() -> list[Segment]:
    """The host's memory in the forward pass of a step."""
    ...
