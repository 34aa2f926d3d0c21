"""Feedback: a thumb, and why an answer did not help."""

from __future__ import annotations

import pytest

from bot.domain.feedback import REASONS, new_feedback
from bot.domain.interactions import Feedback
from bot.domain.messages import InteractionId
from bot.store.database import Store
from bot.web.chat.actions import MAX_COMMENT_LENGTH
from bot.web.chat.answer_view import REASON_LABELS, feedback_view
from tests.bot.adapters.web.stand_in import Browser

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


async def test_a_reason_and_a_comment_are_kept_and_shown_again(
    browser: Browser, store: Store
) -> None:
    path, _ = await browser.ask("error 809")
    await browser.post(f"{path}/vote", vote="down")

    noted = await browser.post(f"{path}/reason", reason="outdated", comment="Since\r\nMay <b>")

    assert "Noted: Outdated" in noted
    (kept,) = await given(store, path)
    assert (kept.vote, kept.reason, kept.comment) == ("down", "outdated", "Since\nMay <b>")
    page = await browser.get("/")
    assert "Noted: Outdated" in page
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
