"""Whether what comes is masked, by lab and project, and who may have what is not."""

import json
import sqlite3
from contextlib import closing

import httpx
import pytest

from perflab.server.access.entries import Masking
from perflab.server.access.register import Register
from perflab.server.errors import Refused
from perflab.server.lab import LocalLab
from perflab.server.schema import Label, Origin, Upload
from perflab.server.settings import Settings

from ..conftest import BASE, MACHINE, NAMELESS, Files
from .conftest import Call

FILE = "gpu-17_42.1769860800.pt.trace.json"


def give(lab: LocalLab, files: Files, project: str, name: str = FILE) -> Upload:
    told = json.loads(files.trace("trace.json", 100).read_text())
    told["traceEvents"][1]["name"] = "/home/lovelace/op"
    told |= {"hostname": "gpu-17", "machine": {"name": "gpu-17", "cpu": "A", "cores": 1, "os": "L", "python": "P"}}
    with files.write("t.json", json.dumps(told)).open("rb") as file:
        return lab.upload_stream(file, Label(name=name, said=Origin(project=project, commit=BASE)))


def test_what_comes_is_masked(local: LocalLab, files: Files, settings: Settings) -> None:
    taken = give(local, files, "demo")
    assert taken.trace is not None
    trace = local.trace(taken.trace)
    assert (trace.masked, trace.name) == (True, "***_42.1769860800.pt.trace.json")
    assert local.run(taken.run).run.machine.name == ""
    events = local.read_trace(taken.trace)
    assert "~/op" in events.strings
    with closing(sqlite3.connect(settings.database)) as connection:
        rows = "\n".join(connection.iterdump())
    derived = b"".join(path.read_bytes() for path in (settings.blobs / "derived").rglob("*") if path.is_file())
    assert derived
    for name in ("lovelace", "gpu-17"):
        assert name not in rows
        assert name.encode() not in derived
    with local.trace_file(taken.trace) as file:
        assert file.read() == (files.folder / "t.json").read_bytes()


def test_benchmarks_keep_the_machine_without_its_name(local: LocalLab, files: Files, register: Register) -> None:
    for project, machine in (("demo", NAMELESS), ("open", MACHINE)):
        register.set_masking(Masking(project="open", masked=False))
        with files.run("r.json", 1.0).open("rb") as file:
            taken = local.upload_stream(file, Label(name="r.json", said=Origin(project=project, commit=BASE)))
        assert local.run(taken.run).run.machine == machine


def test_a_project_may_have_a_rule_of_its_own(local: LocalLab, files: Files, register: Register) -> None:
    assert register.masking() == [Masking(project=None, masked=True)]
    register.set_masking(Masking(project="open", masked=False))
    plain, masked = give(local, files, "open"), give(local, files, "demo")
    assert plain.sha256 == masked.sha256
    assert plain.trace is not None and masked.trace is not None
    for id, name in ((plain.trace, "/home/lovelace/op"), (masked.trace, "~/op")):
        assert name in local.read_trace(id).strings
        again = LocalLab(local._store, local._blobs)  # which has nothing in memory
        assert name in again.read_trace(id).strings
        assert local.ask(f"select count(*) from slices where name = '{name}'", trace=id).rows == [[1]]
    assert local.trace(plain.trace).name == FILE
    assert local.run(plain.run).run.machine.name == "gpu-17"


def test_rules_are_set_and_taken_away(register: Register) -> None:
    register.set_masking(Masking(project="a", masked=True))
    register.set_masking(Masking(project=None, masked=False))
    assert [register.masks(project) for project in ("a", "b")] == [True, False]
    register.set_masking(Masking(project="a", masked=False))
    register.set_masking(Masking(project=None, masked=None))
    assert [register.masks(project) for project in ("a", "b")] == [False, True]
    register.set_masking(Masking(project="a", masked=None))
    assert register.masking() == [Masking(project=None, masked=True)]
    for name in ("", " ", "x" * 201):
        with pytest.raises(Refused, match="is no name of a project; give 1 to 200 characters"):
            register.set_masking(Masking(project=name, masked=True))


def test_the_file_of_a_masked_trace_is_for_admins(
    local: LocalLab, files: Files, register: Register, caller: Call
) -> None:
    register.set_masking(Masking(project="open", masked=False))
    masked, plain = give(local, files, "demo").trace, give(local, files, "open").trace
    content = (files.folder / "t.json").read_bytes()
    for scope in ("read", "write"):
        client = caller(scope)
        refused = client.get(f"/api/v1/traces/{masked}/file")
        assert refused.status_code == 403
        assert refused.json()["error"] == (
            f"the file of trace {masked} may name people and machines and takes the scope admin; /repaired names none"
        )
        assert client.get(f"/api/v1/traces/{plain}/file").content == content
        repaired = client.get(f"/api/v1/traces/{masked}/repaired")
        assert repaired.status_code == 200
        assert "lovelace" not in repaired.text and "gpu-17" not in repaired.text
    for project in (None, "demo"):
        assert caller("admin", project).get(f"/api/v1/traces/{masked}/file").content == content


def test_rules_over_http(caller: Call, register: Register) -> None:
    admin: httpx.Client = caller("admin")
    assert admin.get("/api/v1/masking").json() == [{"project": None, "masked": True}]
    answer = admin.put("/api/v1/masking", json={"project": "open", "masked": False})
    assert answer.json() == [{"project": None, "masked": True}, {"project": "open", "masked": False}]
    assert not register.masks("open")
    assert admin.put("/api/v1/masking", json={"project": "", "masked": False}).status_code == 422
    assert caller("admin", "open").put("/api/v1/masking", json={"project": "open", "masked": True}).status_code == 403
    assert [(entry.who, entry.detail) for entry in register.entries()] == [
        ("token adminer", "what comes to project open is not masked")
    ]
