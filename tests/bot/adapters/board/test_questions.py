"""The search over what was asked, and one whole record."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from bot.answering.explanations.signals import PASSAGE_SIGNALS
from bot.answering.reply_text import MISSING_INTRO
from bot.domain.feedback import new_feedback
from bot.domain.interactions import Clarification, PostedRef, Reply
from bot.domain.messages import Refusal
from bot.domain.outcomes import refused_outcome
from bot.store.database import Store
from bot.store.search import StoredSearches
from bot.web.board.labels import LEVELS, OFFERED
from tests.bot.adapters.board.test_escalations import names
from tests.bot.adapters.board.work_app import (
    CALL,
    CLOSED,
    OPEN,
    SECRET,
    SURE,
    TOLD_ALL,
    TRACE,
    Desk,
    Shelf,
    ask,
    board,
    source,
)
from tests.bot.recorded import answered
from tests.builders import message

LIST = "/board/questions"


def plain(page: str) -> str:
    """Return the words of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


async def test_the_list_says_what_became_of_each_question(desk: Desk, store: Store) -> None:
    await ask(store, "m1", "vpn says error 809", response=SURE)
    await ask(store, "m2", "who approves travel", response=Reply("Hi.", "generic"))
    await ask(store, "m3", "my badge is broken")
    await store.interactions.rate(new_feedback((await ask(store, "m1")).id, "mika", "up"))

    page = await desk.get(LIST)

    assert names(page) == ["my badge is broken", "who approves travel", "vpn says error 809"]
    words = plain(page)
    assert "Waits for a person 20% sure" in words
    assert "Answered without the wiki" in words
    assert "Answered from the wiki 90% sure 1 thumbs up" in words


async def test_the_list_and_the_record_say_how_sure_an_answer_was(desk: Desk, store: Store) -> None:
    part = replace(SURE, confidence_level="partial", missing="who pays")
    guess = replace(SURE, confidence=0.5, confidence_level="unsure")
    open_ = replace(TRACE, passages=TRACE.passages[:1])
    recorded = await ask(store, "m1", "vpn says error 809", response=part, trace=open_)
    await ask(store, "m2", "who approves travel", response=guess)

    listed, shown = plain(await desk.get(LIST)), plain(await desk.get(f"{LIST}/{recorded.id}"))

    assert LEVELS["partial"] in listed
    assert LEVELS["unsure"] in listed
    assert OFFERED["partial"] in shown
    assert "who pays" in shown


async def test_what_an_answer_lacks_is_withheld_with_a_page_that_was_read(
    desk: Desk, store: Store
) -> None:
    said = f"It is blocked [1].\n\n{MISSING_INTRO} {SECRET}"
    part = replace(SURE, text=said, confidence_level="partial", missing=SECRET)
    recorded = await ask(store, response=part, private=part)

    shown = await desk.get(f"{LIST}/{recorded.id}")

    assert shown.count("It is blocked") == 2
    assert SECRET not in shown


@pytest.mark.mended(id="ux-5")
@pytest.mark.parametrize(
    ("note", "named"),
    [("messages_per_user", "Refused: limit"), ("pause", "Refused: paused")],
)
async def test_what_was_not_worked_on_is_named_so(
    desk: Desk, store: Store, note: str, named: str
) -> None:
    asked = message("vpn?")
    kept = await answered(store, asked, refused_outcome(asked, Refusal("Not now.", note)))

    for page in (LIST, f"{LIST}?kind=REFUSED", f"{LIST}/{kept.id}"):
        assert f">{named}</span>" in await desk.get(page)
    assert names(await desk.get(f"{LIST}?kind=GENERIC")) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("words=VPN+809", ["vpn 809"]),
        ("kind=ESCALATION_REQUIRED", ["badge"]),
        ("kind=RAG&least=80&most=95", ["vpn 809"]),
        ("kind=nonsense", ["badge", "vpn 809"]),
        ("least=95%25", []),
        ("platform=slack", ["badge", "vpn 809"]),
        ("platform=web", []),
        ("person=mika", ["badge", "vpn 809"]),
        ("vote=none", ["badge", "vpn 809"]),
        ("vote=up", []),
        ("intent=DOMAIN", ["badge", "vpn 809"]),
        ("since=2001-01-01&until=2001-12-31", []),
        ("since=2001-01-01&until=9999-12-31", ["badge", "vpn 809"]),
        ("after=garbage", ["badge", "vpn 809"]),
    ],
)
async def test_the_form_narrows_the_list_down(
    desk: Desk, store: Store, query: str, expected: list[str]
) -> None:
    await ask(store, "m1", "vpn 809", response=SURE)
    await ask(store, "m2", "badge")

    page = await desk.get(f"{LIST}?{query}")

    assert names(page) == expected


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("since=soon", "The first day “soon” is no day. Write it as 2026-11-22."),
        ("until=2026-13-40", "The last day “2026-13-40” is no day."),
        ("least=much", "The lowest confidence “much” is no percentage. Write 0 to 100."),
        ("most=101", "The highest confidence “101” is no percentage."),
        ("most=nan", "The highest confidence “nan” is no percentage."),
        ("since=<b>", "The first day “<b>” is no day."),
    ],
)
async def test_what_is_wrong_in_the_form_is_said_and_stays_in_it(
    desk: Desk, query: str, told: str
) -> None:
    page = await desk.get(f"{LIST}?{query}")

    assert told in html.unescape(page)
    assert html.escape(query.partition("=")[2]) in page


