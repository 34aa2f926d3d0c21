"""Test that the connector of the fake tenant takes and refuses calls as Teams does."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import aiohttp
import pytest

from tests.fakes.teams import names
from tests.fakes.teams.cards import card_problems, check_card
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.people import Human, chat_of
from tests.fakes.teams.server import FakeTeams
from tests.unit.bot.platforms.teams.conftest import ConnectorClient

CHAT = chat_of(names.ALICE)
HELLO = {"type": "message", "text": "hello"}
ROOT = {"type": "https://schema.org/Message", "@type": "Message", "@context": "https://schema.org"}


async def test_a_message_to_a_channel_begins_a_thread_and_others_go_on_in_it(
    teams: FakeTeams, rest: ConnectorClient
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
    rest: ConnectorClient, conversation: str, status: int, code: str
) -> None:
    told = await rest.post(conversation, HELLO)
    assert (told.status, told.body["error"]["code"]) == (status, code)


async def test_a_place_may_refuse_everything(teams: FakeTeams, rest: ConnectorClient) -> None:
    posted = (await rest.post(CHAT, HELLO)).body["id"]
    teams.conversations[CHAT].refuses = "ConversationBlockedByUser"
    answers = [
        await rest.post(CHAT, HELLO),
        await rest.put(CHAT, posted, HELLO),
        await rest.delete(CHAT, posted),
    ]
    assert [told.status for told in answers] == [403] * 3


async def test_an_edit_is_what_everybody_sees_and_a_deletion_nobody(
    teams: FakeTeams, rest: ConnectorClient
) -> None:
    posted = (await rest.post(names.GROUP, HELLO)).body["id"]
    teams.views[names.BOB, posted] = {"type": "AdaptiveCard"}
    await rest.put(names.GROUP, posted, {"type": "message", "text": "bye"})
    assert teams.post(posted).shown == "bye"
    assert teams.cards_for(names.BOB, teams.post(posted)) == []
    assert (await rest.delete(names.GROUP, posted)).status == 200
    assert (await rest.delete(names.GROUP, posted)).status == 404
    assert not teams.messages


async def test_the_playground_deletes_nothing(teams: FakeTeams, rest: ConnectorClient) -> None:
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
    teams: FakeTeams, rest: ConnectorClient, activity: dict[str, Any], status: int
) -> None:
    assert (await rest.post(CHAT, activity)).status == status
    assert bool(teams.sent) == (status == 201)


async def test_a_personal_chat_is_opened_with_who_added_the_app(
    teams: FakeTeams, rest: ConnectorClient
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


async def test_a_conversation_in_a_channel_is_a_new_thread(
    teams: FakeTeams, rest: ConnectorClient
) -> None:
    channel = {"channelData": {"channel": {"id": names.PEOPLE}}}
    told = await rest.call("POST", "conversations", {**channel, "activity": HELLO})
    assert told.body["id"] == f"{names.PEOPLE};messageid={told.body['activityId']}"
    assert teams.posts_in(told.body["id"])
    assert (await rest.call("POST", "conversations", channel)).status == 400


@pytest.mark.parametrize("status", [403, 404, 412, 413, 429, 500, 502, 504])
async def test_a_fault_comes_before_or_after_the_effect(
    teams: FakeTeams, rest: ConnectorClient, status: int
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
async def test_a_connection_may_be_cut(
    teams: FakeTeams, rest: ConnectorClient, *, after: bool
) -> None:
    teams.fail(Fault(status=0, after=after))
    with pytest.raises(aiohttp.ClientError):
        await rest.post(CHAT, HELLO)
    assert len(teams.messages) == after


async def test_what_is_only_slow_is_done(teams: FakeTeams, rest: ConnectorClient) -> None:
    teams.fail(Fault(status=200, seconds=0.05))
    began = time.monotonic()
    assert (await rest.post(CHAT, HELLO)).status == 201
    assert time.monotonic() - began >= 0.05


async def test_eight_sends_in_a_second_are_one_too_many_in_a_thread(
    teams: FakeTeams, rest: ConnectorClient
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


async def test_sixty_sends_in_half_a_minute_are_all(
    teams: FakeTeams, rest: ConnectorClient
) -> None:
    teams.strict_rates = True
    for _ in range(60):
        teams.clock.advance(0.4)
        assert (await rest.post(CHAT, HELLO)).status == 201
    teams.clock.advance(0.4)
    told = await rest.post(CHAT, HELLO)
    assert told.status == 429
    teams.clock.advance(float(told.headers["Retry-After"]))
    assert (await rest.post(CHAT, HELLO)).status == 201


async def test_words_are_not_edited_into_words_with_a_card(rest: ConnectorClient) -> None:
    """Teams makes several messages of them, and says so: found with Microsoft's playground."""
    made = await rest.post(names.HELP, {"type": "message", "text": "Looking this up"})
    card = {"type": "AdaptiveCard", "version": "1.5", "body": [{"type": "TextBlock", "text": "x"}]}
    hung = [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}]
    words: dict[str, object] = {"type": "message", "text": "Restart it."}
    told = await rest.put(names.HELP, made.body["id"], {**words, "attachments": hung})
    assert (told.status, told.body["error"]["code"]) == (400, "BadSyntax")
    assert (await rest.put(names.HELP, made.body["id"], words)).status == 200


