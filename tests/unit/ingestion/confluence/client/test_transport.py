"""Faults of a Confluence or of a proxy before it, lists in many pages, and foreign links."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from aiohttp import web

from ingestion.confluence.client import transport
from ingestion.confluence.client.retry import RetryLimits
from ingestion.confluence.wiki import Wiki
from ingestion.errors import EndpointGone, NotVisible, PageUnreadable, WikiRefused, WikiUnavailable
from tests.fakes.confluence.faults import (
    ANY,
    Fault,
    cut,
    login_page,
    slow,
    too_many,
    truncated,
    unavailable,
)
from tests.fakes.confluence.requests import Blindness
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site
from tests.unit.ingestion.confluence.client.conftest import Attaches, Opens
from tests.unit.ingestion.confluence.client.local_servers import (
    ScriptedServer,
    listing,
    reading,
    scripted_server,
)


@pytest.mark.parametrize(
    "fault",
    [
        too_many(),
        too_many("0"),
        unavailable(),
        unavailable(500),
        unavailable(502),
        cut(),
        cut(20),
        truncated(20),
    ],
    ids=["429", "429 at once", "503", "500", "502", "cut", "cut in the midst", "short JSON"],
)
async def test_what_passes_is_not_noticed(
    wiki: Wiki, server: LocalConfluence, fault: Fault
) -> None:
    server.faults.fail(ANY, fault, fault, fault)

    assert [space.key for space in await wiki.spaces()] == ["IT", "PUB"]
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("fault", "said", "asked"),
    [
        (too_many(), "429 to GET .*too many requests", 4),
        (unavailable(), "503 to GET ", 4),
        # aiohttp asks once more by itself where a connection closes.
        (cut(), "No answer from 127.0.0.1", 8),
        (truncated(20), "no whole JSON", 4),
    ],
    ids=["429", "503", "cut", "short JSON"],
)
async def test_what_does_not_pass_is_given_up_after_some_tries(
    wiki: Wiki, server: LocalConfluence, fault: Fault, said: str, asked: int
) -> None:
    server.faults.fail_always(ANY, fault)

    with pytest.raises(WikiUnavailable, match=said):
        await wiki.spaces()

    assert len(server.requests) == asked


async def test_what_confluence_asks_to_wait_is_waited(wiki: Wiki, server: LocalConfluence) -> None:
    server.faults.fail("spaces", too_many("0.3"))
    began = time.monotonic()

    await wiki.spaces()

    assert time.monotonic() - began >= 0.3


async def test_what_confluence_asks_to_wait_holds_all_requests(
    opens: Opens, server: LocalConfluence
) -> None:
    wiki = opens(patience=RetryLimits(attempts=1))
    server.faults.fail(ANY, too_many("0.3"))
    began = time.monotonic()
    with pytest.raises(WikiUnavailable):
        await wiki.spaces()

    await wiki.group_named("staff")

    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize("as_date", [False, True], ids=["seconds", "date"])
async def test_a_wait_beyond_the_deadline_is_not_begun(
    wiki: Wiki, server: LocalConfluence, site: Site, *, as_date: bool
) -> None:
    hour = format_datetime(site.now + timedelta(hours=1), usegmt=True) if as_date else "3600"
    server.faults.fail_always(ANY, too_many(hour))
    began = time.monotonic()

    with pytest.raises(WikiUnavailable, match=r"wait 3600 seconds"):
        await wiki.spaces()
    with pytest.raises(WikiUnavailable, match=r"takes no request for another 3\d\d\d seconds"):
        await wiki.spaces()

    assert time.monotonic() - began < 600
    assert len(server.requests) == 1


async def test_no_more_than_a_few_requests_are_under_way(
    wiki: Wiki, server: LocalConfluence
) -> None:
    server.faults.fail_always(ANY, slow(0.02))

    await asyncio.gather(*(wiki.group_named("staff") for _ in range(40)))

    assert server.most_at_once == 4


async def test_requests_are_spaced_while_the_limit_is_near(
    wiki: Wiki, server: LocalConfluence
) -> None:
    server.options["near_limit"] = True
    began = time.monotonic()

    for _ in range(3):
        await wiki.group_named("staff")

    assert time.monotonic() - began >= 1.0


async def test_an_answer_that_does_not_come_is_not_waited_for(
    opens: Opens, server: LocalConfluence
) -> None:
    server.faults.fail_always(ANY, slow(30))
    wiki = opens(patience=RetryLimits(attempts=2, deadline_seconds=0.5, try_seconds=0.2))

    with pytest.raises(WikiUnavailable, match="No whole answer to GET"):
        await wiki.spaces()


@pytest.mark.parametrize("status", [200, 401])
async def test_a_login_page_is_told_as_such(
    wiki: Wiki, server: LocalConfluence, status: int
) -> None:
    server.faults.fail_always(ANY, login_page(status))

    with pytest.raises(WikiRefused, match=r"login page|CONFLUENCE_TOKEN"):
        await wiki.spaces()

    assert len(server.requests) == 1


async def test_a_wrong_token_is_refused_and_not_told(opens: Opens) -> None:
    wiki = opens(token="wrong-but-secret")

    with pytest.raises(WikiRefused, match="CONFLUENCE_TOKEN") as refused:
        await wiki.spaces()

    assert "wrong-but-secret" not in str(refused.value)


async def test_no_error_holds_the_token_an_address_or_a_text(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    site.create("IT", "Page", "<p>our secret</p>")
    token = site.people["rita"].token
    faults = [
        too_many("3600"),
        unavailable(),
        cut(),
        login_page(),
        truncated(30),
        Fault(status=410),
    ]
    said = []
    for fault in faults:
        server.faults.fail_always(ANY, fault)
        try:
            await wiki.user_of("rita.reader@acme.example")
            await wiki.titled("IT", "Page")
        except (WikiUnavailable, WikiRefused, EndpointGone) as error:
            said.append(f"{error!r} {error.__cause__!r}")
        server.faults.clear()

    assert said
    for text in said:
        assert token not in text
        assert "rita.reader@acme.example" not in text
        assert "our secret" not in text


async def test_what_was_removed_is_told_from_what_is_hidden(
    wiki: Wiki, server: LocalConfluence
) -> None:
    server.faults.fail_always(ANY, Fault(status=410))

    with pytest.raises(EndpointGone, match="410 to GET"):
        await wiki.spaces()


@pytest.mark.parametrize("status", [403, 404])
async def test_a_token_that_may_see_nothing_at_all_is_refused(
    wiki: Wiki, server: LocalConfluence, status: int
) -> None:
    server.faults.fail_always("spaces", Fault(status=status))

    with pytest.raises(
        WikiRefused, match=rf"no Confluence at {server.url}.*CONFLUENCE_URL.*{status}"
    ):
        await wiki.spaces()


@pytest.mark.parametrize("how", [403, 404])
async def test_a_space_that_goes_out_of_sight_halfway_is_no_short_list(
    wiki: Wiki, server: LocalConfluence, site: Site, how: Blindness
) -> None:
    for number in range(600):
        site.create("IT", f"Page {number}")
    (it,) = await wiki.spaces(["IT"])
    server.faults.go_blind("IT", how=how, after=1)

    with pytest.raises(NotVisible) as unseen:
        [head async for head in wiki.heads(it)]

    assert unseen.value.forbidden == (how == 403)


async def test_pages_that_shift_while_they_are_listed_come_once(
    wiki: Wiki, server: LocalConfluence, site: Site
) -> None:
    server.options["shifting"] = True
    pages = [site.create("IT", f"Page {number}").id for number in range(400)]
    (it,) = await wiki.spaces(["IT"])
    kind = "space-pages" if server.edition == "cloud" else "scan"
    server.faults.on(kind, 2, lambda: site.create("IT", "New"))

    listed = [head.id async for head in wiki.heads(it)]

    assert len(listed) == len(set(listed))
    assert set(pages) <= set(listed)


async def test_a_file_that_breaks_off_is_fetched_again(
    wiki: Wiki, server: LocalConfluence, attached: Attaches, tmp_path: Path
) -> None:
    file = await attached(size=500_000)
    server.faults.fail("media" if server.edition == "cloud" else "download", cut(1000))

    assert await wiki.download(file, tmp_path / "file", 1_000_000) == 500_000
    assert (tmp_path / "file").stat().st_size == 500_000


async def test_a_login_page_instead_of_a_file_is_not_taken_for_it(
    wiki: Wiki, server: LocalConfluence, attached: Attaches, tmp_path: Path
) -> None:
    file = await attached()
    server.faults.fail_always("download", login_page())

    with pytest.raises(PageUnreadable, match="bytes where Confluence says 10"):
        await wiki.download(file, tmp_path / "file", 1_000_000)

    assert not (tmp_path / "file").exists()


async def test_a_file_whose_store_refuses_is_the_files_trouble_not_the_tokens(
    wiki: Wiki, server: LocalConfluence, attached: Attaches, tmp_path: Path
) -> None:
    file = await attached()
    server.faults.fail_always(
        "media" if server.edition == "cloud" else "download", Fault(status=403)
    )

    with pytest.raises(NotVisible):
        await wiki.download(file, tmp_path / "file", 1_000_000)


async def test_a_place_that_cant_be_written_to_is_told_at_once(
    wiki: Wiki, attached: Attaches, tmp_path: Path, server: LocalConfluence
) -> None:
    file = await attached()

    with pytest.raises(WikiUnavailable, match="can't be kept here"):
        await wiki.download(file, tmp_path / "no" / "file", 1_000_000)

    assert server.count("download") == 1


def space(key: str) -> dict[str, object]:
    return {"id": key, "key": key, "name": key}


@asynccontextmanager
async def site_that_goes_on_at(
    following: Callable[[web.Request], str], *, below: str = ""
) -> AsyncIterator[tuple[ScriptedServer, Wiki]]:
    """Give a site whose every list goes on where ``following`` says, unless that is empty."""

    async def answer(request: web.Request) -> web.Response:
        return listing(space(f"S{len(site.asked)}"), following=following(request))

    async with scripted_server(answer) as site, reading(f"{site.url}{below}") as wiki:
        yield site, wiki


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


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("http://localhost:9/wiki/api/v2/spaces?cursor=x", "not 127.0.0.1: not followed"),
        ("//evil.example/api/v2/x", "not 127.0.0.1: not followed"),
        ("/admin?cursor=1", "no part of the API"),
        ("/wiki/api/v2/../../admin?cursor=1", "no part of the API"),
        ("http://[x", "no part of the API"),
    ],
)
async def test_a_link_to_elsewhere_is_not_followed(link: str, why: str) -> None:
    async with site_that_goes_on_at(once(link)) as (site, wiki):
        with pytest.raises(WikiUnavailable, match=why):
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


async def _answered(answer: web.Response) -> None:
    async def give(request: web.Request) -> web.Response:
        return answer

    async with scripted_server(give) as site, reading(site.url) as wiki:
        await wiki.spaces()


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


@pytest.mark.parametrize(("megabytes", "packed"), [(3, False), (30, True)], ids=["whole", "packed"])
async def test_an_answer_beyond_all_measure_is_left(
    monkeypatch: pytest.MonkeyPatch, megabytes: int, *, packed: bool
) -> None:
    monkeypatch.setattr(transport, "MOST_JSON_BYTES", 2 * 1024 * 1024)
    big = listing(space("x" * (megabytes * 1024 * 1024)))
    if packed:
        big.enable_compression(web.ContentCoding.gzip)

    with pytest.raises(WikiUnavailable, match="more than 2 MB"):
        await _answered(big)
