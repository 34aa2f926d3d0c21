"""Check the admin token, with a limit on wrong ones, and audit who signs in."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from aiohttp import web

from bot.domain.ports import Audits
from bot.domain.texts import tr
from bot.domain.users import SignedIn
from bot.web.auth.identity import Identities, bearer_token
from bot.web.problems import problem

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

REJECTED_TEXT = tr("Wrong admin token. Use the value of FRONTDESK_ADMIN_TOKEN.")
PAUSED_TEXT = tr("Wrong admin token, and too many attempts. Wait a minute.")


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
