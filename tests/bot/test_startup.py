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


HTTP = {"slack_bot_token": "xoxb-1", "slack_signing_secret": "s"}
SOCKET = {"slack_bot_token": "xoxb-1", "slack_app_token": "xapp-1"}
PEOPLE = {"slack_escalation_channel": "C0PEOPLE0"}
ADMINS = {"slack_admins": ("U0ALICE00",)}


@pytest.mark.parametrize(
    ("changes", "state", "said"),
    [
        ({}, "absent", "not configured"),
        (HTTP, "ready", "/slack/events"),
        (SOCKET, "ready", "Socket Mode"),
    ],
    ids=["absent", "http", "socket"],
)
def test_the_start_says_how_slacks_events_come_in(
    tmp_path: Path, changes: dict[str, object], state: str, said: str
) -> None:
    part = slack(settings_for(tmp_path, **changes))

    assert part.state == state
    assert said in part.detail


@pytest.mark.parametrize(
    ("changes", "cure"),
    [
        (PEOPLE | ADMINS, ""),
        (ADMINS, "Add SLACK_ESCALATION_CHANNEL to"),
        (PEOPLE, "Add SLACK_ADMINS to"),
        ({}, "Add SLACK_ESCALATION_CHANNEL and SLACK_ADMINS to"),
    ],
    ids=["nothing", "people", "admins", "both"],
)
def test_the_start_says_what_of_slack_is_left_out(
    tmp_path: Path, changes: dict[str, object], cure: str
) -> None:
    part = slack(settings_for(tmp_path, **HTTP, **changes))

    assert part.state == "ready"
    assert part.cure.startswith(cure)
    assert bool(part.cure) == bool(cure)
