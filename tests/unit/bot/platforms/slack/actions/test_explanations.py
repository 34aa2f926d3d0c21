"""Test the explanation modal and the fuller answer: each shows what its reader may read."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.web.async_client import AsyncWebClient

from bot.answering.explanations.explainer import Explanation, PageSummary
from bot.answering.explanations.steps import StatedConfidence, Step
from bot.domain.errors import InteractionUnknown, StoreUnavailable
from bot.domain.interactions import Outcome
from bot.domain.messages import FoundPassage
from bot.platforms.slack.actions.answer_buttons import (
    ONE_MOMENT,
    ExplanationModals,
    explanation_modal,
    sentence_modal,
)
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.payloads.actions import MORE, WHY, WHY_VIEW
from rag.types import Principal
from tests.fakes.desk import ANSWER, PAGE, TRACE, VPN
from tests.fakes.http_server import wait_until
from tests.fakes.slack.builders import Bot, Clock, answer_with_private_part
from tests.fakes.slack.events import ALICE as ALICE_ID
from tests.fakes.slack.exchange import Fault
from tests.fakes.slack.names import ALICE, BOB, DIRECT, GUEST, HELP, SHARED
from tests.fakes.slack.posts import view_problem
from tests.fakes.slack.server import FakeSlack

UNKNOWN = "00000000-0000-4000-8000-000000000000"
READ = replace(
    TRACE,
    passages=(FoundPassage(VPN.chunk_id, VPN.page_id, VPN.title, VPN.section, {"keyword": 5.0}),),
    threshold=0.65,
)
HERS = (frozenset({Principal("user:alice@acme.example")}),)
SURE = StatedConfidence("very confident", "90%", "65%", 90, 65)
EVIL = "<!channel> <@U0CEO0000> <https://evil.example|x> https://evil.example *b* | &lt;!here&gt; "
PLAIN = Explanation("Why this answer", "vpn?", (Step("Result", "It quotes the page."),))


async def test_a_press_opens_an_explanation_with_pages(bot: Bot) -> None:
    asked = await bot.answered(Outcome(ANSWER, READ))
    answer = await bot.person(BOB).click(bot.reply(asked), WHY)
    assert answer.status == 200
    view = await bot.modal()
    assert (view.user, view.payload["callback_id"]) == (BOB, WHY_VIEW)
    assert view.payload["title"]["text"] == "Why this answer"
    assert "> vpn down?" in view.shown
    assert f"<{VPN.url}|VPN guide \u203a Reset>" in view.shown


async def test_in_a_channel_only_what_everyone_may_read_is_named(bot: Bot) -> None:
    bot.pages.chunks = [replace(PAGE, readers=HERS)]
    asked = await bot.answered(Outcome(ANSWER, READ))
    await bot.person().click(bot.reply(asked), WHY)
    assert "VPN guide" not in (await bot.modal()).shown


async def test_in_private_the_asker_sees_what_they_may_read(bot: Bot) -> None:
    bot.pages.chunks = [replace(PAGE, readers=HERS)]
    asked = await bot.answered(Outcome(ANSWER, READ), channel=DIRECT)
    await bot.person().click(bot.reply(asked), WHY)
    assert "VPN guide" in (await bot.modal()).shown


async def test_in_private_who_is_not_introduced_sees_what_everyone_may(bot: Bot) -> None:
    bot.pages.chunks = [replace(PAGE, readers=HERS)]
    bot.slack.people[ALICE].is_restricted = True
    asked = await bot.answered(Outcome(ANSWER, READ), channel=DIRECT)
    await bot.person().click(bot.reply(asked), WHY)
    assert "VPN guide" not in (await bot.modal()).shown


@pytest.mark.mended(id="slack-2")
async def test_guests_are_not_told_why_a_colleague_got_an_answer(bot: Bot) -> None:
    asked = await bot.answered(Outcome(ANSWER, READ))
    await bot.person(GUEST).click(bot.reply(asked), WHY)
    await bot.told("Only colleagues", GUEST)
    assert bot.slack.open_views == []


@pytest.mark.mended(id="slack-2")
async def test_where_another_company_reads_no_page_of_a_closed_space_is_named(bot: Bot) -> None:
    asked = await bot.answered(Outcome(ANSWER, READ), channel=SHARED)
    await bot.person().click(bot.reply(asked), WHY)
    assert "VPN guide" not in (await bot.modal()).shown


async def test_anothers_private_answer_is_not_explained(bot: Bot) -> None:
    asked = await bot.answered(channel=bot.person(BOB).direct, user=BOB)
    await bot.press(bot.reply(asked), WHY, asked.id, ALICE)
    await bot.told("That question is no longer here", ALICE)
    assert bot.slack.open_views == []


@pytest.mark.parametrize("value", ["", "nothing", UNKNOWN])
async def test_what_is_gone_is_told(bot: Bot, value: str) -> None:
    asked = await bot.answered()
    await bot.press(bot.reply(asked), WHY, value)
    await bot.told("no longer")
    assert bot.slack.open_views == []


async def test_a_modal_that_slack_does_not_open_is_told(bot: Bot) -> None:
    asked = await bot.answered(Outcome(ANSWER, READ))
    bot.slack.fail("views.open", Fault(error="expired_trigger_id"))
    await bot.person().click(bot.reply(asked), WHY)
    await bot.told("try again")


async def test_what_takes_long_is_announced_and_shown_when_it_is_there(slack: FakeSlack) -> None:
    go = asyncio.Event()

    async def slowly() -> Explanation:
        await go.wait()
        return PLAIN

    shows = ExplanationModals(_client(slack), soon_seconds=0.01)
    showing = asyncio.create_task(shows.show(slack.tickets.trigger(ALICE), slowly()))
    await wait_until(lambda: slack.open_views)
    assert "One moment" in slack.open_views[0].shown
    go.set()
    await showing
    (view,) = slack.open_views
    assert "It quotes the page." in view.shown


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InteractionUnknown("i-1 of tenant acme"), "nothing to explain"),
        (StoreUnavailable("password=hunter2"), "try again"),
    ],
)
async def test_what_goes_wrong_is_told_without_its_details(
    slack: FakeSlack, error: Exception, said: str
) -> None:
    async def fails() -> Explanation:
        raise error

    await ExplanationModals(_client(slack)).show(slack.tickets.trigger(ALICE), fails())
    assert said in slack.open_views[0].shown
    assert str(error) not in slack.open_views[0].shown


def test_how_sure_it_was_is_told_in_words_and_numbers() -> None:
    view = explanation_modal(replace(PLAIN, sure=SURE, left_out="Others are left out."))
    assert "very confident: 90%, and an answer needs 65%" in str(view)
    assert "Others are left out." in str(view)


def test_a_page_of_no_address_is_named_without_a_link() -> None:
    pages = (PageSummary("Offices", "", "javascript:alert(1)", "found by words and meaning"),)
    shown = str(explanation_modal(replace(PLAIN, pages=pages)))
    assert "Offices" in shown
    assert "javascript" not in shown


words = st.text(max_size=200).map(lambda text: f"{EVIL}{text}")


@given(
    title=words,
    question=words,
    steps=st.lists(
        st.tuples(words, st.text(max_size=40).map(lambda t: (EVIL + t) * 60)), max_size=8
    ),
    pages=st.lists(st.tuples(words, words), max_size=5),
)
def test_nothing_is_live_and_every_limit_is_kept(
    title: str, question: str, steps: list[tuple[str, str]], pages: list[tuple[str, str]]
) -> None:
    view = explanation_modal(
        Explanation(
            title,
            question,
            tuple(Step(*step) for step in steps),
            sure=SURE,
            pages=tuple(PageSummary(*page, "https://wiki.example/a", EVIL) for page in pages),
            left_out=EVIL,
        )
    )
    assert view_problem(view) == ""
    shown = str(view["blocks"])
    assert shown.count("<") == shown.count("<https://wiki.example/a|") == len(pages)
    assert shown.count("'mrkdwn'") == shown.count("'verbatim': True")


@pytest.mark.parametrize("view", [sentence_modal(ONE_MOMENT), sentence_modal("x" * 200)])
def test_small_modals_are_taken(view: dict[str, object]) -> None:
    assert view_problem(view) == ""


def _client(slack: FakeSlack) -> SlackClient:
    return SlackClient(AsyncWebClient(token="xoxb-test", base_url=slack.url), Clock().caller())


async def test_an_answer_to_a_command_is_explained_also_in_the_direct_message_it_came_by(
    bot: Bot,
) -> None:
    await bot.person().command(HELP, "/frontdesk", "ask vpn down?")
    await wait_until(lambda: bot.said.asked)
    (asked,) = bot.said.asked
    await wait_until(lambda: any(post.labels for post in bot.whispered()))
    for user, place in ((BOB, HELP), (BOB, bot.person(BOB).direct)):
        made_up = bot.pressed(place, WHY, asked.interaction_id, user)
        await bot.person(user).door.interact(made_up)
        await bot.told("That question is no longer here", user)
    assert not bot.slack.open_views
    await bot.person().door.interact(bot.pressed(bot.person().direct, WHY, asked.interaction_id))
    await bot.modal()


FULLER = "Your own plan covers it [1]."


async def test_the_asker_is_shown_the_fuller_answer_with_its_sources(bot: Bot) -> None:
    bot.pages.chunks = [replace(PAGE, readers=HERS)]
    asked = await bot.answered(answer_with_private_part())
    await bot.person().click(await bot.told("more that you can read"), MORE)
    shown = await bot.told(FULLER)
    assert "VPN guide" in shown.shown
    assert shown.thread_ts == asked.message.thread.id
    assert bot.whispered(BOB) == []


async def test_pressed_again_it_is_shown_again(bot: Bot) -> None:
    await bot.answered(answer_with_private_part())
    offer = await bot.told("more that you can read")
    await bot.person().click(offer, MORE)
    await bot.person().click(offer, MORE)
    await wait_until(lambda: len([p for p in bot.whispered() if FULLER in p.shown]) == 2)


async def test_nobody_else_is_shown_it(bot: Bot) -> None:
    asked = await bot.answered(answer_with_private_part())
    await bot.press(bot.reply(asked), MORE, asked.id, BOB)
    await bot.told("Only the asker can see this", BOB)
    assert FULLER not in str([post.payload for post in bot.whispered(BOB)])


@pytest.mark.parametrize(
    "changed",
    [
        {"readers": (frozenset({"user:bob@acme.example"}),)},
        {"text": "It says something else now."},
        {"title": "Another page"},
        {"page_id": "other.md"},
    ],
)
async def test_what_may_not_be_read_any_more_is_not_shown(
    bot: Bot, changed: dict[str, object]
) -> None:
    await bot.answered(answer_with_private_part())
    bot.pages.chunks = [replace(PAGE, **changed)]  # type: ignore[arg-type]  # fields by name
    await bot.person().click(await bot.told("more that you can read"), MORE)
    await bot.told("have changed")
    assert FULLER not in str([post.payload for post in bot.whispered()])


async def test_a_page_that_is_gone_takes_its_quotes_along(bot: Bot) -> None:
    await bot.answered(answer_with_private_part())
    bot.pages.chunks = []
    await bot.person().click(await bot.told("more that you can read"), MORE)
    await bot.told("have changed")


async def test_while_the_index_is_away_nothing_is_shown(bot: Bot) -> None:
    await bot.answered(answer_with_private_part())
    bot.pages.broken = True
    await bot.person().click(await bot.told("more that you can read"), MORE)
    await bot.told("can't check right now")


async def test_an_asker_who_may_not_read_it_any_more_is_shown_nothing(bot: Bot) -> None:
    bot.pages.chunks = [replace(PAGE, readers=HERS)]
    asked = await bot.answered(answer_with_private_part(), user=BOB)
    await bot.press(bot.reply(asked), MORE, asked.id, BOB)
    await bot.told("have changed", BOB)


async def test_where_there_is_no_more_that_is_said(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.press(bot.reply(asked), MORE, asked.id, ALICE_ID)
    await bot.told("nothing more")
