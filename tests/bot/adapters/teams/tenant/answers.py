"""What the connector answers, in its own words."""

from __future__ import annotations

from aiohttp import web

_STATUS = {
    "ActivityNotFoundInConversation": 404,
    "BadArgument": 400,
    "BadRequest": 400,
    "BadSyntax": 400,
    "BotDisabledByAdmin": 403,
    "BotNotInConversationRoster": 403,
    "ContentStreamNotAllowed": 403,
    "ContentStreamSequenceOrderPreConditionFailed": 202,
    "ConversationBlockedByUser": 403,
    "ConversationNotFound": 404,
    "DeleteActivityAPINotImplemented": 501,
    "ForbiddenOperationException": 403,
    "MemberNotFoundInConversation": 404,
    "MessageSizeTooBig": 413,
    "MessageWritesBlocked": 403,
    "TeamNotFound": 404,
    "TooManyRequests": 429,
}


class Refused(Exception):
    """Teams does not do it; ``code`` is its name for why."""

    def __init__(self, code: str, message: str = "no", *, status: int = 0) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status or _STATUS.get(code, 403)


def error(code: str, *, message: str = "no", status: int = 0) -> web.Response:
    """Return an error as Teams words it."""
    body = {"error": {"code": code, "message": message}}
    return web.json_response(body, status=status or _STATUS.get(code, 403))
