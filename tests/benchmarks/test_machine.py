"""The fingerprint: equal for one machine however it is described, and only then."""

import platform

import pytest
from pytest_benchmark.plugin import pytest_benchmark_generate_machine_info

from perflab.benchmarks.machine import Machine, from_pytest_benchmark, this_machine

FACTS = {"name": "ci-7", "cpu": "AMD EPYC", "cores": 2, "os": "Linux x86_64", "python": "CPython 3.11"}


def test_pytest_benchmark_and_we_agree_on_this_machine() -> None:
    assert from_pytest_benchmark(pytest_benchmark_generate_machine_info()) == this_machine()


def test_this_machine_says_what_python_says() -> None:
    machine = this_machine()
    assert machine.name == platform.node()
    assert machine.os == f"{platform.system()} {platform.machine()}"
    assert machine.python == f"CPython {'.'.join(platform.python_version_tuple()[:2])}"
    assert len(machine.fingerprint) == 16


@pytest.mark.parametrize(
    "fact, value", [("cpu", "AMD EPYC 2"), ("cores", 4), ("os", "Linux aarch64"), ("python", "CPython 3.12")]
)
def test_each_fact_makes_another_machine(fact: str, value: str | int) -> None:
    assert Machine.of(**{**FACTS, fact: value}).fingerprint != Machine.of(**FACTS).fingerprint


def test_the_name_is_only_for_people() -> None:
    assert Machine.of(**{**FACTS, "name": "ci-8"}).fingerprint == Machine.of(**FACTS).fingerprint


def test_what_changes_by_itself_is_left_out() -> None:
    info = {
        "node": "a",
        "system": "Linux",
        "machine": "x86_64",
        "release": "6.1",
        "python_implementation": "CPython",
        "python_version": "3.11.2",
        "cpu": {"brand_raw": "Xeon  @ 2.60GHz", "count": 2, "hz_actual": [2095077000, 0]},
    }
    later = {
        **info,
        "release": "6.2",
        "python_version": "3.11.7",
        "cpu": {"brand_raw": "Xeon @ 2.60GHz", "count": 2, "hz_actual": [3194127000, 0]},
    }
    assert from_pytest_benchmark(later) == from_pytest_benchmark(info)
    assert str(from_pytest_benchmark(info)) == "Xeon @ 2.60GHz, 2 cores, Linux x86_64, CPython 3.11"


def test_unknown_facts_are_said_to_be_unknown() -> None:
    assert str(from_pytest_benchmark({"system": "Linux", "cpu": "odd"})) == "unknown CPU, unknown cores, Linux"
