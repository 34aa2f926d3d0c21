"""A small site, read as Cloud and as Data Center."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from ingestion.confluence.assembly import open_wiki
from ingestion.confluence.client.retry import RetryLimits
from ingestion.confluence.wiki import Wiki, WikiAttachment
from tests.fakes.confluence.requests import Edition
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site
from tests.unit.ingestion.confluence.client.local_servers import HASTY

Opens = Callable[..., Wiki]


@pytest.fixture
def site() -> Site:
    """A space for staff, one for everybody, and one that the reader may not view."""
    site = Site()
    site.add_person("rita", name="Rita Reader", email="rita.reader@acme.example", email_shown=True)
    site.add_person("otto", name="Otto Other", email="otto@acme.example")
    site.add_group("staff", ["rita", "otto", "admin"])
    site.add_group("board", ["admin"])
    site.add_space("IT", name="Information Technology", groups=["staff"])
    site.add_space("PUB", name="Public", anonymous=True)
    site.add_space("HR", name="Human Resources", groups=["board"])
    return site


@pytest.fixture(params=["cloud", "data-center"])
def edition(request: pytest.FixtureRequest) -> Edition:
    named: Edition = request.param
    return named


@pytest.fixture
async def server(site: Site, edition: Edition) -> AsyncIterator[LocalConfluence]:
    """The site at an address. Whoever asks it what no Confluence knows fails here."""
    async with LocalConfluence(site, edition).serving() as server:
        yield server
    assert site.unexpected == []


@pytest.fixture
async def opens(server: LocalConfluence) -> AsyncIterator[Opens]:
    """Opens the site with somebody's token, and closes it in the end."""
    async with AsyncExitStack() as stack:

        def opened(
            handle: str = "rita",
            *,
            url: str | None = None,
            token: str | None = None,
            ca_file: str | None = None,
            patience: RetryLimits = HASTY,
        ) -> Wiki:
            person = server.site.people[handle]
            wiki = open_wiki(
                url=url or server.url,
                token=token or person.token,
                email=person.email if server.edition == "cloud" else None,
                edition=server.edition,
                ca_file=ca_file,
                patience=patience,
            )
            stack.push_async_callback(wiki.close)
            return wiki

        yield opened


Attaches = Callable[..., Awaitable[WikiAttachment]]


@pytest.fixture
def attached(site: Site, wiki: Wiki) -> Attaches:
    """Attaches a file to a new page; returns what is told of it."""

    async def attach(name: str = "a.pdf", *, size: int | None = None) -> WikiAttachment:
        page = site.create("IT", "Page").id
        site.attach(page, name, b"0123456789", size=size)
        (file,) = await wiki.attachments(page)
        return file

    return attach


@pytest.fixture
def wiki(opens: Opens) -> Wiki:
    """The site as Rita reads it."""
    return opens()
