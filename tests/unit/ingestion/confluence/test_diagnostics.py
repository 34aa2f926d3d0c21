"""Diagnostics of a Confluence's settings: that it works, or what is missing and the cure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ingestion.config import Settings
from ingestion.confluence.diagnostics import INCLUDES_LEFT_OUT, diagnose_confluence
from rag.types import Check
from tests.fakes.confluence.faults import Fault, login_page, unavailable
from tests.fakes.confluence.requests import Edition, Json, Options
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import ADMIN, Site
from tests.unit.ingestion.confluence.client.local_servers import HASTY
from tests.unit.ingestion.confluence.space_wiki import INCLUDE

MISSING_SCOPE = Fault(status=401)


@dataclass
class Asked:
    """A site with a space for staff, as somebody's token sees it."""

    site: Site
    server: LocalConfluence
    settings: dict[str, object] = field(default_factory=dict)
    whose: str = "rita"

    async def checks(self, **settings: object) -> Mapping[str, Check]:
        person = self.site.people[self.whose]
        given = {
            "confluence_url": self.server.url,
            "confluence_token": person.token,
            "confluence_email": person.email if self.cloud else None,
            "confluence_edition": self.server.edition,
            **self.settings,
            **settings,
        }
        told = await diagnose_confluence(Settings(_env_file=None, **given), HASTY)  # type: ignore[arg-type]
        assert person.token not in str(told)
        return {each.name: each for each in told}

    @property
    def cloud(self) -> bool:
        return self.server.edition == "cloud"


@pytest.fixture
def site() -> Site:
    site = Site()
    site.now = datetime.now(UTC)
    for handle in ("rita", "otto"):
        site.add_person(handle, name=f"{handle.title()} Reader")
    site.add_group("staff", ["rita", "otto", ADMIN])
    site.add_space("IT", groups=["staff"])
    site.create("IT", "VPN", by="otto")
    site.create("IT", "Printers", by="otto")
    return site


@pytest.fixture(params=["cloud", "data-center"])
async def asked(request: pytest.FixtureRequest, site: Site) -> AsyncIterator[Asked]:
    edition: Edition = request.param
    async with LocalConfluence(site, edition).serving() as server:
        yield Asked(site, server)
    assert site.unexpected == []


async def test_without_a_confluence_nothing_is_told() -> None:
    assert await diagnose_confluence(Settings(_env_file=None)) == ()


@pytest.fixture
def people(tmp_path: Path) -> str:
    file = str(tmp_path / "people.csv")
    write(file, "email,account\nana@acme.example,1\n")
    return file


def write(file: str, text: str) -> None:
    Path(file).write_text(text)


async def test_all_is_well_where_everyone_is_known_and_all_rights_are_there(
    asked: Asked, people: str
) -> None:
    checks = await asked.checks(confluence_everyone_groups="staff", confluence_directory=people)

    assert {each.works for each in checks.values()} == {True}
    assert asked.server.url in checks[""].detail
    assert checks[""].detail.startswith("Cloud" if asked.cloud else "Data Center 9.2.3")
    assert checks["token"].detail == "is Rita Reader's"
    assert checks["space IT"].detail == "2 pages, open to everyone"
    assert (
        checks["schedule"].detail == "what was edited every 5 minutes, everything every 30 minutes"
    )


async def test_nothing_is_changed_by_looking(asked: Asked) -> None:
    before = asked.site.revision

    await asked.checks()

    assert asked.site.revision == before
    assert {request.method for request in asked.server.requests} == {"GET"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"confluence_token": "wrong"}, "does not take the token"),
        ({"confluence_url": "http://127.0.0.1:9"}, "127.0.0.1"),
        ({"confluence_space_readers": "IT"}, "CONFLUENCE_SPACE_READERS"),
    ],
    ids=["token", "address", "setting"],
)
async def test_where_nothing_can_be_read_one_line_says_why(
    asked: Asked, changes: dict[str, object], said: str
) -> None:
    checks = await asked.checks(**changes)

    assert list(checks) == [""]
    assert checks[""].works is False
    assert said in checks[""].detail


