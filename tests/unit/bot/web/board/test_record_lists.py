"""Tests of the lists of escalations, questions, feedback and changed answers, and of one record."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import update

from bot.answering.explanations.signals import PASSAGE_SIGNALS
from bot.answering.reply_text import MISSING_INTRO
from bot.domain.interactions import Clarification, Feedback, PostedRef, Reply, new_feedback
from bot.domain.messages import FoundPassage, Refusal
from bot.domain.outcomes import refused_outcome
from bot.store.database import Store
from bot.store.search import StoredSearches
from bot.store.tables import EscalationRow
from bot.web.board.labels import LEVELS, OFFERED
from rag.search_scope import PlannedSearch
from tests.fakes.board_app import (
    CALL,
    CLOSED,
    HR,
    OPEN,
    SECRET,
    SURE,
    TOLD_ALL,
    TRACE,
    BoardBrowser,
    TwoPageIndex,
    ask,
    board,
    passage,
    source,
)
from tests.fakes.builders import message
from tests.fakes.durable_inbox import record_answer

ESCALATIONS_PATH = "/board/escalations"
NAME = re.compile(r'class="entry-name"[^>]*>([^<]*)<')
COUNT = re.compile(r'id="tab-(\w+)".*?class="count">(\d+)<', re.DOTALL)


def names(page: str) -> list[str]:
    return [html.unescape(name) for name in NAME.findall(page)]


def counts(page: str) -> dict[str, int]:
    return {tab: int(count) for tab, count in COUNT.findall(page)}


def next_of(page: str) -> str:
    """Return the address of the page that follows."""
    more = re.search(r'href="([^"]+)" rel="next"', page)
    assert more
    return html.unescape(more[1])


async def escalate(store: Store, name: str, text: str, *, minutes: int = 0) -> str:
    """Record a question that waits for so many minutes; return the path of its case."""
    asked = await ask(store, name, text)
    async with store.transactions.writing() as connection:
        await connection.execute(
            update(EscalationRow)
            .where(EscalationRow.interaction_id == asked.id)
            .values(question=text, opened_at=asked.created_at - timedelta(minutes=minutes))
        )
    return f"{ESCALATIONS_PATH}/{asked.id}"


async def test_who_waits_longest_comes_first_and_too_long_is_marked(desk: BoardBrowser) -> None:
    await escalate(desk.store, "m1", "Quick one", minutes=5)
    await escalate(desk.store, "m2", "Slow one", minutes=42)

    page = await desk.get(ESCALATIONS_PATH)

    assert names(page) == ["Slow one", "Quick one"]
    assert "Waiting, 42 min" in page.replace("\xa0", " ")
    assert page.count("overdue") == 1
    assert "Mika Salo · Slack, channel C1 · Not confident enough" in page


async def test_every_tab_has_its_cases_and_its_count(desk: BoardBrowser, store: Store) -> None:
    paths = {
        name: await escalate(store, name, name, minutes=9)
        for name in ("waits", "mine", "bens", "answered", "over", "declined")
    }
    await desk.post(paths["mine"], act="claim")
    await desk.of("ben").post(paths["bens"], act="claim")
    await desk.of("ben").post(paths["answered"], act="reply", reply="So it is.")
    await desk.post(paths["over"], act="resolve")
    await desk.post(paths["declined"], act="decline", reason="Not ours.")

    listed = {
        tab: set(names(await desk.get(f"{ESCALATIONS_PATH}?state={tab}")))
        for tab in ("waiting", "mine", "claimed", "answered", "settled", "all")
    }

    assert listed == {
        "waiting": {"waits"},
        "mine": {"mine"},
        "claimed": {"mine", "bens"},
        "answered": {"answered"},
        "settled": {"over", "declined"},
        "all": set(paths),
    }
    assert counts(await desk.get(ESCALATIONS_PATH)) == {
        tab: len(each) for tab, each in listed.items()
    }
    assert "Claimed by Ben Okafor" in await desk.get(f"{ESCALATIONS_PATH}?state=claimed")


async def test_words_narrow_a_list_down(desk: BoardBrowser, store: Store) -> None:
    await escalate(store, "m1", "My badge is broken")
    await escalate(store, "m2", "The printer <b> is")

    assert names(await desk.get(f"{ESCALATIONS_PATH}?words=BADGE")) == ["My badge is broken"]
    assert names(await desk.get(f"{ESCALATIONS_PATH}?words=<b>")) == ["The printer <b> is"]
    assert "No matching questions" in await desk.get(f"{ESCALATIONS_PATH}?words=zz")


async def test_pages_of_the_list_follow_each_other(desk: BoardBrowser, store: Store) -> None:
    for number in range(27):
        await escalate(store, f"m{number}", f"q{number}", minutes=100 - number)

    first = await desk.get(ESCALATIONS_PATH)
    second = await desk.get(next_of(first))

    assert names(first) + names(second) == [f"q{number}" for number in range(27)]
    assert 'rel="next"' not in second
    assert "Back to first page" in second


async def test_what_is_over_comes_newest_first(desk: BoardBrowser, store: Store) -> None:
    for name, minutes in (("old", 9), ("new", 1)):
        await desk.post(await escalate(store, name, name, minutes=minutes), act="resolve")

    assert names(await desk.get(f"{ESCALATIONS_PATH}?state=settled")) == ["new", "old"]


async def test_the_list_is_sent_again_only_when_it_changed(desk: BoardBrowser) -> None:
    await escalate(desk.store, "m1", "First")
    refresh = re.search(r'hx-get="([^"]+)"', await desk.get(ESCALATIONS_PATH))
    assert refresh
    again = html.unescape(refresh[1])

    await desk.get(again, 204)
    await escalate(desk.store, "m2", "Second")
    fragment = await desk.get(again)

    assert names(fragment) == ["First", "Second"]
    assert "<!doctype html>" not in fragment
    assert counts(fragment)["waiting"] == 2


async def test_an_empty_list_of_escalations_says_what_will_be_in_it(desk: BoardBrowser) -> None:
    assert "Questions handed over to people appear here." in await desk.get(ESCALATIONS_PATH)
    assert "Claim one from the Waiting tab." in await desk.get(f"{ESCALATIONS_PATH}?state=mine")
    assert "Nothing is waiting" in await desk.get(
        f"{ESCALATIONS_PATH}?state=nonsense&after=nothing"
    )


QUESTIONS_PATH = "/board/questions"


def plain(page: str) -> str:
    """Return the words of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


