"""The API's OpenAPI 3.1 document, made from the table of operations and the wire models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from bot.adapters.rest.operations import OPERATIONS as OF_ASKING
from bot.adapters.rest.operations import PROBLEMS, TOO_MANY, V2, Operation, Parameter, in_v1
from bot.adapters.rest.operations_documents import OPERATIONS as OF_DOCUMENTS
from bot.adapters.rest.wire import VERSION
from bot.doors.problems import ProblemDetails

REFERENCE = "#/components/schemas/{model}"

Json = dict[str, Any]

CURRENT = (*OF_ASKING, *OF_DOCUMENTS)
"""All that version 2 offers, and what is of no version."""

OPERATIONS = (*CURRENT, *(in_v1(each) for each in CURRENT if each.path.startswith(V2)))
"""All that the API offers, in both versions."""

_WAIT = {
    "Retry-After": {
        "description": "Seconds after which to try again, where that is known.",
        "schema": {"type": "integer", "minimum": 1},
    }
}
"""Headers of errors that pass."""


def document() -> Json:
    """Return the whole document."""
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Frontdesk",
            "version": VERSION,
            "description": "Ask the company's wiki; every answer has its sources.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "The admin token."},
                "session": {"type": "apiKey", "in": "cookie", "name": "frontdesk_session"},
            },
        },
        "security": [{}, {"token": []}, {"session": []}],
    }


def _operation(operation: Operation) -> Json:
    described: Json = {
        "operationId": operation.id,
        "summary": operation.summary,
        "responses": {
            **{str(status): _reply(model) for status, model in operation.replies.items()},
            **{str(status): _problem(status) for status in sorted(_only_problems(operation))},
        },
    }
    if operation.parameters:
        described["parameters"] = [_parameter(parameter) for parameter in operation.parameters]
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": _content(operation.body, operation.body_type),
        }
    if operation.open:
        described["security"] = []
    if operation.deprecated:
        described["deprecated"] = True
    return described


def _only_problems(operation: Operation) -> Iterable[int]:
    return (status for status in operation.problems if status not in operation.replies)


def _reply(model: type[BaseModel] | None) -> Json:
    if model is None:
        return {"description": "Done."}
    return {"description": model.__doc__, "content": _content(model)}


def _problem(status: int) -> Json:
    reference = {"$ref": REFERENCE.format(model=ProblemDetails.__name__)}
    described: Json = {
        "description": PROBLEMS[status],
        "content": {"application/problem+json": {"schema": reference}},
    }
    return described | {"headers": _WAIT} if status in {TOO_MANY, 503} else described


def _content(model: type[BaseModel], content_type: str = "application/json") -> Json:
    return {content_type: {"schema": {"$ref": REFERENCE.format(model=model.__name__)}}}


def _parameter(parameter: Parameter) -> Json:
    return {
        "name": parameter.name,
        "in": parameter.where,
        "required": parameter.where == "path",
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }


def _schemas() -> Json:
    models: dict[type[BaseModel], JsonSchemaMode] = {ProblemDetails: "serialization"}
    for operation in OPERATIONS:
        models |= {model: "serialization" for model in operation.replies.values() if model}
        if operation.body is not None:
            models[operation.body] = "validation"
    listed = sorted(models.items(), key=str)
    _, schemas = models_json_schema(listed, ref_template=REFERENCE)
    return dict(schemas["$defs"])
