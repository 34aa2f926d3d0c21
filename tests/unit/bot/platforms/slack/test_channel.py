"""Test what people see of replies on Slack, whatever Slack answers meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.domain import concurrency as errands_module
from bot.domain.errors import SettingInvalid
from bot.domain.handoff import ON_HELP_DESK_LIST
from bot.domain.interactions import Outcome, Reply
from bot.domain.settings import Settings
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.payloads.actions import MORE
from tests.fakes.desk import ANSWER, HANDED_OVER, LOCAL, OFFERED, TRACE, VPN, delivery
from tests.fakes.slack.builders import HELP, PEOPLE, ROOT, question, replies
from tests.fakes.slack.events import ALICE
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.server import FakeSlack

SECRET_ANSWER = Reply(text="The code is on the door [1].", tone="answer", sources=(VPN,))


async def test_an_answer_is_one_reply_in_the_thread_with_numbered_sources(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    ref = await channel.deliver(delivery(question()))
    (post,) = replies(slack)
    assert (ref.channel, ref.id) == (HELP, post.ts)
    assert "Restart the client [1]." in post.shown
    assert "[1] <https://wiki.example.com/vpn?a=1&b=2|VPN guide \u203a Reset>" in post.shown
    assert "human" not in post.shown
    assert post.labels == ["Helpful", "Not helpful", "Ask a person", "Why this answer"]


async def test_nothing_is_unfurled_and_the_reply_can_be_found_again(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    sent = delivery(question())
    ref = await channel.deliver(sent)
    payload = slack.posts[0].payload
    assert payload["unfurl_links"] is payload["unfurl_media"] is False
    assert payload["metadata"]["event_type"] == "frontdesk_reply"
    assert payload["metadata"]["event_payload"]["interaction_id"] == sent.interaction_id
    assert await channel.find(sent) == ref


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
    assert await channel.find(sent) == ref


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


async def test_a_question_in_a_channel_has_an_address_and_a_direct_message_none(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    there = f"https://acme.slack.com/archives/{HELP}/p1700000000000100"
    assert await channel.link(question()) == there
    assert await channel.link(replace(question(), private=True)) is None

    slack.fail("chat.getPermalink", Fault(error="message_not_found"))
    assert await channel.link(question(id="1700000000.000900")) is None


async def test_an_escalation_is_told_in_the_thread_and_asked_in_the_peoples_channel(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(delivery(question(), HANDED_OVER))
    (told,), (card,) = replies(slack), slack.in_channel(PEOPLE)
    assert "I've asked the people in #it-help." in told.shown
    assert "not confirmed" in told.shown
    assert "> vpn down?" in card.shown
    assert "not confident enough" in card.shown
    assert f"<@{ALICE}>" in card.shown
    assert f"https://acme.slack.com/archives/{HELP}/p1700000000000100" in card.shown
    assert "VPN guide" in card.shown


@pytest.mark.mended(id="slack-7")
async def test_a_case_that_reaches_no_channel_is_said_to_be_on_the_list(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.channels.remove(PEOPLE)
    await channel.deliver(delivery(question(), HANDED_OVER))
    (reply,) = slack.posts
    assert ON_HELP_DESK_LIST in reply.shown
    assert "I've asked" not in reply.shown


@pytest.mark.mended(id="slack-7")
async def test_the_operator_sees_which_people_are_not_reached(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.channels.remove(PEOPLE)
    await channel.deliver(delivery(question(), HANDED_OVER))
    part = channel.part()
    assert part.state == "failed"
    assert PEOPLE in part.detail
    assert "Invite the bot" in part.cure
    slack.channels.add(PEOPLE)
    await channel.deliver(delivery(question(id="1700000000.000900"), HANDED_OVER))
    assert channel.part().state == "ready"


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


async def test_an_asker_is_told_that_there_is_more_and_nobody_else_is(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    sent = delivery(question(), private=SECRET_ANSWER)
    await channel.deliver(sent)
    public, offer = slack.posts
    assert public.only_for is None
    assert "door" not in public.raw + offer.raw
    assert (offer.only_for, offer.thread_ts) == (ALICE, ROOT)
    assert "more that you can read" in offer.shown
    (pressed,) = offer.blocks[-1]["elements"]
    assert (pressed["action_id"], pressed["value"]) == (MORE, sent.interaction_id)


async def test_a_fuller_reply_is_whispered_with_its_sources(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.private_replies.whisper(question(), SECRET_ANSWER)
    (whispered,) = slack.posts
    assert (whispered.only_for, whispered.thread_ts) == (ALICE, ROOT)
    assert "The code is on the door [1]." in whispered.shown
    assert "|VPN guide" in whispered.shown
    assert whispered.payload["unfurl_links"] is whispered.payload["unfurl_media"] is False


async def test_in_private_the_answer_itself_has_all_that_its_asker_may_read(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.deliver(delivery(question(private=True), private=SECRET_ANSWER))
    assert len(slack.posts) == 1


def test_a_missing_secret_is_named(settings: Settings) -> None:
    half = settings.model_copy(update={"slack_signing_secret": None})
    with pytest.raises(SettingInvalid, match="SLACK_SIGNING_SECRET"):
        connect(half)


async def test_a_stop_waits_for_errands_once_whoever_began_them(
    channel: SlackChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errands_module, "_STOP_SECONDS", 0.2)
    loop = asyncio.get_running_loop()
    async with channel.session():
        channel.background.run(asyncio.Event().wait(), what="endless")
        began = loop.time()
        await channel.background.finish()
    assert loop.time() - began < 0.35


@pytest.mark.mended(id="slack-8")
@pytest.mark.parametrize("below", [True, False])
async def test_what_is_for_the_asker_alone_is_seen_by_nobody_else(
    slack: FakeSlack, channel: SlackChannel, *, below: bool
) -> None:
    asked = replace(question(), id="1700000000.000300") if below else question()
    notice = Outcome(Reply("Later.", "generic", refused=True), TRACE, ephemeral=True)

    await channel.deliver(replace(delivery(asked), outcome=notice))

    (post,) = slack.posts
    assert (post.only_for, post.shown.strip()) == (ALICE, "Later.")
    assert post.thread_ts == (ROOT if below else None), "Slack shows it in no thread of one message"
