"""Tells other services what a gate came to.

An address of PERFLAB_WEBHOOKS gets a POST of a JSON object: project, base, head, exit_code, headline and url, the
address of the report's page. One that begins with slack+ gets what Slack's incoming webhooks take, an object with one
text (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks).
"""

import logging
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

import httpx

from .errors import LabRefused
from .schema import Judgement

SLACK = "slack+"
WAITS = (1.0, 4.0, 16.0, 64.0)  # seconds before each further try
TIMEOUT = 10.0
AGAIN = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}


log = logging.getLogger("perflab.webhooks")


class Webhooks:
    """The addresses that are told."""

    def __init__(
        self,
        addresses: Sequence[str],
        transport: httpx.BaseTransport | None = None,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        """`transport` replaces the network and `wait` the waiting, for tests. Raises LabRefused."""
        for address in addresses:
            url = httpx.URL(address.removeprefix(SLACK))
            if url.scheme not in ("http", "https") or not url.host:
                raise LabRefused(
                    f"PERFLAB_WEBHOOKS names {address!r}; give http or https addresses, after slack+ for Slack"
                )
        self._addresses = addresses
        self._transport = transport
        self._wait = wait

    def tell(self, judgement: Judgement, url: str) -> None:
        """Post to every address; what cannot be reached is tried four times more, then logged."""
        for address in self._addresses:
            slack = address.startswith(SLACK)
            body = _slack(judgement, url) if slack else _plain(judgement, url)
            problem = self._post(address.removeprefix(SLACK), body)
            if problem:
                # the path of such an address may be its secret
                log.error("webhook at %s was not told of gate %d: %s", httpx.URL(address).host, judgement.id, problem)

    def _post(self, address: str, body: dict[str, Any]) -> str | None:
        """What went wrong at last, in words."""
        problem = None
        for pause in (0.0, *WAITS):
            if pause:
                self._wait(pause)
            try:
                with httpx.Client(transport=self._transport, timeout=TIMEOUT) as client:
                    response = client.post(address, json=body)
            except httpx.HTTPError as error:
                problem = str(error) or type(error).__name__
                continue
            if response.is_success:
                return None
            problem = f"it answered {response.status_code}"
            if not response.is_server_error and response.status_code not in AGAIN:
                break
        return problem


def _plain(judgement: Judgement, url: str) -> dict[str, Any]:
    told = ("project", "base", "head", "exit_code", "headline")
    return {**{name: getattr(judgement, name) for name in told}, "url": url}


def _slack(judgement: Judgement, url: str) -> dict[str, Any]:
    # the three characters that Slack's text gives a meaning to
    project, line = (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        for text in (judgement.project, judgement.headline)
    )
    return {"text": f"{project}: gate {line} (<{url}|{judgement.head[:12]}>)"}
