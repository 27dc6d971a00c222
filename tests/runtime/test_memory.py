"""runtime.memory on the host. What counts for the whole process is asked in processes of its own."""

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from perflab import runtime as rt
from perflab.profiler import profile
from perflab.profiler.memory_snapshot import read
from perflab.runtime import memory
from perflab.runtime.errors import ArgumentError, OutOfMemoryError

MIB = 1 << 20


def in_a_process(program: str, device: str = "cpu") -> str:
    """What the program prints; it starts with rt and memory imported, MIB, and DEVICE."""
    head = f"from perflab import runtime as rt\nfrom perflab.runtime import memory\nMIB, DEVICE = 1 << 20, {device!r}\n"
    ended = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(program)], capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def block_of(tensor: rt.Tensor) -> tuple[dict[str, Any], dict[str, Any]]:
    """The segment and the block in which a tensor of more than 1 MiB lies."""
    for segment in memory.memory_snapshot():
        for block in segment["blocks"]:
            if block["address"] <= tensor.data_ptr() < block["address"] + block["size"]:
                return segment, block
    raise AssertionError("the tensor lies in no block")


def test_allocated_bytes_are_those_of_tensors() -> None:
    told = in_a_process("""
        before = memory.memory_allocated()
        x = rt.empty(3 * MIB)
        y = rt.empty(100)
        print(memory.memory_allocated() - before)
        del x
        print(memory.memory_allocated() - before, memory.max_memory_allocated() - before)
        memory.reset_peak_memory_stats()
        print(memory.max_memory_allocated() - before)
        stats = memory.memory_stats()
        print(stats["allocated_bytes.all.allocated"] - stats["allocated_bytes.all.freed"] - before)
        print(memory.memory_reserved() == stats["reserved_bytes.all.current"], memory.max_memory_reserved() >= 12 * MIB)
    """)
    assert told.split() == [str(12 * MIB + 400), "400", str(12 * MIB + 400), "400", "400", "True", "True"]


def test_an_emptied_cache_goes_back() -> None:
    told = in_a_process("""
        small = rt.empty(1)
        memory.empty_cache()
        before = memory.memory_reserved()
        x = rt.empty(16 * MIB)
        held = memory.memory_reserved()
        del x
        kept = memory.memory_reserved()
        memory.empty_cache()
        print(held - before >= 64 * MIB, kept == held, memory.memory_reserved() == before)
    """)
    assert told == "True True True"


