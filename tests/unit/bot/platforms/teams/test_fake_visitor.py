"""Test what the bot is sent for what people of the fake tenant do, and the host of their files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.fakes.teams import names
from tests.fakes.teams.connector_api import Call, post_activity
from tests.fakes.teams.file_host import ELSEWHERE, HOST, FileFault, FileHost
from tests.fakes.teams.posts import Sent
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.visitor import Visitor

REPLY = {"type": "Input.Text", "id": "reply", "label": "Your reply", "isRequired": True}
CARD = {
    "type": "AdaptiveCard",
    "version": "1.5",
    "body": [{"type": "TextBlock", "text": "VPN?"}],
    "actions": [
        {"type": "Action.Execute", "title": "Claim", "verb": "claim", "data": {"about": "1"}},
        {
            "type": "Action.ShowCard",
            "title": "Reply",
            "card": {
                "type": "AdaptiveCard",
                "version": "1.5",
                "body": [REPLY],
                "actions": [{"type": "Action.Execute", "title": "Send", "verb": "reply"}],
            },
        },
        {
            "type": "Action.Submit",
            "title": "Why",
            "data": {"name": "why", "msteams": {"type": "task/fetch"}},
        },
        {"type": "Action.Submit", "title": "Old", "data": {"name": "old"}},
    ],
}
OTHER = {**CARD, "body": [{"type": "TextBlock", "text": "Claimed."}], "actions": []}
FORM = {
    "type": "AdaptiveCard",
    "version": "1.5",
    "body": [{"type": "Input.Toggle", "id": "on", "title": "Answers"}],
    "actions": [{"type": "Action.Submit", "title": "Save", "data": {"name": "save"}}],
}


class PlainBot:
    """A bot that keeps what arrives and answers what it is told to."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.answers: dict[str, dict[str, Any]] = {}

    async def take(self, request: web.Request) -> web.Response:
        activity = await request.json()
        self.taken.append(activity)
        return web.json_response(self.answers.get(str(activity.get("name")), {}))

    @property
    def newest(self) -> dict[str, Any]:
        return self.taken[-1]


@pytest.fixture
def bot() -> PlainBot:
    return PlainBot()


@pytest.fixture
async def alice(teams: FakeTeams, bot: PlainBot) -> AsyncIterator[Visitor]:
    app = web.Application()
    app.router.add_post("/api/messages", bot.take)
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield Visitor(teams, client)


def posted(teams: FakeTeams, where: str = names.HELP) -> Sent:
    hung = [{"contentType": "application/vnd.microsoft.card.adaptive", "content": CARD}]
    card = {"type": "message", "text": "Look", "attachments": hung}
    return teams.post(post_activity(teams, Call(where, None, ""), card)["id"])


async def test_a_message_in_a_channel_begins_a_thread_and_others_go_on_in_it(
    teams: FakeTeams, alice: Visitor, bot: PlainBot
) -> None:
    first = await alice.say(names.HELP, "a < b & vpn?")
    more = await alice.say(first, "still")
    assert first.conversation == more.conversation == f"{names.HELP};messageid={first.id}"
    assert bot.taken[0]["text"] == "<at>Help</at>&nbsp;a &lt; b &amp; vpn?"
    assert {entity["type"] for entity in bot.newest["entities"]} == {"mention", "clientInfo"}
    assert [answer.status for answer in alice.answers] == [200, 200]


async def test_what_does_not_mention_the_bot_reaches_it_only_with_the_permission(
    teams: FakeTeams, alice: Visitor, bot: PlainBot
) -> None:
    said = await alice.say(names.HELP, "vpn?", mention=False)
    await alice.delete(said)
    assert not bot.taken
    teams.hears_all = True
    await alice.say(names.HELP, "vpn?", mention=False)
    assert "entities" in bot.newest


async def test_an_edit_that_mentions_the_bot_reaches_it(alice: Visitor, bot: PlainBot) -> None:
    said = await alice.say(names.HELP, "vpn?", mention=False)
    await alice.edit(said, "printer?", mention=True)
    assert (bot.newest["type"], bot.newest["id"]) == ("messageUpdate", said.id)
    assert bot.newest["channelData"]["eventType"] == "editMessage"
    assert bot.newest["timestamp"] > said.activity["timestamp"]


