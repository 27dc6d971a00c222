"""Serving a lab from the command line."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from perflab.server.client import Client
from perflab.server.schema import Label, Origin, Upload
from perflab.server.serving import listen
from perflab.server.settings import Settings

from .conftest import BASE, Files, Perflab

SCRIPT = "import sys; from perflab.profiler.cli import main; sys.exit(main(sys.argv[1:]))"


def test_a_port_in_use_is_said(perflab: Perflab) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        sentence = f"perflab: port {port} of 127.0.0.1 is in use; end what listens there, or give another with --port\n"
        assert perflab("serve", "--port", str(port)) == (3, "", sentence)
        assert perflab("demo", "--port", str(port)) == (3, "", sentence)
    assert not Path(".perflab").exists()
    for word in ("-1", "65536", "http"):
        code, _, err = perflab("serve", f"--port={word}")
        assert code == 3
        assert err.endswith(f"'{word}' is no port; give a number from 0 to 65535\n")


def test_serve_refuses_a_lab_that_is_a_file(perflab: Perflab) -> None:
    Path("file").write_text("hello")
    code, _, err = perflab("serve", "--port", "0", "--lab", "file")
    assert (code, err) == (3, "perflab: file is a file, and a lab is a folder; name another with --lab\n")


def test_a_server_serves_a_lab_until_it_is_interrupted(perflab: Perflab, files: Files) -> None:
    command = [sys.executable, "-c", SCRIPT, "serve", "--port", "0", "--lab", "served"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = re.findall("http://[^ ]+", process.stdout.readline())[0]
        path = files.trace("trace.json", 100)
        assert perflab("upload", path, "--project", "demo", "--commit", BASE, "--server", url) == (
            0,
            f"trace.json: a trace of demo at {BASE[:12]}, run 1\n",
            "",
        )
        lab = Client(url)
        with lab.trace_file(1) as file:
            assert file.read() == path.read_bytes()
        lab.close()
        code, out, _ = perflab("gate", "--baseline", BASE, "--head", BASE, "--server", url)
        assert code == 2
        assert "There are no head runs" in out
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    assert Path("served/lab.sqlite").exists()


def children(pid: int) -> set[int]:
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def servers(pid: int) -> set[int]:
    """The processes that serve for another: children of the one that it forks them from."""
    forks = [pid for pid in children(pid) if b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return {child for fork in forks for child in children(fork)}


def test_processes_share_the_work_and_one_that_is_killed_is_replaced(files: Files, team: Settings) -> None:
    assert team.database_url and team.blobs_url
    places = {"PERFLAB_DATABASE_URL": team.database_url, "PERFLAB_BLOBS_URL": team.blobs_url}

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SCRIPT, *arguments, "--lab", str(team.lab)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | places)

    with start("serve", "--port", "0", "--workers", "2", "--queue") as server, start("worker") as worker:
        assert server.stdout is not None and worker.stdout is not None
        url = re.findall("http://[^ ]+", server.stdout.readline())[0]
        assert worker.stdout.readline().startswith("Reading what waits in ")

        def upload(path: Path) -> Upload:
            with closing(Client(url)) as lab:
                return lab.upload(path, Label(name=path.name, said=Origin(project="demo", commit=BASE)))

        assert upload(files.trace("trace.json", 100)).trace == 1
        before = servers(server.pid)
        assert len(before) == 2
        os.kill(min(before), signal.SIGKILL)
        while len(servers(server.pid) - {min(before)}) < 2:
            time.sleep(0.01)
        assert upload(files.run("run.json", 1.0)).new
        assert not upload(files.trace("trace.json", 100)).new
        after = servers(server.pid)
        for process, number in ((worker, signal.SIGTERM), (server, signal.SIGINT)):
            process.send_signal(number)
            assert process.wait(timeout=60) == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in after)


def test_answers_do_not_wait_for_an_acknowledgement() -> None:
    """asyncio sets TCP_NODELAY only where a socket, or the one that it was accepted from, names its protocol."""
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert listener.proto == accepted.proto == socket.IPPROTO_TCP
