"""Tests of Markdown as storage format: what it is on the page, and that text stays text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from ingestion.confluence.storage.from_markdown import storage_of
from ingestion.confluence.storage.parsing import parse

NAMED = '<r xmlns:ac="ac" xmlns:ri="ri">{}</r>'


def tree(markdown: str) -> etree._Element:
    return etree.fromstring(NAMED.format(storage_of(markdown)))


@pytest.mark.parametrize(
    ("markdown", "storage"),
    [
        ("Press *seven*.", "<p>Press <em>seven</em>.</p>"),
        ("A & B", "<p>A &amp; B</p>"),
        ("[wiki](https://x.example/a?b=1&c=2)", 'href="https://x.example/a?b=1&amp;c=2"'),
        ("1. one\n2. two", "<ol>"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "<td>2</td>"),
        ("a  \nb", "<br />"),
        (
            "```sh\ncat a > b\n```",
            'name="language">sh</ac:parameter><ac:plain-text-body><![CDATA[cat a > b]]></ac:',
        ),
    ],
)
def test_markdown_becomes_storage(markdown: str, storage: str) -> None:
    assert storage in storage_of(markdown)


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        '<ac:structured-macro ac:name="html"/>',
        "![p](https://evil.example/x.png)",
        "[x](javascript:alert(1))",
        "```\n]]></ac:plain-text-body><script>alert(1)</script>\n```",
        '```x"/><script>\na\n```',
        "a\x00\x0bb &bogus; &#0;",
    ],
)
def test_nothing_in_a_text_becomes_markup(hostile: str) -> None:
    names = {str(each.tag) for each in tree(hostile).iter()}

    assert not {name for name in names if "script" in name or "image" in name or name == "img"}
    assert not tree(hostile).xpath("//a[starts-with(@href, 'javascript')]")
    assert tree(hostile).xpath("count(//*[local-name() = 'structured-macro'])") == (
        1 if hostile.startswith("```") else 0
    )


@given(st.text(max_size=200))
def test_any_text_becomes_well_formed_storage(markdown: str) -> None:
    tree(markdown)


def test_code_is_read_back_as_it_was() -> None:
    code = "x = a[b[0]]> 1\n  <y> & ]]> z"

    (body,) = parse(storage_of(f"```\n{code}\n```")).root.iter("{*}plain-text-body")

    assert body.text == code