async def test_a_deletion_and_its_taking_back_name_the_message(
    alice: Visitor, bot: PlainBot
) -> None:
    said = await alice.say(alice.chat, "vpn?")
    await alice.delete(said)
    await alice.undelete(said)
    kinds = [(each["type"], each["channelData"].get("eventType")) for each in bot.taken]
    assert kinds[1:] == [
        ("messageDelete", "softDeleteMessage"),
        ("messageUpdate", "undeleteMessage"),
    ]
    assert {each["id"] for each in bot.taken} == {said.id}
    assert bot.newest["text"] == "vpn?"


async def test_a_card_in_the_answer_is_what_only_its_presser_sees(
    teams: FakeTeams, alice: Visitor, bot: PlainBot
) -> None:
    card = posted(teams)
    shown = {"statusCode": 200, "type": "application/vnd.microsoft.card.adaptive", "value": OTHER}
    bot.answers["adaptiveCard/action"] = shown
    await alice.press(card, "Claim")
    assert bot.newest["value"]["action"]["verb"] == "claim"
    assert bot.newest["value"]["action"]["data"] == {"about": "1"}
    assert bot.newest["replyToId"] == card.id
    assert teams.cards_for(alice.id, card) == [OTHER]
    assert teams.cards_for(names.BOB, card) == [CARD]
    with pytest.raises(AssertionError, match="no button 'Claim'"):
        await alice.press(card, "Claim")


async def test_words_in_the_answer_are_kept_and_fields_come_with_the_press(
    teams: FakeTeams, alice: Visitor, bot: PlainBot
) -> None:
    card = posted(teams)
    kind = "application/vnd.microsoft.activity.message"
    bot.answers["adaptiveCard/action"] = {"statusCode": 200, "type": kind, "value": "Sent."}
    with pytest.raises(AssertionError, match="Your reply"):
        await alice.press(card, "Send")
    with pytest.raises(AssertionError, match="no field"):
        await alice.press(card, "Claim", reply="x")
    await alice.press(card, "Reply > Send", **{"Your reply": "Restart it."})
    assert bot.newest["value"]["action"]["data"] == {"reply": "Restart it."}
    assert alice.told == ["Sent."]


async def test_a_dialog_is_opened_filled_in_and_closed(
    teams: FakeTeams, alice: Visitor, bot: PlainBot
) -> None:
    card = posted(teams)
    hung = {"contentType": "application/vnd.microsoft.card.adaptive", "content": FORM}
    shown = {"title": "Settings", "card": hung}
    bot.answers["task/fetch"] = {"task": {"type": "continue", "value": shown}}
    dialog = await alice.open(card, "Why")
    assert (dialog.title, dialog.labels) == ("Settings", ["Save"])
    assert await alice.submit(dialog, "Save", on=True) is None
    assert bot.newest["value"]["data"] == {"name": "save", "on": "true"}
    bot.answers["task/submit"] = {"task": {"type": "message", "value": "Not allowed."}}
    said = await alice.submit(dialog, "Save")
    assert said
    assert said.words == "Not allowed."
    assert alice.told == ["Not allowed."]


async def test_an_old_button_comes_as_a_message_with_a_value(
    teams: FakeTeams, alice: Visitor, bot: PlainBot
) -> None:
    await alice.press(posted(teams), "Old")
    assert (bot.newest["type"], bot.newest["value"]) == ("message", {"name": "old"})
    assert "text" not in bot.newest


async def test_thumbs_are_there_only_where_they_were_asked_for(
    teams: FakeTeams, alice: Visitor, bot: PlainBot
) -> None:
    with pytest.raises(AssertionError, match="no thumbs"):
        await alice.feedback(posted(teams))
    asked = {"type": "message", "text": "x", "channelData": {"feedbackLoop": {"type": "default"}}}
    name = post_activity(teams, Call(alice.chat, None, ""), asked)["id"]
    await alice.feedback(name, "dislike", "too old")
    action = bot.newest["value"]["actionValue"]
    assert action == {"reaction": "dislike", "feedback": '{"feedbackText": "too old"}'}
    await alice.feedback(name, "like", "fine", plain=True)
    assert "replyToId" not in bot.newest
    assert bot.newest["value"]["actionValue"]["feedback"] == "fine"


async def test_reactions_come_and_go(teams: FakeTeams, alice: Visitor, bot: PlainBot) -> None:
    card = posted(teams)
    await alice.react(card, "heart")
    assert bot.newest["reactionsAdded"] == [{"type": "heart"}]
    await alice.unreact(card, "heart")
    assert bot.newest["reactionsRemoved"] == [{"type": "heart"}]
    assert bot.newest["replyToId"] == card.id
    with pytest.raises(KeyError):
        await alice.unreact(card, "heart")