def test_the_snapshot_shows_where_a_tensor_lies() -> None:
    a = rt.ones(3 * MIB // 4)
    b = a + a
    segment, block = block_of(b)
    assert (block["state"], block["op"], block["requested_size"]) == ("active_allocated", "add", 3 * MIB + 64)
    assert block["size"] == 3 * MIB + 512 and segment["segment_type"] == "large" and segment["stream"] == 0
    assert sum(part["size"] for part in segment["blocks"]) == segment["total_size"]
    assert segment["allocated_size"] == sum(p["size"] for p in segment["blocks"] if p["state"] == "active_allocated")
    assert segment["active_size"] >= segment["allocated_size"] > segment["requested_size"] - 64


def test_the_module_is_named_while_a_profile_records() -> None:
    model = rt.nn.Sequential(rt.nn.Linear(64, 4096))
    with profile():
        y = model(rt.ones(512, 64))
    _, block = block_of(y)
    assert (block["module"], block["op"]) == ("Sequential.0", "add")


def test_stats_have_torchs_keys() -> None:
    stats = memory.memory_stats("cpu")
    counted = ("allocation", "segment", "active", "inactive_split")
    sized = ("allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes")
    keys = {
        f"{name}.{pool}.{part}"
        for name in counted + sized
        for pool in ("all", "small_pool", "large_pool")
        for part in ("current", "peak", "allocated", "freed")
    }
    keys |= {
        f"oversize_{kind}.{part}"
        for kind in ("allocations", "segments")
        for part in ("current", "peak", "allocated", "freed")
    }
    assert set(stats) == keys | {"num_alloc_retries", "num_ooms", "num_device_alloc", "num_device_free"}


def test_the_summary_is_a_table() -> None:
    held = rt.ones(1 << 20)
    lines = memory.memory_summary().split("\n")
    assert lines[0].startswith("Memory of cpu: ") and lines[1].split() == ["now", "peak", "allocated", "freed"]
    assert len({len(line) for line in lines[1:]}) == 1
    assert any(line.startswith("Reserved memory") and "MiB" in line for line in lines)
    assert held.nbytes == 4 << 20


def test_a_fraction_limits_what_is_reserved_and_the_program_goes_on() -> None:
    told = in_a_process("""
        total = memory.mem_get_info()[1]
        memory.set_per_process_memory_fraction(256 * MIB / total)
        kept = rt.ones(10 * MIB)
        try:
            rt.ones(60 * MIB)
        except rt.OutOfMemoryError as error:
            print(error)
        print(float((kept + kept).sum()) == 20 * MIB, memory.memory_stats()["num_ooms"])
        memory.set_per_process_memory_fraction(1.0)
        print(rt.ones(60 * MIB).shape)
    """)
    message, *rest = told.split("\n")
    assert "no memory for 240.00 MiB" in message and "that it may reserve" in message
    assert "Most is held by no op: 40.00 MiB in 1 block" in message
    assert rest == ["True 1", "(62914560,)"]


def test_out_of_memory_on_a_device_says_what_is_where_and_the_program_goes_on() -> None:
    told = in_a_process(
        """
        memory.set_per_process_memory_fraction(128 * MIB / memory.mem_get_info(DEVICE)[1], DEVICE)
        a = rt.ones(10 * MIB).to(DEVICE)
        b = a + a
        del a
        try:
            rt.cat([b, b, b])
        except rt.OutOfMemoryError as error:
            print(error)
        print(float((b[:8] * 2).sum()), memory.memory_stats(DEVICE)["num_ooms"], memory.memory_allocated(DEVICE) // MIB)
        memory.empty_cache(DEVICE)
        print(memory.memory_reserved(DEVICE) // MIB, memory.max_memory_allocated(DEVICE) // MIB)
    """,
        "sim",
    )
    message, values, after = told.split("\n")
    assert message.startswith("sim:0: no memory for 120.00 MiB. This process has 40.00 MiB allocated and")
    assert "reserved, of 128.00 MiB that it may reserve;" in message and "are free on the device." in message
    assert "The largest free block is" in message and "Most is held by add: 40.00 MiB in 1 block." in message
    assert values.split() == ["32.0", "1", "40"] and after.split() == ["40", "80"]


def test_out_of_memory_on_a_device_names_who_holds_most() -> None:
    told = in_a_process(
        """
        from perflab.profiler import profile
        from perflab.runtime import nn, sim
        sim.set_capacity(128 * MIB)
        model = nn.Sequential(nn.Linear(64, 4096, device=DEVICE))
        with profile():
            y = model(rt.ones(2048, 64, device=DEVICE))
            e = y[:1024].exp()
            o = rt.ones(2 * MIB, device=DEVICE)
            try:
                y.repeat(4, 1)
            except rt.OutOfMemoryError as error:
                print(error)
        print(y[:, :8].repeat(4, 1).shape)
    """,
        "sim",
    )
    message, after = told.split("\n")
    held = "Sequential.0 add: 32.00 MiB in 1 block, exp: 16.00 MiB in 1 block, no op: 9.52 MiB in 4 blocks."
    assert message.startswith("sim:0: no memory for 128.00 MiB. This process has ") and "(fragmentation " in message
    assert f"Most is held by {held} Use smaller tensors, or let go of some first" in message
    assert after == "(8192, 8)"


def test_a_fraction_is_a_share() -> None:
    with pytest.raises(ArgumentError, match=r"must be from 0 to 1, not 1\.5"):
        memory.set_per_process_memory_fraction(1.5)


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(OutOfMemoryError, match=r"no memory for 16\.00 TiB\. This process has .* allocated"):
        rt.empty(2**42)


def test_pools_keep_their_blocks_apart() -> None:
    pool = memory.MemPool()
    with memory.use_mem_pool(pool):
        inside = rt.ones(MIB)
    outside = rt.ones(MIB)
    assert block_of(inside)[0]["segment_pool_id"] == pool.id and pool.id[1] > 0
    assert block_of(outside)[0]["segment_pool_id"] == (0, 0)
    (segment,) = pool.snapshot()
    assert segment["allocated_size"] == 4 * MIB + 512
    number = pool.id
    del pool
    assert block_of(inside)[0]["segment_pool_id"] == number  # until its last block is freed
    del inside
    assert all(segment["segment_pool_id"] != number for segment in memory.memory_snapshot())


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_training_in_steady_state_asks_for_no_memory(device: str) -> None:
    told = in_a_process(
        """
        from perflab.runtime import nn
        model = nn.Sequential(nn.Linear(256, 2048), nn.GELU(), nn.Linear(2048, 256)).to(DEVICE)
        optimizer = rt.optim.AdamW(model.parameters(), lr=1e-3)
        x, y = rt.randn(512, 256).to(DEVICE), rt.randn(512, 256).to(DEVICE)
        calls = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            stats = memory.memory_stats(DEVICE), memory.memory_stats("cpu")
            calls.append([(s["num_device_alloc"], s["num_device_free"]) for s in stats])
        print(all(call == calls[2] for call in calls[3:]), calls[0][0][0] > 0)
    """,
        device,
    )
    assert told == "True True"


def test_events_tell_size_device_pool_and_stream() -> None:
    told = in_a_process("""
        import numpy as np
        from perflab.runtime import _core
        pool, number = memory.MemPool("sim"), rt.device("sim").number
        stream = _core.sim_new_stream(0)
        _core.set_current_stream(number, stream)
        _core.recorder_start(10_000)
        with memory.use_mem_pool(pool):
            tensors = [rt.empty(1000), rt.empty(3 * MIB), rt.ones(1000).to("sim")]
        addresses = [_core.storage(t)[0] for t in tensors]
        del tensors
        _core.recorder_stop()
        events = np.concatenate([e for _, e in _core.recorder_drain()])
        names = {number | pool.id[1] << 8: "pool", 0: "cpu"}, {_core.sim_stream_number(0, stream): "stream", 0: "0"}
        for address in addresses:
            for e in events[(events["address"] == address) & np.isin(events["kind"], (3, 4))]:
                flags, stream = names[0][int(e["flags"])], names[1][int(e["sequence"])]
                print(e["kind"], e["bytes"], e["t1"], flags, stream)
    """)
    assert told.split("\n") == [
        "3 4000 4160 cpu 0",
        "4 4000 4160 cpu 0",
        "3 12582912 12583424 cpu 0",
        "4 12582912 12583424 cpu 0",
        "3 4000 4096 pool stream",
        "4 4000 4096 pool stream",
    ]


def make_named_block(device: str) -> rt.Tensor:
    return rt.ones(3 * MIB // 4, device=device) * 2


@pytest.mark.parametrize("device", ["cpu", "sim:5"])
def test_a_snapshots_blocks_have_the_op_and_pythons_stack(device: str, tmp_path: Path) -> None:
    with profile(record_stacks=True):
        x = make_named_block(device)
    y = x * 3  # no stacks are recorded now
    memory._dump_snapshot(str(tmp_path / "snapshot.pickle"), device)
    snapshot = pickle.loads((tmp_path / "snapshot.pickle").read_bytes())
    assert snapshot["segments"] == memory.memory_snapshot(device)
    assert len(snapshot["device_traces"]) > snapshot["segments"][0]["device"]
    blocks = {block["address"]: block for segment in snapshot["segments"] for block in segment["blocks"]}
    header = 64 if device == "cpu" else 0
    op, python, *outer = blocks[x.data_ptr() - header]["frames"]
    line = make_named_block.__code__.co_firstlineno + 1
    assert op == {"name": "mul", "filename": "??", "line": 0}
    assert python == {"name": "make_named_block", "filename": __file__, "line": line}
    assert outer[0]["name"] == "test_a_snapshots_blocks_have_the_op_and_pythons_stack"
    assert blocks[y.data_ptr() - header]["frames"] == [op]
    assert any(block.op == "mul" for segment in read(tmp_path / "snapshot.pickle") for block in segment.blocks)