async def test_pages_of_the_search_follow_each_other(desk: Desk, store: Store) -> None:
    for number in range(27):
        await ask(store, f"m{number}", f"vpn {number}")

    first = await desk.get(f"{LIST}?words=vpn")
    more = re.search(r'href="([^"]+)" rel="next"', first)
    assert more
    second = await desk.get(html.unescape(more[1]))

    expected = [f"vpn {number}" for number in range(26, -1, -1)]
    assert names(first) + names(second) == expected
    assert 'rel="next"' not in second


async def test_a_search_that_stops_says_how_far_back_it_came_and_goes_on(
    store: Store, tmp_path: Path
) -> None:
    await ask(store, "m0", "zirconium")
    for number in range(1, 4):
        await ask(store, f"m{number}", "vpn")
    few = StoredSearches(store.transactions, window=2, windows=1)
    async with board(tmp_path, store, searches=few) as desk:
        first = await desk.get(f"{LIST}?words=zirconium")
        more = re.search(r'href="([^"]+)" rel="next"', first)
        assert more
        second = await desk.get(html.unescape(more[1]))

    assert names(first) == []
    assert "Nothing so far, back to" in first
    assert names(second) == ["zirconium"]


async def test_the_record_shows_everything_that_is_known(desk: Desk, store: Store) -> None:
    await ask(store, "m0", "is the vpn down?", response=SURE)
    private = Reply("For your eyes [1].", "answer", (source(OPEN),), confidence=0.8)
    recorded = await ask(store, "m1", response=SURE, private=private)
    await store.interactions.rate(
        new_feedback(recorded.id, "mika", "down", reason="wrong", comment="It is the red <b> one.")
    )

    words = plain(await desk.get(f"{LIST}/{recorded.id}"))

    for expected in (
        "vpn says error 809",
        "Mika Salo",
        "Slack, channel C1",
        "What everyone in the thread was told It is blocked 1 .",
        "What only the asker was told For your eyes 1 .",
        "is the vpn down?",
        "About the company (by a fixed rule, 0.90)",
        "Searched for vpn 809",
        "90% that the answer is right; answered from 65% up",
        "Delivered not yet",
        "Wrong",
        "It is the red <b> one.",
        "Composing the answer large answer@3 900 80 700 ms 0.0015 USD",
        "Together 980 tokens, 0.0015 USD.",
        "Searching 12.5 ms",
        "limit:none",
    ):
        assert expected in words


@pytest.mark.mended(id="attack-7")
async def test_scores_of_the_search_are_on_the_record_for_admins_alone(
    desk: Desk, store: Store
) -> None:
    recorded = await ask(store, response=SURE)

    expert, admin = [
        plain(await desk.of(who).get(f"{LIST}/{recorded.id}")) for who in ("anna", "admin")
    ]

    for score in (PASSAGE_SIGNALS["keyword"], "Strength of the best passage 90% score_best"):
        assert score not in expert
        assert score in admin


async def test_what_the_reader_may_not_read_is_nowhere_on_the_record(
    desk: Desk, store: Store
) -> None:
    """Neither titles nor sections nor quotes, in answers, options, private words or figures."""
    options = Clarification("Which?", (SECRET, "VPN guide"), (source(OPEN), source(CLOSED)), 0.5)
    earlier = await ask(store, "m0", "which?", response=options)
    recorded = await ask(store, "m1", response=TOLD_ALL, private=replace(TOLD_ALL, text=SECRET))

    for path in (f"{LIST}/{recorded.id}", f"{LIST}/{earlier.id}"):
        page = html.unescape(await desk.get(path))
        for hidden in (SECRET, CLOSED.section, CLOSED.text, CLOSED.page_id, CLOSED.id):
            assert hidden not in page
        assert "so they are not shown to you" in page
        assert "1 more that you may not read" in page
        assert SECRET in await desk.of("ines").get(path)


