"""What a lab of a team keeps its rows and files in: PostgreSQL and S3, each a process that ends with the tests."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# Ends when its input does, so also when this process is killed.
_MOTO = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(*server.get_host_and_port(), flush=True)
sys.stdin.read()
"""
BUCKET = "perflab-tests"


@contextmanager
def s3() -> Iterator[str]:
    """The address of an empty bucket, which AWS's variables of the environment lead to."""
    command, pipe = [sys.executable, "-c", _MOTO], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as server:
        assert server.stdin is not None and server.stdout is not None
        host, port = server.stdout.readline().decode().split()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {
                "AWS_ACCESS_KEY_ID": "tests",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            }.items():
                patch.setenv(name, value)
            make_bucket(BUCKET)
            yield f"s3://{BUCKET}"
        server.stdin.close()


def make_bucket(name: str) -> None:
    """Make a bucket in moto, which asks for no signature."""
    import httpx

    httpx.put(f"{os.environ['AWS_ENDPOINT_URL']}/{name}").raise_for_status()
