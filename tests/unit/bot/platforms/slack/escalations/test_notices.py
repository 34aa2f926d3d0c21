"""Test what an asker on Slack is told of a case later, and how it is found again."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.errors import DeliveryFailed, DeliveryRefused
from bot.domain.handoff import PERSON_REQUEST
from bot.domain.interactions import PostedRef
from bot.domain.messages import Message, Thread
from bot.domain.settings import Settings
from bot.escalations.ports import AsksPeople, Tells
from bot.learning.digest import SendsDigests
from bot.platforms.slack.channel import SlackChannel, connect
from bot.platforms.slack.notices import notice_messages, with_links
from tests.fakes.desk import HANDED_OVER, delivery
from tests.fakes.digests import sending
from tests.fakes.escalations import ANNA, notice_of
from tests.fakes.slack import names
from tests.fakes.slack.blocks import BLOCK_TYPES, refusal
from tests.fakes.slack.builders import DIRECT, HELP, PEOPLE, ROOT, CaseScenario, question, replies
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.interactions import response_url
from tests.fakes.slack.server import FakeSlack

LONG = "\n\n".join(f"Step {number}: " + "word " * 100 for number in range(80))
_LIVE = re.compile(r"<(?!https://[^<>|\s]+>)")


def test_slack_tells_askers_and_reminds_people(channel: SlackChannel) -> None:
    assert isinstance(channel, Tells)
    assert isinstance(channel, AsksPeople)


@pytest.mark.parametrize("private", [False, True])
async def test_a_persons_reply_is_in_the_thread_under_their_name(
    slack: FakeSlack, channel: SlackChannel, *, private: bool
) -> None:
    asked = question(private=private)
    ref = await channel.tell(asked, notice_of(asked))
    (post,) = slack.in_thread(DIRECT if private else HELP, ROOT)
    assert ref == PostedRef(post.channel, post.ts)
    assert post.shown.splitlines() == [
        "*Anna Lopez* replied:",
        "Take the blue socket.",
        "This helped, close it",
        "Ask again",
    ]
    assert post.payload["text"] == "*Anna Lopez* replied:\n\nTake the blue socket."
    assert post.payload["unfurl_links"] is post.payload["unfurl_media"] is False


@pytest.mark.parametrize(
    ("step", "words", "shown", "offers"),
    [
        ("claim", "", "is working on your question.", ["No longer needed"]),
        ("decline", "Ask them.", "can't help with your question:\nAsk them.", ["Ask again"]),
        ("resolve", "", "closed your question.", ["Ask again"]),
        ("reopen", "", "reopened your question.", ["No longer needed"]),
    ],
)
async def test_each_step_is_told_by_name_with_what_can_be_done_then(
    slack: FakeSlack, channel: SlackChannel, step: str, words: str, shown: str, offers: list[str]
) -> None:
    await channel.tell(question(), notice_of(question(), step=step, text=words))
    (post,) = replies(slack)
    assert post.shown == "\n".join([f"*Anna Lopez* {shown}", *offers])
    assert post.labels == offers


async def test_only_the_last_message_of_a_long_reply_has_buttons(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.tell(question(), notice_of(question(), text=LONG))
    assert [bool(post.labels) for post in replies(slack)][-2:] == [False, True]
    assert sum(bool(post.labels) for post in replies(slack)) == 1


async def test_whoever_has_no_name_is_still_a_person(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    nameless = replace(ANNA, name=" ")
    await channel.tell(question(), notice_of(question(), actor=nameless))
    assert replies(slack)[0].shown.startswith("*Someone at the help desk* replied:")


async def test_mentions_and_dressed_up_links_of_theirs_are_dead(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    words = "<!channel> <@U0CEO0000> <https://evil.example|click> a & b <https://x.example>"
    actor = replace(ANNA, name="<!here>*Bob*\nanswered: yes")
    await channel.tell(question(), notice_of(question(), text=words, actor=actor))
    payload = replies(slack)[0].payload
    written = replies(slack)[0].raw + payload["text"]
    assert not _LIVE.search(written)
    assert "|" not in written.replace("|click", "")
    assert "&lt;!channel&gt;" in written
    assert "a &amp; b" in written
    assert "*&lt;!here&gt;\u2217Bob\u2217 answered: yes* replied:" in written


async def test_a_plain_https_address_can_be_opened(slack: FakeSlack, channel: SlackChannel) -> None:
    words = "See https://wiki.example.com/a?b=1&c=2, or http://old.example."
    await channel.tell(question(), notice_of(question(), text=words))
    assert "See <https://wiki.example.com/a?b=1&amp;c=2>, or http://old.example." in (
        replies(slack)[0].raw
    )


@given(st.text(alphabet="<>&|!@#*`_~ \nhttps:/.exampleU0", max_size=80))
def test_whatever_is_written_only_plain_addresses_are_live(words: str) -> None:
    assert not _LIVE.search(with_links(words))


@given(st.text(min_size=1, max_size=40).map(lambda each: each * 400))
def test_every_message_is_one_that_slack_takes(words: str) -> None:
    for forms in notice_messages(notice_of(question(), text=words)):
        for form in forms:
            payload = {"text": form.text, "blocks": list(form.blocks)}
            assert refusal(payload, BLOCK_TYPES) == ""


async def test_a_long_reply_goes_on_in_further_messages_and_loses_nothing(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    notice = notice_of(question(), text=LONG)
    ref = await channel.tell(question(), notice)
    posts = replies(slack)
    assert len(posts) > 2
    assert ref.id == posts[-1].ts
    shown = "\n".join(post.shown for post in posts)
    assert [int(n) for n in re.findall(r"Step (\d+):", shown)] == list(range(80))
    assert await channel.find_told(question(), notice) == ref


async def test_where_blocks_are_refused_it_is_text(slack: FakeSlack, channel: SlackChannel) -> None:
    slack.block_types = frozenset()
    await channel.tell(question(), notice_of(question()))
    (post,) = replies(slack)
    assert post.shown == "*Anna Lopez* replied:\n\nTake the blue socket."


async def test_another_process_finds_what_was_told(slack: FakeSlack, settings: Settings) -> None:
    notice = notice_of(question())
    slack.fail("chat.postMessage", Fault(status=0, after=True))
    with pytest.raises(DeliveryFailed):
        await connect(settings).tell(question(), notice)
    (post,) = replies(slack)
    found = await connect(settings).find_told(question(), replace(notice, attempts=1))
    assert found == PostedRef(HELP, post.ts)
    assert len(replies(slack)) == 1


async def test_only_what_is_missing_is_added(slack: FakeSlack, settings: Settings) -> None:
    notice = notice_of(question(), text=LONG)
    slack.fail("chat.postMessage", None, Fault(status=0, after=True))
    with pytest.raises(DeliveryFailed):
        await connect(settings).tell(question(), notice)
    again = replace(notice, attempts=1)
    assert await connect(settings).find_told(question(), again) is None
    await connect(settings).tell(question(), again)
    assert [post.part for post in replies(slack)] == [
        str(number) for number in range(1, len(replies(slack)) + 1)
    ]


async def test_one_notice_is_not_taken_for_another_nor_for_the_reply(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    sent = delivery(question(), HANDED_OVER)
    await channel.deliver(sent)
    first, second = notice_of(question(), 2), notice_of(question(), 3)
    assert await channel.find_told(question(), first) is None
    ref = await channel.tell(question(), first)
    assert await channel.find_told(question(), first) == ref
    assert await channel.find_told(question(), second) is None
    assert await channel.find(sent) != ref


async def test_a_withdrawn_question_takes_along_what_was_told(
    slack: FakeSlack, settings: Settings
) -> None:
    other = await connect(settings).tell(
        question(id="1700000000.000300"), notice_of(question(id="1700000000.000300"))
    )
    channel = connect(settings)
    ref = await channel.deliver(delivery(question(), HANDED_OVER))
    await channel.tell(question(), notice_of(question(), 2, step="claim", text=""))
    await channel.tell(question(), notice_of(question(), 3, text=LONG))
    await connect(settings).withdraw(question(), [ref])
    assert [post.ts for post in replies(slack)] == [other.id]
    assert not slack.in_channel(PEOPLE)


async def test_where_nothing_can_be_posted_any_more_it_is_refused(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.archived.add(HELP)
    with pytest.raises(DeliveryRefused, match="is_archived"):
        await channel.tell(question(), notice_of(question()))


async def test_a_rate_limit_says_when_to_come_again(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("chat.postMessage", Fault(status=429, error="ratelimited", retry_after="30"))
    with pytest.raises(DeliveryFailed) as failed:
        await channel.tell(question(), notice_of(question()))
    assert failed.value.retry_after_seconds == 30.0


async def test_two_threads_are_told_at_once(slack: FakeSlack, channel: SlackChannel) -> None:
    asked = [question(), question(id="1700000000.000300")]
    await asyncio.gather(*(channel.tell(each, notice_of(each)) for each in asked))
    assert len(replies(slack)) == 2


def by_command(scene: CaseScenario) -> Message:
    """Return a question as the command brings it."""
    url = response_url(scene.slack, names.ALICE, HELP, None)
    return replace(
        question(private=True),
        id="command:1.2.abc",
        thread=Thread("slack", "acme", HELP, "command:1.2.abc"),
        reply_to=json.dumps({"response_url": url}),
    )


async def replied(scene: CaseScenario) -> Message:
    asked = by_command(scene)
    await scene.ask(asked)
    await scene.act("reply", text="Room 3.", id=asked.interaction_id)
    return asked


async def test_a_reply_of_people_goes_to_its_asker_and_not_into_the_channel(
    scene: CaseScenario,
) -> None:
    await replied(scene)
    await scene.news()

    (told,) = scene.slack.answers(DIRECT)
    assert "*Anna Lopez* replied:\nRoom 3." in told.shown
    assert "You asked with a command: vpn down?" in told.shown
    assert scene.slack.answers(HELP) == []


async def test_a_wish_by_button_is_told_by_the_question_that_people_were_asked(
    scene: CaseScenario,
) -> None:
    asked = replace(by_command(scene), text=PERSON_REQUEST)
    await scene.ask(asked, replace(HANDED_OVER, question="vpn down?"))
    assert "Asked with a command" in scene.card.shown
    await scene.act("reply", text="Room 3.", id=asked.interaction_id)
    await scene.news()

    (told,) = scene.slack.answers(DIRECT)
    assert "You asked with a command: vpn down?" in told.shown


async def test_told_twice_it_is_there_once(scene: CaseScenario) -> None:
    await replied(scene)
    scene.slack.fail("chat.postMessage", Fault(status=500, after=True))
    await scene.news()
    scene.ahead += timedelta(hours=1)
    await scene.news()

    assert len(scene.slack.answers(DIRECT)) == 1


async def test_the_asker_closes_it_there(scene: CaseScenario) -> None:
    asked = await replied(scene)
    await scene.news()
    (told,) = scene.slack.answers(DIRECT)

    await scene.visitor(names.ALICE).click(told, "This helped, close it")

    case = await scene.store.escalations.get("acme", asked.interaction_id)
    assert case is not None
    assert case.status.state == "resolved"


def digests_in(slack: FakeSlack, place: str) -> list[str]:
    return [post.shown for post in slack.posts if post.channel == place]


@pytest.mark.parametrize(("address", "place"), [(HELP, HELP), (names.ALICE, DIRECT)])
async def test_a_digest_is_posted_with_no_live_words(
    slack: FakeSlack, channel: SlackChannel, address: str, place: str
) -> None:
    assert isinstance(channel, SendsDigests)
    await channel.send_digest(address, sending())

    (post,) = [each for each in slack.posts if each.channel == place]
    sent = json.dumps(post.payload)
    assert "*What the wiki lacks:*" in post.shown
    assert "<!channel>" not in sent
    assert "&lt;!channel&gt;" in sent
    assert "<https://desk.example.com/board>" in post.shown


async def test_a_digest_of_a_doubtful_attempt_is_looked_up(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    await channel.send_digest(HELP, sending())
    await channel.send_digest(HELP, sending(again=True))
    assert len(digests_in(slack, HELP)) == 1

    await channel.send_digest(HELP, sending(again=True, key="digest:2026-W49:x"))
    assert len(digests_in(slack, HELP)) == 2


async def test_no_digest_goes_where_another_company_reads(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    with pytest.raises(DeliveryRefused):
        await channel.send_digest(names.SHARED, sending())
    assert digests_in(slack, names.SHARED) == []
