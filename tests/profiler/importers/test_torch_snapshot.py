"""torch's memory snapshots: read as plain data, and as nothing else."""

import io
import json
import os
import pickle
import pickletools
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perflab.profiler import Trace, TraceFormatError
from perflab.profiler.analysis.memory import memory_curve, memory_peak
from perflab.profiler.importers import plain_pickle, torch_snapshot

from ..torch_rules import MIB, TorchRules


def read(document: object) -> Trace:
    trace = torch_snapshot.read(io.BytesIO(pickle.dumps(document)), "snap.pickle")
    trace.check()
    return trace


def instants(trace: Trace) -> list[tuple[str, int, int]]:
    """Name, Bytes and Total Reserved of each."""
    bytes_, reserved = (trace.instant_args[key].to_list() for key in ("Bytes", "Total Reserved"))
    names = [trace.strings[name] for name in trace.instants.name]
    return list(zip(names, bytes_, reserved, strict=True))


def test_a_whole_history() -> None:
    rules = TorchRules()
    small, large = rules.malloc(100), rules.malloc(3 * MIB)
    rules.free(small)
    rules.empty_cache()
    trace = read(rules.snapshot())
    assert instants(trace) == [
        ("[segment]", 2 * MIB, 2 * MIB),
        ("[memory]", 100, 2 * MIB),
        ("[segment]", 20 * MIB, 22 * MIB),
        ("[memory]", 3 * MIB, 22 * MIB),
        ("[memory]", -100, 22 * MIB),
        ("[segment]", -2 * MIB, 20 * MIB),
    ]
    assert trace.instant_args["Addr"].at(3) == large
    assert trace.metadata["tool"] == "torch memory snapshot"
    assert trace.metadata["baseTimeNanoseconds"] == 1_000_000_000
    assert trace.instants.time.tolist()[-1] == 60_000, "free_requested is no row of its own"
    assert [(track.process, track.name) for track in trace.tracks] == [("cuda:0", "stream 0")]


def test_what_was_there_before_comes_first() -> None:
    rules = TorchRules()
    stays, goes = rules.malloc(8 * MIB), rules.malloc(5 * MIB)
    rules.free(rules.malloc(30 * MIB))
    began = len(rules.events)
    rules.free(goes)
    rules.malloc(2 * MIB)
    trace = read(rules.snapshot(slice(began, None)))
    assert instants(trace) == [
        ("[segment]", 20 * MIB, 20 * MIB),
        ("[segment]", 30 * MIB, 50 * MIB),
        ("[memory]", 8 * MIB, 50 * MIB),
        ("[memory]", 5 * MIB, 50 * MIB),
        ("[memory]", -5 * MIB, 50 * MIB),
        ("[memory]", 2 * MIB, 50 * MIB),
    ]
    assert trace.instant_args["Category"].to_list() == ["before"] * 4
    assert trace.instant_args["Addr"].at(2) == stays
    curve = memory_curve(trace)
    assert (curve.peak_bytes, curve.reserved.tolist()) == (13 * MIB, [50 * MIB] * 4)
    peak = memory_peak(trace)
    assert peak is not None and peak.by_category == {"before": 13 * MIB}


def test_devices_streams_and_pools() -> None:
    """As newer versions of torch write them: expandable segments grow and shrink by pieces."""

    def event(action: str, address: int, size: int, stream: int, **more: Any) -> dict[str, Any]:
        return {"action": action, "addr": address, "size": size, "stream": stream, "time_us": 7, **more}

    first = [event("segment_map", 64, 40, 3), event("segment_unmap", 84, 20, 3)]
    second = [event("segment_alloc", 64, 20, 0, pool_id=(0, 4)), event("alloc", 64, 5, 0, pool_id=(0, 4))]
    segments = [
        {"device": 0, "address": 64, "total_size": 20, "blocks": [{"size": 20, "state": "inactive"}]},
        {
            "device": 1,
            "address": 64,
            "total_size": 20,
            "blocks": [{"size": 8, "requested_size": 5, "state": "active_allocated"}],
        },
    ]
    trace = read({"segments": segments, "device_traces": [first, second]})
    assert [(track.process, track.name) for track in trace.tracks] == [("cuda:0", "stream 3"), ("cuda:1", "stream 0")]
    assert instants(trace) == [
        ("[segment]", 40, 40), ("[segment]", -20, 20), ("[segment]", 20, 20), ("[memory]", 5, 20)
    ]  # fmt: skip
    assert trace.instant_args["Device Id"].to_list() == [0, 0, 1, 1]
    assert list(trace.instant_args["Pool"]) == [(2, "(0, 4)"), (3, "(0, 4)")]