@pytest.mark.parametrize("user", ["29:bob", names.BOB])
@pytest.mark.parametrize("conversation", [names.HELP, f"{names.HELP};messageid=1", names.GROUP])
async def test_a_member_is_told_by_either_id(
    rest: ConnectorClient, user: str, conversation: str
) -> None:
    told = await rest.get(f"conversations/{conversation}/members/{user}")
    assert told.body == {
        "id": "29:bob",
        "objectId": names.BOB,
        "aadObjectId": names.BOB,
        "name": "Bob",
        "givenName": "Bob",
        "surname": "",
        "email": "anna@acme.example",
        "userPrincipalName": "bob@acme.example",
        "tenantId": names.ENTRA,
        "userRole": "user",
    }


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"conversations/{names.GROUP}/members/{names.CAROL}", 404),
        (f"conversations/{names.GROUP}/members/29:nobody", 404),
        ("conversations/19:nowhere/members/29:alice", 404),
        (f"conversations/{names.ELSEWHERE}/members", 403),
        ("teams/19:nowhere", 404),
        (f"teams/{names.ELSEWHERE}", 404),
    ],
)
async def test_who_and_what_is_not_there_is_not_told(
    rest: ConnectorClient, path: str, status: int
) -> None:
    assert (await rest.get(path)).status == status


async def test_guests_and_people_of_other_companies_are_told_as_such(rest: ConnectorClient) -> None:
    guest = await rest.get(f"conversations/{names.GUESTS}/members/{names.GUEST}")
    assert guest.body["userRole"] == "guest"
    assert "#EXT#" in guest.body["userPrincipalName"]
    stranger = await rest.get(f"conversations/{names.SHARED}/members/{names.STRANGER}")
    assert stranger.body["tenantId"] == names.OTHER_ENTRA


async def test_members_come_in_pages(teams: FakeTeams, rest: ConnectorClient) -> None:
    for number in range(7):
        name = f"p{number}"
        teams.add(Human(name, f"29:{name}", name, f"{name}@acme.example", ""), names.HELP)
    path = f"conversations/{names.HELP}/pagedmembers?pageSize=4"
    first = (await rest.get(path)).body
    second = (await rest.get(f"{path}&continuationToken={first['continuationToken']}")).body
    third = (await rest.get(f"{path}&continuationToken={second['continuationToken']}")).body
    assert [len(page["members"]) for page in (first, second, third)] == [4, 4, 3]
    assert "continuationToken" not in third
    assert len((await rest.get(f"conversations/{names.HELP}/members")).body) == 11


async def test_a_team_is_told_with_its_channels(rest: ConnectorClient) -> None:
    told = (await rest.get(f"teams/{names.TEAM}")).body
    assert (told["id"], told["aadGroupId"]) == (names.TEAM, names.TEAM_GROUP)
    channels = (await rest.get(f"teams/{names.TEAM}/conversations")).body["conversations"]
    assert {"id": names.PEOPLE, "name": "people"} in channels
    assert {"id": names.GENERAL} in channels


