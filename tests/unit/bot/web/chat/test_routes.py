"""Tests of the web chat over HTTP: questions, feedback and withdrawal."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace

import pytest
from aiohttp import DummyCookieJar
from aiohttp.test_utils import TestClient

from bot.domain.interactions import REASONS, Feedback, new_feedback
from bot.domain.messages import InteractionId, SearchFilters
from bot.store.database import Store
from bot.web.chat.answer_view import REASON_LABELS, feedback_view
from bot.web.chat.routes import MAX_COMMENT_LENGTH, MAX_EXCHANGES
from bot.web.chat.stored_pages import QUOTES_GONE, QUOTES_SHOWN
from rag.types import Principal
from tests.fakes.chat_app import QUOTE, Browser, OnePageIndex, VpnDesk, exchange_of
from tests.fakes.durable_inbox import record_answer, stored_interaction


async def test_an_answer_shows_its_quote_and_a_link_that_highlights_it(browser: Browser) -> None:
    _, answer = await browser.ask("vpn says error 809")

    assert f"<p>{QUOTE}</p>" in answer
    link = re.search(r'href="(/pages/[^"]+)"', answer)
    assert link
    page = await browser.get(link.group(1).replace("&amp;", "&"))
    assert f'<mark id="quote">{QUOTE}</mark>' in page
    assert link.group(1).endswith("#quote")
    assert QUOTES_SHOWN in page


async def test_a_page_that_lost_its_quote_says_so(browser: Browser) -> None:
    page = await browser.get("/pages/IT/vpn.md?chunk=c1&quote=Error+810")

    assert QUOTES_GONE in page
    assert "<mark" not in page


async def test_what_is_not_known_says_so_and_offers_a_person(browser: Browser) -> None:
    path, answer = await browser.ask("pet insurance?")

    assert "not sure" in answer
    assert "Why no answer" in answer
    assert "Did this help?" not in answer
    handed = await browser.post(f"{path}/person")
    assert "ask a person" in handed


async def test_a_page_that_may_not_be_read_looks_like_one_that_is_not_there(
    browser: Browser, pages: OnePageIndex
) -> None:
    pages.readers = frozenset({Principal("group:hr")})

    hidden = await browser.get("/pages/IT/vpn.md", status=404)
    absent = await browser.get("/pages/IT/none.md", status=404)

    assert hidden == absent
    assert "809" not in hidden


async def test_a_thumb_is_kept_replaced_and_taken_back(browser: Browser, store: Store) -> None:
    path, _ = await browser.ask("error 809")
    interaction = path.rpartition("/")[2]

    async def votes() -> list[str]:
        kept = await store.interactions.feedback(interaction)  # type: ignore[arg-type]  # from a page
        return [feedback.vote for feedback in kept]

    assert 'aria-pressed="true"' in await browser.post(f"{path}/vote", vote="up")
    assert await votes() == ["up"]
    await browser.post(f"{path}/vote", vote="down")
    assert await votes() == ["down"]
    await browser.post(f"{path}/vote", vote="down")
    assert await votes() == []


async def test_a_vote_that_is_none_is_refused(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")

    await browser.post(f"{path}/vote", status=422, vote="sideways")


async def test_why_is_told_in_words(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")

    why = await browser.get(f"{path}/why")

    assert "My confidence is 80%; I need 65% to answer" in why


async def test_why_tells_what_the_search_was_limited_to(browser: Browser, store: Store) -> None:
    path, _ = await browser.ask("error 809")
    whole = await stored_interaction(store, InteractionId(path.rpartition("/")[2]))
    assert whole.outcome is not None
    filters = SearchFilters(frozenset({"HR"}), "upload")
    narrowed = replace(whole.message, id=str(uuid.uuid4()), search_filters=filters)
    kept = await record_answer(store, narrowed, whole.outcome)

    why = await browser.get(f"{path.rpartition('/')[0]}/{kept.id}/why")

    assert "only in HR and from sources of type upload" in why
    assert "only in HR" not in await browser.get(f"{path}/why")


async def test_the_conversation_is_there_after_a_reload(browser: Browser) -> None:
    await browser.ask("error 809")

    page = await browser.get("/")

    assert "error 809" in page
    assert QUOTE in page


async def test_a_new_conversation_starts_empty(browser: Browser) -> None:
    await browser.ask("error 809")

    await browser.post("/conversations", status=303)

    assert "What can I look up for you?" in await browser.get("/")


async def test_another_visitor_sees_nothing_of_it(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")
    await browser.get(f"{path}/why")

    browser.client.session.cookie_jar.clear()

    await browser.get(path, status=404)
    await browser.get(f"{path}/why", status=404)
    await browser.post(f"{path}/vote", status=404, vote="up")


async def test_a_question_is_shown_as_text(browser: Browser) -> None:
    _, answer = await browser.ask("<script>alert(1)</script> error 809")

    assert "<script>alert" not in answer + await browser.get("/")


@pytest.mark.parametrize("path", ["/chat/x/y", "/chat/x/y/why", "/chat/x/00000000"])
async def test_made_up_ids_are_not_found(browser: Browser, path: str) -> None:
    await browser.get(path, status=404)


async def test_no_page_of_ours_has_foreign_or_inline_parts(
    browser: Browser,
) -> None:
    _, answer = await browser.ask("error 809")
    for page in (await browser.get("/"), await browser.get("/pages/IT/vpn.md"), answer):
        assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
        assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=|hx-on", page)


async def test_a_question_back_offers_what_could_be_meant(browser: Browser) -> None:
    _, answer = await browser.ask("which laptop?")

    assert "Just to be sure" in answer
    assert 'data-ask="Laptops: &#34;new&#34;"' in answer


@pytest.mark.parametrize("question", ["", "   ", "\n"])
async def test_an_empty_question_is_refused_with_a_hint(browser: Browser, question: str) -> None:
    conversation = await browser.conversation()

    refused = await browser.post(f"/chat/{conversation}", status=422, question=question)

    assert "Type a question first" in refused


async def test_a_question_over_the_limit_is_refused_with_the_limit(browser: Browser) -> None:
    conversation = await browser.conversation()

    refused = await browser.post(f"/chat/{conversation}", status=422, question="x" * 4001)

    assert "4,000" in refused


async def test_a_second_click_asks_no_other_question(browser: Browser, store: Store) -> None:
    conversation = await browser.conversation()
    name = str(uuid.uuid4())

    first = await browser.post(f"/chat/{conversation}", question="error 809", message=name)
    second = await browser.post(f"/chat/{conversation}", question="error 809", message=name)

    assert exchange_of(first) == exchange_of(second)
    assert len(await store.interactions.answered("default", 10)) <= 1


async def test_a_person_is_asked_for_once_however_often_it_is_clicked(browser: Browser) -> None:
    path, _ = await browser.ask("pet insurance?")

    asked = [await browser.post(f"{path}/person") for _ in range(2)]

    assert exchange_of(asked[0]) == exchange_of(asked[1])


async def test_without_scripts_a_question_still_gets_its_answer(browser: Browser) -> None:
    path = f"/chat/{await browser.conversation()}"
    origin = str(browser.client.make_url("/")).rstrip("/")
    form = {"question": "error 809\r\nand now?"}

    sent = await browser.client.post(
        path, data=form, headers={"Origin": origin}, allow_redirects=False
    )

    assert (sent.status, sent.headers["Location"]) == (303, "/")
    while "What can I look up" in (page := await browser.get("/")) or "working" in page:
        assert '<meta http-equiv="refresh"' in page
    assert QUOTE in page


async def test_without_cookies_a_question_still_gets_its_answer(
    client: TestClient,  # type: ignore[type-arg]  # generic only in stubs
) -> None:
    server = client.server
    forgetful: TestClient = TestClient(server, cookie_jar=DummyCookieJar())  # type: ignore[type-arg]  # generic only in stubs
    async with forgetful:
        page = await (await forgetful.get("/", headers={"Accept": "text/html"})).text()
        path = re.findall(r'hx-post="(/chat/[^"]+)"', page)[0]
        headers = {"Origin": str(forgetful.make_url("/")).rstrip("/"), "HX-Request": "true"}
        sent = await forgetful.post(path, data={"question": "error 809"}, headers=headers)
        place = re.findall(r'hx-get="([^"?]+)', await sent.text())[0]
        while "working" in (answer := await (await forgetful.get(place)).text()):
            pass

    assert QUOTE in answer


async def test_a_state_that_is_known_is_not_sent_again(browser: Browser, desk: VpnDesk) -> None:
    desk.may_answer.clear()
    conversation = await browser.conversation()
    bubble = await browser.post(f"/chat/{conversation}", question="error 809")
    path = f"/chat/{conversation}/{exchange_of(bubble)}"
    while "step=searching" not in await browser.get(path):
        pass

    assert await browser.get(f"{path}?step=searching", status=204) == ""

    desk.may_answer.set()
    while "working" in (answer := await browser.get(path)):
        pass
    assert QUOTE in answer


async def test_long_conversations_say_that_the_beginning_is_left_out(browser: Browser) -> None:
    conversation = await browser.conversation()
    for number in range(MAX_EXCHANGES):
        await browser.post(f"/chat/{conversation}", question=f"error 809, part {number}")

    assert "Earlier questions" in await browser.get("/")


async def test_a_form_from_elsewhere_is_refused(browser: Browser) -> None:
    conversation = await browser.conversation()

    response = await browser.client.post(
        f"/chat/{conversation}",
        data={"question": "hi"},
        headers={"Origin": "https://evil.example"},
    )

    assert response.status == 403


SOME = InteractionId("00000000-0000-0000-0000-000000000001")


async def given(store: Store, path: str) -> list[Feedback]:
    return list(await store.interactions.feedback(InteractionId(path.rpartition("/")[2])))


def test_every_reason_that_the_api_takes_has_words() -> None:
    assert set(REASON_LABELS) == set(REASONS)


def test_a_reason_of_a_later_version_is_no_reason_here() -> None:
    said = Feedback(SOME, "anna", "down", new_feedback(SOME, "anna", "down").given_at, reason="new")

    assert not feedback_view(said).told


async def test_only_an_answer_that_did_not_help_is_asked_about(browser: Browser) -> None:
    path, answer = await browser.ask("error 809")

    assert "What was wrong?" not in answer
    assert "What was wrong?" not in await browser.post(f"{path}/vote", vote="up")
    assert "What was wrong?" in await browser.post(f"{path}/vote", vote="down")


async def test_reason_and_comment_are_kept_and_shown_again(browser: Browser, store: Store) -> None:
    path, _ = await browser.ask("error 809")
    await browser.post(f"{path}/vote", vote="down")

    noted = await browser.post(f"{path}/reason", reason="outdated", comment="Since\r\nMay <b>")

    assert "Saved: Outdated" in noted
    (kept,) = await given(store, path)
    assert (kept.vote, kept.reason, kept.comment) == ("down", "outdated", "Since\nMay <b>")
    page = await browser.get("/")
    assert "Saved: Outdated" in page
    assert "May &lt;b&gt;" in page


async def test_a_reason_can_be_changed_and_all_taken_back(browser: Browser, store: Store) -> None:
    path, _ = await browser.ask("error 809")
    await browser.post(f"{path}/reason", reason="outdated", comment="old")

    await browser.post(f"{path}/reason", reason="wrong")
    (changed,) = await given(store, path)
    await browser.post(f"{path}/vote", vote="down")

    assert (changed.reason, changed.comment) == ("wrong", None)
    assert await given(store, path) == []


async def test_a_thumb_the_other_way_forgets_what_was_wrong(browser: Browser, store: Store) -> None:
    path, _ = await browser.ask("error 809")
    await browser.post(f"{path}/reason", reason="wrong")

    await browser.post(f"{path}/vote", vote="up")

    (kept,) = await given(store, path)
    assert (kept.vote, kept.reason) == ("up", None)


@pytest.mark.parametrize(
    "form", [{"reason": "ugly"}, {"comment": "x" * (MAX_COMMENT_LENGTH + 1)}, {"reason": "\x00"}]
)
async def test_what_may_not_be_said_is_refused(
    browser: Browser, store: Store, form: dict[str, str]
) -> None:
    path, _ = await browser.ask("error 809")

    await browser.post(f"{path}/reason", status=422, **form)

    assert await given(store, path) == []


async def test_what_has_no_answer_has_no_feedback(browser: Browser) -> None:
    path, _ = await browser.ask("pet insurance?")

    await browser.post(f"{path}/reason", status=404, reason="wrong")


async def test_without_scripts_a_thumb_and_a_reason_lead_back_to_the_page(
    browser: Browser, store: Store
) -> None:
    path, _ = await browser.ask("error 809")
    origin = {"Origin": str(browser.client.make_url("/")).rstrip("/")}

    for form in ({"vote": "down"}, {"reason": "wrong", "comment": ""}):
        address = f"{path}/{'vote' if 'vote' in form else 'reason'}"
        sent = await browser.client.post(address, data=form, headers=origin, allow_redirects=False)
        assert sent.status == 303

    (kept,) = await given(store, path)
    assert kept.reason == "wrong"


GONE = "This question was withdrawn."


async def test_a_withdrawn_question_and_its_answer_are_not_on_the_page_any_more(
    browser: Browser, store: Store
) -> None:
    path, _ = await browser.ask("error 809")
    shown = await browser.post(f"{path}/withdraw")
    kept = await store.interactions.get(InteractionId(path.rpartition("/")[2]))

    assert GONE in shown
    assert "809" not in shown
    assert 'class="exchange"' not in await browser.get("/")
    assert kept is not None
    assert (kept.message.text, kept.outcome) == ("", None)


async def test_withdrawing_twice_is_the_same_as_once(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")

    for _ in range(2):
        assert GONE in await browser.post(f"{path}/withdraw")


async def test_work_on_a_withdrawn_question_stops(browser: Browser, desk: VpnDesk) -> None:
    desk.may_answer.clear()
    conversation = await browser.conversation()
    bubble = await browser.post(f"/chat/{conversation}", question="error 809")
    path = f"/chat/{conversation}/{exchange_of(bubble)}"

    await browser.post(f"{path}/withdraw")
    desk.may_answer.set()

    assert GONE in await browser.get(path)
    assert 'class="exchange"' not in await browser.get("/")


async def test_a_withdrawn_question_has_nothing_to_judge_or_explain(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")
    await browser.post(f"{path}/withdraw")

    await browser.post(f"{path}/vote", status=404, vote="up")
    await browser.get(f"{path}/why", status=404)


async def test_the_control_is_on_the_page_and_works_without_scripts(browser: Browser) -> None:
    await browser.ask("error 809")
    (form,) = re.findall(r'<form class="withdraw"[^>]+ action="([^"]+)"', await browser.get("/"))
    origin = str(browser.client.make_url("/")).rstrip("/")

    sent = await browser.client.post(form, headers={"Origin": origin}, allow_redirects=False)

    assert (sent.status, sent.headers["Location"]) == (303, "/")
    assert QUOTE not in await browser.get("/")


async def test_nobody_else_withdraws_it(browser: Browser, store: Store) -> None:
    path, _ = await browser.ask("error 809")
    elsewhere = {"Origin": "https://evil.example"}
    forged = await browser.client.post(f"{path}/withdraw", headers=elsewhere)
    browser.client.session.cookie_jar.clear()
    await browser.get("/")
    await browser.post(f"{path}/withdraw", status=404)
    kept = await store.interactions.get(InteractionId(path.rpartition("/")[2]))

    assert forged.status == 403
    assert kept is not None
    assert kept.message.text == "error 809"
