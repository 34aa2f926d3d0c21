"""Read and validate requests, with a cure for every wrong field, and return JSON responses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bot.domain.messages import Attachment
from bot.web.api import schemas
from bot.web.api.schemas import User
from bot.web.auth.identity import ClaimedUser
from bot.web.problems import FieldProblem, Problem, problem
from bot.web.question_forms import receive_files


def json_reply(
    model: BaseModel, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    """Return a model as JSON; ``pipeline`` is omitted unless it was requested."""
    unasked = isinstance(model, schemas.AnswerBase) and model.pipeline is None
    body = model.model_dump_json(exclude={"pipeline"} if unasked else None)
    return web.Response(
        body=body.encode(), status=status, headers=headers, content_type="application/json"
    )


IDEMPOTENCY_KEY = "Idempotency-Key"
KEY_FORM = re.compile(r"[!-~]{1,128}")
MAX_VALUE_SHOWN = 100

Model = TypeVar("Model", bound=BaseModel)


async def body_of(request: web.Request, shape: type[Model]) -> Model:
    """Read a JSON body. Raises Problem: 400, 413, 415 or 422."""
    if request.content_type != "application/json":
        raise problem(415)
    return parse_json(await request.read(), shape)


def parse_json(body: bytes | str, shape: type[Model]) -> Model:
    """Validate JSON. Raises Problem: 400 or 422."""
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        raise _validation_problem(error, shape) from error


async def question_of_form(
    request: web.Request, data_dir: Path
) -> tuple[schemas.AskAboutFiles, tuple[Attachment, ...]]:
    """Read a question that is a field of a form, and the form's files.

    Raises Problem (400, 413, 422), StoreUnavailable.
    """
    fields, files = await receive_files(request, data_dir)
    known = "Known are ask and file."
    for name in fields.keys() - {"ask"}:
        raise invalid_field(name, fields[name], "is not known", f"Leave it out. {known}")
    if "ask" not in fields:
        raise invalid_field("ask", None, "is missing", f"Send the question as JSON. {known}")
    asked = parse_json(fields["ask"], schemas.AskAboutFiles)
    if not asked.question and not files:
        raise invalid_field("question", "", "is missing", "Send a question, a file, or both.")
    return asked, files


def query_of(request: web.Request, shape: type[Model], *, repeated: Sequence[str] = ()) -> Model:
    """Validate the query string; parameters in ``repeated`` are lists. Raises Problem (422)."""
    query = request.query
    sent = {
        name: query.getall(name) if name in repeated else query[name]
        for name in dict.fromkeys(query)
    }
    try:
        return shape.model_validate(sent)
    except ValidationError as error:
        raise _validation_problem(error, shape) from error


def idempotency_key(request: web.Request) -> str | None:
    """Return the Idempotency-Key header, or None. Raises Problem (422)."""
    key = request.headers.get(IDEMPOTENCY_KEY)
    if key is None or KEY_FORM.fullmatch(key):
        return key
    raise invalid_field(
        IDEMPOTENCY_KEY, key, "has a form that is not taken", "Send 1 to 128 visible characters."
    )


def boolean_query(request: web.Request, name: str) -> bool:
    """Return a query parameter that is true or false; false by default. Raises Problem (422)."""
    given = request.query.get(name, "false")
    if given not in {"true", "false"}:
        raise invalid_field(name, given, "is not a truth value", "Send true or false.")
    return given == "true"


def user_of_query(request: web.Request) -> ClaimedUser | None:
    """Return the ``user`` of the query string, or None. Raises Problem (422)."""
    given = request.query.get("user")
    if given is None:
        return None
    try:
        return claimed_user(User(id=given))
    except ValidationError as error:
        cure = "Send the person's id, 1 to 256 characters."
        raise invalid_field("user", given, "is no id", cure) from error


def claimed_user(user: User | None) -> ClaimedUser | None:
    """Convert the ``user`` of a body for bot.web.auth.identity."""
    return None if user is None else ClaimedUser(user.id, user.email, frozenset(user.groups))


def invalid_field(field: str, value: object, what: str, cure: str) -> Problem:
    """Return a 422 problem about one field."""
    wrong = FieldProblem(field=field, value=_shortened(value), problem=what, cure=cure)
    return _fields_problem([wrong])


def _validation_problem(error: ValidationError, shape: type[BaseModel]) -> Problem:
    errors = error.errors(include_url=False)
    if errors[0]["type"] == "json_invalid":
        return problem(400, "The JSON sent is not valid, or not UTF-8.", cure="Send one object.")
    return _fields_problem([_field_problem(item, shape) for item in errors])


def _fields_problem(errors: list[FieldProblem]) -> Problem:
    first = errors[0]
    return problem(
        422,
        f"{first.field}={first.value} is wrong: {first.problem}.",
        cure=first.cure,
        errors=errors,
    )


def _field_problem(item: ErrorDetails, shape: type[BaseModel]) -> FieldProblem:
    name = ".".join(str(part) for part in item["loc"]) or "(body)"
    missing = item["type"] == "missing"
    return FieldProblem(
        field=name,
        value=_shortened(None if missing else item["input"]),
        problem=item["msg"],
        cure=_cure(item, shape),
    )


def _cure(item: ErrorDetails, shape: type[BaseModel]) -> str:
    if not item["loc"]:
        return "Send a JSON object."
    if item["type"] == "extra_forbidden":
        return f"Leave it out. Known are {', '.join(_fields(item, shape).model_fields)}."
    known = _fields(item, shape).model_fields.get(str(item["loc"][-1]))
    known = known or shape.model_fields[str(item["loc"][0])]
    return f"Send {known.description}."


def _fields(item: ErrorDetails, shape: type[BaseModel]) -> type[BaseModel]:
    """Return the model that a field belongs to: nested fields occur in ``user`` only."""
    inside = len(item["loc"]) > 1 and item["loc"][0] == "user"
    return User if inside else shape


def _shortened(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= MAX_VALUE_SHOWN else f"{shown[:MAX_VALUE_SHOWN]}…"
