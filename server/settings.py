"""Where a lab lives and where it listens."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_LAB = Path(".perflab")
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765
DEFAULT_NEWEST, DEFAULT_THIN = 100, 10  # of `retention.Rules`
TOKEN = "PERFLAB_TOKEN"  # the variable that holds a client's: an argument would show in the list of processes


@dataclass(frozen=True, slots=True)
class Settings:
    """One lab's settings.

    `lab` is the folder of the embedded lab; `database_url` names another database in SQLAlchemy's form, with None
    meaning the SQLite file in that folder; `blobs_url` names a bucket for uploaded files, with None meaning a folder in
    that folder; `host` and `port` are where `perflab serve` listens; `proxy` is the address of a reverse proxy that
    says whom it speaks for, with None meaning that nobody is believed who says so; `webhooks` are addresses that are
    told what gates came to; `workers` is how many processes serve; `queue` says that others read the traces.
    """

    lab: Path = DEFAULT_LAB
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    database_url: str | None = None
    blobs_url: str | None = None
    webhooks: tuple[str, ...] = ()
    proxy: str | None = None
    workers: int = 1
    queue: bool = False

    @classmethod
    def from_environment(
        cls,
        lab: Path = DEFAULT_LAB,
        *,
        host: str = DEFAULT_HOST,
        port: int = DEFAULT_PORT,
        proxy: str | None = None,
        workers: int = 1,
        queue: bool = False,
        environ: Mapping[str, str] = os.environ,
    ) -> "Settings":
        """The settings of the lab in folder `lab`; PERFLAB_DATABASE_URL, where set, names its database,
        PERFLAB_BLOBS_URL its bucket, and PERFLAB_WEBHOOKS addresses, with spaces between them."""
        return cls(
            lab,
            host,
            port,
            database_url=environ.get("PERFLAB_DATABASE_URL") or None,
            blobs_url=environ.get("PERFLAB_BLOBS_URL") or None,
            webhooks=tuple(environ.get("PERFLAB_WEBHOOKS", "").split()),
            proxy=proxy,
            workers=workers,
            queue=queue,
        )

    @property
    def is_open(self) -> bool:
        """Whether the server is for this machine alone, and so asks for no token."""
        return self.proxy is None and is_of_this_machine(self.host)

    @property
    def database(self) -> Path:
        """The SQLite file of the embedded lab."""
        return self.lab / "lab.sqlite"

    @property
    def blobs(self) -> Path:
        """The folder that keeps uploaded files by the hash of their content."""
        return self.lab / "blobs"


def is_of_this_machine(host: str) -> bool:
    """Whether a host's name or address can only be reached from the machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
