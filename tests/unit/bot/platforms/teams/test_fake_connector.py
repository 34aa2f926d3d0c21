"""Test that the connector of the fake tenant takes and refuses calls as Teams does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes.teams import names
from tests.fakes.teams.cards import card_problems, check_card
from tests.fakes.teams.people import chat_of
from tests.fakes.teams.server import FakeTeams
from tests.unit.bot.platforms.teams.conftest import ConnectorClient

CHAT = chat_of(names.ALICE)
HELLO = {"type": "message", "text": "hello"}
ROOT = {"type": "https://schema.org/Message", "@type": "Message", "@context": "https://schema.org"}


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
        ({"type": "message", "text": "\u00e4" * 51_000}, 413),
        ({"type": "typing"}, 201),
    ],
)
async def test_what_teams_does_not_take_is_refused(
    teams: FakeTeams, rest: ConnectorClient, activity: dict[str, Any], status: int
) -> None:
    assert (await rest.post(CHAT, activity)).status == status
    assert bool(teams.sent) == (status == 201)


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


async def test_words_are_not_edited_into_words_with_a_card(rest: ConnectorClient) -> None:
    """Teams makes several messages of them, and says so: found with Microsoft's playground."""
    made = await rest.post(names.HELP, {"type": "message", "text": "Looking this up"})
    card = {"type": "AdaptiveCard", "version": "1.5", "body": [{"type": "TextBlock", "text": "x"}]}
    hung = [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}]
    words: dict[str, object] = {"type": "message", "text": "Restart it."}
    told = await rest.put(names.HELP, made.body["id"], {**words, "attachments": hung})
    assert (told.status, told.body["error"]["code"]) == (400, "BadSyntax")
    assert (await rest.put(names.HELP, made.body["id"], words)).status == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"conversations/{names.GROUP}/members/{names.CAROL}", 404),
        (f"conversations/{names.GROUP}/members/29:nobody", 404),
        ("conversations/19:nowhere/members/29:alice", 404),
        (f"conversations/{names.ELSEWHERE}/pagedmembers", 403),
    ],
)
async def test_who_and_what_is_not_there_is_not_told(
    rest: ConnectorClient, path: str, status: int
) -> None:
    assert (await rest.get(path)).status == status


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


@pytest.mark.parametrize("chat", [names.GROUP, names.HELP])
async def test_only_personal_chats_have_streams(rest: ConnectorClient, chat: str) -> None:
    status, code, message = await refusal(rest, part("informative", "x", 1), chat)
    assert (status, code) == (403, "ContentStreamNotAllowed")
    assert "not allowed" in message


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


async def test_a_stream_that_is_too_large_is_a_403(rest: ConnectorClient) -> None:
    stream = await begun(rest)
    told = await refusal(rest, part("final", "x" * 51_000, stream=stream))
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