async def test_the_list_says_what_became_of_each_question(desk: BoardBrowser, store: Store) -> None:
    await ask(store, "m1", "vpn says error 809", response=SURE)
    await ask(store, "m2", "who approves travel", response=Reply("Hi.", "generic"))
    await ask(store, "m3", "my badge is broken")
    await store.interactions.rate(new_feedback((await ask(store, "m1")).id, "mika", "up"))

    page = await desk.get(QUESTIONS_PATH)

    assert names(page) == ["my badge is broken", "who approves travel", "vpn says error 809"]
    words = plain(page)
    assert "Waiting for a person 20% confident" in words
    assert "Answered without the wiki" in words
    assert "Answered from the wiki 90% confident 1 thumbs up" in words


async def test_the_list_and_the_record_say_how_sure_an_answer_was(desk: BoardBrowser) -> None:
    part = replace(SURE, confidence_level="partial", missing="who pays")
    guess = replace(SURE, confidence=0.5, confidence_level="unsure")
    open_ = replace(TRACE, passages=TRACE.passages[:1])
    recorded = await ask(desk.store, "m1", "vpn says error 809", response=part, trace=open_)
    await ask(desk.store, "m2", "who approves travel", response=guess)

    listed, shown = (
        plain(await desk.get(QUESTIONS_PATH)),
        plain(await desk.get(f"{QUESTIONS_PATH}/{recorded.id}")),
    )

    assert LEVELS["partial"] in listed
    assert LEVELS["unsure"] in listed
    assert OFFERED["partial"] in shown
    assert "who pays" in shown


async def test_what_an_answer_lacks_is_withheld_with_a_page_that_was_read(
    desk: BoardBrowser, store: Store
) -> None:
    said = f"It is blocked [1].\n\n{MISSING_INTRO} {SECRET}"
    part = replace(SURE, text=said, confidence_level="partial", missing=SECRET)
    recorded = await ask(store, response=part, private=part)

    shown = await desk.get(f"{QUESTIONS_PATH}/{recorded.id}")

    assert shown.count("It is blocked") == 2
    assert SECRET not in shown


