"""The table of the API's operations, from which routes and the OpenAPI document are generated.

The table describes version 2; version 1 is derived from it. Operations on documents are in
documents.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from pydantic import BaseModel

from bot.domain.cases import GROUP_ACTS, Act
from bot.web.api import admin_schemas, schemas

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
V1, V2 = "/api/v1", "/api/v2"

PROBLEMS: Mapping[int, str] = {
    400: "The body is not JSON.",
    401: "The admin token is missing or wrong.",
    403: "Not from this host or origin, or not as this user, or there is no admin token.",
    404: "There is none, or none of the caller's.",
    409: "It contradicts what was sent or done before.",
    413: "Longer than is taken: 1 MB, 2 MB a file, or what MAX_UPLOAD_MB allows a document.",
    415: "The body is not of a content type that is taken here.",
    422: "A field has a wrong value: which, what, and the cure.",
    429: "A rate or a budget is used up; `Retry-After` says in how many seconds there is more.",
    500: "Something broke on the server's side.",
    503: "Too many questions wait, a part is away, or, in version 2, answering is paused.",
    504: "The answer takes too long; `poll` says where it will be.",
}

FORM = "multipart/form-data"
TOO_MANY = 429
WITH_BODY = (400, 413, 415, 422)
ALWAYS_POSSIBLE = (401, 403, 500, 503)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the path, the query or a header."""

    name: str
    where: Literal["path", "query", "header"]
    description: str
    schema: Mapping[str, object]


def parameters_of(query: type[BaseModel]) -> tuple[Parameter, ...]:
    """Return the query parameters that a pydantic model describes."""
    schema = query.model_json_schema()
    known = schema.get("$defs", {})
    return tuple(
        Parameter(name, "query", each["description"], _inlined(each, known))
        for name, each in schema["properties"].items()
    )


def _inlined(described: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, object]:
    """Return a field's JSON schema without references; an optional field is omitted, never null."""
    kinds = [each for each in described.get("anyOf", (described,)) if each.get("type") != "null"]
    kind = known[kinds[0]["$ref"].rpartition("/")[2]] if "$ref" in kinds[0] else kinds[0]
    unsaid = {"title", "description", "anyOf", "default"}
    default = described.get("default")
    stated = {} if default in (None, "") else {"default": default}
    return {name: each for name, each in kind.items() if name not in unsaid} | stated


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path; ``replies`` maps a status to its model, None for an empty body.

    ``other_bodies`` are bodies that are taken, too, by content type; None is any bytes.
    """

    handler: str
    method: Method
    path: str
    summary: str
    replies: Mapping[int, type[BaseModel] | None]
    problems: tuple[int, ...] = ()
    body: type[BaseModel] | None = None
    parameters: tuple[Parameter, ...] = ()
    open: bool = False
    body_type: str = "application/json"
    other_bodies: Mapping[str, type[BaseModel] | None] = field(default_factory=dict)
    deprecated: bool = False

    @property
    def id(self) -> str:
        """The operationId; those of version 1 have no suffix, so that they stay what they were."""
        return f"{self.handler}_v2" if self.path.startswith(V2) else self.handler


_REPLIES_V1: Mapping[str, Mapping[int, type[BaseModel]]] = {
    "ask": {200: schemas.Answer},
    "interaction": {200: schemas.Interaction, 202: schemas.Working},
    "questions": {200: admin_schemas.Questions},
}
_PARAMETERS_V1: Mapping[str, tuple[Parameter, ...]] = {
    "questions": parameters_of(admin_schemas.QuestionSearch)
}


def in_v1(operation: Operation) -> Operation:
    """Return version 1's form of an operation."""
    return replace(
        operation,
        path=operation.path.replace(V2, V1, 1),
        replies=_REPLIES_V1.get(operation.handler, operation.replies),
        parameters=_PARAMETERS_V1.get(operation.handler, operation.parameters),
        deprecated=True,
    )


INTERACTION = f"{V2}/interactions/{{id}}"
ESCALATION = f"{V2}/escalations/{{id}}"
ACT = Parameter(
    "act",
    "path",
    "What to do: `reply`, `amend`, `decline`, `assign` and `note` need a text, `join` a `to`.",
    {"type": "string", "enum": [*get_args(Act), *GROUP_ACTS]},
)
ID = Parameter("id", "path", "The interaction's id.", {"type": "string"})
KEY = Parameter(
    "Idempotency-Key",
    "header",
    "The client's own name for the question; sent twice it is one question.",
    {"type": "string", "pattern": "^[!-~]{1,128}$"},
)
SHOW_PIPELINE = Parameter(
    "show_pipeline",
    "query",
    "Whether to say why.",
    {"type": "string", "enum": ["true", "false"], "default": "false"},
)
USER = Parameter(
    "user",
    "query",
    "Whose judgement; believed as the `user` of a body is.",
    {"type": "string", "minLength": 1, "maxLength": 256},
)

