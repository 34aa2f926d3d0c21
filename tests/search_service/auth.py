"""Who may do what: keys of two kinds, and tokens with roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.search_service.errors import Refused

Role = Literal[
    "Search Index Data Reader", "Search Index Data Contributor", "Search Service Contributor"
]
Right = Literal["read", "write", "define"]
"""Read documents; write documents; define indexes and aliases and read their definitions."""

_RIGHTS: dict[Role, frozenset[Right]] = {
    "Search Index Data Reader": frozenset({"read"}),
    "Search Index Data Contributor": frozenset({"read", "write"}),
    "Search Service Contributor": frozenset({"define"}),
}
_ALL: frozenset[Right] = frozenset({"read", "write", "define"})


@dataclass(slots=True)
class Access:
    """Keys and tokens that are taken. ``tokens``: a bearer token, and the roles of its owner."""

    admin_key: str = "admin-key"
    query_key: str = "query-key"
    keys_disabled: bool = False
    tokens: dict[str, frozenset[Role]] = field(default_factory=dict)

    def grant(self, token: str, *roles: Role) -> None:
        """Give a token's owner these roles and no others."""
        self.tokens[token] = frozenset(roles)

    def check(self, headers: Mapping[str, str], right: Right, *, secure: bool) -> None:
        """Refuse with 401 who is nobody, and with 403 who may not."""
        if right not in self._rights(headers, secure=secure):
            raise Refused(403, "Forbidden", "The caller does not have permission to do this.")

    def _rights(self, headers: Mapping[str, str], *, secure: bool) -> frozenset[Right]:
        authorization = headers.get("Authorization")
        if authorization is not None:
            return self._of_token(authorization.removeprefix("Bearer "), secure=secure)
        key = headers.get("api-key")
        if key is None:
            raise _nobody("Authorization is required; there is neither key nor token.")
        if self.keys_disabled or key not in {self.admin_key, self.query_key}:
            raise Refused(403, "Forbidden", "Access denied due to an invalid key.")
        return _ALL if key == self.admin_key else frozenset({"read"})

    def _of_token(self, token: str, *, secure: bool) -> frozenset[Right]:
        if not secure:
            raise Refused(403, "Forbidden", "Tokens are only taken over https.")
        if token not in self.tokens:
            raise _nobody("The token is invalid or has expired.")
        rights: frozenset[Right] = frozenset()
        return rights.union(*(_RIGHTS[role] for role in self.tokens[token]))


def _nobody(message: str) -> Refused:
    refused = Refused(401, "Unauthorized", message)
    refused.headers["WWW-Authenticate"] = "Bearer"
    return refused