async def test_the_playground_spells_the_name_its_own_way(
    teams: FakeTeams, rest: ConnectorClient
) -> None:
    teams.playground = True
    told = await rest.get(f"conversations/{chat_of(names.ALICE)}/members/29:alice")
    assert told.body["userPrincipleName"] == "alice@acme.example"
    assert "userPrincipalName" not in told.body


def part(
    kind: str, text: str, number: int | None = None, stream: str = "", **more: object
) -> dict[str, Any]:
    info: dict[str, object] = {"type": "streaminfo", "streamType": kind}
    if number is not None:
        info["streamSequence"] = number
    if stream:
        info["streamId"] = stream
    shape = "message" if kind == "final" else "typing"
    return {"type": shape, "text": text, "entities": [info], **more}


async def begun(rest: ConnectorClient) -> str:
    answer = await rest.post(CHAT, part("informative", "Looking\u2026", 1))
    assert answer.status == 201
    return str(answer.body["id"])


async def refusal(
    rest: ConnectorClient, activity: dict[str, Any], chat: str = CHAT
) -> tuple[int, str, str]:
    answer = await rest.post(chat, activity)
    told = answer.body["error"]
    return answer.status, told["code"], told["message"]


async def test_a_stream_grows_and_ends_as_a_message_under_its_id(
    teams: FakeTeams, rest: ConnectorClient
) -> None:
    stream = await begun(rest)
    for number, (kind, text) in enumerate(
        [("informative", "Reading\u2026"), ("streaming", "Take"), ("streaming", "Take the blue")], 2
    ):
        answer = await rest.post(CHAT, part(kind, text, number, stream))
        assert (answer.status, answer.body) == (202, {})
    assert not teams.messages
    ended = await rest.post(CHAT, part("final", "Take the blue one.", stream=stream))
    assert (ended.status, ended.body) == (202, {})
    (message,) = teams.messages
    assert (message.id, message.shown) == (stream, "Take the blue one.")
    assert teams.streams[stream].shown[:2] == ["Looking\u2026", "Reading\u2026"]
    assert (await rest.put(CHAT, stream, {"type": "message", "text": "Mended."})).status == 200


@pytest.mark.parametrize("chat", [names.GROUP, names.HELP])
async def test_only_personal_chats_have_streams(rest: ConnectorClient, chat: str) -> None:
    status, code, message = await refusal(rest, part("informative", "x", 1), chat)
    assert (status, code) == (403, "ContentStreamNotAllowed")
    assert "not allowed" in message


async def test_a_tenant_may_have_none(teams: FakeTeams, rest: ConnectorClient) -> None:
    teams.streams_allowed = False
    assert (await refusal(rest, part("informative", "x", 1)))[0] == 403


async def test_the_playground_answers_405_outside_of_personal_chats(
    teams: FakeTeams, rest: ConnectorClient
) -> None:
    teams.playground = True
    told = await refusal(rest, part("informative", "x", 1), names.HELP)
    assert told[:2] == (405, "BadArgument")


async def test_a_chat_has_one_stream_at_a_time(rest: ConnectorClient) -> None:
    stream = await begun(rest)
    assert (await refusal(rest, part("informative", "x", 1)))[0] == 403
    await rest.post(CHAT, part("final", "Done.", stream=stream))
    assert await begun(rest) != stream


@pytest.mark.parametrize("number", [1, 2])
async def test_what_comes_out_of_order_is_dropped(
    teams: FakeTeams, rest: ConnectorClient, number: int
) -> None:
    stream = await begun(rest)
    await rest.post(CHAT, part("informative", "two", 2, stream))
    told = await refusal(rest, part("informative", "late", number, stream))
    assert told[:2] == (202, "ContentStreamSequenceOrderPreConditionFailed")
    assert teams.streams[stream].shown == ["Looking\u2026", "two"]


