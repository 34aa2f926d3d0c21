"""The work on one case, over HTTP, by several people."""

from __future__ import annotations

import asyncio
import html
import re
from dataclasses import replace

import pytest

from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Escalation
from bot.domain.messages import InteractionId
from bot.store.database import Store
from tests.bot.adapters.board.work_app import CLOSED, SECRET, TOLD_ALL, TRACE, Desk, Shelf, ask

ACT = re.compile(r'name="act" value="(\w+)"')


def offered(page: str) -> set[str]:
    """Return the acts that a page offers."""
    return set(ACT.findall(page))


async def path_of(store: Store, **more: object) -> str:
    return f"/board/escalations/{(await ask(store, **more)).id}"  # type: ignore[arg-type]  # as ask takes them


def id_of(path: str) -> InteractionId:
    return InteractionId(path.rpartition("/")[2])


async def test_a_waiting_case_shows_what_is_known_and_what_may_be_done(
    desk: Desk, store: Store
) -> None:
    page = await desk.get(await path_of(store))

    assert "vpn 809?" in page
    assert "Mika Salo" in page
    assert "Slack, channel C1" in page
    assert 'href="https://slack.example/C1/m1"' in page
    assert "Not sure enough" in page
    assert "put at 20%. That is not enough: answers are given from 65% up." in page
    assert "VPN guide" in page
    assert "1 more that you may not read" in page
    assert offered(page) == {"claim", "reply", "resolve", "decline"}


async def test_a_page_that_an_expert_may_not_read_is_nowhere_on_the_page(
    desk: Desk, store: Store
) -> None:
    await ask(store, "before", "why?", response=TOLD_ALL)
    path = await path_of(store)

    for words in (SECRET, CLOSED.section, CLOSED.text, CLOSED.page_id):
        assert words not in html.unescape(await desk.get(path))
    assert SECRET in await desk.of("ines").get(path)


async def test_claim_reply_resolve(desk: Desk, store: Store) -> None:
    path = await path_of(store)

    claimed = await desk.post(path, act="claim")
    assert "You have it" in claimed
    assert offered(claimed) == {"reply", "resolve", "release", "decline"}

    answered = await desk.post(path, act="reply", reply="Use the blue\nsocket.")
    assert "Use the blue\nsocket." in answered
    assert "Your reply is on its way to Mika Salo." in answered
    assert offered(answered) == {"reply", "resolve", "release"}

    resolved = await desk.post(path, act="resolve")
    assert "Resolved by Anna Lopez" in resolved
    assert offered(resolved) == {"reopen"}
    steps = await store.escalations.steps("default", id_of(path))
    assert [step.step for step in steps] == ["open", "claim", "reply", "resolve"]
    assert steps[2].actor is not None
    assert (steps[2].actor.id, steps[2].actor.name, steps[2].actor.role) == (
        "anna",
        "Anna Lopez",
        "expert",
    )


async def test_who_has_no_name_acts_as_the_help_desk(desk: Desk, store: Store) -> None:
    path = await path_of(store)

    await desk.of("nameless").post(path, act="claim")

    assert "The help desk has it." in await desk.get(path)


async def test_who_comes_second_is_told_who_has_it_and_keeps_the_text(
    desk: Desk, store: Store
) -> None:
    path = await path_of(store)
    await desk.of("ben").post(path, act="claim")

    refused = await desk.post(path, 409, act="reply", reply="Use the <blue> socket.")

    assert "Ben Okafor has it already." in refused
    assert "Use the &lt;blue&gt; socket." in refused
    assert "What you wrote; it was not sent" in refused
    assert offered(refused) == set()


async def test_of_two_at_once_one_has_it_and_the_other_is_told(desk: Desk, store: Store) -> None:
    path = await path_of(store)
    origin = str(desk.client.make_url("/")).rstrip("/")

    async def claim(who: str) -> tuple[int, str]:
        headers = {"X-Who": who, "Origin": origin, "HX-Request": "true", "Accept": "text/html"}
        response = await desk.client.post(path, data={"act": "claim"}, headers=headers)
        return response.status, await response.text()

    told = dict(await asyncio.gather(claim("anna"), claim("ben")))

    assert set(told) == {200, 409}
    assert "You have it" in told[200]
    assert re.search(r"(Anna Lopez|Ben Okafor) has it already", told[409])


async def test_a_text_is_kept_whatever_else_is_done(desk: Desk, store: Store) -> None:
    path = await path_of(store)

    for act in ("look", "claim", "release"):
        assert "half a sentence" in await desk.post(path, act=act, reply="half a sentence")


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"act": "reply", "reply": " \n "}, "The reply is empty."),
        ({"act": "reply", "reply": "x" * 4001}, "4,001 characters"),
        ({"act": "decline", "reason": ""}, "Say why it is not for you"),
        ({"act": "release"}, ""),
    ],
    ids=lambda given: str(given)[:20],
)
async def test_what_cannot_be_done_changes_nothing(
    desk: Desk, store: Store, form: dict[str, str], told: str
) -> None:
    path = await path_of(store)
    status = 200 if not told else 409

    said = {"reply": "", "reason": "", **form}
    page = await desk.post(
        path, status, act=said["act"], reply=said["reply"], reason=said["reason"]
    )
    assert told in html.unescape(page)

    assert len(await store.escalations.steps("default", id_of(path))) == 1


