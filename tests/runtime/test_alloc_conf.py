"""PERFLAB_ALLOC_CONF and what it sets."""

import os
import subprocess
import sys

import pytest

from perflab.runtime.alloc_conf import AllocatorOptions, parse_alloc_conf
from perflab.runtime.errors import ArgumentError


def test_every_option_is_read() -> None:
    text = "max_split_size_mb:128, roundup_power2_divisions:4,garbage_collection_threshold:0.8,expandable_segments:True"
    assert parse_alloc_conf(text) == AllocatorOptions(128, (4,) * 16, 0.8, True)
    assert parse_alloc_conf("") == parse_alloc_conf(" , ") == AllocatorOptions()
    assert parse_alloc_conf("expandable_segments:False").expandable_segments is False


def test_divisions_by_size_go_on_to_the_end() -> None:
    def divisions(text: str) -> tuple[int, ...]:
        return parse_alloc_conf(f"roundup_power2_divisions:{text},max_split_size_mb:21").roundup_power2_divisions

    assert divisions("[1:2,4:8]") == (2, 8, 8, *(8,) * 13)
    assert divisions("[256:1,512:2,1024:4,>:8]") == (*(1,) * 9, 2, 4, *(8,) * 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("split:3", "there is no option 'split': use one of max_split_size_mb, roundup_power2_divisions"),
        ("max_split_size_mb:20", "max_split_size_mb must be a whole number of MiB above 20, not '20'"),
        ("max_split_size_mb:4294967296", "max_split_size_mb must be a whole number of MiB above 20, not '4294967296'"),
        ("max_split_size_mb", "max_split_size_mb must be a whole number of MiB above 20, not ''"),
        (
            "garbage_collection_threshold:1.5",
            "garbage_collection_threshold must be a number between 0 and 1, not '1.5'",
        ),
        ("expandable_segments:yes", "expandable_segments must be True or False, not 'yes'"),
        ("roundup_power2_divisions:3", "roundup_power2_divisions must be a power of two, or several .*, not '3'"),
        ("roundup_power2_divisions:[1:2", r"roundup_power2_divisions must be a power of two, .*, not '\[1:2'"),
        (
            "roundup_power2_divisions:[4:2,2:2]",
            r"roundup_power2_divisions must be a power of two, .*, not '\[4:2,2:2\]'",
        ),
    ],
)
def test_bad_values_say_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match="PERFLAB_ALLOC_CONF: " + message):
        parse_alloc_conf(text)


def test_the_variable_sets_the_options_of_a_process() -> None:
    """A block of 12 MiB has a segment of its own without it, and 20 MiB of a growing one with it."""
    program = (
        "from perflab import runtime as rt\n"
        "x = rt.zeros(3 << 20)\n"
        "asked = (12 << 20) + 64\n"
        "s = next(s for s in rt.memory.memory_snapshot() for b in s['blocks'] if b['requested_size'] == asked)\n"
        "print(rt.memory.allocator_options().expandable_segments, s['is_expandable'], s['total_size'] >> 20)\n"
    )
    for value, told in (("", "False False 14"), ("expandable_segments:True", "True True 20")):
        environment = {**os.environ, "PERFLAB_ALLOC_CONF": value}
        ended = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment, check=True
        )
        assert ended.stdout.strip() == told