@pytest.mark.parametrize(
    ("fault", "said"), [(login_page(), "login page"), (unavailable(), "503")], ids=["login", "503"]
)
async def test_a_site_that_gives_no_json_is_told(asked: Asked, fault: Fault, said: str) -> None:
    asked.server.faults.fail_always("*", fault)

    checks = await asked.checks()

    assert (checks[""].works, said in checks[""].detail) == (False, True)


async def test_a_token_that_sees_no_space_is_broken(asked: Asked) -> None:
    asked.site.add_person("nina")
    asked.whose = "nina"

    checks = await asked.checks()

    assert checks["spaces"].works is False
    assert "sees no space" in checks["spaces"].detail


async def test_spaces_that_are_named_and_not_seen_are_broken(asked: Asked) -> None:
    checks = await asked.checks(confluence_spaces="IT,GONE")

    assert checks["spaces"].works is True
    assert checks["spaces unseen"].works is False
    assert checks["spaces unseen"].detail.startswith("GONE of CONFLUENCE_SPACES can't be seen.")


async def test_spaces_that_are_left_out_are_told_with_the_reason(asked: Asked) -> None:
    asked.site.add_space("OLD", groups=["staff"])

    checks = await asked.checks(confluence_skip_spaces="OLD")

    assert checks["spaces"].detail == (
        "1 of 2 that the token sees are read; OLD: CONFLUENCE_SKIP_SPACES names it"
    )
    assert "space OLD" not in checks


async def test_a_group_of_everyone_that_is_not_there_is_broken(asked: Asked) -> None:
    checks = await asked.checks(confluence_everyone_groups="staff,all hands")

    assert checks["everyone"].works is False
    assert "no group all hands of CONFLUENCE_EVERYONE_GROUPS" in checks["everyone"].detail


async def test_who_may_read_a_space_is_named(asked: Asked) -> None:
    asked.site.add_group("board", [ADMIN])
    asked.site.grant_space("IT", groups=["board"])

    checks = await asked.checks(confluence_directory="entra")

    named = "staff, 1 more group" if asked.cloud else "board, staff"
    assert checks["space IT"].detail == f"2 pages, read by {named} and 1 person"


async def test_a_space_of_which_nobody_can_be_answered_says_how_to_open_it(asked: Asked) -> None:
    checks = await asked.checks()

    if asked.cloud:
        assert checks["space IT"].works is True
        assert checks["people"].works is None
        assert "Set CONFLUENCE_DIRECTORY" in checks["people"].detail
    else:
        assert checks["space IT"].works is None
        assert "CONFLUENCE_EVERYONE_GROUPS" in checks["space IT"].detail


async def test_a_space_whose_permissions_are_kept_is_closed_until_a_setting_tells_them(
    asked: Asked,
) -> None:
    asked.server.faults.fail_always("space-permissions", Fault(status=403))

    closed = (await asked.checks())["space IT"]
    told = (await asked.checks(confluence_space_readers="IT=everyone"))["space IT"]

    assert closed.works is None
    assert "nobody is answered from it" in closed.detail
    assert (told.works, told.detail) == (True, "2 pages, open to everyone")


@pytest.mark.mended(id="confluence-3")
async def test_pages_that_leave_out_what_they_include_are_counted(asked: Asked) -> None:
    terms = asked.site.create("IT", "Terms")
    asked.site.create("IT", "Open")
    for title, shown in (("Front", "Terms"), ("Start", "Open")):
        asked.site.create("IT", title, INCLUDE.format(shown))
    assert INCLUDES_LEFT_OUT not in (await asked.checks())["search"].detail
    asked.site.restrict(terms.id, users=["rita"])

    search = (await asked.checks())["search"]

    assert search.works
    assert f"of 2 looked at in IT, 1 {INCLUDES_LEFT_OUT}" in search.detail


