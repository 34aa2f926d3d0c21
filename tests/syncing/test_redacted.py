"""A page from which something was taken out before all were let in."""

from __future__ import annotations

from pathlib import Path

from rag.types import EVERYONE
from tests.confluence.faults import unavailable
from tests.confluence.server import LocalConfluence
from tests.confluence.site import Site
from tests.confluence.society import ADMIN
from tests.syncing.follower import TENANT, Follower, following


async def texts(follower: Follower, page: str) -> list[str]:
    """Return what everyone is shown of a page."""
    chunks = await follower.index.page(TENANT, "IT", page, frozenset({EVERYONE}))
    return [chunk.text for chunk in chunks]


async def test_a_text_is_never_shown_to_those_whom_only_the_next_one_is_for(tmp_path: Path) -> None:
    site = Site()
    site.add_space("IT", anonymous=True)
    page = site.create("IT", "Rescue", "<p>The code is zirconium.</p>").id
    site.restrict(page, users=[ADMIN])
    async with (
        LocalConfluence(site).serving() as server,
        following(server, tmp_path) as follower,
    ):
        await follower.ended(await follower.start("IT"))
        assert await texts(follower, page) == []
        site.edit(page, "<p>The code is with the desk.</p>")
        site.unrestrict(page)
        server.faults.fail_always("page", unavailable())

        await follower.ended(await follower.start("IT"))

        assert await texts(follower, page) == []
        server.faults.clear()
        await follower.ended(await follower.start("IT"))
        assert await texts(follower, page) == ["The code is with the desk."]
