"""Every route says what it asks of its callers, and the page on access says the same."""

import importlib
import inspect
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts

from perflab.server.access.gate import SIGN_IN, STATIC
from perflab.server.access.needs import Needs

from .conftest import Call

SCRIPT = Path(__file__).parents[3] / "docs/access_table.py"


def routes(app: FastAPI) -> Iterator[RouteContext]:
    """The routes that FastAPI did not make by itself."""
    return (route for route in iter_route_contexts(app.routes) if isinstance(route.original_route, APIRoute))


def needs(route: RouteContext) -> list[Needs]:
    return [found.call for found in route.dependant.dependencies if isinstance(found.call, Needs)]


def test_every_route_says_what_it_needs(app: FastAPI) -> None:
    bare = [route.path for route in routes(app) if not needs(route)]
    assert bare == []
    assert len(list(routes(app))) > 25


def test_strangers_see_nothing_but_what_signing_in_takes(app: FastAPI) -> None:
    public = {route.path for route in routes(app) if all(need.scope is None for need in needs(route))}
    assert all(path.startswith((STATIC, SIGN_IN)) for path in public)
    assert {path for path in public if not path.startswith(STATIC)} == {SIGN_IN}


def test_what_changes_something_needs_more_than_to_read(app: FastAPI) -> None:
    asking = {("/api/v1/sql", "POST")}
    for route in routes(app):
        for method in route.methods:
            if method not in ("GET", "HEAD") and (route.path, method) not in asking and route.path != SIGN_IN:
                assert any(need.scope in ("write", "admin") for need in needs(route)), route.path


def filled(route: RouteContext) -> str:
    path: str = route.path_format
    for name in route.param_convertors:
        path = path.replace("{" + name + "}", "1")
    return path


def test_strangers_are_refused_at_every_route(app: FastAPI, caller: Call) -> None:
    stranger = caller()
    for route in routes(app):
        if not route.path.startswith((STATIC, SIGN_IN)):
            for method in route.methods:
                assert stranger.request(method, filled(route)).status_code in (303, 401), route.path


@pytest.mark.parametrize(("scope", "above"), [("read", ("write", "admin")), ("write", ("admin",))])
def test_small_scopes_are_refused_at_every_route_above_them(
    app: FastAPI, caller: Call, scope: str, above: tuple[str, ...]
) -> None:
    client: httpx.Client = caller(scope)
    for route in routes(app):
        if any(need.scope in above for need in needs(route)):
            for method in route.methods:
                assert client.request(method, filled(route)).status_code == 403, route.path


def test_the_table_of_routes_is_what_the_code_says() -> None:
    spec = spec_from_file_location("access_table", SCRIPT)
    assert spec and spec.loader
    script: Any = module_from_spec(spec)
    spec.loader.exec_module(script)
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.replaced(page, script.table()) == page


def test_nothing_unpickles_what_came_over_the_network() -> None:
    """But for the reader of torch's snapshots, which allows plain containers and no names."""
    found = set()
    for package in ("server", "profiler", "dashboards", "benchmarks"):
        folder = Path(inspect.getfile(importlib.import_module(f"perflab.{package}"))).parent
        for file in folder.rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            if any(word in text for word in ("import pickle", "from pickle", "cPickle", "dill", "shelve", "marshal")):
                found.add(file.relative_to(folder.parent).as_posix())
    assert found == {"profiler/importers/plain_pickle.py"}
