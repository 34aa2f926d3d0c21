"""Check credentials: browser sessions and the admin token, with a limit on wrong tokens.

A browser keeps a random secret; the store keeps its hash with the signed-in person.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from aiohttp import web

from bot.domain.ports import Audits
from bot.domain.settings import Settings
from bot.domain.users import SignedIn
from bot.store.key_values import StoredSessions
from bot.web.auth.identity import Identities, bearer_token, cookie_name, cookie_options
from bot.web.problems import problem

SESSION_COOKIE = "frontdesk_session"
SESSION_SECONDS = 12 * 3600
ACCOUNT_SESSION_SECONDS = 3600
"""For so long the groups and the role of a company account are believed.

The browser keeps its cookie and signs in again, which the issuer answers without asking anything.
"""
# secrets.token_urlsafe(32) returns 43 characters.
_SECRET_FORM = re.compile(r"[A-Za-z0-9_-]{43}")
_SECRET_BYTES = 32


class Sessions:
    """Begins, finds and ends browser sessions.

    The session id is a hash of the secret and of the settings that grant access. A change of one of
    them (another admin token, other groups) therefore ends every session.
    """

    def __init__(self, kept: StoredSessions, settings: Settings) -> None:
        self._kept = kept
        self._tenant = settings.tenant
        self._admission = "\0".join(_admission_settings(settings)).encode()

    async def begin(
        self, request: web.Request, response: web.StreamResponse, signed_in: SignedIn
    ) -> None:
        """Start a session with a new id, and end the browser's previous one."""
        await self._end(request)
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        now = datetime.now(UTC)
        by_account = signed_in.by == "oidc"
        lasts = ACCOUNT_SESSION_SECONDS if by_account else SESSION_SECONDS
        until = now + timedelta(seconds=lasts)
        await self._kept.begin(self._tenant, self._id(secret), signed_in, now, until)
        response.set_cookie(
            cookie_name(request, SESSION_COOKIE),
            secret,
            max_age=SESSION_SECONDS,
            **cookie_options(request),
        )

    async def find(self, request: web.Request) -> SignedIn | None:
        """Return the signed-in person of the session cookie, or None."""
        secret = _secret_of(request)
        if secret is None:
            return None
        return await self._kept.find(self._tenant, self._id(secret), datetime.now(UTC))

    def was_signed_in(self, request: web.Request) -> bool:
        """Return whether the browser still has the cookie of a session, ended or not."""
        return _secret_of(request) is not None

    async def end(self, request: web.Request, response: web.StreamResponse) -> None:
        """End the browser's session on the server, so that a copy of its cookie fails, too."""
        await self._end(request)
        response.del_cookie(
            cookie_name(request, SESSION_COOKIE),
            **cookie_options(request),
        )

    async def _end(self, request: web.Request) -> None:
        secret = _secret_of(request)
        if secret is not None:
            await self._kept.end(self._tenant, self._id(secret))

    def _id(self, secret: str) -> str:
        return hashlib.sha256(secret.encode() + b"\0" + self._admission).hexdigest()


def _secret_of(request: web.Request) -> str | None:
    value = request.cookies.get(cookie_name(request, SESSION_COOKIE), "")
    return value if _SECRET_FORM.fullmatch(value) else None


def _admission_settings(settings: Settings) -> Sequence[str]:
    token = settings.admin_token
    return (
        token.get_secret_value() if token is not None else "",
        settings.oidc_issuer or "",
        settings.oidc_client_id or "",
        *(
            ",".join(sorted(values))
            for values in (
                settings.oidc_admin_groups,
                settings.oidc_expert_groups,
                settings.oidc_allowed_domains,
            )
        ),
    )


MAX_WRONG_TOKENS = 10
WRONG_TOKEN_WINDOW_SECONDS = 60.0
WRONG_TOKEN_PAUSE_SECONDS = 60.0


class WrongTokenLimit:
    """Rate limit of wrong tokens: ten within a minute make further ones a 429 for one minute.

    Counts wrong tokens of all clients, within this process. A session or a right token is never
    blocked: otherwise any stranger could lock out everybody. That makes guessing no easier: a token
    has 16 characters or more, and is compared in constant time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at: deque[float] = deque(maxlen=MAX_WRONG_TOKENS)
        self._held_until = float("-inf")

    def add(self) -> None:
        """Count a wrong token."""
        now = self._clock()
        self._at.append(now)
        if len(self._at) == MAX_WRONG_TOKENS and now - self._at[0] < WRONG_TOKEN_WINDOW_SECONDS:
            self._held_until = now + WRONG_TOKEN_PAUSE_SECONDS
            self._at.clear()

    @property
    def held_seconds(self) -> int:
        """The seconds for which wrong tokens get 429; 0 when they get 401."""
        return math.ceil(max(0.0, self._held_until - self._clock()))


log = structlog.get_logger(__name__)

REJECTED_TEXT = "That is not the admin token. It is the value of FRONTDESK_ADMIN_TOKEN."
PAUSED_TEXT = "That is not the admin token, and too many wrong ones were tried. Wait a minute."


@dataclass(frozen=True, slots=True)
class AdminTokenCheck:
    """Checks admin tokens; audits wrong ones and the sign-ins of experts and admins."""

    identities: Identities
    audits: Audits | None
    tenant: str
    wrong: WrongTokenLimit

    async def check_bearer(self, request: web.Request) -> bool:
        """Return whether the request carries the admin token; False without any token.

        Raises Problem (429) for a wrong one while the limit is exceeded.
        """
        given = bearer_token(request)
        if given is None or not self.identities.takes_token:
            return False
        return await self.check(request, given)

    async def check(self, request: web.Request, token: str) -> bool:
        """Return whether a token is right; right ones are never rate limited.

        Raises Problem (429) for a wrong one while the limit is exceeded.
        """
        if self.identities.is_token(token):
            return True
        await self._record_wrong_token(request)
        return False

    async def record_sign_in(self, signed_in: SignedIn) -> None:
        """Log a sign-in; audit it if it is an expert's or an admin's."""
        person = signed_in.person
        who = "admin token" if person is None else person.email or person.name or person.id
        log.info("signin.done", by=signed_in.by, role=signed_in.role)
        if signed_in.role != "asker" and self.audits is not None:
            subject = "" if person is None else person.id
            await self.audits.append(
                self.tenant, f"web:{who}", "sign_in", subject, detail=signed_in.role
            )

    async def _record_wrong_token(self, request: web.Request) -> None:
        self._raise_if_limited()
        self.wrong.add()
        log.warning("signin.wrong_token", remote=request.remote, path=request.path)
        if self.audits is not None:
            await self.audits.append(
                self.tenant,
                "web:unknown",
                "wrong_token",
                request.path,
                detail=request.remote or "",
            )

    def _raise_if_limited(self) -> None:
        seconds = self.wrong.held_seconds
        if seconds:
            raise problem(429, PAUSED_TEXT, headers={"Retry-After": str(seconds)})
