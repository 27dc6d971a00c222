"""How long traces of other tools are read, and in how much memory: python -m perflab.benchmarks.reading [EVENTS ...]

Makes a file of torch.profiler's kind of so many events (1,000,000 and 10,000,000; 260 bytes each), reads it in a
process of its own, and writes the columns that a lab keeps. Times are of all its threads, memory is its peak.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

_EVENTS = (1_000_000, 10_000_000)
_OP = (
    '{"ph": "X", "cat": "cpu_op", "name": "aten::op_%d", "pid": 4242, "tid": 4242, "ts": %d.%03d, "dur": 40.125,'
    ' "args": {"External id": %d, "Record function id": 0, "Concrete Inputs": ["", "", "1"], "Input type":'
    ' ["float", "float", "Scalar"], "Input Dims": [[64, %d], [64, 1024], []], "Ev Idx": %d}}'
)
_LAUNCH = (
    '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": 4242, "ts": %d.%03d, "dur":'
    ' 6.21, "args": {"External id": %d, "cbid": 211, "correlation": %d}}'
)
_KERNEL = (
    '{"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::Functor_%d'
    '<float>, std::array<char*, 3ul> >(int, at::native::Functor_%d<float>, std::array<char*, 3ul>)", "pid": 0,'
    ' "tid": 7, "ts": %d.%03d, "dur": 30.016, "args": {"External id": %d, "queued": 0, "device": 0, "context": 1,'
    ' "stream": 7, "correlation": %d, "registers per thread": 32, "shared memory": 0, "blocks per SM": 1.5,'
    ' "warps per SM": 12.25, "grid": [%d, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %%": %d}}'
)
_START = '{"ph": "s", "id": %d, "pid": 4242, "tid": 4242, "ts": %d.%03d, "cat": "ac2g", "name": "ac2g"}'
_END = '{"ph": "f", "id": %d, "pid": 0, "tid": 7, "ts": %d.%03d, "cat": "ac2g", "name": "ac2g", "bp": "e"}'
_READ = """
import resource, sys, time
from perflab.profiler import columns_file, importers
mib = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
at = time.process_time()
trace = importers.read(sys.argv[1]).trace
print(f"  read in {time.process_time() - at:.2f} s of a core, at most {mib():,.0f} MiB: {len(trace.slices):,} slices")
with open(sys.argv[2], "wb") as file:
    columns_file.save(trace, file)
print(f"  read and its columns written in {time.process_time() - at:.2f} s, at most {mib():,.0f} MiB")
"""


def make(path: Path, events: int) -> None:
    """Write a trace: an op, its launch, its kernel, and the two ends of their arrow, again and again."""
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [\n')
        for op in range(events // 5):
            at, ns = 1_700_000_000_000_000 + 60 * op, op % 1000
            file.write(",\n" if op else "")
            file.write(
                ",\n".join(
                    (
                        _OP % (op % 200, at, ns, op, op % 37 * 8, op),
                        _LAUNCH % (at + 10, ns, op, op + 1),
                        _KERNEL % (op % 100, op % 100, at + 25, ns, op, op + 1, op % 512 + 1, op % 100),
                        _START % (op + 1, at + 10, ns),
                        _END % (op + 1, at + 25, ns),
                    )
                )
            )
        file.write("\n]}")


def main(sizes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        for events in sizes or _EVENTS:
            make(path, events)
            print(f"{events:,} events, {path.stat().st_size / 1e6:,.0f} MB", flush=True)
            subprocess.run([sys.executable, "-c", _READ, str(path), str(path.with_suffix(".columns"))], check=True)


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]])
