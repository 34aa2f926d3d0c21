from __future__ import annotations

from dataclasses import replace

import pytest

from ingestion.confluence.storage import writer
from ingestion.confluence.storage.convert import needs
from ingestion.confluence.storage.writer import FileRef, Needs, PageRef
from tests.ingestion.confluence.storage.reading import HERE, KNOWN, converted, macro, read

VPN = PageRef("IT", "VPN FAQ")
LEAVE = PageRef("HR", "Leave")


def include(page: PageRef, kind: str = "include", **more: str) -> str:
    named = f'<ri:page ri:space-key="{page.space}" ri:content-title="{page.title}" />'
    return macro(kind, _=f"<ac:link>{named}</ac:link>", **more)


def known(**texts: str) -> dict[PageRef, str]:
    names = {"vpn": VPN, "leave": LEAVE, "here": HERE}
    return {names[name]: text for name, text in texts.items()}


def test_an_included_page_is_shown_in_its_place() -> None:
    resolve = replace(KNOWN, includes=known(vpn="<h2>VPN</h2><p>dial</p>"))
    page = f"<p>a</p>{include(VPN)}<p>b</p>"

    assert read(page, resolve) == "a\n\nVPN\n\ndial\n\nb"
    assert converted(page, resolve).included == (VPN,)
    assert converted(page, resolve).notes == ()


def test_an_excerpt_is_shown_without_the_rest_of_its_page() -> None:
    text = (
        "<p>rest</p>"
        + macro("excerpt", "<p>short</p>", hidden="true")
        + macro("excerpt", "<p>other</p>", name="two")
    )
    resolve = replace(KNOWN, includes=known(vpn=text))

    assert read(include(VPN, "excerpt-include"), resolve) == "short"
    assert read(include(VPN, "excerpt-include", name="two", nopanel="true"), resolve) == "other"


def test_an_include_that_cannot_be_read_is_a_link() -> None:
    found = converted(include(VPN))

    assert read(include(VPN)) == "VPN FAQ (https://wiki.test/pages/7)"
    assert found.included == ()
    (note,) = found.notes
    assert "'VPN FAQ'" in note
    assert "became a link" in note


def test_includes_of_includes_are_shown_two_levels_deep() -> None:
    texts = known(vpn=include(LEAVE), leave=f"<p>deep</p>{include(PageRef('X', 'Third'))}")
    third = {PageRef("X", "Third"): "<p>too deep</p>"}
    resolve = replace(KNOWN, includes={**texts, **third})

    assert read(include(VPN), resolve) == "deep\n\nThird"
    assert converted(include(VPN), resolve).included == (VPN, LEAVE)


@pytest.mark.parametrize("page", [HERE, VPN])
def test_pages_that_include_each_other_end(page: PageRef) -> None:
    resolve = replace(KNOWN, includes=known(vpn=f"<p>v</p>{include(page)}", here="<p>h</p>"))

    assert read(include(VPN), resolve).startswith("v\n\n")
    assert "became a link" in converted(include(VPN), resolve).notes[0]


def test_too_much_of_other_pages_becomes_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MOST_INCLUDED", 20)
    resolve = replace(KNOWN, includes=known(vpn="<p>ten chars</p>"))

    assert read(include(VPN) * 2, resolve) == "ten chars\n\nVPN FAQ (https://wiki.test/pages/7)"


def test_an_included_page_that_is_hostile_becomes_a_link() -> None:
    resolve = replace(KNOWN, includes=known(vpn="<p>" * 1000))

    assert converted(include(VPN), resolve).notes == (
        "the included page 'VPN FAQ' is nested too deeply; it became a link",
    )


def test_what_an_included_page_refers_to_is_in_its_own_space() -> None:
    text = '<p><ac:link><ri:page ri:content-title="VPN FAQ" /></ac:link></p>'
    pages = {VPN: "https://wiki.test/wrong", PageRef("HR", "VPN FAQ"): "https://wiki.test/right"}
    resolve = replace(KNOWN, pages=pages, includes=known(leave=text))

    assert read(include(LEAVE), resolve) == "VPN FAQ (https://wiki.test/right)"


def test_a_file_of_an_included_page_is_not_the_page_s_own() -> None:
    text = '<p><ac:link><ri:attachment ri:filename="plan.pdf" /></ac:link></p>'
    resolve = replace(KNOWN, includes=known(leave=text))

    assert read(text, resolve) == "plan.pdf (https://wiki.test/files/plan.pdf)"
    assert read(include(LEAVE), resolve) == "plan.pdf"


def test_an_include_without_a_page_is_told() -> None:
    assert converted(macro("include")).notes == ("an include names no page",)


def test_what_is_needed_is_said_once_and_in_order() -> None:
    page = (
        '<p><ac:link><ri:user ri:account-id="u2" /></ac:link>'
        '<ac:link><ri:user ri:userkey="u1" /></ac:link>'
        '<ac:link><ri:user ri:account-id="u2" /></ac:link>'
        '<ac:link><ri:page ri:content-title="A" /></ac:link>'
        '<ac:link><ri:attachment ri:filename="f.pdf" /></ac:link>'
        '<ac:image><ri:attachment ri:filename="i.png" /></ac:image></p>'
        + include(LEAVE)
        + macro("include", _="HR:Old form")
        + macro("excerpt-include", _="A")
    )

    assert needs(page, "IT") == Needs(
        users=("u2", "u1"),
        pages=(PageRef("IT", "A"), LEAVE, PageRef("HR", "Old form")),
        includes=(LEAVE, PageRef("HR", "Old form"), PageRef("IT", "A")),
        files=(FileRef(None, "f.pdf"),),
    )


def test_an_include_by_its_title_may_have_a_colon() -> None:
    assert needs(macro("include", _="Howto: print"), "IT").includes == (
        PageRef("IT", "Howto: print"),
    )
