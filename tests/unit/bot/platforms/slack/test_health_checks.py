"""Test what the doctor reports about Slack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bot.domain.health import ComponentStatus
from bot.domain.messages import Activity, Stage
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.health_checks import OPTIONAL_SCOPES, REQUIRED_SCOPES, SMALL_MANIFEST
from tests.fakes.desk import delivery
from tests.fakes.slack import names
from tests.fakes.slack.builders import on_socket, question, unhurried
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import TEAM
from tests.fakes.slack.server import FakeSlack


async def checked(settings: Settings, **changes: object) -> dict[str, ComponentStatus]:
    """Return the lines by their names."""
    channel = connect(settings.model_copy(update=changes), caller=unhurried())
    return {part.name: part for part in await channel.checks()}


async def test_a_workspace_that_is_all_set_up_is_ready(
    slack: FakeSlack, settings: Settings
) -> None:
    parts = await checked(settings, slack_admins=(names.ALICE,))

    assert {part.state for part in parts.values()} == {"ready"}
    assert TEAM in parts["Slack"].detail
    assert "/slack/events" in parts["Slack events"].detail
    assert "#people" in parts["Slack people"].detail
    assert not slack.posts


@pytest.mark.parametrize("scope", sorted(REQUIRED_SCOPES))
async def test_without_a_scope_that_is_needed_it_fails_with_what_for_and_the_cure(
    slack: FakeSlack, settings: Settings, scope: str
) -> None:
    slack.scopes = tuple(held for held in slack.scopes if held != scope)

    part = (await checked(settings))["Slack"]

    assert part.state == "failed"
    assert f"{scope} ({REQUIRED_SCOPES[scope]})" in part.detail
    assert "reinstall" in part.cure


async def test_it_says_which_manifest_the_app_is_from(slack: FakeSlack, settings: Settings) -> None:
    full = (await checked(settings))["Slack"]
    slack.scopes = tuple(held for held in slack.scopes if held not in SMALL_MANIFEST)
    small = (await checked(settings))["Slack"]

    assert (full.state, small.state) == ("ready", "ready")
    assert "full manifest" in full.detail
    assert "manifest-small.yaml" in small.detail
    assert all(f"{scope} ({OPTIONAL_SCOPES[scope]})" in small.detail for scope in SMALL_MANIFEST)


@pytest.mark.parametrize("room", [names.HELP, names.SECRET_ROOM])
async def test_the_small_app_answers_also_in_a_private_channel(
    slack: FakeSlack, channel: SlackChannel, room: str
) -> None:
    slack.scopes = tuple(held for held in slack.scopes if held not in SMALL_MANIFEST)
    slack.rooms.made(room).members.add(names.BOT_USER)
    asked = replace(question(), thread=replace(question().thread, channel=room))
    async with channel.session():
        await channel.introduce(asked)
        await channel.progress(asked, Activity(Stage.SEARCHING), None)
        await channel.deliver(delivery(asked))

    assert len([post for post in slack.in_channel(room) if post.by_bot]) == 1


@pytest.mark.parametrize("scope", sorted(OPTIONAL_SCOPES))
async def test_without_any_other_scope_it_is_ready_and_says_what_that_costs(
    slack: FakeSlack, settings: Settings, scope: str
) -> None:
    slack.scopes = tuple(held for held in slack.scopes if held != scope)

    part = (await checked(settings))["Slack"]

    assert part.state == "ready"
    assert f"{scope} ({OPTIONAL_SCOPES[scope]})" in part.detail
    assert "reinstall" in part.cure


async def test_a_token_of_another_workspace_is_told(settings: Settings) -> None:
    parts = await checked(settings, slack_team_id="T0OTHER00")

    assert [part.state for part in parts.values()] == ["failed"]
    assert TEAM in parts["Slack"].detail


async def test_a_refused_token_is_told_with_its_cure(slack: FakeSlack, settings: Settings) -> None:
    slack.fail("auth.test", Fault(error="token_revoked"))

    parts = await checked(settings)

    assert [part.state for part in parts.values()] == ["failed"]
    assert "SLACK_BOT_TOKEN" in parts["Slack"].detail


async def test_nobody_is_called_with_a_token_that_is_lost(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    channel.identity.token_lost("The app was removed from the workspace.")

    part = await channel.check()

    assert part.state == "failed"
    assert "SLACK_BOT_TOKEN" in part.detail
    assert not slack.calls


async def test_a_channel_for_people_that_is_not_there_fails(settings: Settings) -> None:
    part = (await checked(settings, slack_escalation_channel="C0NOWHERE"))["Slack people"]

    assert (part.state, "C0NOWHERE" in part.detail) == ("failed", True)
    assert "/invite" in part.cure


async def test_a_name_in_the_place_of_a_channels_id_is_told_so(settings: Settings) -> None:
    part = (await checked(settings, slack_escalation_channel="#people"))["Slack people"]

    assert (part.state, part.detail) == ("failed", "#people is no channel's id (C\u2026).")
    assert "About" in part.cure


async def test_a_private_channel_for_people_without_the_bot_fails(
    slack: FakeSlack, settings: Settings
) -> None:
    slack.channels.discard(names.SECRET_ROOM)

    part = (await checked(settings, slack_escalation_channel=names.SECRET_ROOM))["Slack people"]

    assert (part.state, "/invite" in part.cure) == ("failed", True)


async def test_a_channel_for_people_that_the_bot_is_not_in_fails(settings: Settings) -> None:
    part = (await checked(settings, slack_escalation_channel=names.ELSEWHERE))["Slack people"]

    assert (part.state, "not in" in part.detail) == ("failed", True)
    assert "/invite" in part.cure


async def test_an_archived_channel_for_people_fails(slack: FakeSlack, settings: Settings) -> None:
    slack.archived.add(names.PEOPLE)

    part = (await checked(settings))["Slack people"]

    assert (part.state, "archived" in part.detail) == ("failed", True)


async def test_a_channel_for_people_that_another_company_shares_is_pointed_out(
    settings: Settings,
) -> None:
    part = (await checked(settings, slack_escalation_channel=names.SHARED))["Slack people"]

    assert (part.state, "another company" in part.detail) == ("ready", True)


async def test_no_channel_for_people_is_no_fault_and_has_its_cure(settings: Settings) -> None:
    part = (await checked(settings, slack_escalation_channel=None))["Slack people"]

    assert (part.state, "SLACK_ESCALATION_CHANNEL" in part.cure) == ("absent", True)


@pytest.mark.parametrize(
    "admins",
    [(names.ALICE,), (names.ADMINS,), ("Bob@acme.example",), (names.ALICE, names.ADMINS)],
    ids=["person", "group", "address", "several"],
)
async def test_admins_who_are_there_are_named(settings: Settings, admins: Sequence[str]) -> None:
    part = (await checked(settings, slack_admins=tuple(admins)))["Slack admins"]

    assert (part.state, part.detail) == ("ready", ", ".join(admins))


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("U0NOBODY0", "no colleague"),
        (names.GUEST, "no colleague"),
        (names.STRANGER, "no colleague"),
        ("nobody@acme.example", "no colleague"),
        ("gil@elsewhere.example", "no colleague"),
        ("S0NOTHERE", "no_such_subteam"),
        ("alice", "no colleague"),
    ],
)
async def test_an_admin_who_could_order_nothing_is_told(
    settings: Settings, name: str, trouble: str
) -> None:
    part = (await checked(settings, slack_admins=(names.ALICE, name)))["Slack admins"]

    assert part.state == "failed"
    assert f"{name} " in part.detail
    assert trouble in part.detail
    assert names.ALICE not in part.detail


async def test_an_admin_whose_address_is_of_no_allowed_domain_is_told(settings: Settings) -> None:
    parts = await checked(
        settings, slack_admins=(names.ALICE,), slack_allowed_domains=("other.example",)
    )

    assert parts["Slack admins"].state == "failed"


async def test_an_empty_group_of_admins_is_told(slack: FakeSlack, settings: Settings) -> None:
    slack.groups[names.ADMINS] = []

    part = (await checked(settings, slack_admins=(names.ADMINS,)))["Slack admins"]

    assert (part.state, "no members" in part.detail) == ("failed", True)


async def test_groups_that_may_not_be_read_are_told(slack: FakeSlack, settings: Settings) -> None:
    slack.scopes = tuple(held for held in slack.scopes if held != "usergroups:read")

    part = (await checked(settings, slack_admins=(names.ADMINS,)))["Slack admins"]

    assert (part.state, "missing_scope" in part.detail) == ("failed", True)


async def test_a_socket_is_ready_once_slack_gives_out_connections(
    slack: FakeSlack, settings: Settings
) -> None:
    part = (await checked(on_socket(settings)))["Slack events"]

    assert (part.state, "Socket Mode" in part.detail) == ("ready", True)
    assert slack.sockets.opened == 0


async def test_a_refused_token_for_the_socket_is_told_with_its_cure(
    slack: FakeSlack, settings: Settings
) -> None:
    slack.fail("apps.connections.open", Fault(error="invalid_auth"))

    part = (await checked(on_socket(settings)))["Slack events"]

    assert (part.state, "SLACK_APP_TOKEN" in part.detail) == ("failed", True)
    assert "connections:write" in part.cure


async def test_the_board_has_one_line_with_all_that_is_wrong(
    slack: FakeSlack, settings: Settings
) -> None:
    slack.archived.add(names.PEOPLE)
    wrong = settings.model_copy(update={"slack_admins": ("U0NOBODY0",)})

    part = await connect(wrong, caller=unhurried()).check()

    assert (part.name, part.state) == ("Slack", "failed")
    assert "archived" in part.detail
    assert "U0NOBODY0" in part.detail
    assert "SLACK_ADMINS" in part.cure


async def test_no_line_ever_has_a_token(slack: FakeSlack, settings: Settings) -> None:
    slack.fail("auth.test", None, Fault(error="invalid_auth"))
    wanted = on_socket(settings)

    for _ in range(2):
        parts = await checked(wanted, slack_admins=("U0NOBODY0",))
        lines = " ".join(part.line() for part in parts.values())
        assert "xoxb-" not in lines
        assert "xapp-" not in lines
