"""Addresses at which Teams opens a question."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

from bot.domain.messages import Message
from bot.platforms.teams.payloads.references import question_link, reference_of
from tests.bot.adapters.teams.activities import in_channel, question
from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names


def opened(message: Message) -> tuple[str, dict[str, list[str]]]:
    parts = urlsplit(question_link(message) or "")
    return f"{parts.scheme}://{parts.netloc}{parts.path}", parse_qs(parts.query)


def test_a_question_in_a_channel_opens_in_its_thread(teams: FakeTeams) -> None:
    assert opened(question(teams)) == (
        "https://teams.microsoft.com/l/message/19%3Ahelp%40thread.tacv2/1700000000001",
        {"tenantId": [names.ENTRA], "parentMessageId": ["1700000000000"]},
    )


def test_one_in_a_group_chat_opens_in_the_chat(teams: FakeTeams) -> None:
    asked = question(teams)
    chat = replace(asked, thread=replace(asked.thread, channel=names.GROUP, id=names.GROUP))
    where, asked_with = opened(chat)
    assert where.endswith("/19%3Agroup%40thread.v2/1700000000001")
    assert asked_with == {"tenantId": [names.ENTRA], "context": ['{"contextType":"chat"}']}


def test_one_in_a_personal_chat_opens_for_nobody_else(teams: FakeTeams) -> None:
    assert question_link(question(teams, private=True)) is None


def test_what_has_no_name_of_teams_own_has_no_link(teams: FakeTeams) -> None:
    asked = question(teams)
    assert question_link(replace(asked, id="abc")) is None
    assert question_link(replace(asked, thread=replace(asked.thread, channel="local"))) is None


def test_the_team_is_named_where_teams_said_which_it_is(teams: FakeTeams) -> None:
    asked = question(teams)
    told = {**json.loads(asked.reply_to), "team": {"aadGroupId": names.TEAM_GROUP}}
    _, asked_with = opened(replace(asked, reply_to=json.dumps(told)))
    assert asked_with["groupId"] == [names.TEAM_GROUP]


def test_a_message_says_so_itself_where_it_does(teams: FakeTeams) -> None:
    team = {"id": names.TEAM, "aadGroupId": names.TEAM_GROUP}
    body = in_channel(teams, "vpn?", channelData={"tenant": {"id": names.ENTRA}, "team": team})
    assert "groupId" in opened(replace(question(teams), reply_to=reference_of(body)))[1]
