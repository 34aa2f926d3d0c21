"""What statuses and headers mean."""

from __future__ import annotations

import pytest

from ingestion.confluence.client.retry import TryAgain, error_of, json_error
from ingestion.confluence.errors import EndpointGone, NotVisible, WikiRefused, WikiUnavailable

ASKED = "GET /wiki/api/v2/pages/12"


def test_an_answer_is_no_error() -> None:
    assert error_of(200, {}, ASKED) is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, NotVisible),
        (401, WikiRefused),
        (403, NotVisible),
        (404, NotVisible),
        (407, WikiUnavailable),
        (410, EndpointGone),
        (418, WikiUnavailable),
        (204, WikiUnavailable),
        (501, WikiUnavailable),
    ],
)
def test_what_will_not_pass_is_told_apart(status: int, kind: type[Exception]) -> None:
    error = error_of(status, {}, ASKED)

    assert type(error) is kind


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(status: int) -> None:
    error = error_of(status, {"Retry-After": "7"}, ASKED)

    assert isinstance(error, TryAgain)
    assert (error.status, error.wait_seconds) == (status, 7.0)


def test_forbidden_is_told_from_not_there() -> None:
    forbidden, missing = error_of(403, {}, ASKED), error_of(404, {}, ASKED)

    assert isinstance(forbidden, NotVisible)
    assert isinstance(missing, NotVisible)
    assert (forbidden.forbidden, missing.forbidden) == (True, False)


def test_a_captcha_is_told_from_a_wrong_token() -> None:
    denied = {"X-Authentication-Denied-Reason": "CAPTCHA_CHALLENGE; login-url=https://x"}

    assert "captcha" in str(error_of(401, denied, ASKED))
    assert "CONFLUENCE_TOKEN" in str(error_of(401, {}, ASKED))


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("application/json", type(None)),
        ("application/problem+json", type(None)),
        ("text/html", WikiRefused),
        ("text/plain", WikiUnavailable),
    ],
)
def test_a_web_page_is_told_from_what_is_merely_no_json(content_type: str, kind: type) -> None:
    assert type(json_error(content_type, ASKED)) is kind
