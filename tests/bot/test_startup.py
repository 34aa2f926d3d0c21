from __future__ import annotations

from pathlib import Path

import pytest

from bot.startup import doors, slack
from tests.bot.server import TOKEN, settings_for

PUBLIC = {"host": "0.0.0.0"}  # noqa: S104 - the case that needs somebody to be let in
OIDC = {
    "oidc_issuer": "https://id.example/tenant",
    "oidc_client_id": "desk",
    "public_url": "https://desk.example",
}


@pytest.mark.parametrize(
    ("changes", "state", "said"),
    [
        ({}, "ready", "open on this machine only"),
        (PUBLIC, "absent", "closed"),
        (PUBLIC | {"admin_token": TOKEN}, "ready", "need the admin token"),
        (PUBLIC | OIDC, "ready", "a sign-in at id.example"),
        (PUBLIC | OIDC | {"admin_token": TOKEN}, "ready", "a sign-in at id.example"),
    ],
    ids=["here", "closed", "token", "oidc", "both"],
)
def test_the_start_says_how_people_get_in(
    tmp_path: Path, changes: dict[str, object], state: str, said: str
) -> None:
    part = doors(settings_for(tmp_path, **changes))

    assert part.state == state
    assert said in part.detail


@pytest.mark.parametrize(
    ("changes", "state", "said"),
    [
        ({}, "absent", "not configured"),
        ({"slack_bot_token": "xoxb-1", "slack_signing_secret": "s"}, "ready", "/slack/events"),
        ({"slack_bot_token": "xoxb-1", "slack_app_token": "xapp-1"}, "ready", "Socket Mode"),
    ],
    ids=["absent", "http", "socket"],
)
def test_the_start_says_how_slacks_events_come_in(
    tmp_path: Path, changes: dict[str, object], state: str, said: str
) -> None:
    part = slack(settings_for(tmp_path, **changes))

    assert part.state == state
    assert said in part.detail
