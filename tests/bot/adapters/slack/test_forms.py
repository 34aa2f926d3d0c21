"""Which form of a message is sent: the richest that the workspace takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import handoff
from bot.domain.errors import DeliveryRefused
from bot.domain.messages import Activity, Stage
from bot.platforms.slack.channel import SlackChannel
from bot.platforms.slack.client.posting import RefusedBlocks
from bot.platforms.slack.rendering import MessageForm
from tests.bot.adapters.outcomes import ANSWER, OFFERED, delivery
from tests.bot.adapters.slack.blocks import BLOCK_TYPES
from tests.bot.adapters.slack.clock import Clock
from tests.bot.adapters.slack.questions import HELP, ROOT, question, replies
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.faults import Fault
from tests.bot.adapters.slack.workspace.posts import Post

PRESSED = {"context_actions", "actions"}
UNNAMED = Fault(error="invalid_blocks")


def kinds(post: Post) -> set[str]:
    return {block["type"] for block in post.blocks}


@pytest.mark.parametrize(
    ("refused", "left"),
    [
        (set(), {"markdown", "section", "context_actions", "actions"}),
        ({"context_actions"}, {"markdown", "section", "actions"}),
        (PRESSED, {"markdown", "section", "context"}),
        ({"actions"}, {"markdown", "section", "context"}),
        ({"markdown"}, {"section", "context_actions", "actions"}),
        ({"markdown", "context_actions"}, {"section", "actions"}),
        ({"markdown", *PRESSED}, {"section", "context"}),
        ({"section"}, set()),
    ],
)
async def test_what_a_workspace_refuses_is_left_out_and_nothing_else(
    slack: FakeSlack, channel: SlackChannel, refused: set[str], left: set[str]
) -> None:
    slack.block_types = BLOCK_TYPES - refused
    await channel.deliver(delivery(question()))
    (post,) = replies(slack)
    assert kinds(post) == left
    assert "Restart the client [1]." in post.shown
    assert "|VPN guide" in post.raw
    assert ("human" in post.shown) == ("actions" not in left)


@pytest.mark.parametrize("refused", [1, 2, 3, 4, 5, 6])
async def test_refusals_that_name_no_block_lead_to_a_plainer_form_too(
    slack: FakeSlack, channel: SlackChannel, refused: int
) -> None:
    slack.fail("chat.postMessage", *[UNNAMED] * refused)
    await channel.deliver(delivery(question()))
    assert len(replies(slack)) == 1
    assert slack.calls.count("chat.postMessage") == refused + 1


async def test_what_was_refused_is_not_tried_with_the_next_message(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.block_types = BLOCK_TYPES - {"context_actions"}
    for number in range(3):
        await channel.deliver(delivery(question(id=f"1700000000.00010{number}")))
    assert slack.calls.count("chat.postMessage") == 4
    assert all("actions" in kinds(post) for post in replies(slack))


async def test_a_message_that_is_too_long_says_nothing_of_the_next(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("chat.postMessage", Fault(error="msg_blocks_too_long"))
    for number in range(2):
        await channel.deliver(delivery(question(id=f"1700000000.00010{number}")))
    assert ["context_actions" in kinds(post) for post in replies(slack)] == [False, True]


async def test_an_offer_can_be_taken_up_with_words_where_buttons_are_refused(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.block_types = BLOCK_TYPES - PRESSED
    offer = replace(OFFERED, text=f"Not sure. {handoff.HANDOFF_OFFER}")
    await channel.deliver(delivery(question(private=True), offer))
    (post,) = slack.posts
    assert handoff.HANDOFF_QUESTION in post.shown
    assert "Reply \u201cyes\u201d in this thread." in post.shown
    assert not post.labels


async def test_what_is_refused_of_a_whisper_is_not_missing_in_the_thread(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("chat.postEphemeral", UNNAMED)
    await channel.whisper(question(), ANSWER)
    await channel.deliver(delivery(question()))
    assert "markdown" in kinds(replies(slack)[-1])


@pytest.mark.mended(id="slack-6")
def test_an_unknown_type_is_left_out_for_ten_minutes() -> None:
    clock = Clock()
    refusals = RefusedBlocks(clock.read)
    rich, plain = MessageForm("a", ({"type": "markdown"},)), MessageForm("a")
    refusals.unknown(["markdown"])
    assert refusals.taken((rich, plain)) == [plain]
    clock.now += 601
    assert refusals.taken((rich, plain)) == [rich, plain]


@pytest.mark.mended(id="slack-6")
@pytest.mark.parametrize(
    ("texts", "pause", "learned"),
    [("a", 0, False), ("aa", 0, False), ("ab", 0, True), ("ab", 601, False)],
    ids=["one", "the same again", "another", "another much later"],
)
def test_a_kind_is_refused_once_two_messages_went_without_it(
    texts: str, pause: int, *, learned: bool
) -> None:
    clock = Clock()
    refusals = RefusedBlocks(clock.read)
    for text in texts:
        rich, plain = MessageForm(text, ({"type": "markdown"},)), MessageForm(text)
        refusals.learn([rich], plain)
        clock.now += pause
    assert refusals.taken((rich, plain)) == ([plain] if learned else [rich, plain])


@pytest.mark.mended(id="slack-6")
async def test_one_refused_message_costs_the_next_none_of_its_buttons(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("chat.postMessage", *[UNNAMED] * 3)
    for number in range(2):
        await channel.deliver(delivery(question(id=f"1700000000.00010{number}")))
    assert {"markdown", *PRESSED} <= kinds(replies(slack)[-1])


@pytest.mark.mended(id="slack-6")
@pytest.mark.parametrize("code", ["msg_too_long", "msg_blocks_too_long"])
async def test_what_is_too_long_is_shortened_and_keeps_its_buttons(
    slack: FakeSlack, channel: SlackChannel, code: str
) -> None:
    slack.fail("chat.postMessage", Fault(error=code))
    long = replace(ANSWER, text="Restart the client [1]. " + "word " * 1_500)
    await channel.deliver(delivery(question(), long))
    (post,) = replies(slack)
    assert kinds(post) >= PRESSED
    assert "Restart the client [1]." in post.shown
    assert "|VPN guide" in post.raw
    assert "did not take all" in post.shown
    assert len(post.shown) < len(long.text) / 2


@pytest.mark.mended(id="teams-2")
async def test_a_line_stands_for_what_slack_takes_in_no_form(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.fail("assistant.threads.setStatus", Fault(error="not_allowed_token_type"))
    slack.fail("chat.postMessage", *[UNNAMED] * 7)
    async with channel.session():
        await channel.progress(question(), Activity(Stage.SEARCHING), None)
        with pytest.raises(DeliveryRefused):
            await channel.deliver(delivery(question()))
    (post,) = replies(slack)
    assert handoff.ON_HELP_DESK_LIST in post.shown
    asked = slack.message_at(HELP, ROOT)
    assert asked is not None
    assert "eyes" not in asked.reactions
