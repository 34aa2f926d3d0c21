"""The SDK's errors in our words: what happened, which setting to look at, and no secret.

Nothing that a server wrote is quoted: error bodies repeat keys and questions.
"""

from __future__ import annotations

import openai

from rag.errors import ModelUnavailable
from rag.models.dialect import Rejection
from rag.models.retrying import TryAgain
from rag.models.setting_names import CHAT, SettingNames
from rag.retry_after import requested_wait_seconds

_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})


def rejection_of(error: openai.APIStatusError) -> Rejection | None:
    """Return what the server finds wrong with the request (400, 422), else None."""
    if error.status_code not in {400, 422}:
        return None
    return Rejection(error.message, error.code or "", error.param or "")


def translated(error: openai.APIError, model: str, names: SettingNames = CHAT) -> ModelUnavailable:
    """Return our error for the SDK's; a TryAgain where trying again may help."""
    if not isinstance(error, openai.APIStatusError):
        return TryAgain(
            f"The model {model!r} cannot be reached; check {names.base_url}, the network and "
            "whether the server runs."
        )
    status = error.status_code
    if error.code != "insufficient_quota" and status in _TRANSIENT:
        wait = requested_wait_seconds(error.response.headers)
        return TryAgain(f"The model {model!r} answered {status} and is busy or broken.", wait)
    return ModelUnavailable(f"The model {model!r} answered {status}: {_cure(error, names)}.")


def _cure(error: openai.APIStatusError, names: SettingNames) -> str:
    """Return what is wrong, and the setting to look at."""
    if error.code == "insufficient_quota":
        return f"the account has no credit left; check the billing of {names.api_key}'s account"
    match error.status_code:
        case 401:
            return f"the key is not accepted; check {names.api_key}"
        case 403:
            return (
                f"the key or identity may not use it; check {names.api_key}, or give the identity "
                "the role `Cognitive Services OpenAI User`"
            )
        case 404:
            return f"there is no such model or address; check {names.model} and {names.base_url}"
        case status if status in range(300, 400):
            return (
                "it redirects elsewhere, which is not followed, so that the key stays where it "
                f"belongs; set {names.base_url} to the final address"
            )
        case _:
            return f"the request is not accepted; check {names.model} and {names.base_url}"
