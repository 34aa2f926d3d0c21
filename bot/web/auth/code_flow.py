"""The authorization code flow with PKCE: sign in with the issuer, and ask it again later."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from bot.domain.settings import Settings
from bot.domain.texts import tr
from bot.domain.users import SignedIn
from bot.web.auth.id_tokens import (
    Claims,
    ExpectedToken,
    IssuerUnavailable,
    SignInFailed,
    SignInRefused,
    admission_rules,
    has_group_overage,
    key_id,
    signed_in_person,
    verified_claims,
)
from bot.web.auth.issuer import ClientRegistration, IssuedTokens, Issuer, SignInAttempt

log = structlog.get_logger(__name__)

CALLBACK_PATH = "/session/oidc/callback"
_BEGIN_AGAIN = tr(
    "This sign-in was started in another browser or more than ten minutes ago. Please try again."
)
_CANCELLED = tr("The sign-in was not completed. Try again, or ask whoever runs Frontdesk.")


@dataclass(frozen=True, slots=True)
class Vouched:
    """Whom the issuer vouches for, and the token to ask it again with, or ""."""

    signed_in: SignedIn
    refresh_token: str = field(default="", repr=False)


class CodeFlow:
    """The authorization code flow with one issuer."""

    def __init__(self, settings: Settings, issuer: Issuer) -> None:
        self._issuer = issuer
        self._rules = admission_rules(settings)
        self._client_id = settings.oidc_client_id or ""
        self._warned_of_groups = False

    async def address(self, attempt: SignInAttempt) -> str:
        """Return the authorization URL. Raises IssuerUnavailable."""
        return await self._issuer.address(attempt)

    async def finish(self, attempt: SignInAttempt | None, query: Mapping[str, str]) -> Vouched:
        """Complete the flow and return the signed-in person. Raises SignInFailed."""
        attempt = _check_browser(attempt, query)
        self._check_answer(query)
        tokens = await self._issuer.redeem(query["code"], attempt.verifier)
        return await self._vouched(tokens, attempt.nonce)

    async def ask_again(self, refresh_token: str) -> Vouched:
        """Return what the issuer says of a person now.

        Raises SignInRefused when it no longer vouches for them, IssuerUnavailable when it can't be
        asked.
        """
        return await self._vouched(await self._issuer.refresh(refresh_token), None)

    async def _vouched(self, tokens: IssuedTokens, nonce: str | None) -> Vouched:
        key = await self._issuer.key(key_id(tokens.id_token))
        expected = ExpectedToken(self._rules.issuer, self._client_id, nonce)
        claims = verified_claims(tokens.id_token, key, expected)
        self._warn_of_groups(claims)
        return Vouched(signed_in_person(claims, self._rules), tokens.refresh_token)

    def _check_answer(self, query: Mapping[str, str]) -> None:
        """Reject an error, another issuer's answer (RFC 9207), and an answer without a code."""
        if query.get("iss", self._rules.issuer) != self._rules.issuer:
            raise SignInRefused("The answer names another issuer (iss).")
        error = query.get("error", "")
        if error in {"server_error", "temporarily_unavailable"}:
            raise IssuerUnavailable(f"The issuer answers {error!r}.")
        if error or "code" not in query:
            raise SignInRefused(f"The issuer answers {error[:64]!r}.", user_message=_CANCELLED)

    def _warn_of_groups(self, claims: Claims) -> None:
        if has_group_overage(claims) and not self._warned_of_groups:
            self._warned_of_groups = True
            log.warning(
                "signin.groups_left_out",
                why="An account has more groups than fit into a token, so none is known.",
                cure="Assign groups to the application, or use app roles: docs/signing-in.md.",
            )


def code_flow(settings: Settings) -> CodeFlow | None:
    """Return the flow that the settings configure, or None."""
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    secret = settings.oidc_client_secret
    registration = ClientRegistration(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        redirect_uri=f"{settings.public_url}{CALLBACK_PATH}",
        secret=secret.get_secret_value() if secret is not None else None,
    )
    return CodeFlow(settings, Issuer(registration))


def _check_browser(attempt: SignInAttempt | None, query: Mapping[str, str]) -> SignInAttempt:
    """Reject an answer to another browser's attempt (login CSRF)."""
    state = query.get("state", "").encode()
    if attempt is None or not hmac.compare_digest(state, attempt.state.encode()):
        raise SignInFailed(
            "The state is not of an attempt of this browser.", user_message=_BEGIN_AGAIN
        )
    return attempt
