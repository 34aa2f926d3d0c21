"""The SDK's errors in our words: what happened, which setting to look at, and no secret.

Nothing that a server wrote is quoted: error bodies repeat keys and questions.
"""

from __future__ import annotations

import openai

from rag.errors import ModelUnavailable
from rag.models.dialect import Rejection
from rag.models.retrying import TryAgain
from rag.retrying import requested_wait_seconds

_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_CURES = {
    401: "the key is not accepted; check OPENAI_API_KEY",
    403: "the key or identity may not use it; check OPENAI_API_KEY, or give the identity the role "
    "`Cognitive Services OpenAI User`",
    404: "there is no such model or address; check OPENAI_MODEL and OPENAI_BASE_URL",
}
_NO_CREDIT = "the account has no credit left; check the billing of OPENAI_API_KEY's account"
_REDIRECT = (
    "it redirects elsewhere, which is not followed, so that the key stays where it belongs; "
    "set OPENAI_BASE_URL to the final address"
)


def rejection_of(error: openai.APIStatusError) -> Rejection | None:
    """Return what the server finds wrong with the request (400, 422), else None."""
    if error.status_code not in {400, 422}:
        return None
    return Rejection(error.message, error.code or "", error.param or "")


def translated(error: openai.APIError, model: str) -> ModelUnavailable:
    """Return our error for the SDK's; a TryAgain where trying again may help."""
    if not isinstance(error, openai.APIStatusError):
        return TryAgain(
            f"The model {model!r} cannot be reached; check OPENAI_BASE_URL, the network and "
            "whether the server runs."
        )
    status = error.status_code
    if error.code == "insufficient_quota":
        return ModelUnavailable(f"The model {model!r} answered {status}: {_NO_CREDIT}.")
    if status in _TRANSIENT:
        wait = requested_wait_seconds(error.response.headers)
        return TryAgain(f"The model {model!r} answered {status} and is busy or broken.", wait)
    cure = _CURES.get(status, "the request is not accepted; check OPENAI_MODEL and OPENAI_BASE_URL")
    if status in range(300, 400):
        cure = _REDIRECT
    return ModelUnavailable(f"The model {model!r} answered {status}: {cure}.")