async def test_who_adds_the_app_has_a_chat_and_who_removes_it_has_none(
    teams: FakeTeams, alice: Visitor, bot: PlainBot
) -> None:
    carol = Visitor(teams, alice.client, names.CAROL)
    await carol.install()
    assert [each["type"] for each in bot.taken] == ["conversationUpdate", "installationUpdate"]
    await carol.say(carol.chat, "hello")
    await carol.uninstall()
    assert (bot.newest["type"], bot.newest["action"]) == ("installationUpdate", "remove")
    assert not teams.conversations[carol.chat].has_bot


async def test_a_team_is_told_of_in_general(
    teams: FakeTeams, alice: Visitor, bot: PlainBot
) -> None:
    await alice.uninstall(names.HELP)
    assert not teams.conversations[names.PEOPLE].has_bot
    await alice.install(names.HELP)
    assert teams.conversations[names.PEOPLE].has_bot
    assert {each["conversation"]["id"] for each in bot.taken} == {names.GENERAL}


async def test_what_is_held_can_be_delivered_twice_and_in_any_order(
    alice: Visitor, bot: PlainBot
) -> None:
    alice.held = []
    said = await alice.say(alice.chat, "one")
    await alice.edit(said, "two")
    assert not bot.taken
    message, edit = alice.held
    await alice.deliver(edit)
    await alice.deliver(message, message)
    assert [each["type"] for each in bot.taken] == ["messageUpdate", "message", "message"]


async def test_a_card_that_refreshes_itself_asks_anew_for_those_it_names(
    teams: FakeTeams, alice: Visitor, bot: PlainBot
) -> None:
    asks = {"type": "Action.Execute", "title": "Refresh", "verb": "refresh"}
    card = {**CARD, "refresh": {"action": asks, "userIds": ["29:alice"]}}
    hung = [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}]
    name = post_activity(
        teams, Call(names.HELP, None, ""), {"type": "message", "attachments": hung}
    )["id"]
    assert await Visitor(teams, alice.client, names.BOB).look(name) is None
    await alice.look(name)
    assert (bot.newest["value"]["trigger"], bot.newest["value"]["action"]["verb"]) == (
        "automatic",
        "refresh",
    )


async def test_who_comes_into_a_team_is_in_its_channels(
    teams: FakeTeams, alice: Visitor, bot: PlainBot
) -> None:
    guest = Visitor(teams, alice.client, names.GUEST)
    with pytest.raises(AssertionError, match="is not in"):
        await guest.say(names.HELP, "hello")
    await guest.joins(names.HELP)
    assert bot.newest["membersAdded"] == [{"id": "29:guest", "aadObjectId": names.GUEST}]
    assert names.GUEST in teams.conversations[names.PEOPLE].members
    await guest.leaves(names.HELP)
    assert bot.newest["channelData"]["eventType"] == "teamMemberRemoved"
    assert names.GUEST not in teams.conversations[names.HELP].members


@pytest.fixture
async def session(file_host: FileHost) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=file_host.connector()) as session:
        yield session


def address(file_host: FileHost, content: bytes = b"words") -> str:
    return str(file_host.share("notes.txt", content)["content"]["downloadUrl"])


async def test_a_file_is_fetched_by_its_real_name_over_tls(
    file_host: FileHost, session: aiohttp.ClientSession
) -> None:
    async with session.get(address(file_host)) as answer:
        assert await answer.read() == b"words"
    (fetched,) = file_host.requests
    assert fetched.host == HOST
    assert "Authorization" not in fetched.headers


async def test_who_follows_a_redirect_is_seen_elsewhere(
    file_host: FileHost, session: aiohttp.ClientSession
) -> None:
    asked = address(file_host)
    file_host.fail(FileFault(moved_to=asked.replace(HOST, ELSEWHERE)))
    async with session.get(asked) as answer:
        assert answer.status == 200
    assert [fetched.host for fetched in file_host.requests] == [HOST, ELSEWHERE]


async def test_a_download_may_break_off(
    file_host: FileHost, session: aiohttp.ClientSession
) -> None:
    file_host.fail(FileFault(kept=2))
    async with session.get(address(file_host)) as answer:
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


async def test_a_length_may_be_unknown_and_a_file_gone(
    file_host: FileHost, session: aiohttp.ClientSession
) -> None:
    file_host.fail(FileFault(unannounced=True), FileFault(status=403))
    asked = address(file_host)
    async with session.get(asked) as answer:
        assert answer.content_length is None
        assert await answer.read() == b"words"
    for status in (403, 404):
        file_host.files.clear()
        async with session.get(asked) as answer:
            assert answer.status == status
