"""The OpenAPI document: requests made from it are answered as it says (schemathesis), and its names stay."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from perflab.server.app import create_app
from perflab.server.blobs import FolderBlobs
from perflab.server.lab import LocalLab
from perflab.server.routing import API
from perflab.server.schema import Label, Origin
from perflab.server.settings import Settings
from perflab.server.store import Store

from .conftest import BASE, HEAD, Files

# Clients call operations by these names: one that goes or changes is a new version of the API.
OPERATIONS = {
    "audit",
    "benchmarks",
    "compare",
    "flame",
    "judgement",
    "judgements",
    "keep_judgement",
    "make_token",
    "masking",
    "retention",
    "set_retention",
    "drop_retention",
    "projects",
    "repaired",
    "revoke_token",
    "run",
    "runs",
    "set_masking",
    "series",
    "sql",
    "standings",
    "timeline_search",
    "timeline_slice",
    "timeline_tile",
    "timeline_totals",
    "tokens",
    "trace",
    "trace_diff",
    "trace_file",
    "trace_ops",
    "trace_ranks",
    "trace_steps",
    "upload",
}
FEW = {"sql": 3}  # each is asked in a process of its own
EXAMPLES = 10


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """The application over a lab in which run 1, trace 1 and a series are."""
    folder = tmp_path_factory.mktemp("contract")
    lab_settings = Settings(folder / "lab")
    store = Store.open(lab_settings, create=True)
    blobs = FolderBlobs(lab_settings.blobs)
    files = Files(folder / "files")
    lab = LocalLab(store, blobs)
    for number, commit in enumerate((BASE, HEAD)):
        for path in (files.trace(f"{number}.json", 100 + number), files.run(f"{number}.run.json", 1.0, 1.1)):
            lab.upload(path, Label(name=path.name, said=Origin(project="demo", commit=commit)))
    yield create_app(lab_settings, store, blobs)
    store.close()


def operations(app: FastAPI) -> dict[str, dict[str, Any]]:
    return {each["operationId"]: each for path in app.openapi()["paths"].values() for each in path.values()}


@pytest.mark.parametrize("name", [route.name for module in API for route in module.router.routes])
def test_answers_are_as_described(served: FastAPI, name: str) -> None:
    schema = schemathesis.openapi.from_asgi("/openapi.json", served, headers={"host": "localhost"})
    (operation,) = (
        found
        for each in schema.get_all_operations()
        if (found := each.ok()).definition.raw["operationId"] == name  # type: ignore[union-attr]
    )

    @given(case=operation.as_strategy())
    @settings(
        max_examples=FEW.get(name, EXAMPLES),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    def answers(case: schemathesis.Case) -> None:
        # what no schema says, such as that a text is no SELECT, is refused with 422
        case.call_and_validate(base_url="http://localhost", excluded_checks=[positive_data_acceptance])

    answers()


def test_the_names_of_operations_stay(served: FastAPI) -> None:
    assert set(operations(served)) >= OPERATIONS


def test_each_operation_is_described(served: FastAPI) -> None:
    document = served.openapi()
    tags = {tag["name"] for tag in document["tags"]}
    for name, operation in operations(served).items():
        assert operation["description"] and set(operation["tags"]) <= tags, name
        assert any(each.get("schema") for each in operation["responses"]["200"]["content"].values()), name
        for status in ("401", "403", "429"):
            error = operation["responses"][status]["content"]["application/json"]["schema"]
            assert error == {"$ref": "#/components/schemas/Error"}, (name, status)
        if operation.get("parameters") or operation.get("requestBody"):
            assert "422" in operation["responses"], name
    assert tags == {tag for operation in operations(served).values() for tag in operation["tags"]}


def test_the_document_has_a_version_and_tells_of_tokens(served: FastAPI) -> None:
    document = served.openapi()
    assert document["openapi"].startswith("3.1")
    assert all(path.startswith("/api/v1/") for path in document["paths"])
    assert document["security"] == [{}, {"token": []}]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
