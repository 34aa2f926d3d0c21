"""Streams: taken as Teams takes them, refused with its words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.adapters.teams.server import FakeTeams
from tests.bot.adapters.teams.tenant import names
from tests.bot.adapters.teams.tenant.conversations import chat_of
from tests.bot.adapters.teams.tenant.rest import Rest

CHAT = chat_of(names.ALICE)


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


async def begun(rest: Rest) -> str:
    answer = await rest.post(CHAT, part("informative", "Looking\u2026", 1))
    assert answer.status == 201
    return str(answer.body["id"])


async def refusal(rest: Rest, activity: dict[str, Any], chat: str = CHAT) -> tuple[int, str, str]:
    answer = await rest.post(chat, activity)
    told = answer.body["error"]
    return answer.status, told["code"], told["message"]


async def test_a_stream_grows_and_ends_as_a_message_under_its_id(
    teams: FakeTeams, rest: Rest
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
async def test_only_personal_chats_have_streams(rest: Rest, chat: str) -> None:
    status, code, message = await refusal(rest, part("informative", "x", 1), chat)
    assert (status, code) == (403, "ContentStreamNotAllowed")
    assert "not allowed" in message


async def test_a_tenant_may_have_none(teams: FakeTeams, rest: Rest) -> None:
    teams.streams_allowed = False
    assert (await refusal(rest, part("informative", "x", 1)))[0] == 403


async def test_the_playground_answers_405_outside_of_personal_chats(
    teams: FakeTeams, rest: Rest
) -> None:
    teams.playground = True
    told = await refusal(rest, part("informative", "x", 1), names.HELP)
    assert told[:2] == (405, "BadArgument")


async def test_a_chat_has_one_stream_at_a_time(rest: Rest) -> None:
    stream = await begun(rest)
    assert (await refusal(rest, part("informative", "x", 1)))[0] == 403
    await rest.post(CHAT, part("final", "Done.", stream=stream))
    assert await begun(rest) != stream


@pytest.mark.parametrize("number", [1, 2])
async def test_what_comes_out_of_order_is_dropped(
    teams: FakeTeams, rest: Rest, number: int
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
    rest: Rest, activity: dict[str, Any], why: str
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
    rest: Rest, wrong: dict[str, Any]
) -> None:
    stream = await begun(rest)
    await rest.post(CHAT, part("streaming", "Take", 2, stream))
    info = {**wrong["entities"][0], "streamId": stream}
    assert (await refusal(rest, {**wrong, "entities": [info]}))[0] == 400


async def test_labels_come_at_the_end_only(rest: Rest) -> None:
    stream = await begun(rest)
    early = part("streaming", "Take", 2, stream)
    status, *_ = await refusal(rest, {**early, "entities": [*early["entities"], LABEL]})
    assert status == 400


async def test_what_is_completed_takes_nothing_more(rest: Rest) -> None:
    stream = await begun(rest)
    await rest.post(CHAT, part("final", "Done.", stream=stream))
    for again in (part("final", "Done.", stream=stream), part("informative", "x", 2, stream)):
        status, code, message = await refusal(rest, again)
        assert (status, code) == (403, "ContentStreamNotAllowed")
        assert "already completed" in message


async def test_after_two_minutes_it_is_over_and_can_be_edited(teams: FakeTeams, rest: Rest) -> None:
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


async def test_who_pressed_stop_keeps_what_was_written(teams: FakeTeams, rest: Rest) -> None:
    stream = await begun(rest)
    await rest.post(CHAT, part("streaming", "Take", 2, stream))
    rest.visitor.stop()
    told = await refusal(rest, part("final", "Take it.", stream=stream))
    assert told[0] == 403
    assert "canceled by user" in told[2]
    assert [message.text for message in teams.messages] == ["Take"]
    with pytest.raises(AssertionError, match="nothing to stop"):
        rest.visitor.stop()


async def test_a_stream_that_is_too_large_is_a_403(rest: Rest) -> None:
    stream = await begun(rest)
    told = await refusal(rest, part("final", "x" * 13_000, stream=stream))
    assert told == (403, "ContentStreamNotAllowed", "Message size too large")