async def test_a_quote_that_is_gone_from_its_page_is_not_shown(
    desk: Desk, store: Store, shelf: Shelf
) -> None:
    """The page may have been rewritten because of it."""
    recorded = await ask(store, response=replace(SURE, text=f"> {OPEN.text} [1]"))
    shelf.held = (replace(OPEN, text="Nothing of interest."),)

    page = html.unescape(await desk.get(f"{LIST}/{recorded.id}"))

    assert OPEN.text not in page
    assert "so they are not shown to you" in page


async def test_nothing_that_may_quote_is_shown_while_the_index_is_away(
    desk: Desk, store: Store, shelf: Shelf
) -> None:
    shelf.away = True
    recorded = await ask(store, response=SURE)

    page = html.unescape(await desk.get(f"{LIST}/{recorded.id}"))

    assert "The index can't be asked right now" in page
    assert OPEN.title not in page
    assert "blocked" not in page


async def test_a_delivery_says_where_the_reply_is(desk: Desk, store: Store) -> None:
    on_slack = await ask(store, "m1", response=SURE)
    on_the_web = await ask(store, response=SURE, asked=message("hi", message_id="m2"))
    for each in (on_slack, on_the_web):
        await store.work.posted(each.id, PostedRef("C1", "17.5"))

    assert "Delivered to C1 as 17.5" in plain(await desk.get(f"{LIST}/{on_slack.id}"))
    assert "Delivered yes" in plain(await desk.get(f"{LIST}/{on_the_web.id}"))


async def test_a_failed_delivery_says_why(desk: Desk, store: Store) -> None:
    recorded = await ask(store, response=SURE)
    await store.work.unposted(recorded)
    await store.work.fail(recorded, "The channel is archived.")

    words = plain(await desk.get(f"{LIST}/{recorded.id}"))

    assert "Could not be delivered" in words
    assert "Given up The channel is archived." in words


async def test_a_withdrawn_question_has_no_words_left(desk: Desk, store: Store) -> None:
    recorded = await ask(store, text="my salary")
    await store.work.cancel(recorded.id)

    page = await desk.get(f"{LIST}/{recorded.id}")

    assert "Its asker took it back" in page
    assert "salary" not in page


async def test_a_question_that_is_worked_on_can_be_looked_at(desk: Desk, store: Store) -> None:
    opened = await store.work.open(message("hello?"), "me")

    assert "Being worked on" in await desk.get(f"{LIST}/{opened.id}")
    assert "Being worked on" in await desk.get(LIST)


async def test_hostile_words_stay_words(desk: Desk, store: Store) -> None:
    hostile = '<script>alert(1)</script>"><img src=x>'
    trace = replace(TRACE, notes=(hostile,))
    recorded = await ask(store, text=hostile, response=replace(SURE, text=hostile), trace=trace)

    for path in (LIST, f"{LIST}/{recorded.id}", f"{LIST}?words={quote(hostile)}"):
        page = await desk.get(path)
        assert "<script>alert" not in page
        assert "<img src=x" not in page


@pytest.mark.parametrize("name", ["nothing", "a%00b", "%20"])
async def test_an_unknown_question_is_told_as_a_page(desk: Desk, name: str) -> None:
    assert "There is no such question" in await desk.get(f"{LIST}/{name}", 404)


async def test_what_a_model_wrote_after_a_withheld_answer_is_withheld_too(desk: Desk) -> None:
    """It knew the answer before: asked to put it otherwise, it says it again, without a source."""
    again = Reply("Douze personnes partent en mai.", "generic")
    heard = TRACE.passages
    by_model = replace(TRACE, passages=(), calls=(replace(CALL, purpose="generic"),), heard=heard)
    await ask(desk.store, "m1", response=TOLD_ALL)
    repeated = await ask(desk.store, "m2", "in French please", response=again, trace=by_model)
    after = await ask(desk.store, "m3", "thank you", response=SURE)

    for record in (repeated, after):
        page = f"/board/questions/{record.id}"
        assert again.text not in await desk.get(page)
        assert again.text in await desk.of("ines").get(page)


async def test_what_a_model_wrote_of_the_world_is_shown(desk: Desk) -> None:
    trace = replace(TRACE, passages=(), calls=(replace(CALL, purpose="generic"),))
    await ask(desk.store, "m1", response=SURE)
    said = await ask(desk.store, "m2", response=Reply("A byte has 8 bits.", "generic"), trace=trace)

    assert "A byte has 8 bits." in await desk.get(f"/board/questions/{said.id}")