@pytest.mark.mended(id="confluence-4")
@pytest.mark.parametrize("named", [["staff"], []])
async def test_a_role_among_those_who_view_a_space_is_named_as_not_understood(
    site: Site, named: list[str]
) -> None:
    licensed: Json = {"type": "role", "id": "all-licensed-users"}
    site.add_space("ROLE", groups=named, anonymous=True)
    site.create("ROLE", "Plan")
    options: Options = {"anonymous_principal": licensed}
    async with LocalConfluence(site, "cloud", options=options).serving() as server:
        asked = Asked(site, server)
        told = (await asked.checks())["space ROLE"]
        cured = (await asked.checks(confluence_space_readers="ROLE=everyone"))["space ROLE"]

    assert told.works is None
    assert "role/all-licensed-users is not understood" in told.detail
    assert "CONFLUENCE_SPACE_READERS" in told.detail
    assert "can't be read" not in told.detail
    assert (cured.works, cured.detail) == (True, "1 page, open to everyone")


async def test_a_data_center_that_is_too_old_to_tell_who_may_read_says_so(site: Site) -> None:
    async with LocalConfluence(site, "data-center", options={"old": True}).serving() as server:
        checks = await Asked(site, server).checks()

    assert checks[""].detail.startswith("Data Center before 9.1 at ")
    assert "CONFLUENCE_SPACE_READERS" in checks["space IT"].detail


@pytest.mark.parametrize("status", [401, 403])
async def test_restrictions_that_can_not_be_read_are_broken(asked: Asked, status: int) -> None:
    asked.server.faults.fail_always("restriction", Fault(status=status))

    told = (await asked.checks())["restrictions"]

    assert told.works is False
    assert told.detail.endswith("Until they can be read nobody is answered from any page.")
    assert ("may lack a scope" in told.detail) == (status == 401)


async def test_a_right_to_search_that_is_missing_is_told(asked: Asked) -> None:
    asked.server.faults.fail_always("content-search", MISSING_SCOPE)

    checks = await asked.checks()

    assert checks["search"].works is False
    assert checks["files"].works is False
    assert "files" not in await asked.checks(confluence_attachments=False)


async def test_people_who_show_their_address_are_counted(asked: Asked) -> None:
    asked.site.add_person("otto", name="Otto Reader", email_shown=True)

    told = (await asked.checks())["people"]

    assert told.works is (True if asked.cloud else None)
    assert told.detail.startswith("1 of 1" if asked.cloud else "none of 1")


async def test_a_directory_is_read_and_one_that_is_broken_is_told(
    asked: Asked, people: str
) -> None:
    well = (await asked.checks(confluence_directory=people))["people"]
    write(people, "email;account\n")
    broken = (await asked.checks(confluence_directory=people))["people"]
    entra = (await asked.checks(confluence_directory="entra"))["people"]

    assert (well.works, well.detail) == (True, f"1 are told by {people}")
    assert broken.works is False
    assert "separate them by commas" in broken.detail
    assert entra.works is True


async def test_a_clock_that_goes_wrong_is_told(asked: Asked) -> None:
    asked.site.now += timedelta(minutes=10)

    told = (await asked.checks())["clock"]

    assert told.works is None
    assert told.detail.startswith("this machine's is 10 minutes behind the site's.")


@pytest.mark.parametrize(
    ("sync", "reconcile", "works"), [(0, 0, None), (5, 0, None), (0, 30, True)]
)
async def test_a_schedule_that_misses_something_is_told(
    asked: Asked, sync: int, reconcile: int, *, works: bool | None
) -> None:
    told = await asked.checks(confluence_sync_minutes=sync, confluence_reconcile_minutes=reconcile)

    assert told["schedule"].works is works


async def test_where_answers_are_published_is_asked_if_it_is_set(asked: Asked) -> None:
    assert "answers" not in await asked.checks()
    (page, *_) = asked.site.current("IT")

    checks = await asked.checks(confluence_answers_parent=page.id)
    assert checks["answers"].works is (True if asked.cloud else None)
    missing = await asked.checks(confluence_answers_parent="999999")
    assert missing["answers"].works is False
