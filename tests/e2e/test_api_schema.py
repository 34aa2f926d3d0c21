"""Every documented request, with values nobody thought of, against a real server."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from bot.web.api import OPERATIONS
from bot.web.api.operations import Operation
from tests.e2e.conftest import Served, serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = [
    pytest.param(8, id="smoke"),
    pytest.param(100, id="whole", marks=pytest.mark.sweep),
]


@pytest.fixture(scope="module")
def own_server(indexed_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own: what is tried here may change anything."""
    yield from serving(
        shutil.copytree(indexed_sample, tmp_path_factory.mktemp("tried") / "data"),
        RATE_PER_USER_PER_MINUTE="0",
        RATE_PER_CHANNEL_PER_MINUTE="0",
    )


@pytest.fixture(scope="module")
def schema(own_server: Served) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"{own_server.url}/openapi.json")


@pytest.fixture(scope="module")
def known_id(own_server: Served) -> str:
    """The id of a question that was answered."""
    asked = urllib.request.Request(  # noqa: S310 - our own server
        f"{own_server.url}/api/v1/ask",
        json.dumps({"question": "vpn error 809"}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked) as response:  # noqa: S310 - our own server
        return str(json.load(response)["interaction_id"])


@pytest.mark.xdist_group("api_schema")
@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.handler)
def test_nothing_breaks_the_server_and_every_answer_is_documented(
    operation: Operation, schema: schemathesis.BaseSchema, known_id: str, examples: int
) -> None:
    tried = schema[operation.path][operation.method]

    @given(case=tried.as_strategy(), here=st.booleans())
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    def try_all(case: schemathesis.Case[Any], here: bool) -> None:  # noqa: FBT001 - drawn
        if here and "/interactions/{id}" in operation.path and operation.handler != "withdraw":
            case.path_parameters = {**case.path_parameters, "id": known_id}
        case.call_and_validate(checks=CHECKS)

    try_all()
