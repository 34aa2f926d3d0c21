"""Resolve a request's caller: their identity, role and principals; sign and set cookies.

A caller's principals are looked up when pages are shown, and never stored with their messages.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from aiohttp import web

from bot.answering.asker_identity import Reader
from bot.domain.cases import actor_of
from bot.domain.errors import SettingInvalid
from bot.domain.interactions import Interaction
from bot.domain.messages import Person
from bot.domain.ports import Directory
from bot.domain.settings import Settings
from bot.domain.texts import tr
from bot.domain.urls import origin_of
from bot.domain.users import ROLE_NAMES, ROLES, Role, SignedIn
from bot.learning.question_words import Viewer, person_key
from bot.web.problems import problem
from rag.types import EVERYONE, Principal

KEY_BYTES = 32


class Signer:
    """Signs short values for one purpose; other keys and purposes reject them."""

    def __init__(self, key: bytes, purpose: str) -> None:
        self._key = hmac.digest(key, purpose.encode(), hashlib.sha256)

    def sign(self, value: str) -> str:
        return f"{value}.{self._mark(value)}"

    def read(self, signed: str) -> str | None:
        """Return the value, or None if its signature is invalid."""
        value, _, mark = signed.rpartition(".")
        if value and hmac.compare_digest(_bytes(mark), _bytes(self._mark(value))):
            return value
        return None

    def _mark(self, value: str) -> str:
        digest = hmac.digest(self._key, value.encode("utf-8", "replace"), hashlib.sha256)
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def signing_key(path: Path) -> bytes:
    """Return the key stored in a file (mode 0600); the first call creates it.

    Raises SettingInvalid when the file is not a key or can't be read or written.
    """
    try:
        if not path.exists():
            _make_key(path)
        key = path.read_bytes()
    except OSError as error:
        raise SettingInvalid(
            f"{str(path)!r} can't be used as the key of browser cookies: {error.strerror}. Look "
            "at the data directory's permissions and free space, or move what is there away."
        ) from error
    if len(key) != KEY_BYTES:
        raise SettingInvalid(
            f"{str(path)!r} has {len(key)} bytes, a key has {KEY_BYTES}. Delete it; a new one is "
            "made at the next start, and browsers that nobody signed in with begin anew."
        )
    return key


def secrets_match(given: str, expected: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(_digest(given), _digest(expected))


def _digest(text: str) -> bytes:
    return hashlib.sha256(_bytes(text)).digest()


def _bytes(text: str) -> bytes:
    """Encode text as bytes, lone surrogates included: headers and JSON can contain them."""
    return text.encode("utf-8", "surrogatepass")


def _make_key(path: Path) -> None:
    """Create the key file atomically; of two processes, the first one wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:
        _copy(Path(draft), path)
    finally:
        Path(draft).unlink()


def _copy(draft: Path, path: Path) -> None:
    """Create the key file without hard links (e.g. on an SMB share); the first process wins."""
    with suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(draft.read_bytes())


VISITOR_COOKIE = "frontdesk_visitor"
NEW_VISITOR = web.RequestKey("newcomer", str)
"""The id given to a browser that has no visitor cookie yet."""
SIGNED_IN = web.RequestKey("signed_in", SignedIn)
"""The signed-in person; set by SecurityMiddleware, absent for everybody else."""
SESSION_IS_OPEN: web.RequestKey[Callable[[], Awaitable[bool]]] = web.RequestKey("session_is_open")
"""Asks whether the request's session is still open; set by SecurityMiddleware."""
_ROLE_CURE = tr("Ask whoever runs Frontdesk for it, or sign in at /session as somebody who has it.")
VISITOR_SECONDS = 365 * 24 * 3600

LOCAL_ID = "local"
"""The person id of a caller on this machine without a browser, such as curl."""

ADMIN_ID = "admin"


@dataclass(frozen=True, slots=True)
class ClaimedUser:
    """The user that a request claims to ask for; trusted only if ``Identities.believes`` it."""

    id: str
    email: str | None = None
    groups: frozenset[str] = frozenset()


