"""Who makes a request, as far as it can be believed, and what they may do and read.

What somebody may read is looked up where pages are shown, and never kept with what they write.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from aiohttp import web

from bot.domain.interactions import Interaction
from bot.domain.messages import Person
from bot.domain.ports import Directory
from bot.domain.settings import Settings
from bot.domain.urls import origin_of
from bot.domain.users import ROLES, Role, SignedIn
from bot.web.auth.cookie_signer import Signer, secrets_match, signing_key
from bot.web.problems import problem
from rag.types import EVERYONE, Principal

VISITOR_COOKIE = "frontdesk_visitor"
NEW_VISITOR = web.RequestKey("newcomer", str)
"""The id of a browser that has no cookie yet."""
SIGNED_IN = web.RequestKey("signed_in", SignedIn)
"""Who is signed in; put there by the doors, absent for everybody else."""
_ROLE_CURE = "Ask whoever runs Frontdesk for it, or sign in at /session as somebody who has it."
VISITOR_SECONDS = 365 * 24 * 3600

LOCAL_ID = "local"
"""Whoever uses the API on this machine without a browser."""

ADMIN_ID = "admin"


@dataclass(frozen=True, slots=True)
class ClaimedUser:
    """Who a request says it asks for; believed only from those who may say so."""

    id: str
    email: str | None = None
    groups: frozenset[str] = frozenset()


class Identities:
    """Tells admins, those who are signed in, visitors and the local user apart.

    A request with the admin token is an admin's, whatever else it carries. Who is signed in was
    found out by the doors. A browser without either is known by a signed cookie of its own.
    """

    def __init__(self, settings: Settings) -> None:
        token = settings.admin_token
        key = signing_key(settings.data_dir / "cookie.key")
        self._token = token.get_secret_value() if token is not None else None
        self._visitors = Signer(key, "visitor")
        self._tenant = settings.tenant
        self._alone = not settings.exposed
        self._believes_all = settings.dev_identities and not settings.exposed
        self.public_origin = origin_of(settings.public_url) if settings.public_url else None

    @property
    def takes_token(self) -> bool:
        """Whether there is an admin token at all."""
        return self._token is not None

    def has_token(self, request: web.Request) -> bool:
        given = bearer_token(request)
        return given is not None and self.is_token(given)

    def is_token(self, given: str) -> bool:
        return self._token is not None and secrets_match(given, self._token)

    def is_admin(self, request: web.Request) -> bool:
        signed_in: SignedIn | None = request.get(SIGNED_IN)
        return self.has_token(request) or (signed_in is not None and signed_in.role == "admin")

    def visitor(self, request: web.Request) -> str | None:
        return self._visitors.read(request.cookies.get(VISITOR_COOKIE, ""))

    def remember(self, request: web.Request, response: web.StreamResponse, visitor: str) -> None:
        response.set_cookie(
            VISITOR_COOKIE,
            self._visitors.sign(visitor),
            max_age=VISITOR_SECONDS,
            httponly=True,
            secure=is_https(request),
            samesite="Lax",
        )

    def person(self, request: web.Request, claimed: ClaimedUser | None) -> Person:
        """Return who asks. Raises Problem (403) for a claim that is not believed."""
        if claimed is None:
            return self._own(request)
        if not self.believes(request):
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
        return self.is_admin(request) or (self._believes_all and request.get(SIGNED_IN) is None)

    def role(self, request: web.Request) -> Role:
        """Return what the one who makes a request may do; on loopback without a token, all."""
        if self.has_token(request):
            return "admin"
        signed_in: SignedIn | None = request.get(SIGNED_IN)
        if signed_in is not None:
            return signed_in.role
        return "admin" if self._token is None and self._alone else "asker"

    def may_see(self, request: web.Request, interaction: Interaction) -> bool:
        """An interaction is for its asker and for admins; another tenant's is for nobody."""
        message = interaction.message
        if message.thread.tenant != self._tenant:
            return False
        if self.sees_all(request):
            return True
        own = message.thread.platform in {"rest", "web"}
        return own and message.author.id == self._own(request).id

    def believes(self, request: web.Request) -> bool:
        """Tell whether a request may say for whom it asks: that takes the token itself."""
        signed_in: SignedIn | None = request.get(SIGNED_IN)
        by_token = signed_in is not None and signed_in.by == "token"
        return self._believes_all or by_token or self.has_token(request)

    def _own(self, request: web.Request) -> Person:
        signed_in: SignedIn | None = request.get(SIGNED_IN)
        if signed_in is not None and signed_in.person is not None and not self.has_token(request):
            return signed_in.person
        visitor: str | None = request.get(NEW_VISITOR) or self.visitor(request)
        if visitor is not None:
            return Person(visitor)
        return Person(ADMIN_ID if self.is_admin(request) else LOCAL_ID)


