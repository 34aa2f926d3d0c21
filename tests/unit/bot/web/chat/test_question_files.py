"""Tests of files that come with a question in the web chat: read, bounded, and gone afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import FormData
from aiohttp.test_utils import TestClient, TestServer
from sqlalchemy import select

from bot.answering.attachments import MOST_BYTES, MOST_FILES
from bot.answering.escalation_reply import picture_offer
from bot.domain.messages import InteractionId
from bot.store.database import Store
from bot.store.tables import InteractionRow
from tests.fakes.chat_app import QUOTE, Browser, OnePageIndex, VpnDesk, chat_app, exchange_of
from tests.fakes.durable_inbox import stored_interaction
from tests.fakes.http_server import wait_until
from tests.fakes.question_files import LOG, PICTURE, VPN_LOG, File, form_with, kept_files


def form(*files: File, question: str = "vpn 809 fails", **more: str) -> FormData:
    return form_with(*files, question=question, **more)


async def send(browser: Browser, path: str, filled: FormData, status: int = 200) -> str:
    origin = str(browser.client.make_url("/")).rstrip("/")
    headers = {"Origin": origin, "HX-Request": "true"}
    response = await browser.client.post(path, data=filled, headers=headers)
    assert response.status == status, await response.text()
    return await response.text()


async def ask(browser: Browser, filled: FormData) -> tuple[str, str]:
    """Ask with files, and wait for the answer; return the path of the exchange and the answer."""
    conversation = await browser.conversation()
    path = (
        f"/chat/{conversation}/{exchange_of(await send(browser, f'/chat/{conversation}', filled))}"
    )
    while 'class="answer working"' in (answer := await browser.get(path)):
        pass
    return path, answer


async def test_a_file_is_read_named_and_not_kept_after_the_answer(
    browser: Browser, desk: VpnDesk, store: Store
) -> None:
    _, answer = await ask(browser, form(VPN_LOG))

    assert [(each.name, each.text) for each in desk.asked[0].attached] == [
        ("vpn.log", LOG.decode())
    ]
    assert QUOTE in answer
    assert "vpn.log" in await browser.get("/")
    assert await kept_files(store) == []
    row = InteractionRow
    [(message, outcome)] = await store.transactions.rows(select(row.message, row.outcome))
    assert "canary" not in f"{message}{outcome}"


async def test_a_file_alone_is_a_question(browser: Browser, desk: VpnDesk) -> None:
    await ask(browser, form(VPN_LOG, question=""))

    assert desk.asked[0].attached
    assert "(with vpn.log)" in await browser.get("/history")


async def test_nothing_at_all_is_no_question(browser: Browser) -> None:
    await send(browser, f"/chat/{await browser.conversation()}", form(question=" "), 422)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (PICTURE, "text, logs and PDF only"),
        (("a.log", b"\x00\x01\x02" * 50, "text/plain"), "no text in it"),
        (("a.log", b"", "text/plain"), "nothing in it"),
        (("a.pdf", b"%PDF", "application/pdf"), "text out of that PDF"),
    ],
    ids=["picture", "binary", "empty", "pdf"],
)
async def test_a_file_that_is_not_read_is_said_below_the_answer(
    browser: Browser, file: tuple[str, bytes, str], said: str
) -> None:
    _, answer = await ask(browser, form(file))

    assert said in answer
    assert QUOTE in answer


async def test_what_is_not_read_is_not_kept_for_a_moment(
    browser: Browser, desk: VpnDesk, store: Store
) -> None:
    desk.may_answer.clear()
    await send(browser, f"/chat/{await browser.conversation()}", form(PICTURE, VPN_LOG))

    assert await kept_files(store) == [1]
    desk.may_answer.set()


async def test_a_file_that_is_too_large_is_refused_with_the_limit(
    browser: Browser, desk: VpnDesk
) -> None:
    large = ("a.log", b"x" * (MOST_BYTES + 1), "text/plain")

    told = await send(browser, f"/chat/{await browser.conversation()}", form(large), 413)

    assert "larger than 2 MB" in told
    assert desk.asked == []


async def test_too_many_files_are_refused(browser: Browser, desk: VpnDesk) -> None:
    files = [VPN_LOG] * (MOST_FILES + 1)

    await send(browser, f"/chat/{await browser.conversation()}", form(*files), 422)

    assert desk.asked == []


async def test_as_many_files_as_allowed_are_read_at_their_largest(
    browser: Browser, desk: VpnDesk
) -> None:
    files = [("a.log", b"Error 809\n" * (MOST_BYTES // 10), "text/plain")] * MOST_FILES

    await ask(browser, form(*files))

    assert desk.asked[0].attached


async def test_a_form_with_files_from_elsewhere_is_refused(browser: Browser) -> None:
    response = await browser.client.post(
        f"/chat/{await browser.conversation()}",
        data=form(VPN_LOG),
        headers={"Origin": "https://elsewhere.example"},
    )

    assert response.status == 403


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\anna\\vpn.log", "vpn.log"),
        ("<script>alert(1)<\\script>.log", "&lt;script&gt;"),
        ("gol.\u202etxt", "gol.txt"),
        ("x" * 5000 + ".log", ".log"),
    ],
)
async def test_a_hostile_name_is_shown_as_a_plain_one(
    browser: Browser, store: Store, name: str, shown: str
) -> None:
    path, _ = await ask(browser, form((name, LOG, "text/plain")))

    kept = await stored_interaction(store, InteractionId(path.rpartition("/")[2]))
    assert len(kept.message.attachments[0].name) <= 200
    page = await browser.get("/")
    assert "<script>alert" not in page
    assert shown in page or "\u2026" in page


async def test_a_body_that_is_no_form_is_a_client_error(browser: Browser) -> None:
    origin = str(browser.client.make_url("/")).rstrip("/")
    headers = {"Origin": origin, "Content-Type": "multipart/form-data; boundary=x"}

    response = await browser.client.post(
        f"/chat/{await browser.conversation()}", data=b"nonsense", headers=headers
    )

    assert response.status in {400, 422}


async def test_a_withdrawn_question_takes_its_file_along(
    browser: Browser, desk: VpnDesk, store: Store
) -> None:
    desk.may_answer.clear()
    conversation = await browser.conversation()
    bubble = await send(browser, f"/chat/{conversation}", form(VPN_LOG))

    await browser.post(f"/chat/{conversation}/{exchange_of(bubble)}/withdraw")

    assert await kept_files(store) == []
    assert "vpn.log" not in await browser.get("/")
    desk.may_answer.set()


async def test_a_picture_alone_gets_to_the_desk_which_offers_a_person(
    browser: Browser, desk: VpnDesk
) -> None:
    await ask(browser, form(PICTURE, question=""))

    assert picture_offer(desk.asked[0]) is not None


async def test_an_edited_question_can_have_another_file(browser: Browser, desk: VpnDesk) -> None:
    path, _ = await ask(browser, form(VPN_LOG))

    other = ("other.log", b"Error 812", "text/plain")
    bubble = await send(browser, f"{path}/edit", form(other, question="error 812?"))

    assert exchange_of(bubble) not in path
    while 'class="answer working"' in await browser.get("/"):
        pass
    assert [each.name for each in desk.asked[-1].attached] == ["other.log"]


async def test_a_question_edited_in_time_keeps_its_file(browser: Browser, desk: VpnDesk) -> None:
    desk.may_answer.clear()
    conversation = await browser.conversation()
    bubble = await send(browser, f"/chat/{conversation}", form(VPN_LOG, question="why"))
    path = f"/chat/{conversation}/{exchange_of(bubble)}"

    await send(browser, f"{path}/edit", form(question="why 809"))
    desk.may_answer.set()

    while 'class="answer working"' in (answer := await browser.get(path)):
        pass
    assert QUOTE in answer
    assert [each.name for each in desk.asked[-1].attached] == ["vpn.log"]


async def test_a_file_is_read_after_the_next_start_of_a_server_that_died(
    tmp_path: Path, store: Store
) -> None:
    dying, next_one = VpnDesk(), VpnDesk()
    dying.may_answer.clear()
    async with _browsing(tmp_path, store, dying) as browser:
        await send(browser, f"/chat/{await browser.conversation()}", form(VPN_LOG))
        await wait_until(lambda: dying.asked)
    async with _browsing(tmp_path, store, next_one):
        await wait_until(lambda: next_one.asked)

    assert [each.text for each in next_one.asked[0].attached] == [LOG.decode()]


@asynccontextmanager
async def _browsing(tmp_path: Path, store: Store, desk: VpnDesk) -> AsyncIterator[Browser]:
    async with (
        chat_app(tmp_path, store, OnePageIndex(), desk, drain_seconds=0) as app,
        TestClient(TestServer(app)) as client,
    ):
        client.session.headers["Accept"] = "text/html"
        yield Browser(client)