@pytest.mark.mended(id="ux-5")
@pytest.mark.parametrize(
    ("note", "named"),
    [("messages_per_user", "Rejected: limit"), ("pause", "Rejected: paused")],
)
async def test_what_was_not_worked_on_is_named_so(
    desk: BoardBrowser, store: Store, note: str, named: str
) -> None:
    asked = message("vpn?")
    kept = await record_answer(store, asked, refused_outcome(asked, Refusal("Not now.", note)))

    for page in (QUESTIONS_PATH, f"{QUESTIONS_PATH}?kind=REFUSED", f"{QUESTIONS_PATH}/{kept.id}"):
        assert f">{named}</span>" in await desk.get(page)
    assert names(await desk.get(f"{QUESTIONS_PATH}?kind=GENERIC")) == []


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
    desk: BoardBrowser, store: Store, query: str, expected: list[str]
) -> None:
    await ask(store, "m1", "vpn 809", response=SURE)
    await ask(store, "m2", "badge")

    page = await desk.get(f"{QUESTIONS_PATH}?{query}")

    assert names(page) == expected


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("since=soon", "First day: “soon” is not a date. Enter it like 2026-11-22."),
        ("least=much", "Minimum confidence: “much” is not a percentage."),
        ("since=<b>", "First day: “<b>” is not a date."),
    ],
)
async def test_what_is_wrong_in_the_form_is_said_and_stays_in_it(
    desk: BoardBrowser, query: str, told: str
) -> None:
    page = await desk.get(f"{QUESTIONS_PATH}?{query}")

    assert told in html.unescape(page)
    assert html.escape(query.partition("=")[2]) in page


async def test_pages_of_the_search_follow_each_other(desk: BoardBrowser, store: Store) -> None:
    for number in range(27):
        await ask(store, f"m{number}", f"vpn {number}")

    first = await desk.get(f"{QUESTIONS_PATH}?words=vpn")
    second = await desk.get(next_of(first))

    expected = [f"vpn {number}" for number in range(26, -1, -1)]
    assert names(first) + names(second) == expected
    assert 'rel="next"' not in second


async def test_a_search_that_stops_says_how_far_it_came(store: Store, tmp_path: Path) -> None:
    await ask(store, "m0", "zirconium")
    for number in range(1, 4):
        await ask(store, f"m{number}", "vpn")
    few = StoredSearches(store.transactions, window=2, windows=1)
    async with board(tmp_path, store, searches=few) as desk:
        first = await desk.get(f"{QUESTIONS_PATH}?words=zirconium")
        second = await desk.get(next_of(first))

    assert names(first) == []
    assert "Nothing so far, back to" in first
    assert names(second) == ["zirconium"]


async def test_the_record_shows_everything_that_is_known(desk: BoardBrowser, store: Store) -> None:
    await ask(store, "m0", "is the vpn down?", response=SURE)
    private = Reply("For your eyes [1].", "answer", (source(OPEN),), confidence=0.8)
    recorded = await ask(store, "m1", response=SURE, private=private)
    await store.interactions.rate(
        new_feedback(recorded.id, "mika", "down", reason="wrong", comment="It is the red <b> one.")
    )

    words = plain(await desk.get(f"{QUESTIONS_PATH}/{recorded.id}"))

    for expected in (
        "vpn says error 809",
        "Mika Salo",
        "Slack, channel C1",
        "Reply in the thread It is blocked 1 .",
        "Private reply to the asker For your eyes 1 .",
        "is the vpn down?",
        "About the company (fixed rule, 0.90)",
        "Searched for vpn 809",
        "90% that the answer is correct; the threshold is 65%",
        "Delivered not yet",
        "Wrong",
        "It is the red <b> one.",
        "Composing the answer large answer@3 900 80 700 ms 0.0015 USD",
        "Total: 980 tokens, 0.0015 USD.",
        "Searching 12.5 ms",
        "limit:none",
    ):
        assert expected in words


@pytest.mark.parametrize("heard", [(), (passage(CLOSED),)], ids=["open", "closed"])
async def test_the_record_tells_what_a_translated_question_was_searched_by(
    desk: BoardBrowser, heard: tuple[FoundPassage, ...]
) -> None:
    route = replace(TRACE.route, question="VPN kaputt, 809?", language="de", search_query="vpn 809")
    recorded = await ask(
        desk.store, "m1", "und nun?", trace=replace(TRACE, route=route, heard=heard)
    )

    words = plain(await desk.get(f"{QUESTIONS_PATH}/{recorded.id}"))

    shown = {each for each in (route.search_query, route.question) if each in words}
    assert shown == (set() if heard else {route.search_query, route.question})