IDENTITIES = web.AppKey("identities", Identities)


def person_of(request: web.Request, claimed: ClaimedUser | None = None) -> Person:
    """Return who makes a request. Raises Problem (403) for a claim that is not believed."""
    return request.config_dict[IDENTITIES].person(request, claimed)


def may_see(request: web.Request, interaction: Interaction) -> bool:
    """Tell whether the one who makes a request may see an interaction."""
    return request.config_dict[IDENTITIES].may_see(request, interaction)


def is_admin(request: web.Request) -> bool:
    """Tell whether a request comes with the admin token, or from an admin who is signed in."""
    return request.config_dict[IDENTITIES].is_admin(request)


def sees_everything(request: web.Request) -> bool:
    """Tell whether nothing is hidden from the one who makes a request."""
    return request.config_dict[IDENTITIES].sees_all(request)


def may_ask_for_others(request: web.Request) -> bool:
    """Tell whether the one who makes a request is believed when they say for whom they ask."""
    return request.config_dict[IDENTITIES].believes(request)


def role_of(request: web.Request) -> Role:
    """Return what the one who makes a request may do."""
    return request.config_dict[IDENTITIES].role(request)


def require_role(request: web.Request, role: Role) -> Person:
    """Return who makes a request that only a role may make. Raises Problem (403)."""
    if ROLES.index(role_of(request)) < ROLES.index(role):
        raise problem(403, f"This is for those with the role {role!r}.", cure=_ROLE_CURE)
    return person_of(request)


def signed_in_of(request: web.Request) -> SignedIn | None:
    """Return who is signed in; None for a visitor, and for a request with the admin token."""
    return request.get(SIGNED_IN)


def bearer_token(request: web.Request) -> str | None:
    """Return the token of a request that comes with one."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else None


def new_visitor() -> str:
    """Return an id for a browser that comes for the first time."""
    return f"visitor-{secrets.token_hex(12)}"


def is_https(request: web.Request) -> bool:
    """Tell whether the browser came by HTTPS, to us or to a proxy before us."""
    if request.secure or request.headers.get("X-Forwarded-Proto") == "https":
        return True
    identities = request.config_dict.get(IDENTITIES)
    return identities is not None and identities.public_origin == f"https://{request.host}"


def cookie_name(request: web.Request, name: str) -> str:
    """Return a cookie's full name.

    Over TLS it begins with ``__Host-``: browsers then take it from this very host only, so that
    no other host of the domain can plant one.
    """
    return f"__Host-{name}" if is_https(request) else name


DIRECTORY: web.AppKey[Directory] = web.AppKey("directory")
"""What a colleague may read, as at admission; put there by the composition."""


async def principals_of(request: web.Request, tenant: str) -> frozenset[Principal]:
    """Return the principals of who makes a request.

    Asked where pages are shown and nowhere else: it is never kept with what somebody writes.
    """
    return await _principals(request, tenant, person_of(request))


async def principals_for(request: web.Request, asked: Interaction) -> frozenset[Principal]:
    """Return the principals with which a question is shown to who makes a request.

    Whoever may say for whom they ask, such as a client with the admin token, reads what its asker
    may read on these platforms; anybody else what they may read themselves.
    """
    message = asked.message
    ours = message.thread.platform in {"rest", "web"}
    person = message.author if ours and may_ask_for_others(request) else person_of(request)
    return await _principals(request, message.thread.tenant, person)


async def _principals(request: web.Request, tenant: str, person: Person) -> frozenset[Principal]:
    directory = request.config_dict.get(DIRECTORY)
    if directory is None:
        return person.principals | {EVERYONE}
    return await directory.principals(tenant, person) | {EVERYONE}
