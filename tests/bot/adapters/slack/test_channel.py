"""What people see on Slack, whatever Slack does meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.adapters.slack import SlackChannel, connect
from bot.config import Settings
from bot.errors import DeliveryFailed, SettingInvalid
from bot.types import Message, Person, Reply, Stage, Thread
from tests.bot.adapters.outcomes import ANSWER, HANDED_OVER, LOCAL, OFFERED, VPN, delivery
from tests.bot.adapters.slack.events import ALICE
from tests.bot.adapters.slack.server import FakeSlack, Fault, Post

HELP, PEOPLE = "C0HELP000", "C0PEOPLE0"
ROOT = "1700000000.000100"


def question(*, private: bool = False, age: float = 0.0) -> Message:
    return Message(
        id=ROOT,
        thread=Thread("slack", "acme", "D0ALICE00" if private else HELP, ROOT),
        author=Person(id=ALICE),
        text="vpn down?",
        received_at=datetime.now(UTC) - timedelta(seconds=age),
        private=private,
    )


def replies(slack: FakeSlack) -> list[Post]:
    return slack.in_thread(HELP, ROOT)


async def test_an_answer_is_one_reply_in_the_thread_with_numbered_sources(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    ref = await channel.deliver(delivery(question()))
    (post,) = replies(slack)
    assert (ref.channel, ref.id) == (HELP, post.ts)
    assert "Restart the client [1]." in post.shown
    assert "[1] <https://wiki.example.com/vpn?a=1&b=2|VPN guide \u203a Reset>" in post.shown
    assert "human" in post.shown


async def test_nothing_is_unfurled_and_the_reply_can_be_found_again(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    sent = delivery(question())
    ref = await channel.deliver(sent)
    payload = slack.posts[0].payload
    assert payload["unfurl_links"] is payload["unfurl_media"] is False
    assert payload["metadata"]["event_type"] == "frontdesk_reply"
    assert payload["metadata"]["event_payload"]["interaction_id"] == sent.interaction_id
    assert await channel.find(sent.id) == ref


async def test_a_page_without_a_web_address_is_named_without_a_link(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    reply = replace(ANSWER, sources=(replace(VPN, url="javascript:alert(1)"), LOCAL))
    await channel.deliver(delivery(question(), reply))
    shown = replies(slack)[0].raw
    assert "[1] VPN guide" in shown
    assert "[2] Offices" in shown
    assert "<" not in shown


async def test_mentions_links_and_images_in_the_text_are_dead(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    hostile = "<!channel> <@U0CEO0000> <https://evil.example|click> ![x](https://evil.example/?d=1)"
    title = replace(VPN, title="<!here> a|b", section="")
    await channel.deliver(delivery(question(), replace(ANSWER, text=hostile, sources=(title,))))
    payload = replies(slack)[0].payload
    written = payload["blocks"][0]["text"] + payload["text"]
    assert "<" not in written
    assert "](" not in written
    assert "|&lt;!here&gt; a\u00a6b>" in payload["blocks"][1]["text"]["text"]


async def test_a_long_answer_is_split_and_its_last_part_has_the_sources(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    lines = "\n\n".join(f"Step {number}: " + "word " * 40 for number in range(150))
    sent = delivery(question(), replace(ANSWER, text=f"{lines} [1]"))
    ref = await channel.deliver(sent)
    posts = replies(slack)
    assert len(posts) > 1
    assert ref.id == posts[-1].ts
    assert ["VPN guide" in post.shown for post in posts] == [False] * (len(posts) - 1) + [True]
    assert " ".join(post.shown for post in posts).count("Step ") == 150
    assert await channel.find(sent.id) == ref


@pytest.mark.parametrize(
    ("takes", "blocks"),
    [({"section", "context"}, True), (set(), False)],
    ids=["plain sections", "text alone"],
)
async def test_refused_blocks_become_plainer_and_lose_nothing(
    slack: FakeSlack, channel: SlackChannel, takes: set[str], *, blocks: bool
) -> None:
    slack.block_types = frozenset(takes)
    await channel.deliver(delivery(question()))
    (post,) = replies(slack)
    assert bool(post.payload.get("blocks")) == blocks
    assert "Restart the client [1]." in post.shown
    assert "<https://wiki.example.com/vpn?a=1&b=2|VPN guide" in post.shown


@pytest.mark.parametrize(
    "fault",
    [Fault(status=500, after=True), Fault(status=0, after=True)],
    ids=["500 after having posted", "connection cut after having posted"],
)
async def test_a_reply_that_slack_took_without_saying_so_is_not_posted_twice(
    slack: FakeSlack, channel: SlackChannel, fault: Fault
) -> None:
    slack.fail("chat.postMessage", fault)
    ref = await channel.deliver(delivery(question()))
    (post,) = replies(slack)
    assert ref.id == post.ts


async def test_a_reply_that_slack_did_not_take_fails_and_succeeds_when_repeated(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("chat.postMessage", Fault(status=500))
    sent = delivery(question())
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    assert await channel.find(sent.id) is None
    await channel.deliver(sent)
    assert len(replies(slack)) == 1


async def test_a_repeated_delivery_adds_only_the_parts_that_are_missing(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    text = "\n\n".join("word " * 100 for _ in range(60))
    sent = delivery(question(), replace(ANSWER, text=text))
    slack.fail("chat.postMessage", Fault(after=True, status=500), Fault(error="fatal_error"))
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    assert len(replies(slack)) == 1
    await channel.deliver(sent)
    parts = [p.payload["metadata"]["event_payload"]["part"] for p in replies(slack)]
    assert parts == [str(n) for n in range(1, len(parts) + 1)]
    assert len(parts) > 1


async def test_after_a_restart_a_late_delivery_is_looked_up_before_it_is_posted(
    slack: FakeSlack, settings: Settings
) -> None:
    sent = delivery(question(age=60), HANDED_OVER)
    first = await connect(settings).deliver(sent)
    assert await connect(settings).deliver(sent) == first
    assert len(replies(slack)) == 1
    assert len(slack.in_channel(PEOPLE)) == 1


async def test_retry_after_is_waited_for(
    slack: FakeSlack, channel: SlackChannel, waits: list[float]
) -> None:
    slack.fail("chat.postMessage", *[Fault(status=429, error="ratelimited", retry_after="7")] * 2)
    await channel.deliver(delivery(question()))
    assert waits == [7.0, 7.0]
    assert len(replies(slack)) == 1


@pytest.mark.parametrize("retry_after", ["3600", "1"])
async def test_waiting_for_slack_has_an_end(
    slack: FakeSlack, channel: SlackChannel, waits: list[float], retry_after: str
) -> None:
    limited = Fault(status=429, error="ratelimited", retry_after=retry_after)
    slack.fail("chat.postMessage", *[limited] * 9)
    with pytest.raises(DeliveryFailed, match="rate limit"):
        await channel.deliver(delivery(question()))
    assert sum(waits) < 10


@pytest.mark.parametrize(
    "error", ["channel_not_found", "not_in_channel", "invalid_auth", "is_archived"]
)
async def test_what_slack_refuses_fails_with_its_reason(
    slack: FakeSlack, channel: SlackChannel, error: str
) -> None:
    slack.fail("chat.postMessage", Fault(error=error))
    with pytest.raises(DeliveryFailed, match=error):
        await channel.deliver(delivery(question()))


async def test_a_slack_that_is_not_there_fails(settings: Settings) -> None:
    away = settings.model_copy(update={"slack_api_url": "http://127.0.0.1:1/api/"})
    with pytest.raises(DeliveryFailed, match="cannot be reached"):
        await connect(away).deliver(delivery(question()))


async def test_an_escalation_is_told_in_the_thread_and_asked_in_the_peoples_channel(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(delivery(question(), HANDED_OVER))
    (told,), (card,) = replies(slack), slack.in_channel(PEOPLE)
    assert "I've asked the people in #it-help." in told.shown
    assert "not confirmed" in told.shown
    assert "> vpn down?" in card.shown
    assert "not sure enough" in card.shown
    assert f"<@{ALICE}>" in card.shown
    assert f"https://acme.slack.com/archives/{HELP}/p1700000000000100" in card.shown
    assert "VPN guide" in card.shown


async def test_the_asker_is_told_when_people_could_not_be_asked(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.channels.remove(PEOPLE)
    await channel.deliver(delivery(question(), HANDED_OVER))
    (reply,) = slack.posts
    assert "couldn't reach the people" in reply.shown
    assert "I've asked" not in reply.shown


async def test_a_private_escalation_is_only_offered_until_the_asker_agrees(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(delivery(question(private=True), OFFERED))
    assert not slack.in_channel(PEOPLE)
    assert "Shall I ask a person?" in slack.posts[0].shown


async def test_the_card_of_a_private_question_names_no_pages_and_links_nowhere(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(delivery(question(private=True), HANDED_OVER))
    (card,) = slack.in_channel(PEOPLE)
    assert "vpn down?" in card.shown
    assert "VPN guide" not in card.shown
    assert "http" not in card.shown


async def test_a_fuller_reply_is_shown_to_the_asker_alone(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    secret = Reply(text="The code is on the door [1].", tone="answer", sources=(VPN,))
    await channel.deliver(delivery(question(), private=secret))
    public, private = slack.posts
    assert public.only_for is None
    assert "door" not in public.shown
    assert (private.only_for, private.thread_ts) == (ALICE, ROOT)
    assert "The code is on the door [1]." in private.shown


async def test_stages_show_as_a_status_line(slack: FakeSlack, channel: SlackChannel) -> None:
    for stage in (Stage.SEARCHING, Stage.READING, Stage.DONE):
        await channel.progress(question(), stage)
    assert slack.statuses == ["is searching the wiki\u2026", "is reading pages\u2026", ""]


async def test_a_refused_status_harms_nothing_and_is_not_tried_again(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("assistant.threads.setStatus", Fault(error="not_allowed_token_type"))
    await channel.progress(question(), Stage.SEARCHING)
    await channel.progress(question(), Stage.READING)
    assert slack.calls == ["assistant.threads.setStatus"]


def test_a_missing_secret_is_named(settings: Settings) -> None:
    half = settings.model_copy(update={"slack_signing_secret": None})
    with pytest.raises(SettingInvalid, match="SLACK_SIGNING_SECRET"):
        connect(half)