@pytest.mark.parametrize(
    ("activity", "why"),
    [
        (part("informative", "", 1), "include text"),
        (part("informative", "x"), "begins with"),
        (part("informative", "x", 2), "begins with"),
        (part("final", "x"), "begins with"),
        (part("informative", "x", 2, "no-stream"), "not known"),
        (part("start streaming", "x", 1), "not for an activity"),
        (part("streaming", "x", 1) | {"type": "message"}, "not for an activity"),
        (part("informative", "x" * 1_001, 1), "1,000"),
    ],
    ids=str,
)
async def test_what_is_no_part_of_a_stream_is_refused(
    rest: ConnectorClient, activity: dict[str, Any], why: str
) -> None:
    status, code, message = await refusal(rest, activity)
    assert (status, code) == (400, "BadRequest")
    assert why in message


LABEL = {"type": "https://schema.org/Message"}


@pytest.mark.parametrize(
    "wrong",
    [
        part("streaming", "Something else", 3, "S"),
        part("streaming", "Take more", None, "S"),
        part("final", "Take it.", 4, "S"),
        part("streaming", "Take more", 3, "S", attachments=[{"contentType": "x"}]),
        part("streaming", "Take more", 3, "S", channelData={"feedbackLoop": {"type": "default"}}),
    ],
    ids=["not cumulative", "no number", "a number at the end", "a card", "thumbs"],
)
async def test_what_a_stream_does_not_take_half_way_is_refused(
    rest: ConnectorClient, wrong: dict[str, Any]
) -> None:
    stream = await begun(rest)
    await rest.post(CHAT, part("streaming", "Take", 2, stream))
    info = {**wrong["entities"][0], "streamId": stream}
    assert (await refusal(rest, {**wrong, "entities": [info]}))[0] == 400


async def test_labels_come_at_the_end_only(rest: ConnectorClient) -> None:
    stream = await begun(rest)
    early = part("streaming", "Take", 2, stream)
    status, *_ = await refusal(rest, {**early, "entities": [*early["entities"], LABEL]})
    assert status == 400


async def test_what_is_completed_takes_nothing_more(rest: ConnectorClient) -> None:
    stream = await begun(rest)
    await rest.post(CHAT, part("final", "Done.", stream=stream))
    for again in (part("final", "Done.", stream=stream), part("informative", "x", 2, stream)):
        status, code, message = await refusal(rest, again)
        assert (status, code) == (403, "ContentStreamNotAllowed")
        assert "already completed" in message


async def test_after_two_minutes_it_is_over_and_can_be_edited(
    teams: FakeTeams, rest: ConnectorClient
) -> None:
    stream = await begun(rest)
    final = {"type": "message", "text": "Done."}
    assert (await rest.put(CHAT, stream, final)).status == 404, "it is no message yet"
    teams.clock.advance(121)
    told = await refusal(rest, part("final", "Done.", stream=stream))
    assert told[0] == 403
    assert "exceeded streaming time" in told[2]
    assert (await rest.put(CHAT, stream, final)).status == 200
    assert [message.text for message in teams.posts_in(CHAT)] == ["Done."]
    assert await begun(rest)


async def test_who_pressed_stop_keeps_what_was_written(
    teams: FakeTeams, rest: ConnectorClient
) -> None:
    stream = await begun(rest)
    await rest.post(CHAT, part("streaming", "Take", 2, stream))
    rest.visitor.stop()
    told = await refusal(rest, part("final", "Take it.", stream=stream))
    assert told[0] == 403
    assert "canceled by user" in told[2]
    assert [message.text for message in teams.messages] == ["Take"]
    with pytest.raises(AssertionError, match="nothing to stop"):
        rest.visitor.stop()


async def test_a_stream_that_is_too_large_is_a_403(rest: ConnectorClient) -> None:
    stream = await begun(rest)
    told = await refusal(rest, part("final", "x" * 13_000, stream=stream))
    assert told == (403, "ContentStreamNotAllowed", "Message size too large")


Json = dict[str, Any]
FIELD = {"type": "Input.Text", "id": "words", "label": "Words"}


