"""Who may see the working pages, and whose record they are of."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.store.database import Store
from tests.bot.adapters.board.work_app import Desk, ask, board

PAGES = ("/board/escalations", "/board/questions", "/board/feedback")


async def every_page(store: Store) -> list[str]:
    recorded = await ask(store)
    case = f"/board/escalations/{recorded.id}"
    return [
        *PAGES,
        "/board/escalations/list",
        case,
        f"{case}/news?version=0",
        f"/board/questions/{recorded.id}",
    ]


async def test_who_only_asks_sees_nothing_of_it(desk: Desk, store: Store) -> None:
    for path in await every_page(store):
        page = await desk.of("mika").get(path, 403)
        assert "This is not for you" in page
        assert "Ask whoever runs Frontdesk for it" in page
        assert "vpn" not in page


async def test_who_only_asks_does_nothing_to_it(desk: Desk, store: Store) -> None:
    recorded = await ask(store)

    await desk.of("mika").post(f"/board/escalations/{recorded.id}", 403, act="claim")

    assert len(await store.escalations.steps("default", recorded.id)) == 1


@pytest.mark.parametrize("who", ["anna", "admin"])
async def test_experts_and_admins_see_all_of_it(desk: Desk, store: Store, who: str) -> None:
    for path in await every_page(store):
        await desk.of(who).get(path, 204 if "news" in path else 200)


async def test_programs_are_told_as_programs(desk: Desk) -> None:
    response = await desk.client.get(PAGES[0], headers={"X-Who": "mika"})

    assert (response.status, response.content_type) == (403, "application/problem+json")


async def test_another_tenants_record_does_not_exist(
    desk: Desk, store: Store, tmp_path: Path
) -> None:
    case, question = (await every_page(store))[4], (await every_page(store))[6]
    async with board(tmp_path, store, tenant="other") as others:
        for path in PAGES:
            assert "vpn" not in await others.get(path)
        for path in (case, f"{case}/news?version=0", question):
            await others.get(path, 404)
        await others.post(case, 404, act="claim")

    assert "You have it" not in await desk.get(case)


async def test_another_site_cannot_act_for_an_expert(desk: Desk, store: Store) -> None:
    path = f"/board/escalations/{(await ask(store)).id}"
    headers = {"X-Who": "anna", "Origin": "https://evil.example"}

    response = await desk.client.post(path, data={"act": "claim"}, headers=headers)

    assert response.status == 403
    assert len(await store.escalations.steps("default", path.rpartition("/")[2])) == 1  # type: ignore[arg-type]  # an id


async def test_a_page_that_there_is_not_is_told_as_a_page(desk: Desk) -> None:
    assert "There is nothing here" in await desk.get("/board/nonsense", 404)
