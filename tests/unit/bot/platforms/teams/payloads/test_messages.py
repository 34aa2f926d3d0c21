"""Test what an activity says, to whom, with which files, and the address of a question."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from bot.chat.messages import ReceivedMessage
from bot.domain.messages import Attachment, Message
from bot.platforms.teams.payloads.activity import question_link, reference_of, sent_at
from bot.platforms.teams.payloads.messages import (
    FILE_TYPE,
    INLINE_PREFIX,
    parse_message,
    question_of,
)
from tests.fakes.teams import names
from tests.fakes.teams.activities import (
    PLAIN_BOT,
    html_attachment,
    in_channel,
    mention_entity,
    message_activity,
    question,
)
from tests.fakes.teams.server import FakeTeams

OURS = mention_entity("Help")
GROUP = {"id": "19:group@thread.v2", "conversationType": "groupChat"}
CHAT = {"id": "a:chat", "conversationType": "personal"}
REPLY = {"id": "19:help@thread.tacv2;messageid=1699999999999"}
OTHER_BOT = {"id": "28:other", "name": "Build"}
PLACE = "https://acme-my.sharepoint.com/download.aspx?UniqueId=1&tempauth=v1.x"


def hear(body: dict[str, Any]) -> ReceivedMessage | None:
    return parse_message(body, tenant="acme", received_at=datetime.now(UTC))


def files(*attachments: dict[str, Any], html: str = "") -> tuple[Attachment, ...]:
    body = message_activity(
        "what is this?", OURS, attachments=[*attachments, html_attachment(html)]
    )
    said = hear(body)
    assert said is not None
    return said.message.attachments


@pytest.mark.parametrize(
    ("where", "begins", "thread"),
    [
        ({"id": "19:help@thread.tacv2;messageid=1700000000001"}, True, "1700000000001"),
        (REPLY, False, "1699999999999"),
        ({"id": "19:help@thread.tacv2"}, True, "19:help@thread.tacv2"),
        (GROUP, True, "19:group@thread.v2"),
    ],
)
@pytest.mark.parametrize("asked", [True, False])
def test_what_mentions_the_bot_is_asked_and_the_rest_overheard(
    where: dict[str, str], *, begins: bool, thread: str, asked: bool
) -> None:
    said = hear(message_activity("vpn?", *([OURS] if asked else []), conversation=where))

    assert said is not None
    assert (said.message.overheard, said.begins, said.by_bot) == (not asked, begins, False)
    assert said.message.thread.id == thread


def test_in_a_personal_chat_everything_is_asked() -> None:
    said = hear(message_activity("vpn?", conversation=CHAT))

    assert said is not None
    assert said.message.private
    assert not said.message.overheard


@pytest.mark.parametrize("sender", [OTHER_BOT, {"id": "29:x", "role": "bot"}])
def test_another_bot_is_heard_only_if_it_mentions_us(sender: dict[str, str]) -> None:
    addressed = message_activity("vpn?", OURS) | {"from": sender}
    said = hear(addressed)

    assert said is not None
    assert said.by_bot
    assert said.message.by_bot
    assert hear(message_activity("vpn?") | {"from": sender}) is None
    assert question_of(addressed, tenant="acme", received_at=datetime.now(UTC)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"from": {"id": PLAIN_BOT}},
        {"from": None},
        {"recipient": {}},
        {"id": ""},
        {"conversation": None},
        {"value": {"name": "old button"}, "text": None},
        {"value": "x", "text": ""},
        {"type": "messageReaction"},
    ],
    ids=str,
)
def test_what_nobody_said_is_nothing(changes: dict[str, Any]) -> None:
    assert hear(message_activity("vpn?", OURS) | changes) is None


def test_a_button_that_says_something_says_it() -> None:
    said = hear(message_activity("vpn?", OURS, value={"name": "messageBack"}))

    assert said is not None
    assert said.message.text == "vpn?"


def test_a_file_of_a_personal_chat_comes_with_its_address() -> None:
    told = {"downloadUrl": PLACE, "uniqueId": "1", "fileType": "txt"}
    (file,) = files({"contentType": FILE_TYPE, "name": "vpn.log", "content": told})

    assert file == Attachment("vpn.log", "", 0, PLACE)


def test_a_pdf_is_one_whatever_it_is_called() -> None:
    told = {"downloadUrl": PLACE, "fileType": "PDF"}
    (file,) = files({"contentType": FILE_TYPE, "content": told})

    assert (file.name, file.media_type) == ("file.pdf", "application/pdf")


@pytest.mark.parametrize("place", ["http://x.sharepoint.com/y", "data:text/plain,x", "", None, 5])
def test_only_an_https_address_is_one(place: object) -> None:
    (file,) = files({"contentType": FILE_TYPE, "name": "a.txt", "content": {"downloadUrl": place}})

    assert file.place == ""


def test_what_teams_does_not_hand_out_is_named_so_that_it_can_be_told() -> None:
    reference = {"contentType": "reference", "id": "r1", "name": "plan.txt", "contentUrl": PLACE}
    picture = {"contentType": "image/png", "contentUrl": "https://smba.example/v3/attachments/1"}
    html = '<p>this</p><attachment id="r1"></attachment><attachment id="r2"></attachment>'

    named = files(reference, picture, html=html)

    assert [each.name for each in named] == ["plan.txt", "a picture", "a shared file"]
    assert {each.place for each in named} == {""}


def test_copies_cards_and_references_to_messages_are_no_files() -> None:
    card = {"contentType": "application/vnd.microsoft.card.adaptive", "content": {}}
    quoted = {"contentType": "messageReference", "id": "m1", "content": "{}"}

    assert files(card, quoted, html='<p>x</p><attachment id="m1"></attachment>') == ()


def test_what_is_quoted_comes_along_as_text() -> None:
    html = (
        '<blockquote itemtype="http://schema.skype.com/Reply">'
        '<strong itemprop="mri" itemid="8:orgid:max">Max</strong>'
        "<p>Error 809 & 5 % \U0001f642</p></blockquote><p>what is this?</p>"
    )
    (quote,) = files(html=html)

    assert (quote.name, quote.media_type) == ("a message by Max", "text/plain")
    assert unquote(quote.place.removeprefix(INLINE_PREFIX)) == "Error 809 & 5 % \U0001f642"


def test_the_time_of_an_activity_is_in_seconds() -> None:
    assert sent_at(message_activity("")) == "1795255200.000000"
    assert (
        sent_at(message_activity("", timestamp="2026-11-21T11:00:00.1234567+01:00"))
        > "1795255200.1"
    )
    for odd in ("", "soon", "2026-11-21T10:00:00", None, 5):
        assert sent_at(message_activity("", timestamp=odd)) == ""


@pytest.mark.parametrize("place", ["19:help@thread.tacv2", "19:group@thread.v2;messageid=1"])
def test_a_thread_is_never_private_whatever_is_said_of_its_kind(place: str) -> None:
    """What is private is answered from all that its asker may read."""
    said = hear(message_activity("vpn?", OURS, conversation={**CHAT, "id": place}))
    assert said is not None
    assert not said.message.private


def test_a_name_is_one_line_of_a_length_that_turns_nothing_around() -> None:
    sender = {"id": "29:eve", "name": "Eve\n\u202egnp\u2066.exe " + "x" * 300}
    said = hear({**message_activity("vpn?", OURS), "from": sender})
    assert said is not None
    assert said.message.author.name.startswith("Eve gnp.exe xxx")
    assert len(said.message.author.name) == 200


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
