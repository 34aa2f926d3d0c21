"""Checks admin tokens, and keeps a record of who signs in and who is turned away."""

from __future__ import annotations

import structlog
from aiohttp import web

from bot.domain.ports import Audits
from bot.domain.users import SignedIn
from bot.doors.identity import Identities, bearer
from bot.doors.problems import problem
from bot.doors.signin.attempts import WrongTokens

log = structlog.get_logger(__name__)

WRONG = "That is not the admin token. It is the value of FRONTDESK_ADMIN_TOKEN."
HELD = "That is not the admin token, and too many wrong ones were tried. Wait a minute."


class Doorkeeper:
    """Tells right tokens from wrong ones; writes down who came in with more than questions."""

    def __init__(
        self, identities: Identities, audits: Audits | None, tenant: str, wrong: WrongTokens
    ) -> None:
        self._identities = identities
        self._audits = audits
        self._tenant = tenant
        self._wrong = wrong

    async def check_bearer(self, request: web.Request) -> bool:
        """Tell whether a request has the token; False without any.

        Raises Problem (429) for a wrong one after too many.
        """
        given = bearer(request)
        if given is None or not self._identities.takes_token:
            return False
        return await self.check(request, given)

    async def check(self, request: web.Request, token: str) -> bool:
        """Tell whether a token is right; a right one always is.

        Raises Problem (429) for a wrong one after too many.
        """
        if self._identities.is_token(token):
            return True
        await self._turn_away(request)
        return False

    async def came_in(self, signed_in: SignedIn) -> None:
        """Write down that an expert or an admin signed in."""
        person = signed_in.person
        who = "admin token" if person is None else person.email or person.name or person.id
        log.info("signin.done", by=signed_in.by, role=signed_in.role)
        if signed_in.role != "asker" and self._audits is not None:
            subject = "" if person is None else person.id
            await self._audits.append(
                self._tenant, f"web:{who}", "sign_in", subject, detail=signed_in.role
            )

    async def _turn_away(self, request: web.Request) -> None:
        self._hold()
        self._wrong.add()
        log.warning("signin.wrong_token", remote=request.remote, path=request.path)
        if self._audits is not None:
            await self._audits.append(
                self._tenant,
                "web:unknown",
                "wrong_token",
                request.path,
                detail=request.remote or "",
            )

    def _hold(self) -> None:
        seconds = self._wrong.held_seconds
        if seconds:
            raise problem(429, HELD, headers={"Retry-After": str(seconds)})
