"""Who makes a request, as far as it can be believed."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import Literal

from aiohttp import web

from bot.config import Settings
from bot.problems import problem
from bot.signing import Signer, same_secret, signing_key
from bot.types import Interaction, Person
from rag.types import EVERYONE, Principal

SESSION = "frontdesk_session"
VISITOR = "frontdesk_visitor"
NEWCOMER = web.RequestKey("newcomer", str)
"""The id of a browser that has no cookie yet."""
SESSION_SECONDS = 12 * 3600
_ASK_FOR_ROLE = "Ask whoever runs Frontdesk for it, or sign in with the admin token at /session."
VISITOR_SECONDS = 365 * 24 * 3600

LOCAL = "local"
"""Whoever uses the API on this machine without a browser."""

ADMIN = "admin"

Role = Literal["asker", "expert", "admin"]
"""asker: asks, and sees what is theirs. expert: also answers what went to people, and sees the
record. admin: also changes what is indexed and set. Each includes the ones before."""

ROLES: tuple[Role, ...] = ("asker", "expert", "admin")


@dataclass(frozen=True, slots=True)
class ClaimedUser:
    """Who a request says it asks for; believed only from those who may say so."""

    id: str
    email: str | None = None
    groups: frozenset[str] = frozenset()


class Identities:
    """Tells admins, visitors and the local user apart.

    An admin has the token, or a session cookie that was given for it. A browser without either
    is known by a signed cookie of its own.
    """

    def __init__(self, settings: Settings) -> None:
        token = settings.admin_token
        key = signing_key(settings.data_dir / "cookie.key")
        self._token = token.get_secret_value() if token is not None else None
        self._sessions = Signer(key, f"session:{self._token}")
        self._visitors = Signer(key, "visitor")
        self._tenant = settings.tenant
        self._alone = not settings.exposed
        self._believes_all = settings.loopback and settings.dev_identities

    def has_token(self, request: web.Request) -> bool:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.is_token(given.strip())

    def is_token(self, given: str) -> bool:
        return self._token is not None and same_secret(given, self._token)

    def is_admin(self, request: web.Request) -> bool:
        return self.has_token(request) or self._in_session(request)

    def sign_in(self, request: web.Request, response: web.StreamResponse) -> None:
        """Give a session that ends by itself, or when the token is changed."""
        until = int(time.time()) + SESSION_SECONDS
        value = self._sessions.sign(f"{until}-{secrets.token_urlsafe(12)}")
        response.set_cookie(
            SESSION,
            value,
            max_age=SESSION_SECONDS,
            httponly=True,
            secure=over_tls(request),
            samesite="Strict",
        )

    def visitor(self, request: web.Request) -> str | None:
        return self._visitors.read(request.cookies.get(VISITOR, ""))

    def remember(self, request: web.Request, response: web.StreamResponse, visitor: str) -> None:
        response.set_cookie(
            VISITOR,
            self._visitors.sign(visitor),
            max_age=VISITOR_SECONDS,
            httponly=True,
            secure=over_tls(request),
            samesite="Lax",
        )

    def person(self, request: web.Request, claimed: ClaimedUser | None) -> Person:
        """Return who asks. Raises Problem (403) for a claim that is not believed."""
        if claimed is None:
            return Person(self._own_id(request))
        if not self.sees_all(request):
            raise problem(
                403,
                f"The user {claimed.id!r} is not believed here.",
                cure="Leave `user` out, send the admin token, or on your own machine set "
                "FRONTDESK_DEV_IDENTITIES=1.",
            )
        names = {f"group:{group}" for group in claimed.groups} | {f"user:{claimed.id}"}
        principals = frozenset({EVERYONE, *map(Principal, names)})
        return Person(claimed.id, email=claimed.email, principals=principals)

    def sees_all(self, request: web.Request) -> bool:
        """Admins do; and everybody where anybody may say to be anybody."""
        return self._believes_all or self.is_admin(request)

    def role(self, request: web.Request) -> Role:
        """Return what the one who makes a request may do; on loopback without a token, all."""
        if self.is_admin(request) or (self._token is None and self._alone):
            return "admin"
        return "asker"

    def may_see(self, request: web.Request, interaction: Interaction) -> bool:
        """An interaction is for its asker and for admins; another tenant's is for nobody."""
        message = interaction.message
        if message.thread.tenant != self._tenant:
            return False
        if self.sees_all(request):
            return True
        own = message.thread.platform in {"rest", "web"}
        return own and message.author.id == self._own_id(request)

    def _own_id(self, request: web.Request) -> str:
        visitor: str | None = request.get(NEWCOMER) or self.visitor(request)
        if visitor is not None:
            return visitor
        return ADMIN if self.is_admin(request) else LOCAL

    def _in_session(self, request: web.Request) -> bool:
        value = self._sessions.read(request.cookies.get(SESSION, ""))
        if value is None or self._token is None:
            return False
        return int(value.partition("-")[0]) > time.time()


IDENTITIES = web.AppKey("identities", Identities)


def person_of(request: web.Request, claimed: ClaimedUser | None = None) -> Person:
    """Return who makes a request. Raises Problem (403) for a claim that is not believed."""
    return request.config_dict[IDENTITIES].person(request, claimed)


def may_see(request: web.Request, interaction: Interaction) -> bool:
    """Tell whether the one who makes a request may see an interaction."""
    return request.config_dict[IDENTITIES].may_see(request, interaction)


def is_admin(request: web.Request) -> bool:
    """Tell whether a request comes with the admin token or a session given for it."""
    return request.config_dict[IDENTITIES].is_admin(request)


def sees_all(request: web.Request) -> bool:
    """Tell whether nothing is hidden from the one who makes a request."""
    return request.config_dict[IDENTITIES].sees_all(request)


def role_of(request: web.Request) -> Role:
    """Return what the one who makes a request may do."""
    return request.config_dict[IDENTITIES].role(request)


def needs(request: web.Request, role: Role) -> Person:
    """Return who makes a request that only a role may make. Raises Problem (403)."""
    if ROLES.index(role_of(request)) < ROLES.index(role):
        raise problem(403, f"This is for those with the role {role!r}.", cure=_ASK_FOR_ROLE)
    return person_of(request)


def new_visitor() -> str:
    """Return an id for a browser that comes for the first time."""
    return f"visitor-{secrets.token_hex(12)}"


def over_tls(request: web.Request) -> bool:
    """Tell whether the browser came by HTTPS, to us or to a proxy before us."""
    return request.secure or request.headers.get("X-Forwarded-Proto") == "https"
