"""What is masked, whatever the names are."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perflab.profiler.importers.findings import Findings
from perflab.profiler.importers.privacy import MASK, Mask, hosts_in, masked, masked_file_name

from .test_formats import load

# No letter of what stands around it, so that a name that is left over is one that was not masked.
LETTERS = "QXZJWVÅλ0123456789_.-"
NAMES = st.builds("{}{}".format, st.sampled_from(LETTERS[:8]), st.text(LETTERS, min_size=3, max_size=12))
TAILS = st.sampled_from(["", "/x.py", "/a b/c", ":3", '"', " ok"])
TEXT = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


def event(**facts: Any) -> dict[str, Any]:
    return {"ph": "X", "name": "f", "ts": 1, "dur": 1, "pid": 1, "tid": 1, **facts}


@given(
    NAMES,
    st.sampled_from(
        ["/home/", "/Users/", "C:\\Users\\", "c:\\users\\", "D:\\\\Users\\\\", "/mnt/home/", "file:///home/"]
    ),
    TAILS,
)
def test_no_name_of_a_home_is_left(name: str, before: str, after: str) -> None:
    text = f"open {before}{name}{after}"
    clean = Mask().text(text)
    assert name not in clean
    assert clean.startswith("open ") and clean.endswith(after)


@given(st.lists(st.text("QXZJWV", min_size=4, max_size=9), min_size=2, max_size=3))
def test_a_user_of_windows_may_have_spaces(words: list[str]) -> None:
    clean = Mask().text(rf"C:\Users\{' '.join(words)}\work\x.py")
    assert clean == r"~\work\x.py"


@given(
    NAMES,
    st.sampled_from(
        [
            "user",
            "USERNAME",
            "hostname",
            "host",
            "nodename",
            "job_name",
            "SLURM_JOB_NAME",
            "slurm_job_id",
            "db_password",
        ]
    ),
    st.sampled_from(["metadata", "args", "nested"]),
)
def test_no_private_value_is_left(name: str, key: str, where: str) -> None:
    document: dict[str, Any] = {"traceEvents": [event()]}
    if where == "args":
        document["traceEvents"] = [event(args={key: name})]
    else:
        document |= {key: name} if where == "metadata" else {"job": {"list": [{key: name}]}}
    trace = load(document, mask=True).trace
    assert name not in str((trace.strings, trace.metadata, trace.slice_args))
    told = (
        trace.args_of(0)
        if where == "args"
        else trace.metadata
        if where == "metadata"
        else trace.metadata["job"]["list"][0]
    )
    assert told[key] == MASK


@given(NAMES, st.sampled_from(["env", "environ", "environment", "cmdline", "command_line", "argv"]))
def test_what_a_process_was_started_with_is_not_told(name: str, key: str) -> None:
    for value in (f"python train.py --as {name}", ["train.py", name], {"WHO": name, "NESTED": [name]}):
        trace = load({"traceEvents": [event(args={key: value})], key: value}, mask=True).trace
        assert name not in str((trace.metadata, trace.slice_args))
    assert trace.metadata[key] == {"WHO": MASK, "NESTED": [MASK]}


@given(st.from_regex(r"\A[a-z]{4,9}-?[0-9]{1,3}(\.hpc)?\Z"))
def test_a_host_that_metadata_tells_is_masked_everywhere(host: str) -> None:
    trace = load(
        {
            "traceEvents": [
                event(name=f"send to {host}:29500", args={"peer": host}),
                {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": f"python ({host})"}},
            ],
            "about": {"hostname": host},
        },
        mask=True,
    ).trace
    assert host not in str((trace.strings, trace.tracks, trace.metadata, trace.slice_args))
    assert trace.name_of([0]) == [f"send to {MASK}:29500"]
    assert trace.tracks[0].process == f"python ({MASK})"


def test_a_host_is_a_word() -> None:
    mask = Mask(hosts_in({"a": [{"hostname": "node"}, {"host": "gpu"}]}))
    assert mask.text("node nodes my_node node-1 gpu") == f"{MASK} nodes my_node {MASK}-1 gpu"


def test_the_machine_of_our_own_traces_keeps_what_it_is() -> None:
    machine = {"name": "ada", "cpu": "A CPU", "cores": 2}
    trace = load({"traceEvents": [event()], "machine": machine}, mask=True).trace
    assert trace.metadata["machine"] == {**machine, "name": MASK}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("gpu-17_4242.1769860800123.pt.trace.json", "***_4242.1769860800123.pt.trace.json"),
        ("gpu_17.hpc_4242.1769860800123.pt.trace.json.gz", "***_4242.1769860800123.pt.trace.json.gz"),
        ("trace.json", "trace.json"),
        ("resnet50.pt.trace.json", "resnet50.pt.trace.json"),
    ],
)
def test_torch_puts_the_host_into_the_name_of_a_file(name: str, shown: str) -> None:
    assert masked_file_name(name) == shown
    assert masked_file_name(shown) == shown


@given(JSON)
def test_what_is_masked_stays_as_it_is(value: Any) -> None:
    once = Mask().value(value)
    again = Mask()
    assert again.value(once) == once
    assert again.count == 0


@given(
    st.lists(st.sampled_from(["/home/", "/Users/", "C:\\Users\\", "ada", "~", "***", ":", "@", "://", "/", "\\", " "]))
)
def test_paths_within_paths_are_masked_at_once(pieces: list[str]) -> None:
    once = Mask().text("".join(pieces))
    assert Mask().text(once) == once


@given(st.dictionaries(st.text("abcdef", min_size=1), st.integers() | st.text("xyz /.", max_size=9)))
def test_what_names_nobody_is_left_alone(metadata: dict[str, Any]) -> None:
    trace = load(json.loads(json.dumps({"traceEvents": [event()], **metadata}))).trace
    assert masked(trace, Findings()) is trace
