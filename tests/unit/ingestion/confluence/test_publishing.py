"""Tests of publishing on both editions: first that no text is shown to others than its readers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, replace

import pytest

from ingestion.confluence.permissions import Rules, group_principal, user_principal
from ingestion.confluence.publishing import ConfluencePublisher, publisher_at
from ingestion.errors import IngestionError, PublishingRefused, WikiUnavailable
from ingestion.types import PublishableAnswer
from rag.types import EVERYONE, Principal, Readers
from tests.fakes.confluence.content import Content
from tests.fakes.confluence.faults import ANY, Fault, cut, unavailable
from tests.fakes.confluence.requests import Edition, Options
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site
from tests.fakes.confluence.tokens import wiki_at
from tests.unit.ingestion.confluence.client.local_servers import HASTY

BOT, ANA, BEN, EVE = "frontdesk", "ana", "ben", "eve"
ALL: Readers = (frozenset({EVERYONE}),)
SECRET = "Press seven."
QUESTION = "How do I open the safe?"


@dataclass
class Publishing:
    """A site with a page for answers, and who publishes there."""

    site: Site
    server: LocalConfluence
    parent: Content
    publisher: ConfluencePublisher

    def principal(self, name: str) -> Principal:
        cloud = self.server.edition == "cloud"
        if name in self.site.groups:
            group = self.site.groups[name]
            return group_principal(group.id if cloud else group.name)
        person = self.site.people[name]
        return user_principal(person.account_id if cloud else person.user_key)

    def readers(self, *names: str) -> Readers:
        return (frozenset(map(self.principal, names)),)

    def answer(self, *names: str, **given: str) -> PublishableAnswer:
        readers = self.readers(*names) if names else ALL
        told = {"question": QUESTION, "text": SECRET, **given}
        return PublishableAnswer("a1", told["question"], told["text"], readers, told.get("url", ""))

    def page(self) -> Content:
        (page,) = self.site.children(self.parent.id)
        return page

    def who_reads(self) -> set[str]:
        page = self.page().id
        return {each for each in self.site.people if self.site.may_read(each, page)}


@pytest.fixture
def site() -> Site:
    site = Site()
    for handle in (BOT, ANA, BEN, EVE):
        site.add_person(handle)
    site.add_group("staff", [BOT, ANA, BEN, EVE])
    site.add_group("hr", [ANA, BEN])
    site.add_space("KB", groups=["staff"])
    return site


@pytest.fixture(params=["cloud", "data-center"])
async def publishing(request: pytest.FixtureRequest, site: Site) -> AsyncIterator[Publishing]:
    edition: Edition = request.param
    parent = site.create("KB", "Answers")
    async with LocalConfluence(site, edition).serving() as server:
        wiki = wiki_at(server, BOT, patience=replace(HASTY, attempts=1))
        publisher = publisher_at(wiki, parent.id, Rules(everyone_groups=("staff",)))
        yield Publishing(site, server, parent, publisher)
        await publisher.close()
    assert site.unexpected == []


async def test_an_answer_for_everyone_becomes_a_page(publishing: Publishing) -> None:
    url = await publishing.publisher.publish(publishing.answer())

    page = publishing.page()
    assert page.id in url or "/display/KB/" in url
    assert (page.title, page.version) == (QUESTION, 2)
    assert SECRET in page.storage
    assert publishing.who_reads() >= {ANA, BEN, EVE}


@pytest.mark.parametrize("name", ["hr", ANA])
async def test_a_page_is_read_by_the_answers_readers_alone(
    publishing: Publishing, name: str
) -> None:
    await publishing.publisher.publish(publishing.answer(name))

    assert publishing.who_reads() == {BOT, ANA} | ({BEN} if name == "hr" else set())


async def test_no_text_is_visible_before_the_restrictions(publishing: Publishing) -> None:
    seen: list[str] = []
    for number in range(1, 60):
        publishing.server.faults.on(ANY, number, lambda: seen.extend(_read_by(publishing, EVE)))

    await publishing.publisher.publish(publishing.answer("hr"))

    assert SECRET not in "".join(seen)
    assert QUESTION not in "".join(seen)
    assert SECRET in "".join(_read_by(publishing, ANA))


def _read_by(publishing: Publishing, person: str) -> Collection[str]:
    site = publishing.site
    return [
        each.title + each.storage
        for each in site.children(publishing.parent.id)
        if site.may_read(person, each.id)
    ]


@pytest.mark.parametrize("fault", [unavailable(), cut(0)], ids=["not done", "done unseen"])
@pytest.mark.parametrize("broken", ["create", "restrict", "update"])
async def test_a_repeated_call_finds_the_page_of_the_first(
    publishing: Publishing, broken: str, fault: Fault
) -> None:
    publishing.server.faults.fail(broken, fault)
    with pytest.raises(WikiUnavailable):
        await publishing.publisher.publish(publishing.answer("hr"))
    assert not [each for each in _read_by(publishing, EVE) if SECRET in each]

    url = await publishing.publisher.publish(publishing.answer("hr"))
    assert await publishing.publisher.publish(publishing.answer("hr")) == url
    assert publishing.who_reads() == {BOT, ANA, BEN}


async def test_an_answer_without_text_yet_may_get_more_readers(publishing: Publishing) -> None:
    publishing.server.faults.fail("update", unavailable())
    with pytest.raises(WikiUnavailable):
        await publishing.publisher.publish(publishing.answer("hr"))

    await publishing.publisher.publish(publishing.answer())

    assert publishing.who_reads() >= {ANA, BEN, EVE}


async def test_a_published_answer_is_updated_in_place(publishing: Publishing) -> None:
    url = await publishing.publisher.publish(publishing.answer("hr"))

    again = publishing.answer("hr", text="Press *eight*.", question="The safe?", url=url)
    await publishing.publisher.publish(again)

    page = publishing.page()
    assert (page.title, page.version) == ("The safe?", 3)
    assert "<em>eight</em>" in page.storage


async def test_fewer_readers_are_set_before_the_new_text(publishing: Publishing) -> None:
    url = await publishing.publisher.publish(publishing.answer())

    await publishing.publisher.publish(publishing.answer("hr", url=url))

    assert publishing.who_reads() == {BOT, ANA, BEN}
    kinds = [each.kind for each in publishing.server.requests]
    assert len(kinds) - kinds[::-1].index("restrict") < len(kinds) - kinds[::-1].index("update")


REFUSED: Mapping[str, Callable[[Publishing], PublishableAnswer]] = {
    "nobody": lambda at: replace(at.answer(), readers=()),
    "several groups at once": lambda at: replace(
        at.answer(), readers=(*at.readers("hr"), *at.readers(EVE))
    ),
    "readers Confluence doesn't know": lambda at: replace(
        at.answer(), readers=(frozenset({Principal("group:hr")}),)
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_readers_that_no_restriction_keeps_are_refused(
    publishing: Publishing, case: str
) -> None:
    await _expect_refused(publishing, REFUSED[case](publishing))


async def _expect_refused(publishing: Publishing, answer: PublishableAnswer) -> str:
    before = [each.storage for each in publishing.site.children(publishing.parent.id)]
    with pytest.raises(PublishingRefused) as refused:
        await publishing.publisher.publish(answer)
    after = [each.storage for each in publishing.site.children(publishing.parent.id)]
    assert [each for each in after if SECRET in each and each not in before] == []
    return str(refused.value)


async def test_a_parent_that_keeps_readers_out_is_refused(publishing: Publishing) -> None:
    publishing.site.restrict(publishing.parent.id, users=[BOT], groups=["hr"])

    await _expect_refused(publishing, publishing.answer())
    await publishing.publisher.publish(publishing.answer(ANA))
    assert publishing.who_reads() == {BOT, ANA}


async def test_what_colleagues_may_read_is_not_shown_to_the_world(publishing: Publishing) -> None:
    publishing.site.grant_space("KB", anonymous=True)

    await _expect_refused(publishing, publishing.answer())
    await publishing.publisher.publish(publishing.answer("hr"))
    assert not publishing.site.may_read(None, publishing.page().id)


async def test_more_readers_dont_get_earlier_versions(publishing: Publishing) -> None:
    url = await publishing.publisher.publish(publishing.answer(ANA))

    await _expect_refused(publishing, publishing.answer("hr", url=url))
    assert publishing.who_reads() == {BOT, ANA}


async def test_restrictions_that_confluence_does_not_keep_stop_it(publishing: Publishing) -> None:
    publishing.server.options = Options(deaf=True)

    assert "restrictions" in await _expect_refused(publishing, publishing.answer("hr"))


async def test_a_page_that_somebody_edited_is_not_overwritten(publishing: Publishing) -> None:
    url = await publishing.publisher.publish(publishing.answer())
    publishing.site.edit(publishing.page().id, "<p>Mine.</p>", by=ANA)

    assert url in await _expect_refused(publishing, publishing.answer(url=url))
    assert publishing.page().storage == "<p>Mine.</p>"


async def test_an_edit_at_the_same_time_is_not_overwritten(publishing: Publishing) -> None:
    url = await publishing.publisher.publish(publishing.answer())
    site, page = publishing.site, publishing.page().id
    publishing.server.faults.on("update", 1, lambda: site.edit(page, by=ANA))

    await _expect_refused(publishing, publishing.answer(url=url, text="New."))
    assert "New." not in publishing.page().storage


async def test_the_title_of_another_page_is_refused(publishing: Publishing) -> None:
    publishing.site.create("KB", QUESTION, by=ANA)

    assert QUESTION in await _expect_refused(publishing, publishing.answer())


async def test_a_token_that_may_not_write_is_said_so(publishing: Publishing) -> None:
    publishing.server.options = Options(read_only=True)

    assert "token" in await _expect_refused(publishing, publishing.answer())


async def test_a_deleted_page_is_published_anew(publishing: Publishing) -> None:
    url = await publishing.publisher.publish(publishing.answer())
    publishing.site.purge(publishing.page().id)

    assert await publishing.publisher.publish(publishing.answer(url=url)) != ""
    assert SECRET in publishing.page().storage


async def test_a_parent_that_is_not_there_is_refused(publishing: Publishing) -> None:
    publishing.site.purge(publishing.parent.id)

    with pytest.raises(IngestionError):
        await publishing.publisher.publish(publishing.answer())


@pytest.mark.parametrize("read_only", [False, True])
async def test_the_doctor_asks_for_the_right_to_write(
    publishing: Publishing, *, read_only: bool
) -> None:
    publishing.server.options = Options(read_only=read_only)
    revision = publishing.site.revision

    works, detail = await publishing.publisher.diagnosis()

    # Data Center tells its rights to administrators alone.
    assert works is (None if publishing.server.edition == "data-center" else not read_only)
    assert "KB" in detail
    assert publishing.site.revision == revision
