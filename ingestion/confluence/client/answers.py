"""What the answers of a Confluence mean: the error each status stands for; pure.

No message holds a header or a body: a token, or a page's text, may be in there.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingestion.confluence.client.patience import TryAgain
from ingestion.confluence.errors import EndpointGone, NotVisible, WikiRefused, WikiUnavailable
from ingestion.errors import IngestionError
from rag.retrying import requested_wait_seconds

_OK = 200
_UNDERSTOOD_BUT_NOT_THERE = frozenset({400, 404})
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_TOO_MANY = 429


def error_of(status: int, headers: Mapping[str, str], asked: str) -> IngestionError | None:
    """Return what an answer to ``asked`` ("GET /path") fails with; None where it is an answer."""
    if status == _OK:
        return None
    if status in _PASSING:
        return TryAgain(
            _unavailable(status, headers, asked),
            status=status,
            wait_seconds=requested_wait_seconds(headers),
        )
    if status in _UNDERSTOOD_BUT_NOT_THERE:
        return NotVisible(
            f"Confluence answers {status} to {asked}: it is not there, or the token may not see it."
        )
    return _refusal(status, headers, asked)


def _refusal(status: int, headers: Mapping[str, str], asked: str) -> IngestionError:
    match status:
        case 401:
            return WikiRefused(f"Confluence answers 401 to {asked}: {_why_refused(headers)}")
        case 403:
            return NotVisible(
                f"Confluence answers 403 to {asked}: the token may not see it.", forbidden=True
            )
        case 407:
            return WikiUnavailable(
                f"The proxy wants a name and password for {asked}. Put them into HTTPS_PROXY."
            )
        case 410:
            return EndpointGone(
                f"Confluence answers 410 to {asked}: this Confluence has it no more. Look whether "
                "there is a newer Frontdesk."
            )
        case _:
            return WikiUnavailable(f"Confluence answers {status} to {asked}.")


def _why_refused(headers: Mapping[str, str]) -> str:
    if "CAPTCHA" in headers.get("X-Authentication-Denied-Reason", "").upper():
        return "it wants a captcha first. Sign in once in a browser as the token's user."
    return (
        "it does not take the token. Check CONFLUENCE_TOKEN, whether it has expired, and "
        "CONFLUENCE_EMAIL, which API tokens of Cloud need and others must not have."
    )


def _unavailable(status: int, headers: Mapping[str, str], asked: str) -> str:
    wait = requested_wait_seconds(headers)
    later = f", and asks to wait {wait:.0f} seconds" if wait else ""
    reason = ": too many requests" if status == _TOO_MANY else ""
    return f"Confluence answers {status} to {asked}{reason}{later}. Try again later."


def not_json(content_type: str, asked: str) -> WikiRefused | WikiUnavailable | None:
    """Return what it means when something else comes where JSON was due; None where it is JSON."""
    if content_type.endswith("json"):
        return None
    if content_type in {"text/html", "application/xhtml+xml"}:
        return WikiRefused(
            f"{asked} was answered with a web page: that is a login page. Check CONFLUENCE_URL, "
            "and whether the token may be used without single sign-on."
        )
    return WikiUnavailable(f"{asked} was answered with {content_type!r} where JSON is due.")


def elsewhere(asked: str, host: str) -> WikiRefused:
    """Return what it means when the API sends to another site, where the token must not go."""
    return WikiRefused(
        f"{asked} was sent on to {host}: that is a login page. Check CONFLUENCE_URL."
    )


def no_spaces(base: str, error: NotVisible) -> WikiRefused:
    """Return what it means when even the list of spaces is not there."""
    return WikiRefused(
        f"There is no Confluence at {base}, or the token may not use it. Check CONFLUENCE_URL, and "
        f"what the token may read. {error}"
    )
