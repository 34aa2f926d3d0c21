"""Sessions of browsers: the browser keeps a random secret, the record its hash and who it is."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

from aiohttp import web

from bot.domain.settings import Settings
from bot.domain.users import SignedIn
from bot.doors.identity import cookie_name, over_tls

SESSION = "frontdesk_session"
SESSION_SECONDS = 12 * 3600
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_SECRET_BYTES = 32


class KeepsSessions(Protocol):
    """The record of sessions. Raises bot.domain.errors.StoreUnavailable."""

    async def begin(
        self, tenant: str, session_id: str, signed_in: SignedIn, now: datetime, until: datetime
    ) -> None: ...

    async def find(self, tenant: str, session_id: str, now: datetime) -> SignedIn | None:
        """Return who it is, or None when it is not there, over, or can't be read."""
        ...

    async def end(self, tenant: str, session_id: str) -> None:
        """Forget one; one that is not there is no error."""
        ...


class Sessions:
    """Begins, finds and ends the sessions of browsers.

    The hash covers the settings that say who gets in, so that a change of one of them (another
    admin token, other groups) ends every session.
    """

    def __init__(self, kept: KeepsSessions, settings: Settings) -> None:
        self._kept = kept
        self._tenant = settings.tenant
        self._settled = "\0".join(_who_gets_in(settings)).encode()

    async def begin(
        self, request: web.Request, response: web.StreamResponse, signed_in: SignedIn
    ) -> None:
        """Give the browser a session with a new id; the one it had is over."""
        await self._end(request)
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        now = datetime.now(UTC)
        until = now + timedelta(seconds=SESSION_SECONDS)
        await self._kept.begin(self._tenant, self._id(secret), signed_in, now, until)
        response.set_cookie(
            cookie_name(request, SESSION),
            secret,
            max_age=SESSION_SECONDS,
            httponly=True,
            secure=over_tls(request),
            samesite="Lax",
        )

    async def find(self, request: web.Request) -> SignedIn | None:
        """Return who makes a request, as far as its cookie says so."""
        secret = _secret_of(request)
        if secret is None:
            return None
        return await self._kept.find(self._tenant, self._id(secret), datetime.now(UTC))

    async def end(self, request: web.Request, response: web.StreamResponse) -> None:
        """End the browser's session, also for a copy of its cookie."""
        await self._end(request)
        response.del_cookie(
            cookie_name(request, SESSION),
            httponly=True,
            secure=over_tls(request),
            samesite="Lax",
        )

    async def _end(self, request: web.Request) -> None:
        secret = _secret_of(request)
        if secret is not None:
            await self._kept.end(self._tenant, self._id(secret))

    def _id(self, secret: str) -> str:
        return hashlib.sha256(secret.encode() + b"\0" + self._settled).hexdigest()


def _secret_of(request: web.Request) -> str | None:
    value = request.cookies.get(cookie_name(request, SESSION), "")
    return value if _SECRET.fullmatch(value) else None


def _who_gets_in(settings: Settings) -> Sequence[str]:
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