@pytest.mark.mended(id="attack-7")
async def test_scores_of_the_search_are_on_the_record_for_admins_alone(desk: BoardBrowser) -> None:
    recorded = await ask(desk.store, response=SURE)

    expert, admin = [
        plain(await desk.of(who).get(f"{QUESTIONS_PATH}/{recorded.id}"))
        for who in ("anna", "admin")
    ]

    for score in (PASSAGE_SIGNALS["keyword"], "Score of the best passage 90% score_best"):
        assert score not in expert
        assert score in admin


async def test_a_models_searches_are_on_the_record_for_readers_of_all_it_read(
    desk: BoardBrowser,
) -> None:
    search = PlannedSearch("leave in May", "HR", None, date(2026, 1, 2), 3)
    recorded = await ask(desk.store, response=SURE, trace=replace(TRACE, searches=(search,)))

    some, all_of_it = [
        plain(await desk.of(who).get(f"{QUESTIONS_PATH}/{recorded.id}")) for who in ("anna", "ines")
    ]

    assert "leave in May HR 2026-01-02 3" in all_of_it
    assert search.query not in some


async def test_what_the_reader_may_not_read_is_nowhere_on_the_record(desk: BoardBrowser) -> None:
    """Neither titles nor sections nor quotes, in answers, options, private words or figures."""
    options = Clarification("Which?", (SECRET, "VPN guide"), (source(OPEN), source(CLOSED)), 0.5)
    earlier = await ask(desk.store, "m0", "which?", response=options)
    recorded = await ask(
        desk.store, "m1", response=TOLD_ALL, private=replace(TOLD_ALL, text=SECRET)
    )

    for path in (f"{QUESTIONS_PATH}/{recorded.id}", f"{QUESTIONS_PATH}/{earlier.id}"):
        page = html.unescape(await desk.get(path))
        for hidden in (SECRET, CLOSED.section, CLOSED.text, CLOSED.page_id, CLOSED.id):
            assert hidden not in page
        assert "so it is not shown" in page
        assert "1 more that you can't read" in page
        assert SECRET in await desk.of("ines").get(path)


async def test_a_quote_that_is_gone_from_its_page_is_not_shown(
    desk: BoardBrowser, store: Store, shelf: TwoPageIndex
) -> None:
    """The page may have been rewritten because of it."""
    recorded = await ask(store, response=replace(SURE, text=f"> {OPEN.text} [1]"))
    shelf.held = (replace(OPEN, text="Nothing of interest."),)

    page = html.unescape(await desk.get(f"{QUESTIONS_PATH}/{recorded.id}"))

    assert OPEN.text not in page
    assert "so it is not shown" in page


async def test_nothing_that_may_quote_is_shown_while_the_index_is_away(
    desk: BoardBrowser, store: Store, shelf: TwoPageIndex
) -> None:
    shelf.away = True
    recorded = await ask(store, response=SURE)

    page = html.unescape(await desk.get(f"{QUESTIONS_PATH}/{recorded.id}"))

    assert "The index is unavailable right now" in page
    assert OPEN.title not in page
    assert "blocked" not in page


async def test_a_delivery_says_where_the_reply_is(desk: BoardBrowser, store: Store) -> None:
    on_slack = await ask(store, "m1", response=SURE)
    on_the_web = await ask(store, response=SURE, asked=message("hi", message_id="m2"))
    for each in (on_slack, on_the_web):
        await store.work.posted(each.id, PostedRef("C1", "17.5"))

    assert "Delivered to C1 as 17.5" in plain(await desk.get(f"{QUESTIONS_PATH}/{on_slack.id}"))
    assert "Delivered yes" in plain(await desk.get(f"{QUESTIONS_PATH}/{on_the_web.id}"))


async def test_a_failed_delivery_says_why(desk: BoardBrowser, store: Store) -> None:
    recorded = await ask(store, response=SURE)
    await store.work.unposted(recorded)
    await store.work.fail(recorded, "The channel is archived.")

    words = plain(await desk.get(f"{QUESTIONS_PATH}/{recorded.id}"))

    assert "Could not be delivered" in words
    assert "Given up The channel is archived." in words


async def test_a_withdrawn_question_has_no_words_left(desk: BoardBrowser, store: Store) -> None:
    recorded = await ask(store, text="my salary")
    await store.work.cancel(recorded.id)

    page = await desk.get(f"{QUESTIONS_PATH}/{recorded.id}")

    assert "The asker withdrew this question" in page
    assert "salary" not in page


