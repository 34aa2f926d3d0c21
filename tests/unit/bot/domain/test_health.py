"""Tests of what the start says of sign-in, platforms, models and the index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.domain.health import (
    ComponentStatus,
    azure_search,
    embedder,
    merge_statuses,
    slack,
    teams,
    web_access,
)
from bot.domain.settings import Settings
from tests.fakes.http_server import TOKEN, settings_for

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
    part = web_access(settings_for(tmp_path, **changes))

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
def test_it_says_what_slack_lacks(tmp_path: Path, changes: dict[str, object], cure: str) -> None:
    part = slack(settings_for(tmp_path, **HTTP, **changes))

    assert part.state == "ready"
    assert part.cure.startswith(cure)
    assert bool(part.cure) == bool(cure)


BOT = {
    "microsoft_app_id": "11111111-2222-3333-4444-555555555555",
    "microsoft_app_password": "secret",
    "microsoft_app_tenant_id": "99999999-8888-7777-6666-555555555555",
}
TEAMS_PEOPLE = {"teams_escalation_channel": "19:people@thread.tacv2"}
TEAMS_ADMINS = {"teams_admins": ("ann@acme.example",)}


@pytest.mark.parametrize(
    ("changes", "state", "said"),
    [
        ({}, "absent", "not configured"),
        ({"TEAMS_DEV_MODE": True}, "ready", "development mode"),
        (BOT, "ready", "SingleTenant, messages at /api/messages"),
    ],
    ids=["absent", "development", "registered"],
)
def test_the_start_says_how_teams_messages_come_in(
    tmp_path: Path, changes: dict[str, object], state: str, said: str
) -> None:
    part = teams(settings_for(tmp_path, **changes))

    assert part.state == state
    assert said in part.detail


@pytest.mark.parametrize(
    ("changes", "cure"),
    [
        (TEAMS_PEOPLE | TEAMS_ADMINS, ""),
        (TEAMS_ADMINS, "Add TEAMS_ESCALATION_CHANNEL to .env: docs/teams.md"),
        (TEAMS_PEOPLE, "Add TEAMS_ADMINS to .env: docs/teams.md"),
        ({}, "Add TEAMS_ESCALATION_CHANNEL and TEAMS_ADMINS to .env: docs/teams.md"),
    ],
    ids=["nothing", "people", "admins", "both"],
)
def test_it_says_what_teams_lacks(tmp_path: Path, changes: dict[str, object], cure: str) -> None:
    part = teams(settings_for(tmp_path, **BOT, **changes))

    assert (part.state, part.cure) == ("ready", cure)


@pytest.mark.mended(id="slack-2")
@pytest.mark.parametrize(
    ("platform", "line"), [("slack", slack), ("teams", teams)], ids=["slack", "teams"]
)
def test_the_start_says_what_outsiders_get(
    tmp_path: Path, platform: str, line: Callable[[Settings], ComponentStatus]
) -> None:
    def told(**changes: object) -> str:
        named = {f"{platform}_{name}": value for name, value in changes.items()}
        return line(settings_for(tmp_path, **HTTP, **BOT, **named)).detail

    assert "refused" in told()
    assert "no longer needed" not in told()
    assert f"{platform.upper()}_OUTSIDERS=off is no longer needed" in told(outsiders="off")
    opened = told(outsider_spaces="FAQ,PUBLIC")
    assert "FAQ, PUBLIC alone" in opened
    assert "refused" not in opened


def test_lines_that_are_merged_tell_what_is_broken_or_else_all() -> None:
    well = [
        ComponentStatus("Teams", "ready", "signed in"),
        ComponentStatus("Teams people", "absent", "none.", "Set it."),
    ]
    broken = ComponentStatus("Teams admins", "failed", "nobody.", "Correct it.")

    assert merge_statuses(well) == ComponentStatus("Teams", "ready", "signed in. none.", "Set it.")
    assert merge_statuses([*well, broken]) == ComponentStatus(
        "Teams", "failed", "nobody.", "Correct it."
    )


REMOTE = {"embedding_model": "small", "embedding_base_url": "https://vectors.example/v1/"}


@pytest.mark.parametrize(
    ("changes", "name", "trouble", "state", "said"),
    [
        ({}, "minilm@1", "", "ready", "minilm@1"),
        ({}, None, "files are absent", "absent", "by keyword alone: files are absent"),
        (REMOTE, "small@8", "", "ready", "small@8 at vectors.example"),
        (REMOTE, None, "it answered 401", "failed", "by keyword alone: it answered 401"),
    ],
    ids=["installed", "not installed", "server", "server away"],
)
def test_the_start_says_what_embeds(
    tmp_path: Path,
    changes: dict[str, object],
    name: str | None,
    trouble: str,
    state: str,
    said: str,
) -> None:
    part = embedder(settings_for(tmp_path, **changes), name, trouble)

    assert (part.state, part.detail.endswith(said)) == (state, True)
    assert part.vital or part.state == "failed"


AZURE = {"azure_search_endpoint": "https://kb.search.windows.net"}


@pytest.mark.parametrize(
    ("changes", "trouble", "state", "said"),
    [
        ({}, "", "absent", "one SQLite file"),
        (AZURE, "", "ready", "confluence-chunks at kb.search.windows.net, by identity"),
        (AZURE | {"azure_search_key": "k"}, "", "ready", "by key, semantic ranker off"),
        (AZURE | {"azure_search_semantic": True}, "", "ready", "semantic ranker on"),
        (AZURE, "it answered 403", "failed", "it answered 403"),
    ],
    ids=["embedded", "identity", "key", "semantic", "away"],
)
def test_the_start_says_which_index_is_searched(
    tmp_path: Path, changes: dict[str, object], trouble: str, state: str, said: str
) -> None:
    part = azure_search(settings_for(tmp_path, **changes), trouble)

    assert part.state == state
    assert said in part.detail
