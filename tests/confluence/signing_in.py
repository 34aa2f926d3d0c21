"""Whose token it is: a token is a person."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection
from dataclasses import dataclass

from tests.confluence.call import Edition, Refusal
from tests.confluence.people import Person
from tests.confluence.site import Site


@dataclass(frozen=True)
class Door:
    """Says who a request is from, as each edition takes tokens.

    Cloud: e-mail and API token at the site; Bearer, or both, by the gateway. Data Center: a
    personal access token as Bearer. Nobody signed in is anonymous; a wrong token is refused.
    """

    site: Site
    edition: Edition
    revoked: Collection[str]

    def person(self, authorization: str, *, gateway: bool) -> Person | None:
        scheme, _, credentials = authorization.partition(" ")
        if not authorization:
            return None
        if scheme == "Bearer" and (gateway or self.edition == "data-center"):
            return self._known(credentials)
        if scheme == "Basic" and self.edition == "cloud":
            email, token = _basic(credentials)
            person = self._known(token)
            if person.email == email:
                return person
        raise Refusal(401, f"Basic or Bearer authentication failed ({scheme})")

    def _known(self, token: str) -> Person:
        for person in self.site.people.values():
            if person.token == token and person.handle not in self.revoked:
                return person
        raise Refusal(401, "Unauthorized")


def _basic(credentials: str) -> tuple[str, str]:
    try:
        email, _, token = base64.b64decode(credentials).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Refusal(401, "Unauthorized") from error
    return email, token