def test_a_snapshot_without_a_history_is_what_is_there() -> None:
    rules = TorchRules()
    for size in (100, 600, 4 * MIB):
        rules.malloc(size)
    for document in (rules.snapshot(slice(0)), rules.snapshot(slice(0))["segments"]):
        trace = read(document)
        assert instants(trace)[2:] == [
            ("[memory]", 100, 22 * MIB),
            ("[memory]", 600, 22 * MIB),
            ("[memory]", 4 * MIB, 22 * MIB),
        ]


@pytest.mark.parametrize(
    ("frames", "op"),
    [
        ([("c10::malloc", "??", 0), ("at::_ops::mul_Tensor::call", "", 0), ("step", "a/b.py", 3)], "aten::mul_Tensor"),
        ([("PyRun", "??", 0), ("forward", "/a/net.py", 12), ("main", "/a/train.py", 4)], "forward (net.py:12)"),
        ([("main", "??", 0)], None),
    ],
)
def test_the_owner_is_the_innermost_op_else_function(frames: list[tuple[str, str, int]], op: str | None) -> None:
    rules = TorchRules()
    rules.malloc(100)
    rules.events[1]["frames"] = [dict(zip(("name", "filename", "line"), frame, strict=True)) for frame in frames]
    told = read(rules.snapshot()).instant_args.get("Op")
    assert (told.to_list() if told is not None else [None]) == [op]


