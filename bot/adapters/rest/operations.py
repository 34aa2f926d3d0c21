"""What the API offers, in one table: routes are mounted and documented from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from bot.adapters.rest import wire

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Handler = Literal[
    "ask",
    "interaction",
    "amend",
    "withdraw",
    "judge",
    "unjudge",
    "health",
    "ready",
    "document",
]

PROBLEMS: Mapping[int, str] = {
    400: "The body is not JSON.",
    401: "The admin token is missing or wrong.",
    403: "Not from this host or origin, or not as this user, or there is no admin token.",
    404: "No such interaction of the caller's.",
    409: "It contradicts what was sent or done before.",
    413: "Longer than 1 MB.",
    415: "The body is not declared as application/json.",
    422: "A field has a wrong value: which, what, and the cure.",
    500: "Something broke on the server's side.",
    503: "Too many questions wait, or a part that is needed is away. Try again.",
    504: "The answer takes too long; `poll` says where it will be.",
}

WITH_BODY = (400, 413, 415, 422)
ALWAYS = (401, 403, 500, 503)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value outside of the body."""

    name: str
    where: Literal["path", "query", "header"]
    description: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path; ``replies`` by status, None for an empty one."""

    handler: Handler
    method: Method
    path: str
    summary: str
    replies: Mapping[int, type[BaseModel] | None]
    problems: tuple[int, ...] = ()
    body: type[BaseModel] | None = None
    parameters: tuple[Parameter, ...] = ()
    open: bool = False


INTERACTION = "/api/v1/interactions/{id}"
ID = Parameter("id", "path", "The interaction's id.", {"type": "string"})
KEY = Parameter(
    "Idempotency-Key",
    "header",
    "The client's own name for the question; sent twice it is one question.",
    {"type": "string", "pattern": "^[!-~]{1,128}$"},
)
SHOW = Parameter(
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

OPERATIONS = (
    Operation(
        "ask",
        "POST",
        "/api/v1/ask",
        "Ask a question and wait for what becomes of it.",
        {200: wire.Answer},
        (*WITH_BODY, *ALWAYS, 404, 409, 504),
        wire.Ask,
        (KEY,),
    ),
    Operation(
        "interaction",
        "GET",
        INTERACTION,
        "Show a question and what became of it; 202 while it is being worked on.",
        {200: wire.Interaction, 202: wire.Working},
        (*ALWAYS, 404, 422),
        None,
        (ID, SHOW),
    ),
    Operation(
        "amend",
        "PATCH",
        INTERACTION,
        "Change a question that is not answered yet.",
        {200: wire.Working},
        (*WITH_BODY, *ALWAYS, 404, 409),
        wire.Amend,
        (ID,),
    ),
    Operation(
        "withdraw",
        "DELETE",
        INTERACTION,
        "Withdraw a question: its text and what became of it are deleted.",
        {204: None},
        (*ALWAYS, 404),
        None,
        (ID,),
    ),
    Operation(
        "judge",
        "PUT",
        f"{INTERACTION}/feedback",
        "Judge an answer; replaces what the same person said before.",
        {200: wire.Feedback},
        (*WITH_BODY, *ALWAYS, 404, 409),
        wire.Judge,
        (ID,),
    ),
    Operation(
        "unjudge",
        "DELETE",
        f"{INTERACTION}/feedback",
        "Take a judgement back.",
        {204: None},
        (*ALWAYS, 404, 422),
        None,
        (ID, USER),
    ),
    Operation(
        "health", "GET", "/health", "Does the process run?", {200: wire.Health}, (403,), open=True
    ),
    Operation(
        "ready",
        "GET",
        "/ready",
        "Can questions be answered now, and what is each part's state?",
        {200: wire.Readiness, 503: wire.Readiness},
        (403, 500),
        open=True,
    ),
    Operation(
        "document", "GET", "/openapi.json", "This document.", {200: wire.Document}, (401, 403)
    ),
)
