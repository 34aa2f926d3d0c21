"""Lists in many parts, and links that lead astray."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from ingestion.confluence.assembly import open_wiki
from ingestion.confluence.client import transport
from ingestion.confluence.errors import WikiUnavailable
from ingestion.confluence.wiki import Wiki
from tests.ingestion.confluence.client.conftest import HASTY
from tests.ingestion.confluence.client.stand_in import StandIn, listing, standing_in


def space(key: str) -> dict[str, object]:
    return {"id": key, "key": key, "name": key}


@asynccontextmanager
async def site_that_goes_on_at(
    following: Callable[[web.Request], str], *, below: str = ""
) -> AsyncIterator[tuple[StandIn, Wiki]]:
    """Give a site whose every list goes on where ``following`` says, unless that is empty."""

    async def answer(request: web.Request) -> web.Response:
        return listing(space(f"S{len(site.asked)}"), following=following(request))

    async with standing_in(answer) as site:
        wiki = open_wiki(url=f"{site.url}{below}", token="t", edition="cloud", patience=HASTY)
        try:
            yield site, wiki
        finally:
            await wiki.close()


def once(link: str) -> Callable[[web.Request], str]:
    return lambda request: "" if "cursor" in request.query else link


@pytest.mark.parametrize(
    "link",
    [
        "/wiki/api/v2/spaces?cursor=a%2Bb%3D%3D&limit=9",
        "/api/v2/spaces?cursor=a%2Bb%3D%3D&limit=9",
        "{url}/wiki/api/v2/spaces?cursor=a%2Bb%3D%3D&limit=9",
    ],
    ids=["from the host", "from the site", "whole"],
)
@pytest.mark.parametrize("below", ["", "/ex/confluence/1-2"], ids=["site", "gateway"])
async def test_a_list_goes_on_below_the_configured_site(link: str, below: str) -> None:
    def following(request: web.Request) -> str:
        return once(link.replace("{url}", f"http://{request.host}"))(request)

    async with site_that_goes_on_at(following, below=below) as (site, wiki):
        assert [each.key for each in await wiki.spaces()] == ["S1", "S2"]

    assert [path for path, _ in site.asked] == [
        f"{below}/wiki/api/v2/spaces?limit=250",
        f"{below}/wiki/api/v2/spaces?cursor=a%2Bb%3D%3D&limit=9",
    ]


async def test_a_link_to_another_site_is_not_followed() -> None:
    async with standing_in(_never) as other:
        link = f"{other.url}/wiki/api/v2/spaces?cursor=x"
        async with site_that_goes_on_at(once(link)) as (_, wiki):
            with pytest.raises(WikiUnavailable, match=r"which is not 127\.0\.0\.1: not followed"):
                await wiki.spaces()

    assert other.asked == []


@pytest.mark.parametrize(
    "link",
    [
        "/admin?cursor=1",
        "/wiki/api/v2/../../admin?cursor=1",
        "//evil.example/api/v2/x",
        "http://[x",
    ],
)
async def test_a_link_to_no_part_of_the_api_is_not_followed(link: str) -> None:
    async with site_that_goes_on_at(once(link)) as (site, wiki):
        with pytest.raises(WikiUnavailable, match="goes on at"):
            await wiki.spaces()

    assert len(site.asked) == 1


async def test_a_list_that_goes_round_is_left() -> None:
    async with site_that_goes_on_at(lambda _: "/wiki/api/v2/spaces?cursor=x") as (site, wiki):
        with pytest.raises(WikiUnavailable, match="goes round"):
            await wiki.spaces()

    assert len(site.asked) == 2


async def test_a_list_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MOST_PARTS", 20)
    asked = iter(range(1000))
    async with site_that_goes_on_at(lambda _: f"/wiki/api/v2/spaces?cursor={next(asked)}") as (
        site,
        wiki,
    ):
        with pytest.raises(WikiUnavailable, match="more than 20 parts"):
            await wiki.spaces()

    assert len(site.asked) == 20


async def _answered(wiki_of: web.Response) -> None:
    async def answer(request: web.Request) -> web.Response:
        return wiki_of

    async with standing_in(answer) as site:
        wiki = open_wiki(url=site.url, token="t", edition="cloud", patience=HASTY)
        try:
            await wiki.spaces()
        finally:
            await wiki.close()


@pytest.mark.parametrize(
    ("answer", "where"),
    [
        ([], "all of it"),
        ({"results": 5}, "results"),
        ({"results": [{"id": "1", "name": "our secret"}]}, r"results\.0\.key"),
        ({"results": [{"id": ["our secret"], "key": "IT"}]}, r"results\.0\.id"),
        ({}, "results"),
    ],
)
async def test_an_answer_of_another_shape_names_what_is_wrong_and_quotes_nothing(
    answer: object, where: str
) -> None:
    with pytest.raises(WikiUnavailable, match=where) as error:
        await _answered(web.json_response(answer))

    assert "our secret" not in str(error.value)


async def test_what_is_unknown_in_an_answer_is_ignored() -> None:
    await _answered(web.json_response({"results": [{**space("IT"), "new": {}}], "more": 1}))


async def test_an_answer_beyond_all_measure_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MOST_JSON_BYTES", 2 * 1024 * 1024)
    big = listing(space("x" * (3 * 1024 * 1024)))

    with pytest.raises(WikiUnavailable, match="more than 2 MB"):
        await _answered(big)


async def test_an_answer_that_swells_beyond_all_measure_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "MOST_JSON_BYTES", 2 * 1024 * 1024)
    bomb = listing(space("x" * (30 * 1024 * 1024)))
    bomb.enable_compression(web.ContentCoding.gzip)

    with pytest.raises(WikiUnavailable, match="more than 2 MB"):
        await _answered(bomb)


async def _never(request: web.Request) -> web.Response:
    raise AssertionError(request.path)