class Evil:
    """Runs a command where it is loaded without care."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


def test_nothing_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for document in ({"segments": [], "device_traces": [], "extra": Evil(mark)}, Evil(mark)):
        with pytest.raises(
            TraceFormatError, match=r"names \w+\.system, and .* plain data alone; nothing of it was run"
        ):
            read(document)
    assert not mark.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'true'\ntR.",  # by name
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",  # from the stack
        b"(S'true'\nios\nsystem\n.",  # an instance
        b"\x80\x02\x82\x01.",  # from the table of extensions
        b"Pself\n.",  # an object outside
        b"\x80\x04]\x88b.",  # the state of an object
        b"\x80\x04K\x01K\x02R.",  # a call
    ],
)
def test_other_ways_to_name_an_object_are_refused(data: bytes) -> None:
    with pytest.raises(TraceFormatError, match=r"^snap\.pickle: "):
        torch_snapshot.read(io.BytesIO(data), "snap.pickle")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"a": 1}, "no memory snapshot: it has no list 'segments'"),
        ([1], "entries that torch does not write"),
        ("text", "no memory snapshot"),
        ({"segments": [], "device_traces": [[{"addr": 3}]]}, "entries that torch does not write"),
        ({"segments": [], "device_traces": [[{"action": "alloc", "addr": 1 << 80, "size": 1}]]}, "does not write"),
        ({"segments": [{"blocks": [7], "total_size": 1, "address": 0}]}, "entries that torch does not write"),
    ],
)
def test_strangers_are_refused_in_words(document: object, words: str) -> None:
    with pytest.raises(TraceFormatError, match=f"^snap.pickle: .*{words}"):
        read(document)


def test_a_cut_file_is_refused() -> None:
    rules = TorchRules()
    rules.malloc(100)
    whole = pickle.dumps(rules.snapshot())
    for end in range(2, len(whole) - 1, 7):
        with pytest.raises(TraceFormatError, match=r"^snap\.pickle: the pickle is damaged"):
            torch_snapshot.read(io.BytesIO(whole[:end]), "snap.pickle")


def test_a_few_bytes_cannot_stand_for_many_entries() -> None:
    event = {"action": "alloc", "addr": 1, "size": 1}
    history = [event] * 1000
    with pytest.raises(TraceFormatError, match=r"1,000,000 entries in .* bytes is no snapshot that torch wrote"):
        read({"segments": [], "device_traces": [history] * 1000})


def put(place: int) -> bytes:
    """LONG_BINPUT."""
    return b"r" + struct.pack("<I", place)


HOSTILE = {
    "a place of the memo": (b"\x80\x02]" + put(0x07FFFFFF) + b".", "fills place 134,217,727 of the memo"),
    "a full memo": (b"\x80\x02]" + put(256) + put(257) + put(500), "fills place 500 of the memo, which has 258"),
    "a frame": (b"\x80\x04\x95" + struct.pack("<Q", 1 << 40) + b"N.", "1,099,511,627,776 bytes, and 2 follow"),
    "a text": (b"\x80\x04\x8d" + struct.pack("<Q", 1 << 33) + b"a.", "tells of 8,589,934,592 bytes"),
    "a text of an older protocol": (b"\x80\x02X" + struct.pack("<I", 1 << 31) + b"a.", "tells of 2,147,483,648 bytes"),
    "a number": (b"\x80\x02\x8b" + struct.pack("<I", 1 << 31) + b"\x01.", "tells of 2,147,483,648 bytes"),
    "bytes to write to": (b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b".", "has the opcode 0x96 at byte 2"),
    "a place in decimals": (b"\x80\x02p99999999999\n.", "has the opcode 0x70"),
    # of these tuples a hash takes 2 ** 100 steps, or 3,000,000 calls in one another
    "twice the tuple before": (b"\x80\x02})" + b"2\x86" * 100 + b"Ns.", "has the opcode 0x32"),
    "tuples of the memo's": (b"\x80\x02})q\x00" + b"h\x00h\x00\x86q\x00" * 100 + b"Ns.", "holds a tuple of other"),
    "a deep tuple": (b"\x80\x02})" + b"\x85" * 3_000_000 + b"Ns.", "holds a tuple of other things than numbers"),
    "what looks like numbers": (b"\x80\x02})qK" + b"hKhK\x86qK" * 100 + b"Ns.", "holds a tuple of other"),
}

READ_ALL = """
import json, resource, sys
from perflab.profiler import TraceFormatError, memory_history
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (512 << 20),) * 2)
said = {}
for path in sys.argv[1:]:
    try:
        memory_history.read(path)
    except TraceFormatError as error:
        said[path] = str(error)
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said_of_hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Errors by file, of a process that can have 512 MiB more than it has after its imports."""
    folder = tmp_path_factory.mktemp("hostile")
    for what, (data, _) in HOSTILE.items():
        (folder / what).write_bytes(data)
    ran = subprocess.run([sys.executable, "-c", READ_ALL, *HOSTILE], cwd=folder, capture_output=True, check=True)
    said: dict[str, str] = json.loads(ran.stdout)
    return said


@pytest.mark.parametrize("what", HOSTILE)
def test_a_few_bytes_take_little_memory_and_time(what: str, said_of_hostile: dict[str, str]) -> None:
    assert said_of_hostile[what].startswith(f"{what}: ")
    assert HOSTILE[what][1] in said_of_hostile[what]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_whatever_a_pickler_writes_of_plain_data_is_read(protocol: int) -> None:
    """More places of the memo than one byte names, every size of number, texts of every length."""
    numbers = [sign * 256**size + 7 for size in range(12) for sign in (1, -1)] + [0.5, True, False, None]
    shared = ["twice"]
    document: dict[str, Any] = {
        "segments": [],
        "numbers": numbers,
        "tuples": [(), (1,), (1, 300), (-5, 1 << 40, 2.5), (True, None)],
        "texts": ["ä" * size for size in (1, 200, 70_000)],
        "shared": [shared, shared],
        "many": [{str(i): [i]} for i in range(1000)],
    }
    data = pickle.dumps(document, protocol)
    found = plain_pickle.load(data)
    assert found == document
    assert found["shared"][0] is found["shared"][1]
    assert plain_pickle.load(pickletools.optimize(data)) == document


def test_what_is_written_out_is_text() -> None:
    """A list in a list, a hundred times, would be written out for ever."""
    endless: list[Any] = []
    for _ in range(100):
        endless = [endless, endless]
    rules = TorchRules()
    rules.malloc(100)
    for key, where in (("op", "event"), ("name", "frame"), ("filename", "frame"), ("pool_id", "event")):
        document = rules.snapshot()
        frame: dict[str, Any] = {"name": "f", "filename": "a.py", "line": 1}
        event = document["device_traces"][0][1] = document["device_traces"][0][1] | {"frames": [frame]}
        (frame if where == "frame" else event)[key] = endless
        with pytest.raises(TraceFormatError, match="entries that torch does not write"):
            read(document)


def test_a_stack_of_many_blocks_is_walked_once() -> None:
    class Frames(list[dict[str, Any]]):
        walks = 0

        def __iter__(self) -> Any:
            self.walks += 1
            return super().__iter__()

    frames = Frames([{"name": "main", "filename": "??", "line": 0}])
    rules = TorchRules()
    for _ in range(50):
        rules.malloc(100)
    document = rules.snapshot()
    for event in document["device_traces"][0]:
        event["frames"] = frames
    torch_snapshot.trace(document, "snap")
    assert frames.walks == 2, "once for its ops, once for its functions"
