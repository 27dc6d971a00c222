"""Writes what each route asks of its callers into docs/access.md: python docs/access_table.py"""

import tempfile
from pathlib import Path

from fastapi.routing import APIRoute, iter_route_contexts

from perflab.server.access.needs import Needs
from perflab.server.access.scopes import Scope
from perflab.server.app import create_app
from perflab.server.blobs import MemoryBlobs
from perflab.server.settings import Settings
from perflab.server.store import Store

PAGE = Path(__file__).with_name("access.md")
HEADING = "| route | scope | what it does |\n|---|---|---|\n"


def table() -> str:
    """The whole table, by scope and route."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(Path(folder))
        store = Store.open(settings, create=True)
        app = create_app(settings, store, MemoryBlobs())
        store.close()
    rows = []
    for route in iter_route_contexts(app.routes):
        if isinstance(route.original_route, APIRoute):
            needs = [found.call for found in route.dependant.dependencies if isinstance(found.call, Needs)]
            # All hold, so the largest scope is what it takes.
            need = max(needs, key=lambda one: -1 if one.scope is None else list(Scope).index(one.scope))
            what = " ".join((route.endpoint.__doc__ or "").split()).split(". ")[0].rstrip(".")
            rows += [(str(need), route.path, method, what) for method in sorted(route.methods)]
    order = ["none", *Scope]
    rows.sort(key=lambda row: (order.index(row[0].split(",")[0]), not row[1].startswith("/api/"), row[1:3]))
    return HEADING + "".join(f"| `{method} {path}` | {scope} | {what} |\n" for scope, path, method, what in rows)


def replaced(page: str, made: str) -> str:
    """The page with its table replaced."""
    before, after = page.split(HEADING)
    return before + made + after[after.index("\n## ") :]


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), table()), encoding="utf-8")