async def test_declining_tells_the_reason(desk: Desk, store: Store) -> None:
    path = await path_of(store)

    declined = await desk.post(path, act="decline", reason="Ask facilities.", reply="draft")

    assert "Declined by Anna Lopez" in declined
    assert "Ask facilities." in declined
    assert offered(declined) == {"reopen"}
    assert "Waiting again" in await desk.of("ben").post(path, act="reopen")


async def test_the_same_reply_sent_twice_is_one(desk: Desk, store: Store) -> None:
    path = await path_of(store)

    for _ in range(2):
        await desk.post(path, act="reply", reply="Use the blue socket. ")
    await desk.post(path, act="reply", reply="The other blue socket.")

    steps = await store.escalations.steps("default", id_of(path))
    assert [step.text for step in steps if step.step == "reply"] == [
        "Use the blue socket.",
        "The other blue socket.",
    ]


async def test_without_javascript_an_act_leads_back_to_the_page(desk: Desk, store: Store) -> None:
    path = await path_of(store)

    await desk.post(path, 303, htmx=False, act="claim")
    kept = await desk.post(path, htmx=False, act="release", reply="half a sentence")
    refused = await desk.post(path, 409, htmx=False, act="reply", reply="  ")

    assert "<!doctype html>" in kept
    assert "half a sentence" in kept
    assert "<!doctype html>" in refused
    assert "The reply is empty." in refused


async def test_the_page_tells_when_another_one_was_quicker(desk: Desk, store: Store) -> None:
    path = await path_of(store)
    await desk.get(f"{path}/news?version=0", 204)
    await desk.of("ben").post(path, act="claim")

    news = await desk.get(f"{path}/news?version=0")

    assert "Ben Okafor has it now." in news
    await desk.get(f"{path}/news?version=1", 204)


async def test_what_was_asked_before_explains_a_wish_for_a_person(desk: Desk, store: Store) -> None:
    before = await ask(store, "before", "error 809?")
    wish = replace(TRACE, route=replace(TRACE.route, leaned_on=(before.id,)), gate="")
    path = await path_of(
        store,
        name="person",
        text="a human please",
        response=Escalation("Of course.", "asked_for_human", "a human please"),
        trace=wish,
    )

    page = html.unescape(await desk.get(path))

    assert "The asker wants a person" in page
    assert "Before that, the question was: “error 809?”" in page


async def test_a_question_that_the_case_has_itself_is_not_told_twice(
    desk: Desk, store: Store
) -> None:
    await ask(store, "before", "vpn 809")
    path = await path_of(
        store,
        name="person",
        text="a human please",
        response=Escalation("Of course.", "asked_for_human", "vpn 809"),
    )

    page = await desk.get(path)

    assert "The asker wants a person" in page
    assert "Before that" not in page


async def test_people_can_work_while_the_index_is_away(
    desk: Desk, store: Store, shelf: Shelf
) -> None:
    shelf.away = True
    path = await path_of(store)

    page = await desk.get(path)

    assert "The index can't be asked right now" in html.unescape(page)
    assert "VPN guide" not in page
    assert "You have it" in await desk.post(path, act="claim")


@pytest.mark.parametrize("suffix", ["", "/news?version=0"])
async def test_an_unknown_case_is_told_as_a_page(desk: Desk, suffix: str) -> None:
    page = await desk.get(f"/board/escalations/nothing{suffix}", 404)

    assert "There is no such question on the people's list" in html.unescape(page)
    assert "<!doctype html>" in page


async def test_a_withdrawn_question_is_no_longer_there_to_work_on(desk: Desk, store: Store) -> None:
    path = await path_of(store)
    await store.work.cancel(id_of(path))

    await desk.get(path, 404)
    told = await desk.post(path, 404, act="claim")
    assert "no such question" in told


async def test_an_act_that_there_is_not_is_refused(desk: Desk, store: Store) -> None:
    assert "There is no act" in await desk.post(await path_of(store), 422, act="<b>")


async def test_the_words_of_a_person_are_text_and_their_links_are_plain(
    desk: Desk, store: Store
) -> None:
    path = await path_of(store)

    page = await desk.post(path, act="reply", reply="<b>See</b> https://wiki.example/vpn")

    assert "&lt;b&gt;See&lt;/b&gt;" in page
    assert '<a href="https://wiki.example/vpn"' in page


async def test_a_record_that_is_away_is_told_as_a_page(desk: Desk, store: Store) -> None:
    path = await path_of(store)
    async with store.transactions.writing() as connection:
        await connection.exec_driver_sql("ALTER TABLE escalations RENAME TO gone")

    page = await desk.get(path, 503)

    assert "Not right now" in page
    with pytest.raises(StoreUnavailable):
        await store.escalations.get("default", id_of(path))
