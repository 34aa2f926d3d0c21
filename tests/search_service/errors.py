"""What the service answers when it refuses."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
"""A JSON object as it goes over the wire."""


class Refused(Exception):
    """A request is answered with an error; ``status`` is that of the reply."""

    def __init__(self, status: int, code: str, message: str, *, detail: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.detail = detail
        self.headers: dict[str, str] = {}

    def body(self) -> Json:
        error: Json = {"code": self.code, "message": self.message}
        if self.detail is not None:
            error["details"] = [{"code": self.detail, "message": self.message}]
        return {"error": error}


def bad_parameter(message: str, *, detail: str | None = None) -> Refused:
    """Return the refusal of a request that is understood but wrong."""
    return Refused(400, "InvalidRequestParameter", message, detail=detail)


def bad_filter(message: str) -> Refused:
    return bad_parameter(f"Invalid expression: {message}", detail="InvalidFilter")


def bad_definition(message: str) -> Refused:
    """Return the refusal of an index that can't be as it is described."""
    return Refused(
        400, "InvalidRequestParameter", f"The request is invalid. Details: definition : {message}"
    )


def bad_document(number: int, message: str) -> Refused:
    """Return the refusal of a whole batch for one of its actions, counted from 0."""
    return Refused(400, "", f"The request is invalid. Details: actions : {number}: {message}")


def not_found(what: str, name: str) -> Refused:
    return Refused(404, "ResourceNotFound", f"No {what} with the name {name!r} was found.")


def not_simulated(what: str) -> Refused:
    """Return what only this double says: nobody shall take its silence for the service's."""
    return Refused(501, "NotSimulated", f"{what}: the search service of the tests can't do this")
