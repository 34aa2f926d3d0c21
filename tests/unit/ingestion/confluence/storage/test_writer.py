"""Elements, links and any other tree of storage format are read; no word is lost."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.confluence.offers import READER_VERSION
from ingestion.confluence.storage.writer import Resolve
from tests.unit.ingestion.confluence.storage.conversion import macro, read

PLAN = '<ri:attachment ri:filename="plan.pdf" />'


def link(target: str, body: str = "", anchor: str = "") -> str:
    at = f' ac:anchor="{anchor}"' if anchor else ""
    return f"<p>See <ac:link{at}>{target}{body}</ac:link>.</p>"


def plain(text: str) -> str:
    return f"<ac:plain-text-link-body><![CDATA[{text}]]></ac:plain-text-link-body>"


FAQ = '<ri:page ri:content-title="VPN FAQ" />'
LEAVE = '<ri:page ri:space-key="HR" ri:content-title="Leave" />'


@pytest.mark.parametrize(
    ("storage", "shown"),
    [
        (link(FAQ), "See VPN FAQ (https://wiki.test/pages/7)."),
        (link(FAQ, plain("a<b> & c")), "See a<b> & c (https://wiki.test/pages/7)."),
        (
            link(LEAVE, "<ac:link-body>the <strong>rules</strong></ac:link-body>"),
            "See the rules (https://wiki.test/pages/8).",
        ),
        (link(FAQ, anchor="set up"), "See VPN FAQ (https://wiki.test/pages/7#set%20up)."),
        (link("", plain("above"), anchor="top"), "See above."),
        (link("", anchor="top"), "See top."),
        (link('<ri:page ri:content-title="Gone" />'), "See Gone."),
        (link('<ri:blog-post ri:content-title="News" ri:posting-day="2026/01/02" />'), "See News."),
        (link('<ri:user ri:account-id="acc-1" />'), "See @Ann Lee."),
        (link('<ri:user ri:userkey="acc-1" />'), "See @Ann Lee."),
        (link('<ri:user ri:account-id="acc-2" />'), "See @somebody."),
        (link(PLAN), "See plan.pdf (https://wiki.test/files/plan.pdf)."),
        (
            link(f'<ri:attachment ri:filename="form.docx">{LEAVE}</ri:attachment>'),
            "See form.docx (https://wiki.test/files/form.docx).",
        ),
        (link('<ri:space ri:space-key="HR" />'), "See HR."),
        (link('<ri:shortcut ri:key="jira" ri:parameter="IT-1" />'), "See IT-1."),
        (link('<ri:content-entity ri:content-id="9" />', plain("it")), "See it."),
        (link('<ri:url ri:value="https://a.test/x" />'), "See https://a.test/x."),
        (link('<ri:url ri:value="javascript:alert(1)" />', plain("it")), "See it."),
        ('<p>See <a href="https://a.test/x">x</a>.</p>', "See x (https://a.test/x)."),
        ('<p>See <a href="mailto:it@a.test">us</a>.</p>', "See us (it@a.test)."),
        ('<p>See <a href="javascript:alert(1)">x</a>.</p>', "See x."),
        ('<p>See <a href="data:text/html,x">x</a>.</p>', "See x."),
        ('<p>See <a href="file:///etc/passwd">x</a>.</p>', "See x."),
    ],
)
def test_links_say_what_they_lead_to_and_where(storage: str, shown: str) -> None:
    assert read(storage) == shown


def test_a_name_with_odd_characters_does_no_harm() -> None:
    known = Resolve(users={"acc-1": "<b>Ann\x00\u202e Lee"})

    assert read(link('<ri:user ri:account-id="acc-1" />'), known) == "See @<b>Ann Lee."


@pytest.mark.parametrize(
    ("storage", "shown"),
    [
        (f"<ac:image>{PLAN}</ac:image>", "[Image: plan.pdf]"),
        (f'<ac:image ac:alt="The plan">{PLAN}</ac:image>', "[Image: The plan - plan.pdf]"),
        (f'<ac:image ac:alt="plan.pdf">{PLAN}</ac:image>', "[Image: plan.pdf]"),
        (
            f'<ac:image ac:alt="A">{PLAN}<ac:caption><p>Fig. <b>1</b></p></ac:caption></ac:image>',
            "[Image: A - Fig. 1 - plan.pdf]",
        ),
        (
            '<ac:image><ri:url ri:value="https://a.test/i/my%20map.png?x=1" /></ac:image>',
            "[Image: my map.png]",
        ),
        ("<ac:image />", ""),
        (
            f"<ac:image>{PLAN}</ac:image><ac:image>{PLAN}</ac:image>",
            "[Image: plan.pdf]\n\n[Image: plan.pdf]",
        ),
        (
            f"<p>Press <ac:image>{PLAN}</ac:image>twice.</p>",
            "Press [Image: plan.pdf] twice.",
        ),
    ],
)
def test_pictures_are_words(storage: str, shown: str) -> None:
    assert read(storage) == shown


def test_tasks_have_boxes_and_nothing_of_their_ids() -> None:
    def task(status: str, body: str) -> str:
        return (
            f"<ac:task><ac:task-id>7</ac:task-id><ac:task-uuid>u-1</ac:task-uuid>"
            f"<ac:task-status>{status}</ac:task-status><ac:task-body>{body}</ac:task-body>"
            "</ac:task>"
        )

    inner = f"<ac:task-list>{task('complete', 'Sign it')}</ac:task-list>"
    page = f"<ac:task-list>{task('incomplete', '<span>Collect</span> token')}{inner}</ac:task-list>"

    assert read(page) == "- [ ] Collect token\n  - [x] Sign it"


def test_what_the_editor_keeps_in_its_own_form_is_said_once() -> None:
    page = (
        '<ac:adf-extension><ac:adf-node type="panel">'
        '<ac:adf-attribute key="panel-type">custom</ac:adf-attribute>'
        "<ac:adf-content><p>once</p></ac:adf-content></ac:adf-node>"
        "<ac:adf-fallback><div><p>once</p></div></ac:adf-fallback></ac:adf-extension>"
    )

    assert read(page) == "once"
    assert read(page.replace("<p>once</p></ac:adf-content>", "</ac:adf-content>")) == "once"


def test_decisions_are_a_list() -> None:
    def item(text: str) -> str:
        return (
            '<ac:adf-node type="decision-item"><ac:adf-attribute key="state">DECIDED'
            f"</ac:adf-attribute><ac:adf-content>{text}</ac:adf-content></ac:adf-node>"
        )

    node = f'<ac:adf-node type="decision-list">{item("Buy")}{item("Sell")}</ac:adf-node>'
    page = f"<ac:adf-extension>{node}<ac:adf-fallback><p>Buy</p></ac:adf-fallback>"

    assert read(f"{page}</ac:adf-extension>") == "- Buy\n- Sell"


@pytest.mark.parametrize(
    ("storage", "shown"),
    [
        ('<ac:emoticon ac:name="tick" />', "✅"),
        ('<ac:emoticon ac:name="blue" ac:emoji-fallback="🙂" />', "🙂"),
        ('<ac:emoticon ac:name="blue-star" ac:emoji-shortname=":party:" />', "⭐"),
        (
            '<ac:emoticon ac:name="x" ac:emoji-shortname=":ok:" ac:emoji-fallback=":ok:" />',
            ":ok:",
        ),
        ('<time datetime="2026-12-01" />', "2026-12-01"),
        ("<ac:placeholder>Type here</ac:placeholder>", ""),
        ('<ac:inline-comment-marker ac:ref="r">on</ac:inline-comment-marker>', "on"),
        ("<!-- note to self -->", ""),
        ("<fab:thing>kept</fab:thing>", "kept"),
        ("<ac:new-thing>kept</ac:new-thing>", "kept"),
        ("<u>under</u><sub>2</sub><sup>2</sup>", "under2²"),
        ("<del>old</del>", "~~old~~"),
        ("a&nbsp;b&rarr;c&#8209;d", "a b→c\u2011d"),
    ],
)
def test_small_things_inside_a_sentence(storage: str, shown: str) -> None:
    assert read(f"<p>it {storage} is</p>").split() == ["it", *shown.split(), "is"]


def test_layouts_are_read_cell_by_cell() -> None:
    def cell(text: str) -> str:
        return f"<ac:layout-cell>{text}</ac:layout-cell>"

    section = '<ac:layout-section ac:type="two_equal">{}</ac:layout-section>'
    page = section.format(cell("<p>a</p>") + cell("b")) + section.format(cell("<p>c</p>"))

    assert read(f"<ac:layout>{page}</ac:layout>") == "a\n\nb\n\nc"


def test_merged_cells_are_repeated_and_pipes_escaped() -> None:
    rows = (
        '<tr><th>Who</th><th colspan="2">When</th></tr>'
        '<tr><td rowspan="2">Ann</td><td>Mon|Tue</td><td><ul><li>am</li><li>pm</li></ul></td></tr>'
        f"<tr><td>Wed</td><td>{macro('status', title='OFF')}</td></tr>"
    )

    assert read(f"<table><colgroup><col /></colgroup><tbody>{rows}</tbody></table>") == (
        "| Who | When | When |\n| --- | --- | --- |\n"
        "| Ann | Mon\\|Tue | am; pm |\n| Ann | Wed | [OFF] |"
    )


def test_a_table_with_names_down_its_side_has_no_header_row() -> None:
    rows = "<tr><th>Port</th><td>22</td></tr><tr><th>Use</th><td>SSH</td></tr>"

    assert read(f"<table><tbody>{rows}</tbody></table>") == "| Port | 22 |\n| Use | SSH |"


def test_the_text_is_in_the_one_form_that_can_be_quoted() -> None:
    page = "<p>cafe\u0301 a\u200bb \u202eabc\u202c x\u00a0y</p>"

    assert read(page) == "café ab abc x y"


INLINE = ("strong", "em", "u", "code", "span", "ac:inline-comment-marker", "ac:new-thing")
BLOCKS = ("p", "div", "h2", "blockquote", "pre", "ac:layout-cell")
RICH = ("info", "panel", "excerpt", "section", "toc-zone", "expand", "details", "never-heard-of")
PLAIN = ("code", "noformat", "plantuml", "never-heard-of")
DROPPED = ("toc", "children", "anchor", "pagetree")


@dataclass(frozen=True)
class Node:
    """An element to be written; ``kind`` is how."""

    kind: str
    name: str = ""
    inside: Sequence[Node] = ()


def _kinds(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    inside = st.lists(inner, max_size=4)
    return st.one_of(
        st.builds(Node, st.just("element"), st.sampled_from(INLINE + BLOCKS), inside),
        st.builds(Node, st.just("macro"), st.sampled_from(RICH), inside),
        st.builds(Node, st.sampled_from(["list", "table", "tasks", "link"]), st.just(""), inside),
    )


LEAVES = st.one_of(
    st.just(Node("word")),
    st.builds(Node, st.just("plain"), st.sampled_from(PLAIN)),
    st.builds(Node, st.just("dropped"), st.sampled_from(DROPPED)),
    st.just(Node("picture")),
)
TREES = st.lists(st.recursive(LEAVES, _kinds, max_leaves=25), max_size=6)


class Page:
    """Writes trees with a new word in each place, and keeps the words in their order."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._numbers = count()

    def word(self) -> str:
        self.words.append(f"wq{next(self._numbers)}x")
        return self.words[-1]

    def written(self, nodes: Sequence[Node]) -> str:
        return " ".join(getattr(self, f"_{node.kind}")(node) for node in nodes)

    def _word(self, _node: Node) -> str:
        return self.word()

    def _plain(self, node: Node) -> str:
        return macro(node.name, plain=f"{self.word()} {self.word()}")

    def _dropped(self, node: Node) -> str:
        return macro(node.name, maxLevel="zz") + "<ac:placeholder>zz</ac:placeholder>"

    def _picture(self, _node: Node) -> str:
        alt, caption = self.word(), f"<ac:caption><p>{self.word()}</p></ac:caption>"
        return f'<ac:image ac:alt="{alt}">{caption}</ac:image>'

    def _element(self, node: Node) -> str:
        return f"<{node.name}>{self.word()} {self.written(node.inside)} {self.word()}</{node.name}>"

    def _macro(self, node: Node) -> str:
        return macro(node.name, f"{self.written(node.inside)} {self.word()}")

    def _list(self, node: Node) -> str:
        return "<ul>" + "".join(f"<li>{self.written([one])}</li>" for one in node.inside) + "</ul>"

    def _table(self, node: Node) -> str:
        cells = "".join(f"<td>{self.word()} {self.written([one])}</td>" for one in node.inside)
        return f"<table><tbody><tr>{cells}</tr></tbody></table>"

    def _tasks(self, node: Node) -> str:
        bodies = (f"<ac:task-body>{self.written([one])}</ac:task-body>" for one in node.inside)
        tasks = "".join(f"<ac:task><ac:task-id>zz</ac:task-id>{body}</ac:task>" for body in bodies)
        return f"<ac:task-list>{tasks}</ac:task-list>"

    def _link(self, node: Node) -> str:
        body = f"<ac:link-body>{self.word()} {self.written(node.inside)}</ac:link-body>"
        return f'<ac:link><ri:page ri:content-title="Gone" />{body}</ac:link>'


@given(TREES)
def test_every_word_is_read_once_and_in_order(nodes: list[Node]) -> None:
    page = Page()
    storage = page.written(nodes)

    shown = read(storage)

    assert [word for word in page.words if word not in shown] == []
    places = [shown.index(word) for word in page.words]
    assert places == sorted(places)
    assert "zz" not in shown


def test_the_reader_counts_up_when_the_same_page_yields_another_document() -> None:
    page = (
        '<h1>VPN</h1><p>Ask <span style="color:#fff">x</span>it.</p><ul><li>a</li><li>b</li></ul>'
        '<table><tr><th>Who</th><td>HR</td></tr></table><p style="color:#fff">white'
        '<b style="color:#000">black</b></p>'
    )
    macros = (macro(kind, "<p>in</p>", title="T") for kind in ("info", "expand", "odd", "details"))
    shown = read(page + "".join(macros) + macro("style", plain="p {}"))

    # Another digest needs another version, or what was indexed before stays as it is.
    assert (READER_VERSION, hashlib.sha256(shown.encode()).hexdigest()[:12]) == (2, "a7ae043a2735")
