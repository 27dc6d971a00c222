"""Serving a lab from the command line."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from perflab.server.client import Client

from .conftest import BASE, Files, Perflab


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
    script = "import sys; from perflab.profiler.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "serve", "--port", "0", "--lab", "served"]
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