def card(*body: Json, actions: tuple[Json, ...] = (), version: str = "1.5") -> Json:
    return {
        "type": "AdaptiveCard",
        "version": version,
        "body": list(body),
        "actions": list(actions),
    }


def table(**changes: object) -> Json:
    cell = {"type": "TableCell", "items": [{"type": "TextBlock", "text": "a"}]}
    row = {"type": "TableRow", "cells": [cell, cell]}
    return {"type": "Table", "columns": [{"width": 1}, {"width": 2}], "rows": [row], **changes}


def unfolds(*body: Json) -> Json:
    return {"type": "Action.ShowCard", "title": "More", "card": card(*body)}


def column(item: Json) -> Json:
    return {"type": "ColumnSet", "columns": [{"type": "Column", "items": [item]}]}


SHOWN = [
    card({"type": "TextBlock", "text": "a"}, version="1.4"),
    card(table()),
    card({"type": "CodeBlock", "codeSnippet": "ls", "language": "Bash"}),
    card(FIELD, actions=({"type": "Action.Execute", "title": "Go", "verb": "go"},)),
    card(actions=(unfolds(FIELD),)),
    card({"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": "a"}, "b"]}),
    card({"type": "FactSet", "facts": [{"title": "a", "value": "b"}]}),
    card(
        {
            "type": "Input.ChoiceSet",
            "id": "which",
            "choices": [{"title": "a", "value": "b"}],
            "choices.data": {"type": "Data.Query", "dataset": "graph.microsoft.com/users"},
        }
    ),
]
NOT_SHOWN = [
    ({"type": "Card"}, "no card"),
    (card(version="1.6"), "version '1.6'"),
    (card(version="2.0"), "version"),
    (card(version=""), "version"),
    (card({"type": "Rating"}), "Rating is not known"),
    (card({"type": "TextBlock"}), "TextBlock"),
    (card(column({"type": "Chart.Pie"})), "Chart.Pie"),
    (card({"type": "Container", "items": [{"type": "Textblock", "text": "x"}]}), "Textblock"),
    (card({"type": "CodeBlock", "codeSnippet": "x", "language": "Brainfuck"}), "CodeBlock"),
    (card({"type": "CodeBlock", "text": "x"}), "CodeBlock"),
    (card(table(columns=[{"width": 1}])), "Table"),
    (card(table(rows=[{"cells": []}])), "Table"),
    (card({"type": "Image", "url": "http://example.com/a.png"}), "Image"),
    (card({"type": "Input.Text", "label": "x"}), "Input.Text"),
    (card({"type": "Input.ChoiceSet", "id": "x", "choices": [{"title": "a"}]}), "ChoiceSet"),
    (card(FIELD, FIELD), "2 fields are called 'words'"),
    (card(FIELD, actions=(unfolds(FIELD),)), "2 fields are called 'words'"),
    (card(actions=({"type": "Action.Execute", "title": "Go"},)), "Action.Execute"),
    (card(actions=({"type": "Action.Http", "title": "Go"},)), "Action.Http"),
    (card(actions=({"type": "Action.OpenUrl", "title": "Go", "url": "javascript:x"},)), "OpenUrl"),
    (card(actions=(unfolds({"type": "Rating"}),)), "Rating"),
]


@pytest.mark.parametrize("shown", SHOWN, ids=str)
def test_what_teams_shows_is_taken(shown: Json) -> None:
    check_card(shown)


@pytest.mark.parametrize(("wrong", "why"), NOT_SHOWN, ids=str)
def test_what_teams_does_not_show_is_named(wrong: Json, why: str) -> None:
    assert why in "; ".join(card_problems(wrong))
    with pytest.raises(AssertionError, match="does not show"):
        check_card(wrong)


async def test_a_message_with_a_card_that_is_not_shown_is_refused(
    teams: FakeTeams, rest: ConnectorClient
) -> None:
    kind = "application/vnd.microsoft.card.adaptive"
    hung = [{"contentType": kind, "content": card({"type": "Rating"})}]
    told = await rest.post(names.HELP, {"type": "message", "attachments": hung})
    assert told.status == 400
    assert "Rating" in told.body["error"]["message"]
    assert not teams.messages