class Identities:
    """Resolves the caller of a request: admin, signed-in person, visitor or local user.

    The admin token takes precedence over all other credentials. SecurityMiddleware has already
    found the signed-in person. A browser without either is identified by a signed visitor cookie.
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
        """Whether an admin token is configured."""
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
        signed = self._visitors.sign(visitor)
        response.set_cookie(
            VISITOR_COOKIE, signed, max_age=VISITOR_SECONDS, **cookie_options(request)
        )

    def person(self, request: web.Request, claimed: ClaimedUser | None) -> Person:
        """Return the caller, or the user they ask for. Raises Problem (403): untrusted claim."""
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
        """Return whether all interactions are visible: to admins, or where any claim is trusted."""
        return self.is_admin(request) or (self._believes_all and request.get(SIGNED_IN) is None)

    def role(self, request: web.Request) -> Role:
        """Return the caller's role; on loopback without an admin token, it is admin."""
        if self.has_token(request):
            return "admin"
        signed_in: SignedIn | None = request.get(SIGNED_IN)
        if signed_in is not None:
            return signed_in.role
        return "admin" if self._token is None and self._alone else "asker"

    def may_see(self, request: web.Request, interaction: Interaction) -> bool:
        """Return whether the caller may see an interaction: its asker or an admin of its tenant."""
        message = interaction.message
        if message.thread.tenant != self._tenant:
            return False
        if self.sees_all(request):
            return True
        own = message.thread.platform in {"rest", "web"}
        return own and message.author.id == self._own(request).id

    def believes(self, request: web.Request) -> bool:
        """Return whether the caller may claim another user: with the token or DEV_IDENTITIES."""
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


def identities_of(request: web.Request) -> Identities:
    """Return the identities of the app that serves a request."""
    return request.config_dict[IDENTITIES]


def person_of(request: web.Request, claimed: ClaimedUser | None = None) -> Person:
    """Return the caller, or the user they ask for. Raises Problem (403) for an untrusted claim."""
    return identities_of(request).person(request, claimed)


def role_of(request: web.Request) -> Role:
    """Return the caller's role."""
    return identities_of(request).role(request)


def require_role(request: web.Request, role: Role) -> Person:
    """Return the caller if they have at least a role. Raises Problem (403) otherwise."""
    if ROLES.index(role_of(request)) < ROLES.index(role):
        needed = tr("This requires the role “{role}”.", role=ROLE_NAMES[role])
        raise problem(403, needed, cure=_ROLE_CURE)
    return person_of(request)


def signed_in_of(request: web.Request) -> SignedIn | None:
    """Return the signed-in person; None for a visitor, and for a request with the admin token."""
    return request.get(SIGNED_IN)


async def is_session_open(request: web.Request) -> bool:
    """Return whether the caller's session was not ended meanwhile: a long response must ask."""
    is_open = request.get(SESSION_IS_OPEN)
    return is_open is None or await is_open()


def bearer_token(request: web.Request) -> str | None:
    """Return the bearer token of the Authorization header, or None."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else None


def new_visitor() -> str:
    """Return a new random visitor id."""
    return f"visitor-{secrets.token_hex(12)}"


def is_https(request: web.Request) -> bool:
    """Return whether the browser used HTTPS, to this server or to a proxy in front of it."""
    if request.secure or request.headers.get("X-Forwarded-Proto") == "https":
        return True
    identities = request.config_dict.get(IDENTITIES)
    return identities is not None and identities.public_origin == f"https://{request.host}"


def cookie_name(request: web.Request, name: str) -> str:
    """Return a cookie's full name.

    Over TLS it has the prefix ``__Host-``: browsers then accept it from this very host only, so
    that no other host of the domain can plant one.
    """
    return f"__Host-{name}" if is_https(request) else name


class CookieOptions(TypedDict):
    """The options of every cookie that authenticates somebody."""

    httponly: bool
    secure: bool
    samesite: str


def cookie_options(request: web.Request) -> CookieOptions:
    """Return the options that cookies are set and deleted with."""
    return CookieOptions(httponly=True, secure=is_https(request), samesite="Lax")


DIRECTORY: web.AppKey[Directory] = web.AppKey("directory")
"""Resolves a person's principals, as at admission; set by bot.app."""


async def principals_of(request: web.Request, tenant: str) -> frozenset[Principal]:
    """Return the caller's principals.

    Called only where pages are shown: principals are never stored with a message.
    """
    return await _principals(request, tenant, person_of(request))


async def viewer_of(request: web.Request, tenant: str) -> Viewer:
    """Return the caller as a viewer of questions that others asked."""
    person = person_of(request)
    ids = frozenset({person.id, person_key(person), actor_of(person, "expert").id})
    return Viewer(ids, Reader(await principals_of(request, tenant)))


async def principals_for(request: web.Request, asked: Interaction) -> frozenset[Principal]:
    """Return the principals with which a recorded question is shown to the caller.

    A caller that may claim other users, such as a client with the admin token, reads what the asker
    may read on these platforms; everybody else what they may read themselves.
    """
    message = asked.message
    ours = message.thread.platform in {"rest", "web"}
    person = message.author if ours and identities_of(request).believes(request) else None
    return await _principals(request, message.thread.tenant, person or person_of(request))


async def _principals(request: web.Request, tenant: str, person: Person) -> frozenset[Principal]:
    directory = request.config_dict.get(DIRECTORY)
    if directory is None:
        return person.principals | {EVERYONE}
    return await directory.principals(tenant, person) | {EVERYONE}
