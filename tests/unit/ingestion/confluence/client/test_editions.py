"""What both editions answer alike, over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from ingestion.confluence.wiki import PageMarks, Subjects, Wiki, WikiAbout, WikiSpace
from ingestion.errors import NotVisible, PageUnreadable, WikiUnavailable
from tests.fakes.confluence.faults import Fault
from tests.fakes.confluence.server import LocalConfluence
from tests.fakes.confluence.site import Site
from tests.fakes.confluence.tokens import wiki_at
from tests.unit.ingestion.confluence.client.conftest import Attaches, Opens


def user_id(server: LocalConfluence, handle: str) -> str:
    person = server.site.people[handle]
    return person.account_id if server.edition == "cloud" else person.user_key


def group_id(server: LocalConfluence, name: str) -> str:
    return server.site.groups[name].id if server.edition == "cloud" else name


async def space(wiki: Wiki, key: str = "IT") -> WikiSpace:
    (found,) = await wiki.spaces([key])
    return found


async def marks(wiki: Wiki) -> dict[str, PageMarks]:
    return {each.id: each async for each in wiki.marks(await space(wiki))}


async def test_only_spaces_that_the_token_sees_are_told(wiki: Wiki, opens: Opens) -> None:
    assert [each.key for each in await wiki.spaces()] == ["IT", "PUB"]
    assert {each.key for each in await opens("admin").spaces()} == {"HR", "IT", "PUB"}


async def test_spaces_are_told_by_key_with_where_they_are(
    wiki: Wiki, server: LocalConfluence
) -> None:
    (found,) = await wiki.spaces(["IT", "HR", "NONE"])

    path = "spaces" if server.edition == "cloud" else "display"
    assert (found.key, found.name) == ("IT", "Information Technology")
    assert found.url == f"{server.url}/{path}/IT"
    assert not found.archived


async def test_no_keys_are_no_spaces(wiki: Wiki, server: LocalConfluence) -> None:
    assert await wiki.spaces([]) == ()
    assert server.requests == []


async def test_an_archived_space_says_so(wiki: Wiki, site: Site) -> None:
    site.archive_space("PUB")

    assert [(each.key, each.archived) for each in await wiki.spaces()] == [
        ("IT", False),
        ("PUB", True),
    ]


async def test_spaces_beyond_one_answer_are_all_told(wiki: Wiki, site: Site) -> None:
    keys = [f"S{number}" for number in range(260)]
    for key in keys:
        site.add_space(key, groups=["staff"])

    assert {each.key for each in await wiki.spaces(keys)} == set(keys)
    assert len(await wiki.spaces()) == 262


async def test_every_current_page_and_blog_post_is_listed_once(wiki: Wiki, site: Site) -> None:
    wanted = {site.create("IT", f"Page {number}").id for number in range(260)}
    wanted |= {site.create("IT", f"News {number}", kind="blogpost").id for number in range(3)}
    site.archive(site.create("IT", "Old").id)
    site.trash(site.create("IT", "Gone").id)
    site.create("IT", "Draft", status="draft", by="rita")
    site.create("PUB", "Elsewhere")
    hidden = site.create("IT", "Hidden")
    site.restrict(hidden.id, users=["otto"])

    listed = [head.id async for head in wiki.heads(await space(wiki))]

    assert sorted(listed) == sorted(wanted)


async def test_a_head_tells_what_is_known_without_the_text(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    parent = site.create("IT", "Networks")
    page = site.create("IT", "VPN", parent=parent.id)
    site.edit(page.id, by="otto")

    heads = {head.id: head async for head in wiki.heads(await space(wiki))}

    head = heads[page.id]
    assert (head.kind, head.title, head.space_key) == ("page", "VPN", "IT")
    assert (head.parent_id, head.parent_kind) == (parent.id, "page")
    assert (head.version, head.updated_at) == (2, site.contents[page.id].updated)
    assert head.updated_by == user_id(server, "otto")
    assert head.url.startswith(f"{server.url}/")
    assert heads[parent.id].parent_id is None
    assert head == await wiki.head(page.id)


async def test_only_what_was_edited_since_is_changed_newest_first(wiki: Wiki, site: Site) -> None:
    pages = [site.create("IT", f"Page {number}").id for number in range(120)]
    news = site.create("IT", "News", kind="blogpost").id
    site.pass_time(3600)
    since = site.now
    site.pass_time(5)
    site.edit(pages[7])
    site.edit(news)
    site.edit(pages[3])
    site.label(pages[5], "no-edit")

    changed = await wiki.changed(await space(wiki), since)

    assert [head.id for head in changed.heads] == [pages[3], news, pages[7]]
    assert [head.version for head in changed.heads] == [2, 2, 2]


async def test_what_changed_is_asked_for_in_a_request_or_two(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    for number in range(300):
        site.create("IT", f"Page {number}")
    site.pass_time(3600)
    it = await space(wiki)
    server.requests.clear()

    assert (await wiki.changed(it, site.now)).heads == ()
    assert len(server.requests) <= 2


async def test_more_changes_than_one_answer_holds_are_all_told(wiki: Wiki, site: Site) -> None:
    site.create("IT", "Before")
    site.pass_time(60)
    since = site.now
    edited = {site.create("IT", f"Page {number}").id for number in range(230)}

    changed = await wiki.changed(await space(wiki), since)

    assert {head.id for head in changed.heads} == edited


async def test_a_change_is_found_whatever_zone_the_server_is_in(wiki: Wiki, site: Site) -> None:
    site.zone = timezone(timedelta(hours=-11))
    page = site.create("IT", "Page").id
    since = site.now
    site.pass_time(1)
    site.edit(page)

    changed = await wiki.changed(await space(wiki), since)

    assert [head.id for head in changed.heads] == [page]
    assert changed.heads[0].updated_at == site.contents[page].updated


async def test_the_time_of_asking_is_the_sites_and_no_later_than_the_question(
    wiki: Wiki, site: Site
) -> None:
    site.now = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)

    asked_at = (await wiki.changed(await space(wiki), site.now)).asked_at

    assert site.now - timedelta(seconds=10) < asked_at <= site.now


async def test_marks_tell_who_is_named_and_labels(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    free = site.create("IT", "Free", labels=["vpn", "how-to"]).id
    kept = site.create("IT", "Kept").id
    site.restrict(kept, users=["rita", "admin"], groups=["board"])
    news = site.create("IT", "News", kind="blogpost", labels=["news"]).id

    found = await marks(wiki)

    named = Subjects(
        users=frozenset({user_id(server, "rita"), user_id(server, "admin")}),
        groups=frozenset({group_id(server, "board")}),
    )
    assert found == {
        free: PageMarks(id=free, readers=Subjects(), labels=("how-to", "vpn")),
        kept: PageMarks(id=kept, readers=named, labels=()),
        news: PageMarks(id=news, readers=Subjects(), labels=("news",)),
    }
    for page_id, told in found.items():
        assert await wiki.marks_of(page_id) == told


async def test_marks_of_many_pages_come_a_hundred_a_request(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    pages = {site.create("IT", f"Page {number}").id for number in range(250)}

    assert set(await marks(wiki)) == pages
    assert server.count("content-search") == 3
    assert server.count("restriction") == 0


async def test_nobody_is_lost_of_a_restriction_that_names_hundreds(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    handles = [f"p{number}" for number in range(450)]
    for handle in handles:
        site.add_person(handle)
    page = site.create("IT", "Page").id
    site.restrict(page, users=["rita", *handles], groups=["staff"])

    told = (await marks(wiki))[page].readers

    assert told.users == {user_id(server, each) for each in ["rita", *handles]}
    assert told.groups == {group_id(server, "staff")}


@pytest.mark.parametrize("expansion", ["restrictions.read.restrictions.user", "metadata.labels"])
async def test_a_page_that_breaks_its_batch_does_not_break_the_others(
    wiki: Wiki, site: Site, server: LocalConfluence, expansion: str
) -> None:
    pages = [site.create("IT", f"Page {number}").id for number in range(120)]
    site.restrict(pages[3], users=["rita"])
    server.faults.break_expansion(expansion, pages[5])

    found = await marks(wiki)

    assert set(pages) - set(found) <= {pages[5]}
    assert found[pages[3]].readers.users == {user_id(server, "rita")}


async def test_a_page_that_the_search_does_not_know_yet_is_asked_on_its_own(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    site.create("IT", "Old")
    site.pass_time(3600)
    server.options["search_lag"] = 600
    young = site.create("IT", "Young").id
    site.restrict(young, groups=["staff"])

    assert (await marks(wiki))[young].readers.groups == {group_id(server, "staff")}


async def test_a_page_whose_restrictions_cant_be_read_has_no_marks(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    page = site.create("IT", "Page").id
    for kind in ("content-search", "restriction"):
        server.faults.fail_always(kind, Fault(status=500))

    assert page not in await marks(wiki)


async def test_marks_are_not_told_in_part_while_confluence_is_away(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    site.create("IT", "Page")
    it = await space(wiki)
    server.faults.fail_always("restriction", Fault(status=503))
    server.faults.fail_always("content-search", Fault(status=503))

    with pytest.raises(WikiUnavailable, match="503"):
        [each async for each in wiki.marks(it)]


async def test_marks_of_what_the_token_may_not_see_are_not_told(wiki: Wiki, site: Site) -> None:
    page = site.create("HR", "Salaries").id

    with pytest.raises(NotVisible):
        await wiki.marks_of(page)


async def test_a_page_comes_with_text_labels_and_what_it_hangs_under(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    top = site.create("IT", "Top").id
    middle = site.create("IT", "Middle", parent=top).id
    page = site.create("IT", "Page", "<p>Grüße &amp; co</p>", parent=middle, labels=["a"]).id
    site.label(page, *(f"l{number}" for number in range(70)))

    read = await wiki.page(page)

    assert read.storage == "<p>Grüße &amp; co</p>"
    assert read.ancestors == (top, middle) == await wiki.ancestors(page)
    assert len(read.labels) == 71
    assert read.head == await wiki.head(page)


async def test_a_blog_post_is_read_as_a_page_is(wiki: Wiki, site: Site) -> None:
    news = site.create("IT", "News", "<p>new</p>", kind="blogpost", labels=["x"]).id

    read = await wiki.page(news)

    assert (read.head.kind, read.storage, read.labels) == ("blogpost", "<p>new</p>", ("x",))
    assert read.ancestors == () == await wiki.ancestors(news)


@pytest.mark.parametrize("fate", ["archive", "trash", "purge"])
async def test_a_page_that_is_not_current_is_not_visible(wiki: Wiki, site: Site, fate: str) -> None:
    page = site.create("IT", "Page").id
    getattr(site, fate)(page)

    for read in (wiki.page, wiki.head):
        with pytest.raises(NotVisible, match=page):
            await read(page)


async def test_a_page_is_found_by_its_title(wiki: Wiki, site: Site) -> None:
    page = site.create("IT", 'Say "VPN" & + co').id
    site.create("PUB", "Other")

    found = await wiki.titled("IT", 'Say "VPN" & + co')

    assert found is not None
    assert found == await wiki.head(page) == await wiki.titled("IT", 'Say "VPN" & + co')
    assert await wiki.titled("IT", "Other") is None
    assert await wiki.titled("HR", "Other") is None


async def test_who_may_view_a_space_is_told(wiki: Wiki, server: LocalConfluence) -> None:
    admin = frozenset({user_id(server, "admin")})

    assert await wiki.space_readers(await space(wiki)) == Subjects(
        users=admin, groups=frozenset({group_id(server, "staff")})
    )
    assert await wiki.space_readers(await space(wiki, "PUB")) == Subjects(users=admin, anyone=True)


@pytest.mark.parametrize("status", [403, 404], ids=["closed", "before Data Center 9.1"])
async def test_a_space_that_cant_be_asked_has_no_readers(
    wiki: Wiki, server: LocalConfluence, status: int
) -> None:
    it = await space(wiki)
    server.faults.fail_always("space-permissions", Fault(status=status))

    assert (await wiki.space_readers(it)).empty


async def test_attachments_are_told_with_what_they_are(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    page = site.create("IT", "Page").id
    news = site.create("IT", "News", kind="blogpost").id
    file = site.attach(page, "Räume & co.pdf", b"%PDF", media_type="application/pdf")
    site.attach(news, "x.txt", b"1")
    site.attach(news, "x.txt", b"22")

    (told,) = await wiki.attachments(page)
    (of_news,) = await wiki.attachments(news)

    assert (told.id, told.page_id, told.name) == (file.id, page, "Räume & co.pdf")
    assert (told.media_type, told.bytes, told.version) == ("application/pdf", 4, 1)
    assert told.updated_at == file.updated
    assert told.url.startswith(f"{server.url}/")
    assert (of_news.page_id, of_news.version, of_news.bytes) == (news, 2, 2)


async def test_many_attachments_are_all_told(wiki: Wiki, site: Site) -> None:
    page = site.create("IT", "Page").id
    files = {site.attach(page, f"{number}.txt", b"x").id for number in range(260)}

    assert {each.id for each in await wiki.attachments(page)} == files


async def test_attachments_of_a_space_are_told_a_hundred_a_request(
    wiki: Wiki, site: Site, server: LocalConfluence
) -> None:
    pages = [site.create("IT", f"Page {number}").id for number in range(3)]
    for number in range(230):
        site.attach(pages[number % 3], f"{number}.txt", b"x")
    site.attach(site.create("PUB", "Other").id, "x.txt", b"x")
    it = await space(wiki)
    server.requests.clear()

    told = [each async for each in wiki.attachments_in(it)]

    by_page = [each for page in pages for each in await wiki.attachments(page)]
    assert sorted(told, key=lambda each: each.id) == sorted(by_page, key=lambda each: each.id)
    assert server.count("content-search") == 3


async def test_pages_that_include_others_are_found(wiki: Wiki, site: Site) -> None:
    macro = '<ac:structured-macro ac:name="{}"></ac:structured-macro>'
    wanted = {
        site.create("IT", name, macro.format(name)).id for name in ("include", "excerpt-include")
    }
    site.create("IT", "Other", macro.format("info"))

    assert {each async for each in wiki.including(await space(wiki))} == wanted


async def test_a_file_is_fetched_without_the_token_leaving_the_site(
    wiki: Wiki, attached: Attaches, server: LocalConfluence, tmp_path: Path
) -> None:
    file = await attached("../../x ü.bin", size=3_000_000)

    fetched = await wiki.download(file, tmp_path / "file", 5_000_000)

    assert fetched == 3_000_000 == (tmp_path / "file").stat().st_size
    assert [each.authorized for each in server.media_requests] == (
        [False] if server.edition == "cloud" else []
    )


async def test_a_file_that_is_too_big_is_not_fetched(
    wiki: Wiki, attached: Attaches, server: LocalConfluence, tmp_path: Path
) -> None:
    file = await attached("big.pdf", size=50_000_000)
    server.requests.clear()

    with pytest.raises(PageUnreadable, match=r"'big\.pdf' has more than 20 MB.*ATTACHMENT_MB"):
        await wiki.download(file, tmp_path / "file", 20_000_000)

    assert server.requests == []
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize(
    ("now", "why"),
    [
        ({"content": b"0123456789", "size": 50_000_000}, "more than 20 MB"),
        ({"content": b"0123"}, "4 bytes where Confluence says 10"),
    ],
    ids=["bigger", "another"],
)
async def test_a_file_that_is_not_what_was_told_is_given_up(
    wiki: Wiki,
    site: Site,
    attached: Attaches,
    tmp_path: Path,
    now: dict[str, Any],
    why: str,
) -> None:
    file = await attached()
    site.attach(file.page_id, "a.pdf", **now)

    with pytest.raises(PageUnreadable, match=why):
        await wiki.download(file, tmp_path / "file", 20_000_000)

    assert not (tmp_path / "file").exists()


async def test_people_are_told_by_their_id(wiki: Wiki, server: LocalConfluence) -> None:
    told = await wiki.user(user_id(server, "rita"))

    assert (told.id, told.name) == (user_id(server, "rita"), "Rita Reader")
    assert told.email == ("rita.reader@acme.example" if server.edition == "cloud" else "")
    with pytest.raises(NotVisible):
        await wiki.user("nobody")


async def test_a_person_is_found_by_an_address_that_is_shown(
    wiki: Wiki, server: LocalConfluence, site: Site
) -> None:
    site.add_person("rita2", name="Rita Reader", email="rita.reader2@acme.example")

    found = await wiki.user_of("Rita.Reader@acme.example")

    shown = server.edition == "cloud"
    assert (found.id if found else None) == (user_id(server, "rita") if shown else None)
    assert await wiki.user_of("otto@acme.example") is None
    assert await wiki.user_of('"x" or 1@acme.example') is None


async def test_two_who_show_one_address_are_nobody(wiki: Wiki, site: Site) -> None:
    for handle in ("a", "b"):
        site.add_person(handle, name="Ann", email="ann@acme.example", email_shown=True)

    assert await wiki.user_of("ann@acme.example") is None


async def test_groups_are_told_of_a_person_and_by_name(
    wiki: Wiki, server: LocalConfluence, site: Site
) -> None:
    for number in range(250):
        site.add_group(f"g {number}", ["rita"])

    groups = {each.name: each.id for each in await wiki.groups_of(user_id(server, "rita"))}

    assert len(groups) == 251
    assert groups["g 7"] == group_id(server, "g 7")
    named = await wiki.group_named("g 7")
    assert named is not None
    assert (named.id, named.name) == (group_id(server, "g 7"), "g 7")
    assert await wiki.group_named("no such") is None


async def about(server: LocalConfluence) -> WikiAbout:
    wiki = wiki_at(server, "rita")
    try:
        return await wiki.about()
    finally:
        await wiki.close()


async def test_a_site_tells_its_edition_its_time_and_whose_token_it_is(
    server: LocalConfluence, site: Site
) -> None:
    told = await about(server)

    assert (told.edition, told.base) == (server.edition, server.url)
    assert told.account is not None
    assert told.account.name == "Rita Reader"
    assert abs((told.asked_at - site.now).total_seconds()) < 30
    assert told.version == ("" if server.edition == "cloud" else "9.2.3")


async def test_a_site_that_is_too_old_to_say_so_has_no_version(site: Site) -> None:
    async with LocalConfluence(site, "data-center", options={"old": True}).serving() as server:
        assert (await about(server)).version == ""
    assert site.unexpected == []
