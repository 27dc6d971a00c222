"""Serving a lab from the command line."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from perflab.server.remote import RemoteLab
from perflab.server.schema import Label, Origin

from .conftest import BASE, Files, Perflab


def test_a_port_in_use_is_said(perflab: Perflab) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        sentence = f"perflab: port {port} of 127.0.0.1 is in use; end what listens there, or give another with --port\n"
        assert perflab("serve", "--port", str(port)) == (2, "", sentence)
        assert perflab("demo", "--port", str(port)) == (2, "", sentence)
    assert not Path(".perflab").exists()
    for word in ("-1", "65536", "http"):
        code, _, err = perflab("serve", f"--port={word}")
        assert code == 2
        assert err.endswith(f"'{word}' is no port; give a number from 0 to 65535\n")


def test_serve_refuses_a_lab_that_is_a_file(perflab: Perflab) -> None:
    Path("file").write_text("hello")
    code, _, err = perflab("serve", "--port", "0", "--lab", "file")
    assert (code, err) == (2, "perflab: file is a file, and a lab is a folder; name another with --lab\n")


def test_a_server_serves_a_lab_until_it_is_interrupted(files: Files, tmp_path: Path) -> None:
    script = "import sys; from perflab.server.commands.serve import Serve; import argparse\n"
    script += "parser = argparse.ArgumentParser(); Serve().prepare_parser(parser)\n"
    script += "raise SystemExit(Serve().run(parser.parse_args()))\n"
    command = [sys.executable, "-c", script, "--port", "0", "--lab", str(tmp_path / "lab")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lab = RemoteLab(re.findall("http://[^ ]+", process.stdout.readline())[0])
        path = files.trace("trace.json", 100)
        taken = lab.upload(path, Label(name="trace.json", said=Origin(project="demo", commit=BASE)))
        assert taken.trace is not None
        with lab.trace_file(taken.trace) as file:
            assert file.read() == path.read_bytes()
        lab.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
