"""Macros of storage format are read, includes among them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ingestion.confluence.storage import writer
from ingestion.confluence.storage.convert import needs
from ingestion.confluence.storage.writer import FileRef, Needs, PageRef
from ingestion.types import Code, Heading, ItemList, Paragraph, Quote
from tests.unit.ingestion.confluence.storage.conversion import HERE, KNOWN, converted, macro, read

P = "<p>text</p>"
SHOWN = "[File: plan.pdf] (https://wiki.test/files/plan.pdf)"
FILE = '<ri:attachment ri:filename="plan.pdf" />'
PAGE = '<ac:link><ri:page ri:content-title="VPN FAQ" /></ac:link>'
USER = '<ri:user ri:account-id="acc-1" />'


@pytest.mark.parametrize(
    ("storage", "shown"),
    [
        pytest.param(macro("code", plain="x = 1", language="py"), "```py\nx = 1\n```", id="code"),
        pytest.param(
            macro("code", plain="a\n  b", language="text", title="run.sh"),
            "run.sh\n\n```\na\n  b\n```",
            id="code with a title",
        ),
        pytest.param(macro("code", plain="<hello> &nbsp;"), "```\n<hello> &nbsp;\n```", id="cdata"),
        pytest.param(macro("noformat", plain="a  b"), "```\na  b\n```", id="noformat"),
        pytest.param(macro("info", P), "Info\n\ntext", id="info"),
        pytest.param(macro("note", P), "Note\n\ntext", id="note"),
        pytest.param(macro("tip", P), "Tip\n\ntext", id="tip"),
        pytest.param(macro("warning", P, title="Stop!"), "Stop!\n\ntext", id="warning"),
        pytest.param(
            macro("panel", P, title="Hours", bgColor="#deebff"), "Hours\n\ntext", id="panel"
        ),
        pytest.param(macro("expand", P, title="Error 691"), "Error 691\n\ntext", id="expand"),
        pytest.param(f"<p>{macro('status', title='Done', colour='Green')}</p>", "[Done]", id="st"),
        pytest.param(
            f"<p>See {macro('jira', key='IT-12', server='J')}.</p>", "See IT-12.", id="ji"
        ),
        pytest.param(
            macro("jira", jqlQuery="project = IT"), "[Jira: project = IT]", id="jira query"
        ),
        pytest.param(macro("excerpt", P), "text", id="excerpt"),
        pytest.param(macro("excerpt", P, hidden="true"), "", id="hidden excerpt"),
        pytest.param(
            macro("view-file", name=FILE),
            SHOWN,
            id="view-file",
        ),
        pytest.param(macro("multimedia", name=FILE), SHOWN, id="multimedia"),
        pytest.param(macro("viewpdf", name="plan.pdf"), "[File: plan.pdf]", id="viewpdf"),
        pytest.param(macro("drawio", diagramName="Net"), "[Diagram: Net]", id="drawio"),
        pytest.param(macro("gliffy", name="Net"), "[Diagram: Net]", id="gliffy"),
        pytest.param(macro("plantuml", plain="A -> B"), "```plantuml\nA -> B\n```", id="plantuml"),
        pytest.param(macro("mathblock", plain="x^2"), "```latex\nx^2\n```", id="math"),
        pytest.param(f"<p>a {macro('mathinline', body='x^2')} b</p>", "a `x^2` b", id="mathinline"),
        pytest.param(f"<p>{macro('profile', user=USER)}</p>", "@Ann Lee", id="profile"),
        pytest.param(
            macro("widget", url='<ri:url ri:value="https://v.test/1" />'),
            "https://v.test/1",
            id="widget",
        ),
        pytest.param(
            macro("iframe", src="https://v.test/1", title="Map"), "Map (https://v.test/1)", id="if"
        ),
        pytest.param(macro("widget", url="javascript:alert(1)"), "", id="js"),
        pytest.param(macro("toc-zone", P), "text", id="toc-zone"),
        pytest.param(
            macro("section", macro("column", "<p>a</p>") + macro("column", "<p>b</p>")),
            "a\n\nb",
            id="columns",
        ),
        pytest.param(
            macro("ui-tabs", macro("ui-tab", P, title="Linux")), "Linux\n\ntext", id="tabs"
        ),
    ],
)
def test_each_macro_says_what_its_reader_sees(storage: str, shown: str) -> None:
    page = f"<p>before</p>{storage}<p>after</p>"

    assert read(page) == "\n\n".join(filter(None, ("before", shown, "after")))
    assert converted(page).unknown_macros == {}


@pytest.mark.parametrize(
    "name",
    """
    anchor attachments blog-posts change-history children contentbylabel contributors
    create-from-template detailssummary gallery index labels-list listlabels livesearch navmap
    pagetree pagetreesearch popular-labels profile-picture recently-updated related-labels search
    space-attachments space-details tasks-report-macro toc
    """.split(),
)
def test_navigation_and_what_is_made_of_other_pages_is_left_out(name: str) -> None:
    found = converted(f"<p>a</p>{macro(name, _='Top', page=PAGE, maxLevel='3')}<p>b</p>")

    assert found.blocks == (Paragraph("a"), Paragraph("b"))
    assert found.unknown_macros == {}


def test_callouts_are_quotes_and_keep_their_lists() -> None:
    rich = "<p>Ask:</p><ul><li>Ann</li></ul>"

    assert converted(macro("warning", rich)).blocks == (
        Quote("Warning"),
        Quote("Ask:"),
        ItemList(("- Ann",)),
    )


def test_code_that_holds_the_end_of_cdata_is_whole() -> None:
    plain = "if (a[b[0]]]]><![CDATA[> 1) {\n    go();\n}"

    assert converted(macro("code", plain=plain, language="C++")).blocks == (
        Code("if (a[b[0]]> 1) {\n    go();\n}", "c++"),
    )


def test_what_an_unknown_macro_holds_is_kept_and_its_name_is_counted() -> None:
    page = (
        macro("fancy", "<p>one</p>", title="Fancy")
        + macro("fancy", plain="two\nlines")
        + macro("empty-thing", setting="secret")
        + "<ac:structured-macro><ac:rich-text-body><p>three</p></ac:rich-text-body>"
        "</ac:structured-macro>"
    )

    assert read(page) == "Fancy\n\none\n\ntwo\nlines\n\nthree"
    assert converted(page).unknown_macros == {"empty-thing": 1, "fancy": 2, "without a name": 1}


def test_headings_inside_macros_are_headings() -> None:
    assert converted(macro("expand", "<h2>Steps</h2><p>x</p>")).blocks == (
        Heading(2, "Steps"),
        Paragraph("x"),
    )


def test_macros_inside_macros_are_read_too() -> None:
    inner = macro("code", plain="ls", language="bash")

    assert read(macro("expand", macro("info", inner), title="More")) == (
        "More\n\nInfo\n\n```bash\nls\n```"
    )


def test_an_old_macro_is_read_like_a_new_one() -> None:
    old = '<ac:macro ac:name="info"><ac:rich-text-body><p>x</p></ac:rich-text-body></ac:macro>'

    assert read(old) == "Info\n\nx"


def test_a_macro_inside_a_sentence_leaves_the_sentence_whole() -> None:
    inside = macro("status", title="LIVE")

    assert read(f"<p>It is {inside} since Monday.</p>") == "It is [LIVE] since Monday."


@pytest.mark.parametrize(
    "rows",
    [
        "<tr><th>Owner</th><td>Ann</td></tr><tr><th>Due</th><td>2026-12-01</td></tr>",
        "<tr><th>Owner</th><th>Due</th></tr><tr><td>Ann</td><td>2026-12-01</td></tr>",
    ],
)
def test_page_properties_are_names_and_values(rows: str) -> None:
    page = macro("details", f"<p>About</p><table><tbody>{rows}</tbody></table>")

    assert read(page) == "About\n\n- Owner: Ann\n- Due: 2026-12-01"


def test_other_tables_among_page_properties_stay_tables() -> None:
    rows = "<tr><td>a</td><td>b</td><td>c</td></tr><tr><td>1</td><td>2</td><td>3</td></tr>"

    assert read(macro("details", f"<table>{rows}</table>")) == "| a | b | c |\n| 1 | 2 | 3 |"


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
