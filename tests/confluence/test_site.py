"""What people do on a site, and who may read what then."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.confluence.site import Site
from tests.confluence.society import ADMIN

PEOPLE = ("ann", "ben", "cid")
GROUPS = ("red", "blue")


def test_only_writing_touches_the_version(site: Site) -> None:
    page, other = site.create("IT", "Page"), site.create("IT", "Other")
    site.edit(page.id, "<p>2</p>")
    site.move(page.id, other.id)
    site.label(page.id, "how-to")
    site.restrict(page.id, groups=["staff"])
    site.attach(page.id, "a.txt", b"a")
    site.archive(page.id)
    site.restore(page.id)
    assert (page.version, page.parent, page.status) == (2, other.id, "current")


def test_no_two_changes_happen_at_once(site: Site) -> None:
    pages = [site.create("IT", f"Page {n}") for n in range(3)]
    assert len({page.updated for page in pages}) == 3


def test_what_hangs_under_a_page_moves_up_when_it_goes(site: Site) -> None:
    top = site.create("IT", "Top")
    middle = site.create("IT", "Middle", parent=top.id)
    low = site.create("IT", "Low", parent=middle.id)
    site.trash(middle.id)
    assert low.parent == top.id
    site.purge(top.id)
    assert low.parent is None


def test_a_tree_goes_whole_where_that_is_wanted(site: Site) -> None:
    top = site.create("IT", "Top")
    low = site.create("IT", "Low", parent=top.id)
    site.archive(top.id, below=True)
    assert (low.status, low.parent) == ("archived", top.id)


def test_a_subtree_moves_to_another_space_whole(site: Site) -> None:
    top = site.create("IT", "Top")
    low = site.create("IT", "Low", parent=top.id)
    site.move(top.id, None, space="PUB")
    assert (top.space, low.space, low.parent) == ("PUB", "PUB", top.id)
    with pytest.raises(AssertionError):
        site.move(top.id, low.id)


def test_a_file_of_the_same_name_is_a_new_version(site: Site) -> None:
    page = site.create("IT", "Page")
    first = site.attach(page.id, "a.txt", b"1")
    again = site.attach(page.id, "a.txt", b"22")
    assert (again.id, again.version, again.size) == (first.id, 2, 2)
    site.detach(again.id)
    assert page.attachments == {}


def test_every_layer_has_to_let_a_person_in(site: Site) -> None:
    top = site.create("IT", "Top")
    low = site.create("IT", "Low", parent=top.id)
    site.restrict(top.id, users=["rita"])
    site.restrict(low.id, groups=["staff"])
    assert site.may_read("rita", low.id)
    assert not site.may_read("otto", low.id)
    site.leave("rita", "staff")
    assert site.readable("rita") == set()


def test_a_restriction_on_a_public_page_shuts_strangers_out(site: Site) -> None:
    page = site.create("PUB", "Page")
    assert site.may_read(None, page.id)
    site.restrict(page.id, groups=["staff"])
    assert not site.may_read(None, page.id)
    assert site.may_read(None, page.id, everyone=["staff"])


def test_nobody_reads_what_is_not_current(site: Site) -> None:
    page = site.create("IT", "Page")
    file = site.attach(page.id, "a.txt", b"1")
    assert site.may_read("rita", f"{page.id}/{file.id}")
    site.archive(page.id)
    assert not site.may_read("rita", page.id)
    assert not site.may_read("rita", f"{page.id}/{file.id}")


def test_nobody_reads_an_archived_space(site: Site) -> None:
    page = site.create("IT", "Page")
    site.archive_space("IT")
    assert not site.may_read("rita", page.id)
    assert site.readable("rita") == set()


NAMED = st.tuples(st.sets(st.sampled_from(PEOPLE)), st.sets(st.sampled_from(GROUPS)))


@given(
    members=st.lists(st.sets(st.sampled_from(PEOPLE)), min_size=2, max_size=2),
    space=NAMED,
    layers=st.lists(NAMED, min_size=1, max_size=4),
)
def test_who_may_read_is_the_intersection_of_all_layers_by_person(
    members: list[set[str]],
    space: tuple[set[str], set[str]],
    layers: list[tuple[set[str], set[str]]],
) -> None:
    site = Site()
    for handle in PEOPLE:
        site.add_person(handle)
    for name, who in zip(GROUPS, members, strict=True):
        site.add_group(name, who)
    site.add_space("S", users=space[0], groups=space[1])
    page = None
    for number, (users, groups) in enumerate(layers):
        page = site.create("S", f"Layer {number}", parent=page.id if page else None)
        site.restrict(page.id, users=users, groups=groups)
    of_group = dict(zip(GROUPS, members, strict=True))

    def named(users: set[str], groups: set[str]) -> set[str]:
        return users.union(*(of_group[group] for group in groups))

    allowed = named(*space) | {ADMIN}
    for users, groups in layers:
        if users or groups:
            allowed &= named(users, groups)
    assert page is not None
    assert {who for who in (*PEOPLE, ADMIN) if site.may_read(who, page.id)} == allowed
