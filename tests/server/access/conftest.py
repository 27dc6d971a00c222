"""A lab that other machines can reach, and callers with tokens."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI

from perflab.server.access.entries import TokenOrder
from perflab.server.access.register import Register
from perflab.server.access.scopes import Scope
from perflab.server.app import create_app
from perflab.server.blobs import FolderBlobs
from perflab.server.settings import Settings
from perflab.server.store import Store

from ..conftest import InProcess

ADDRESS = "http://lab.example"
Call = Callable[..., httpx.Client]


@pytest.fixture
def settings(embedded: Settings) -> Settings:
    return embedded


@pytest.fixture
def register(store: Store) -> Register:
    return store.register


@pytest.fixture
def guarded(settings: Settings, store: Store) -> FastAPI:
    """The application of a server that listens at every address."""
    settings = replace(settings, host="0.0.0.0")
    return create_app(settings, store, FolderBlobs(settings.blobs))


@pytest.fixture
def caller(guarded: FastAPI, register: Register) -> Iterator[Call]:
    """Makes clients: strangers, or with a new token of a scope and perhaps a project."""
    with ExitStack() as clients:

        def make(scope: str | None = None, project: str | None = None) -> httpx.Client:
            headers = {}
            if scope is not None:
                order = TokenOrder(name=f"{scope}er", scope=Scope(scope), project=project)
                headers["authorization"] = f"Bearer {register.make_token(order).secret}"
            client = httpx.Client(transport=InProcess(guarded), base_url=ADDRESS, headers=headers)
            return clients.enter_context(client)

        yield make
