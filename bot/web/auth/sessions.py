"""Browser sessions, in which the issuer is asked again who somebody is and what their groups are.

A browser keeps a random secret; the store keeps its hash with the signed-in person. The issuer's
refresh token is stored encrypted: its key is derived from ``cookie.key`` and from the browser's
secret, so that neither the record nor the key file is enough to read it.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import structlog
from aiohttp import web
from cryptography.fernet import Fernet, InvalidToken

from bot.answering.asker_identity import EVERYONE_PRINCIPALS
from bot.domain.settings import Settings
from bot.domain.users import SignedIn
from bot.store.sessions import StoredSession, StoredSessions
from bot.web.auth.code_flow import CodeFlow, Vouched
from bot.web.auth.id_tokens import IssuerUnavailable, SignInRefused
from bot.web.auth.identity import cookie_name, cookie_options, signing_key

log = structlog.get_logger(__name__)

SESSION_COOKIE = "frontdesk_session"
SESSION_SECONDS = 12 * 3600
ASKING_SECONDS = 60
"""How long one process alone may ask the issuer, and the pause after it could not be asked."""
# secrets.token_urlsafe(32) returns 43 characters.
_SECRET_FORM = re.compile(r"[A-Za-z0-9_-]{43}")
_SECRET_BYTES = 32


class TokenCipher:
    """Encrypts refresh tokens for one session each."""

    def __init__(self, key: bytes) -> None:
        self._key = hmac.digest(key, b"refresh token", hashlib.sha256)

    def encrypt(self, token: str, secret: str) -> str:
        return self._fernet(secret).encrypt(token.encode()).decode() if token else ""

    def decrypt(self, encrypted: str, secret: str) -> str:
        """Return the token; "" if there is none, or if another key encrypted it."""
        try:
            return self._fernet(secret).decrypt(encrypted.encode()).decode()
        except InvalidToken:
            return ""

    def _fernet(self, secret: str) -> Fernet:
        key = hmac.digest(self._key, secret.encode(), hashlib.sha256)
        return Fernet(base64.urlsafe_b64encode(key))


@dataclass(frozen=True, slots=True)
class LapsedSession:
    """A session of somebody whom the issuer was not asked about in time, or no longer vouches for.

    ``ask``: the browser may be sent to the issuer, which may let it in without a question.
    """

    ask: bool = True


class Sessions:
    """Begins, finds and ends browser sessions.

    The session id is a hash of the secret and of the settings that grant access. A change of one of
    them (another admin token, other groups) therefore ends every session.

    Args:
        kept: The store of sessions, which all processes share.
        settings: What grants access, and how often the issuer is asked.
        flow: The sign-in with the issuer; None where it is not configured.
        clock: Returns the current time.
    """

    def __init__(
        self,
        kept: StoredSessions,
        settings: Settings,
        flow: CodeFlow | None = None,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._kept = kept
        self._tenant = settings.tenant
        self._admission = "\0".join(_admission_settings(settings)).encode()
        self._flow = flow
        self._limit = timedelta(minutes=settings.oidc_recheck_minutes)
        self._cipher = TokenCipher(signing_key(settings.data_dir / "cookie.key"))
        self._clock = clock
        self._asking: dict[str, asyncio.Task[SignedIn | LapsedSession | None]] = {}

    async def begin(
        self, request: web.Request, response: web.StreamResponse, vouched: Vouched
    ) -> None:
        """Start a session with a new id, and end the browser's previous one."""
        await self._end(request)
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        now = self._clock()
        await self._kept.begin(
            self._tenant,
            self._id(secret),
            vouched.signed_in,
            now,
            now + timedelta(seconds=SESSION_SECONDS),
            refresh_token=self._cipher.encrypt(vouched.refresh_token, secret),
        )
        response.set_cookie(
            cookie_name(request, SESSION_COOKIE),
            secret,
            max_age=SESSION_SECONDS,
            **cookie_options(request),
        )

    async def find(self, request: web.Request) -> SignedIn | LapsedSession | None:
        """Return the signed-in person of the session cookie; None without a session.

        The issuer is asked again once two thirds of the limit have passed. While it can't be asked,
        a person keeps their groups and role until the limit, and then has neither.
        """
        secret = _secret_of(request)
        if secret is None:
            return None
        session = await self._kept.find(self._tenant, self._id(secret), self._clock())
        if session is None:
            return None
        if session.signed_in.by != "oidc" or self._age(session) < self._limit * 2 / 3:
            return session.signed_in
        return await self._ask_once(secret, session)

    async def is_open(self, request: web.Request) -> bool:
        """Return whether the request's session was not ended meanwhile; True without a session."""
        secret = _secret_of(request)
        if secret is None:
            return True
        found = await self._kept.find(self._tenant, self._id(secret), self._clock())
        return found is not None

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

    async def _ask_once(
        self, secret: str, session: StoredSession
    ) -> SignedIn | LapsedSession | None:
        """Ask the issuer, once for all requests of a session that wait.

        In a task of its own: a browser that leaves must not cancel it, for the issuer may have
        replaced the refresh token already.
        """
        session_id = self._id(secret)
        task = self._asking.get(session_id)
        if task is None:
            task = asyncio.create_task(self._ask(secret, session))
            self._asking[session_id] = task
            task.add_done_callback(lambda _: self._asking.pop(session_id, None))
        return await asyncio.shield(task)

    async def _ask(self, secret: str, session: StoredSession) -> SignedIn | LapsedSession | None:
        session_id, now = self._id(secret), self._clock()
        token = self._cipher.decrypt(session.refresh_token, secret)
        if not token or self._flow is None:
            return await self._without_token(session_id, session)
        until = now + timedelta(seconds=ASKING_SECONDS)
        if not await self._kept.claim(self._tenant, session_id, now, until):
            return self._unconfirmed(session)
        try:
            vouched = await self._flow.ask_again(token)
            _check_same_person(vouched.signed_in, session.signed_in)
        except IssuerUnavailable as error:
            log.warning("session.not_confirmed", why=str(error))
            return self._unconfirmed(session)
        except SignInRefused as error:
            log.info("session.refused", why=str(error))
            await self._kept.end(self._tenant, session_id)
            return LapsedSession(ask=False)
        encrypted = self._cipher.encrypt(vouched.refresh_token, secret)
        confirmed = StoredSession(vouched.signed_in, now, encrypted)
        is_open = await self._kept.confirm(self._tenant, session_id, confirmed)
        return vouched.signed_in if is_open else None

    async def _without_token(
        self, session_id: str, session: StoredSession
    ) -> SignedIn | LapsedSession:
        """End a session that nobody can be asked about, once the limit has passed."""
        if self._age(session) < self._limit:
            return session.signed_in
        await self._kept.end(self._tenant, session_id)
        return LapsedSession()

    def _unconfirmed(self, session: StoredSession) -> SignedIn:
        """Return a person whom the issuer could not be asked about: past the limit, no groups."""
        signed_in = session.signed_in
        if self._age(session) < self._limit or signed_in.person is None:
            return signed_in
        person = replace(signed_in.person, email=None, principals=EVERYONE_PRINCIPALS)
        return SignedIn(signed_in.by, "asker", person)

    def _age(self, session: StoredSession) -> timedelta:
        return self._clock() - session.confirmed_at

    def _id(self, secret: str) -> str:
        return hashlib.sha256(secret.encode() + b"\0" + self._admission).hexdigest()


def _check_same_person(now: SignedIn, before: SignedIn) -> None:
    if now.person is None or before.person is None or now.person.id != before.person.id:
        raise SignInRefused("The issuer's new token is for another person.")


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
