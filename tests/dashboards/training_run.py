"""A large trace made by arithmetic alone: 1,172 slices a step."""

from collections.abc import Callable

import numpy as np

from perflab.profiler.builder import TraceBuilder
from perflab.profiler.trace import Int64s, Trace, Track

STEPS, STEP_NS = 1_000, 4_000_000
OPS = ("matmul", "add", "relu", "layer_norm", "softmax", "embedding", "dropout", "gelu", "mul", "transpose")


def training_run(steps: int = STEPS) -> Trace:
    """Steps of 1,172 slices: ops with kernels, backward nodes, Python frames, a device's stream, the GIL, memory."""
    builder = TraceBuilder({"commit": "0" * 40, "baseTimeNanoseconds": 0})
    noise = np.random.default_rng(1)
    kinds = {
        name: builder.string(name)
        for name in ("cpu_op", "kernel", "autograd", "user_annotation", "gil", "python_function")
    }
    main, worker, python = (
        builder.track(Track(100, tid, name, "python"))
        for tid, name in ((100, "main"), (101, "worker"), ("100 Python", "main: Python"))
    )
    stream = builder.track(Track(0, "stream 7", "stream 7", "cuda:0"))
    per_step = 150

    def spread(low: float, high: float, count: int) -> tuple[Int64s, int]:
        """Starts of `count` slices a step between two shares of it, and the room for each."""
        room = (high - low) * STEP_NS / count
        at = np.arange(steps)[:, None] * STEP_NS + low * STEP_NS + np.arange(count) * room
        return at.astype(np.int64).ravel(), int(room)

    def named(make: Callable[[str], str]) -> Int64s:
        return np.array([builder.string(make(op)) for op in OPS], dtype=np.int64)

    for number in range(steps):
        builder.slices(
            number * STEP_NS, STEP_NS - 20_000, main, builder.string(f"ProfilerStep#{number}"), kinds["user_annotation"]
        )
    for name, low, high in (("forward", 0.02, 0.4), ("backward", 0.41, 0.85), ("optimizer", 0.86, 0.98)):
        start, room = spread(low, high, 1)
        builder.slices(start, room, main, builder.string(name), kinds["user_annotation"])
    which = np.tile(noise.integers(0, len(OPS), per_step), steps)
    ops, kernels = named(str)[which], named(lambda op: f"{op}_native_float32")[which]
    nodes = named(lambda op: f"{op.title()}Backward0")[which]
    start, room = spread(0.02, 0.4, per_step)
    length = (room * noise.uniform(0.3, 0.95, len(start))).astype(np.int64)
    forward = builder.slices(start, length, main, ops, kinds["cpu_op"])
    launch = builder.slices(start + length // 5, length * 3 // 5, main, kernels, kinds["kernel"])
    device = builder.slices(start + length // 2 + 3_000, length * 4 // 5, stream, kernels, kinds["kernel"])
    builder.counters(start, main, builder.string("Allocated"), 2e8 + 1e8 * np.sin(np.arange(len(start)) / 5e3))
    start, room = spread(0.41, 0.85, per_step)
    length = (room * noise.uniform(0.3, 0.95, len(start))).astype(np.int64)
    backward = builder.slices(start, length, main, nodes, kinds["autograd"])
    builder.slices(start + 100, length - 200, main, ops, kinds["cpu_op"])
    builder.slices(start + 200, length - 400, main, kernels, kinds["kernel"])
    each = np.arange(len(start))
    builder.flows(builder.string("fwdbwd"), forward + each, backward + each)
    builder.flows(builder.string("ac2g"), launch + each, device + each)
    frames = np.array([builder.string(f"model.py({line}): forward") for line in range(40)])
    start, room = spread(0.0, 0.99, 12)
    for depth in range(8):
        builder.slices(
            start + 200 * depth,
            room - 2_000 - 1_000 * depth,
            python,
            frames[(np.arange(len(start)) * 7 + depth) % 40],
            kinds["python_function"],
        )
    builder.slices(start + 100, room // 2, worker, named(str)[np.arange(len(start)) % 10], kinds["cpu_op"])
    for tid, late in ((100, 0), (101, 700)):
        track = builder.track(Track(100, f"{tid} GIL", f"{'main' if tid == 100 else 'worker'} GIL", "python"))
        start, _ = spread(0.03, 0.95, 40)
        for name, begin, lasts in (("GIL wait: hook", late, 2_000), ("GIL held: hook", late + 2_000, 4_000)):
            handle = builder.slices(start + begin, lasts, track, builder.string(name), kinds["gil"])
            builder.slice_args("Thread", handle + np.arange(len(start)), np.full(len(start), tid))
    return builder.build()
