"""Why nobody was signed in.

- BotError
  - SignInFailed: what the person is told, and what the log says
    - IssuerUnavailable: the issuer is away or talks nonsense; later it may work
    - SignInRefused: the issuer or we say no
"""

from __future__ import annotations

from http import HTTPStatus

from bot.domain.errors import BotError


class SignInFailed(BotError):
    """Nobody was signed in. The text is for the log; ``told`` is for the person."""

    status = HTTPStatus.BAD_REQUEST
    told = "That did not work. Please sign in again."

    def __init__(self, why: str, *, told: str | None = None) -> None:
        super().__init__(why)
        self.told = told or self.told


class IssuerUnavailable(SignInFailed):
    """The issuer can't be reached, or answers what can't be used."""

    status = HTTPStatus.BAD_GATEWAY
    told = "Your company's sign-in service doesn't answer as it should. Try again in a minute."


class SignInRefused(SignInFailed):
    """What came back from the issuer does not let this person in."""

    status = HTTPStatus.FORBIDDEN