async def test_a_question_that_is_worked_on_can_be_looked_at(desk: BoardBrowser) -> None:
    opened = await desk.store.work.open(message("hello?"), "me")

    assert "In progress" in await desk.get(f"{QUESTIONS_PATH}/{opened.id}")
    assert "In progress" in await desk.get(QUESTIONS_PATH)


async def test_hostile_words_stay_words(desk: BoardBrowser, store: Store) -> None:
    hostile = '<script>alert(1)</script>"><img src=x>'
    trace = replace(TRACE, notes=(hostile,))
    recorded = await ask(store, text=hostile, response=replace(SURE, text=hostile), trace=trace)

    for path in (
        QUESTIONS_PATH,
        f"{QUESTIONS_PATH}/{recorded.id}",
        f"{QUESTIONS_PATH}?words={quote(hostile)}",
    ):
        page = await desk.get(path)
        assert "<script>alert" not in page
        assert "<img src=x" not in page


@pytest.mark.parametrize("name", ["nothing", "a%00b", "%20"])
async def test_an_unknown_question_is_told_as_a_page(desk: BoardBrowser, name: str) -> None:
    assert "This question does not exist" in await desk.get(f"{QUESTIONS_PATH}/{name}", 404)


async def test_what_a_model_wrote_after_it_is_withheld_too(
    desk: BoardBrowser,
) -> None:
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


async def test_what_a_model_wrote_of_the_world_is_shown(desk: BoardBrowser) -> None:
    trace = replace(TRACE, passages=(), calls=(replace(CALL, purpose="generic"),))
    await ask(desk.store, "m1", response=SURE)
    said = await ask(desk.store, "m2", response=Reply("A byte has 8 bits.", "generic"), trace=trace)

    assert "A byte has 8 bits." in await desk.get(f"/board/questions/{said.id}")


FEEDBACK_PATH = "/board/feedback"


async def judge(store: Store, name: str, vote: str, **more: object) -> None:
    recorded = await ask(store, name, name, response=SURE)
    await store.interactions.rate(new_feedback(recorded.id, "mika", vote, **more))  # type: ignore[arg-type]  # as judgement takes them


async def test_judgements_lead_to_their_record_the_latest_first(desk: BoardBrowser) -> None:
    await judge(desk.store, "first", "up")
    await judge(desk.store, "second", "down", reason="outdated", comment="That was <2025>.")

    page = await desk.get(FEEDBACK_PATH)

    assert names(page) == ["second", "first"]
    assert "That was &lt;2025&gt;." in page
    record = re.search(r'class="entry-name" href="(/board/questions/[^"]+)"', page)
    assert record
    assert "second" in await desk.get(record[1])


async def test_who_judged_is_named_where_it_is_who_asked(desk: BoardBrowser, store: Store) -> None:
    await judge(store, "own", "up")
    theirs = await ask(store, "theirs", "theirs", response=SURE)
    await store.interactions.rate(new_feedback(theirs.id, "ben", "up"))

    page = plain(await desk.get(FEEDBACK_PATH))

    assert "Mika Salo \u00b7" in page
    assert "ben \u00b7" in page


async def test_the_list_can_be_narrowed_down(desk: BoardBrowser, store: Store) -> None:
    await judge(store, "helped", "up", comment="Thanks!")
    await judge(store, "wrong", "down", reason="wrong")
    await judge(store, "bare", "down")

    assert names(await desk.get(f"{FEEDBACK_PATH}?vote=up")) == ["helped"]
    assert names(await desk.get(f"{FEEDBACK_PATH}?vote=down")) == ["bare", "wrong"]
    assert names(await desk.get(f"{FEEDBACK_PATH}?commented=1")) == ["helped"]
    assert names(await desk.get(f"{FEEDBACK_PATH}?reason=wrong")) == ["wrong"]
    assert "No matching feedback." in await desk.get(f"{FEEDBACK_PATH}?reason=other")
    assert len(names(await desk.get(f"{FEEDBACK_PATH}?reason=nonsense&vote=maybe"))) == 3


async def test_the_reasons_of_the_last_days_are_counted(desk: BoardBrowser, store: Store) -> None:
    await judge(store, "up", "up")
    for name in ("w1", "w2"):
        await judge(store, name, "down", reason="wrong")
    await judge(store, "bare", "down")
    old = await ask(store, "old", "old", response=SURE)
    month = datetime.now(UTC) - timedelta(days=31)
    await store.interactions.rate(Feedback(old.id, "mika", "down", month, reason="outdated"))

    words = plain(await desk.get(FEEDBACK_PATH))

    assert "1 helpful · 3 not helpful Wrong 2 No reason given 1" in words
    assert "old" in names(await desk.get(FEEDBACK_PATH))


