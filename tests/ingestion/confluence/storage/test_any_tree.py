"""Any tree of storage format is read, and no word is lost that no rule drops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingestion.confluence.storage.reading import macro, read

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


@settings(max_examples=300, deadline=None)
@given(TREES)
def test_every_word_is_read_once_and_in_order(nodes: list[Node]) -> None:
    page = Page()
    storage = page.written(nodes)

    shown = read(storage)

    assert [word for word in page.words if word not in shown] == []
    places = [shown.index(word) for word in page.words]
    assert places == sorted(places)
    assert "zz" not in shown