INTERACTION_OPERATIONS = (
    Operation(
        "ask",
        "POST",
        f"{V2}/ask",
        "Ask a question and wait for what becomes of it.",
        {200: schemas.AnswerV2},
        (*WITH_BODY, *ALWAYS_POSSIBLE, 404, 409, 429, 504),
        schemas.Ask,
        (KEY,),
        other_bodies={FORM: schemas.AskForm},
    ),
    Operation(
        "interaction",
        "GET",
        INTERACTION,
        "Show a question and what became of it; 202 while it is being worked on.",
        {200: schemas.InteractionV2, 202: schemas.Working},
        (*ALWAYS_POSSIBLE, 404, 422),
        parameters=(ID, SHOW_PIPELINE),
    ),
    Operation(
        "amend",
        "PATCH",
        INTERACTION,
        "Change a question that is not answered yet.",
        {200: schemas.Working},
        (*WITH_BODY, *ALWAYS_POSSIBLE, 404, 409),
        schemas.Amend,
        (ID,),
    ),
    Operation(
        "withdraw",
        "DELETE",
        INTERACTION,
        "Withdraw a question: its text and what became of it are deleted.",
        {204: None},
        (*ALWAYS_POSSIBLE, 404),
        parameters=(ID,),
    ),
    Operation(
        "judge",
        "PUT",
        f"{INTERACTION}/feedback",
        "Judge an answer; replaces what the same person said before.",
        {200: schemas.Feedback},
        (*WITH_BODY, *ALWAYS_POSSIBLE, 404, 409),
        schemas.Judge,
        (ID,),
    ),
    Operation(
        "unjudge",
        "DELETE",
        f"{INTERACTION}/feedback",
        "Take a judgement back.",
        {204: None},
        (*ALWAYS_POSSIBLE, 404, 422),
        parameters=(ID, USER),
    ),
    Operation(
        "questions",
        "GET",
        f"{V2}/interactions",
        "Search what was asked, newest first; for those who answer.",
        {200: admin_schemas.QuestionsV2},
        (*ALWAYS_POSSIBLE, 422),
        parameters=parameters_of(admin_schemas.QuestionSearchV2),
    ),
    Operation(
        "escalations",
        "GET",
        f"{V2}/escalations",
        "List what went to people, longest waiting first; for those who answer.",
        {200: admin_schemas.Escalations},
        (*ALWAYS_POSSIBLE, 422),
        parameters=parameters_of(admin_schemas.CaseSearch),
    ),
    Operation(
        "escalation",
        "GET",
        ESCALATION,
        "Show an escalation with its history; for those who answer and its asker.",
        {200: admin_schemas.EscalationHistory},
        (*ALWAYS_POSSIBLE, 404),
        parameters=(ID,),
    ),
    Operation(
        "act",
        "POST",
        f"{ESCALATION}/{{act}}",
        "Claim, assign, reply to, close, join or split an escalation, note, or correct a reply.",
        {200: admin_schemas.EscalationHistory},
        (*WITH_BODY, *ALWAYS_POSSIBLE, 404, 409),
        admin_schemas.ActBody,
        (ID, ACT),
    ),
    Operation(
        "usage",
        "GET",
        f"{V2}/usage",
        "Sum up the calls of models; for those who answer.",
        {200: admin_schemas.Usage},
        (*ALWAYS_POSSIBLE, 422),
        parameters=parameters_of(admin_schemas.UsageSearch),
    ),
    Operation(
        "health",
        "GET",
        "/health",
        "Does the process run?",
        {200: schemas.Health},
        (403,),
        open=True,
    ),
    Operation(
        "ready",
        "GET",
        "/ready",
        "Can questions be answered now, and what is each part's state?",
        {200: schemas.Readiness, 503: schemas.Readiness},
        (403, 500),
        open=True,
    ),
    Operation(
        "document", "GET", "/openapi.json", "This document.", {200: schemas.Document}, (401, 403)
    ),
)
