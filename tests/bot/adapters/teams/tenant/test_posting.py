"""What the bot writes, where, and what Teams does not take of it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import aiohttp
import pytest

from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.conversations import chat_of
from tests.bot.adapters.teams.tenant.faults import Fault
from tests.bot.adapters.teams.tenant.rest import Rest

CHAT = chat_of(names.ALICE)
HELLO = {"type": "message", "text": "hello"}
ROOT = {"type": "https://schema.org/Message", "@type": "Message", "@context": "https://schema.org"}


async def test_a_message_to_a_channel_begins_a_thread_and_others_go_on_in_it(
    teams: FakeTeams, rest: Rest
) -> None:
    root = (await rest.post(names.HELP, HELLO)).body["id"]
    thread = f"{names.HELP};messageid={root}"
    more = (await rest.post(thread, HELLO)).body["id"]
    assert [sent.conversation for sent in teams.posts_in(names.HELP)] == [thread, thread]
    for conversation in (names.HELP, thread):
        assert (await rest.put(conversation, more, HELLO)).status == 200
    other = f"{names.HELP};messageid=1"
    assert (await rest.put(other, more, HELLO)).status == 404
    assert not teams.posts_in(other)


@pytest.mark.parametrize(
    ("conversation", "status", "code"),
    [
        ("19:nowhere@thread.tacv2", 404, "ConversationNotFound"),
        (chat_of(names.CAROL), 404, "ConversationNotFound"),
        (names.ELSEWHERE, 403, "BotNotInConversationRoster"),
    ],
)
async def test_where_the_bot_is_not_it_can_not_write(
    rest: Rest, conversation: str, status: int, code: str
) -> None:
    told = await rest.post(conversation, HELLO)
    assert (told.status, told.body["error"]["code"]) == (status, code)


async def test_a_place_may_refuse_everything(teams: FakeTeams, rest: Rest) -> None:
    posted = (await rest.post(CHAT, HELLO)).body["id"]
    teams.conversations[CHAT].refuses = "ConversationBlockedByUser"
    answers = [
        await rest.post(CHAT, HELLO),
        await rest.put(CHAT, posted, HELLO),
        await rest.delete(CHAT, posted),
    ]
    assert [told.status for told in answers] == [403] * 3


async def test_an_edit_is_what_everybody_sees_and_a_deletion_nobody(
    teams: FakeTeams, rest: Rest
) -> None:
    posted = (await rest.post(names.GROUP, HELLO)).body["id"]
    teams.views[names.BOB, posted] = {"type": "AdaptiveCard"}
    await rest.put(names.GROUP, posted, {"type": "message", "text": "bye"})
    assert teams.post(posted).shown == "bye"
    assert teams.cards_for(names.BOB, teams.post(posted)) == []
    assert (await rest.delete(names.GROUP, posted)).status == 200
    assert (await rest.delete(names.GROUP, posted)).status == 404
    assert not teams.messages


async def test_the_playground_deletes_nothing(teams: FakeTeams, rest: Rest) -> None:
    posted = (await rest.post(CHAT, HELLO)).body["id"]
    teams.playground = True
    assert (await rest.delete(CHAT, posted)).status == 501
    assert teams.messages


def cited(name: str = "VPN", abstract: str = "It is.", position: int = 1) -> dict[str, Any]:
    appearance = {"@type": "DigitalDocument", "name": name, "abstract": abstract}
    return {"@type": "Claim", "position": position, "appearance": appearance}


def labelled(*citations: dict[str, Any], text: str = "x [1]", **more: object) -> dict[str, Any]:
    return {"type": "message", "text": text, "entities": [{**ROOT, "citation": citations, **more}]}


@pytest.mark.parametrize(
    ("activity", "status"),
    [
        (labelled(cited()), 201),
        (labelled(cited(), additionalType=["AIGeneratedContent"]), 201),
        (labelled(cited(), usageInfo={"@type": "CreativeWork", "name": "Internal"}), 201),
        (labelled(cited(), usageInfo={"@type": "CreativeWork"}), 400),
        (labelled(cited(), additionalType=["AIGeneratedContent", "x"]), 400),
        (labelled(cited(), text="unmarked"), 400),
        (labelled(cited(name="n" * 81)), 400),
        (labelled(cited(abstract="")), 400),
        (labelled(cited(abstract="n" * 161)), 400),
        (labelled(cited(), cited()), 400),
        (
            labelled(
                *[cited(position=n) for n in range(1, 12)],
                text=" ".join(f"[{n}]" for n in range(1, 12)),
            ),
            400,
        ),
        ({**HELLO, "entities": [ROOT, ROOT]}, 400),
        ({**HELLO, "entities": [{"type": "https://schema.org/Message"}]}, 400),
        ({**HELLO, "entities": [{"type": "mention", "text": "<at>Bob</at>"}]}, 400),
        ({"type": "message", "text": ""}, 400),
        ({"type": "message", "text": "\u00e4" * 13_000}, 413),
        ({"type": "typing"}, 201),
    ],
)
async def test_what_teams_does_not_take_is_refused(
    teams: FakeTeams, rest: Rest, activity: dict[str, Any], status: int
) -> None:
    assert (await rest.post(CHAT, activity)).status == status
    assert bool(teams.sent) == (status == 201)


async def test_a_personal_chat_is_opened_with_who_added_the_app(
    teams: FakeTeams, rest: Rest
) -> None:
    def wanted(user: str) -> dict[str, Any]:
        return {
            "bot": {"id": names.BOT},
            "isGroup": False,
            "members": [{"id": user}],
            "channelData": {"tenant": {"id": names.ENTRA}},
        }

    opened = [await rest.call("POST", "conversations", wanted("29:alice")) for _ in range(2)]
    assert [told.body for told in opened] == [{"id": CHAT}] * 2
    refused = await rest.call("POST", "conversations", wanted("29:carol"))
    assert (refused.status, refused.body["error"]["code"]) == (403, "BotNotInConversationRoster")
    lost = {**wanted("29:alice"), "channelData": {}, "tenantID": names.ENTRA}
    assert (await rest.call("POST", "conversations", lost)).status == 400
    assert teams.calls == ["create"] * 4


async def test_a_conversation_in_a_channel_is_a_new_thread(teams: FakeTeams, rest: Rest) -> None:
    channel = {"channelData": {"channel": {"id": names.PEOPLE}}}
    told = await rest.call("POST", "conversations", {**channel, "activity": HELLO})
    assert told.body["id"] == f"{names.PEOPLE};messageid={told.body['activityId']}"
    assert teams.posts_in(told.body["id"])
    assert (await rest.call("POST", "conversations", channel)).status == 400


@pytest.mark.parametrize("status", [403, 404, 412, 413, 429, 500, 502, 504])
async def test_a_fault_comes_before_or_after_the_effect(
    teams: FakeTeams, rest: Rest, status: int
) -> None:
    teams.fail(
        Fault(status=status, retry_after="7", code="Why"), None, Fault(status=status, after=True)
    )
    told = await rest.post(CHAT, HELLO)
    assert (told.status, told.headers["Retry-After"]) == (status, "7")
    assert told.body["error"]["code"] == "Why"
    assert not teams.messages
    assert (await rest.post(CHAT, HELLO)).status == 201
    assert (await rest.post(CHAT, HELLO)).status == status
    assert len(teams.messages) == 2


@pytest.mark.parametrize("after", [False, True])
async def test_a_connection_may_be_cut(teams: FakeTeams, rest: Rest, *, after: bool) -> None:
    teams.fail(Fault(status=0, after=after))
    with pytest.raises(aiohttp.ClientError):
        await rest.post(CHAT, HELLO)
    assert len(teams.messages) == after


async def test_what_is_only_slow_is_done(teams: FakeTeams, rest: Rest) -> None:
    teams.fail(Fault(status=200, seconds=0.05))
    began = time.monotonic()
    assert (await rest.post(CHAT, HELLO)).status == 201
    assert time.monotonic() - began >= 0.05


async def test_eight_sends_in_a_second_are_one_too_many_in_a_thread(
    teams: FakeTeams, rest: Rest
) -> None:
    teams.strict_rates = True
    sent = await asyncio.gather(*(rest.post(CHAT, HELLO) for _ in range(8)))
    refused = [told for told in sent if told.status == 429]
    assert [told.headers["Retry-After"] for told in refused] == ["1"]
    assert teams.refused_for_rate == 1
    assert (await rest.post(names.HELP, HELLO)).status == 201
    teams.clock.advance(1.1)
    assert (await rest.post(CHAT, HELLO)).status == 201
    assert (await rest.post(CHAT, HELLO)).status == 429, "eight in two seconds are taken"


async def test_sixty_sends_in_half_a_minute_are_all(teams: FakeTeams, rest: Rest) -> None:
    teams.strict_rates = True
    for _ in range(60):
        teams.clock.advance(0.4)
        assert (await rest.post(CHAT, HELLO)).status == 201
    teams.clock.advance(0.4)
    told = await rest.post(CHAT, HELLO)
    assert told.status == 429
    teams.clock.advance(float(told.headers["Retry-After"]))
    assert (await rest.post(CHAT, HELLO)).status == 201


async def test_words_are_not_edited_into_words_with_a_card(rest: Rest) -> None:
    """Teams makes several messages of them, and says so: found with Microsoft's playground."""
    made = await rest.post(names.HELP, {"type": "message", "text": "Looking this up"})
    card = {"type": "AdaptiveCard", "version": "1.5", "body": [{"type": "TextBlock", "text": "x"}]}
    hung = [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}]
    words: dict[str, object] = {"type": "message", "text": "Restart it."}
    told = await rest.put(names.HELP, made.body["id"], {**words, "attachments": hung})
    assert (told.status, told.body["error"]["code"]) == (400, "BadSyntax")
    assert (await rest.put(names.HELP, made.body["id"], words)).status == 200
