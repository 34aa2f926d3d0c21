"""A small site, spoken to as Cloud and as Data Center."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, encode_basic_auth

from tests.confluence.asking import Asker
from tests.confluence.server import LocalConfluence
from tests.confluence.site import Site


@pytest.fixture
def site() -> Site:
    """A space for staff, one for everybody, and one that the reader may not view."""
    site = Site()
    site.add_person("rita", name="Rita Reader", email="rita@acme.example", email_shown=True)
    site.add_person("otto", name="Otto Other")
    site.add_group("staff", ["rita", "otto", "admin"])
    site.add_group("board", ["admin"])
    site.add_space("IT", name="Information Technology", groups=["staff"])
    site.add_space("PUB", name="Public", anonymous=True)
    site.add_space("HR", name="Human Resources", groups=["board"])
    return site


@pytest.fixture
async def cloud(site: Site) -> AsyncIterator[LocalConfluence]:
    async with LocalConfluence(site).serving() as server:
        yield server


@pytest.fixture
async def data_center(site: Site) -> AsyncIterator[LocalConfluence]:
    async with LocalConfluence(site, "data-center").serving() as server:
        yield server


@pytest.fixture
async def rita(cloud: LocalConfluence) -> AsyncIterator[Asker]:
    """Rita Reader at Cloud."""
    person = cloud.site.people["rita"]
    token = encode_basic_auth(person.email, person.token)
    async with ClientSession(headers={"Authorization": token}) as session:
        yield Asker(session, cloud)


@pytest.fixture
async def admin(cloud: LocalConfluence) -> AsyncIterator[Asker]:
    """The admin at Cloud."""
    person = cloud.site.people["admin"]
    token = encode_basic_auth(person.email, person.token)
    async with ClientSession(headers={"Authorization": token}) as session:
        yield Asker(session, cloud)


@pytest.fixture
async def pat(data_center: LocalConfluence) -> AsyncIterator[Asker]:
    """Rita Reader at Data Center."""
    token = f"Bearer {data_center.site.people['rita'].token}"
    async with ClientSession(headers={"Authorization": token}) as session:
        yield Asker(session, data_center)