async def test_a_reason_of_an_older_version_is_shown_as_it_is(desk: BoardBrowser) -> None:
    recorded = await ask(desk.store, "m1", response=SURE)
    given = Feedback(recorded.id, "mika", "down", datetime.now(UTC), reason="<too_long>")
    await desk.store.interactions.rate(given)

    assert "&lt;too_long&gt;" in await desk.get(FEEDBACK_PATH)


async def test_pages_of_the_feedback_follow_each_other(desk: BoardBrowser, store: Store) -> None:
    for number in range(27):
        await judge(store, f"m{number}", "up")

    first = await desk.get(FEEDBACK_PATH)
    second = await desk.get(next_of(first))

    assert names(first) + names(second) == [f"m{number}" for number in range(26, -1, -1)]


async def test_an_empty_list_of_feedback_says_what_will_be_in_it(desk: BoardBrowser) -> None:
    words = plain(await desk.get(FEEDBACK_PATH))

    assert "No feedback in this period." in words
    assert "from every platform appear here." in words


CHANGED_ANSWERS_PATH = "/board/questions/changed"


def cites(*, quote: str = OPEN.text, page_id: str = OPEN.page_id, chunk_id: str = OPEN.id) -> Reply:
    cited = replace(source(OPEN), space="IT", quote=quote, page_id=page_id, chunk_id=chunk_id)
    return replace(SURE, sources=(cited,))


async def test_only_answers_whose_quote_is_gone_are_listed(store: Store, tmp_path: Path) -> None:
    there = replace(OPEN, space="IT")
    closed = replace(OPEN, id="p-0", page_id="pay.md", space="IT", readers=(HR,))
    await ask(store, "m1", "still right", response=cites())
    await ask(store, "m2", "now wrong", response=cites(quote="UDP 4500 is blocked."))
    await ask(store, "m3", "deleted since", response=cites(page_id="old.md", chunk_id="x-0"))
    await ask(store, "m4", "closed since", response=cites(page_id="pay.md", chunk_id="p-0"))
    await ask(store, "m5", "never answered")

    async with board(tmp_path, store, TwoPageIndex((there, closed))) as desk:
        page = await desk.get(CHANGED_ANSWERS_PATH)
        await desk.of("mika").get(CHANGED_ANSWERS_PATH, status=403)

    assert names(page) == ["closed since", "deleted since", "now wrong"]
    words = plain(page)
    assert "The page no longer says what was quoted" in words
    assert "The page no longer exists" in words
    assert "Not everyone can read the page any more" in words


async def test_no_page_is_named_and_an_absent_index_is(store: Store, tmp_path: Path) -> None:
    await ask(store, "m1", "what is planned", response=TOLD_ALL)
    async with board(tmp_path, store, TwoPageIndex(())) as desk:
        page = await desk.get(CHANGED_ANSWERS_PATH)
    async with board(tmp_path, store, TwoPageIndex(away=True)) as desk:
        away = plain(await desk.get(CHANGED_ANSWERS_PATH))

    assert names(page) == ["what is planned"]
    assert SECRET not in page
    assert "The index is unavailable right now" in away
    assert "Everything that was quoted" not in away


async def test_one_view_shows_so_many_and_the_next_goes_on(store: Store, tmp_path: Path) -> None:
    for number in range(60):
        await ask(store, f"m{number}", f"question {number}", response=cites())
    async with board(tmp_path, store, TwoPageIndex(())) as desk:
        first = await desk.get(CHANGED_ANSWERS_PATH)
        more = re.search(r'href="([^"]*after=[^"]*)"', first)
        assert more
        second = await desk.get(more[1].replace("&amp;", "&"))

    assert len(names(first)) == 50
    assert len(names(second)) == 10
    assert "days=30" in more[1]


async def test_the_days_can_be_chosen(store: Store, tmp_path: Path) -> None:
    await ask(store, "m1", "long ago", response=cites())
    async with board(tmp_path, store, TwoPageIndex(())) as desk:
        weeks = await desk.get(f"{CHANGED_ANSWERS_PATH}?days=7")

    assert 'href="/board/questions/changed?days=90"' in weeks
