"""The authorization code flow with PKCE, from the browser's way out to its way back."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

import structlog

from bot.domain.settings import Settings
from bot.domain.users import SignedIn
from bot.doors.signin.attempt import Attempt
from bot.doors.signin.claims import Claims, admittance, colleague, groups_left_out
from bot.doors.signin.errors import IssuerUnavailable, SignInFailed, SignInRefused
from bot.doors.signin.issuer import Issuer, Registration
from bot.doors.signin.tokens import Expected, checked, key_id

log = structlog.get_logger(__name__)

CALLBACK = "/session/oidc/callback"
_BEGIN_AGAIN = (
    "This sign-in was not begun in this browser, or more than ten minutes ago. Please try again."
)
_CANCELLED = "The sign-in was not completed. Try again, or ask whoever runs Frontdesk."


class Flow:
    """Signs colleagues in with one issuer."""

    def __init__(self, settings: Settings, issuer: Issuer) -> None:
        self._issuer = issuer
        self._let_in = admittance(settings)
        self._client_id = settings.oidc_client_id or ""
        self._told_of_groups = False

    async def address(self, attempt: Attempt) -> str:
        """Return where the browser goes to sign in. Raises IssuerUnavailable."""
        return await self._issuer.address(attempt)

    async def finish(self, attempt: Attempt | None, query: Mapping[str, str]) -> SignedIn:
        """Return who came back. Raises SignInFailed."""
        attempt = _same_browser(attempt, query)
        self._check_answer(query)
        token = await self._issuer.redeem(query["code"], attempt.verifier)
        key = await self._issuer.key(key_id(token))
        expected = Expected(self._let_in.issuer, self._client_id, attempt.nonce)
        claims = checked(token, key, expected)
        self._tell_of_groups(claims)
        return colleague(claims, self._let_in)

    def _check_answer(self, query: Mapping[str, str]) -> None:
        """Refuse an error, another issuer's answer (RFC 9207), and one without a code."""
        if query.get("iss", self._let_in.issuer) != self._let_in.issuer:
            raise SignInRefused("The answer names another issuer (iss).")
        error = query.get("error", "")
        if error in {"server_error", "temporarily_unavailable"}:
            raise IssuerUnavailable(f"The issuer answers {error!r}.")
        if error or "code" not in query:
            raise SignInRefused(f"The issuer answers {error[:64]!r}.", told=_CANCELLED)

    def _tell_of_groups(self, claims: Claims) -> None:
        if groups_left_out(claims) and not self._told_of_groups:
            self._told_of_groups = True
            log.warning(
                "signin.groups_left_out",
                why="An account has more groups than fit into a token, so none is known.",
                cure="Assign groups to the application, or use app roles: docs/signing-in.md.",
            )


def flow_of(settings: Settings) -> Flow | None:
    """Return how colleagues sign in, None where that is not configured."""
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    secret = settings.oidc_client_secret
    registration = Registration(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        redirect_uri=f"{settings.public_url}{CALLBACK}",
        secret=secret.get_secret_value() if secret is not None else None,
    )
    return Flow(settings, Issuer(registration))


def _same_browser(attempt: Attempt | None, query: Mapping[str, str]) -> Attempt:
    """Refuse an answer to an attempt that another browser began: a forged sign-in."""
    state = query.get("state", "").encode()
    if attempt is None or not hmac.compare_digest(state, attempt.state.encode()):
        raise SignInFailed("The state is not of an attempt of this browser.", told=_BEGIN_AGAIN)
    return attempt
