"""Whatever an activity holds, it is taken or refused, and never an error of ours."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bot.adapters.inbox import KeepingInbox
from tests.bot.adapters.teams.activities import Client, in_channel, send
from tests.bot.adapters.teams.server import FakeTeams

TAKEN_OR_REFUSED = {200, 400, 401, 403, 413}
KINDS = (
    "message",
    "messageUpdate",
    "messageDelete",
    "messageReaction",
    "conversationUpdate",
    "installationUpdate",
    "invoke",
    "event",
    "typing",
    "anythingNew",
)
NAMES = (
    "adaptiveCard/action",
    "task/fetch",
    "task/submit",
    "message/submitAction",
    "message/fetchTask",
    "fileConsent/invoke",
    "anything/new",
)
FIELDS = (
    "id",
    "text",
    "from",
    "conversation",
    "recipient",
    "entities",
    "attachments",
    "channelData",
    "value",
    "replyToId",
    "membersAdded",
    "membersRemoved",
    "reactionsAdded",
    "reactionsRemoved",
    "action",
    "timestamp",
    "localTimestamp",
    "historyDisclosed",
    "listenFor",
    "textHighlights",
    "locale",
    "serviceUrl",
    "channelId",
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(("id", "data", "verb", "action", "type", "text", "actionValue"))
            | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    kind=st.sampled_from(KINDS),
    name=st.sampled_from(NAMES),
    changes=st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=5),
)
async def test_any_value_in_any_field_is_taken_or_refused(
    client: Client, teams: FakeTeams, kind: str, name: str, changes: dict[str, Any]
) -> None:
    activity = {**in_channel(teams, "<at>Help</at> vpn?"), "name": name, **changes, "type": kind}
    response = await send(client, teams, activity)
    assert response.status in TAKEN_OR_REFUSED
    if response.status == 200 and kind == "invoke":
        assert isinstance(await response.json(), dict)


@pytest.mark.parametrize("kind", ["message", "invoke", "messageReaction", "anythingNew"])
async def test_what_is_nested_deeply_is_taken_or_refused(
    client: Client, teams: FakeTeams, kind: str
) -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = {"value": [deep]}
    activity = {**in_channel(teams, "vpn?"), "type": kind, "value": deep, "channelData": deep}
    assert (await send(client, teams, activity)).status in TAKEN_OR_REFUSED


async def test_as_much_as_is_read_is_taken(
    client: Client, teams: FakeTeams, inbox: KeepingInbox
) -> None:
    activity = in_channel(teams, "<at>Help</at> " + "vpn " * 200_000)
    assert (await send(client, teams, activity)).status == 200
    assert inbox.accepted == 1


async def test_an_unknown_invoke_is_answered_with_an_empty_object(
    client: Client, teams: FakeTeams
) -> None:
    invoke = {**in_channel(teams, ""), "type": "invoke", "name": "anything/new", "value": [1]}
    response = await send(client, teams, invoke)
    assert (response.status, await response.json()) == (200, {})
