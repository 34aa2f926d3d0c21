"""Markdown and MDX to blocks: template and dialect syntax out, then CommonMark, then HTML. Pure."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingestion.convert_html import blocks_of
from ingestion.dialects import plain_markdown
from ingestion.templates import without_templates
from ingestion.types import Block

_DEEPEST = 100_000
"""No bound: what is nested too deeply is to fail, not to lose its text."""

_STARS = re.compile(r"(.?)\*\*(?=(.?))", re.DOTALL)


def markdown_blocks(text: str, *, mdx: bool = False) -> tuple[Block, ...]:
    """Return the blocks of a Markdown text (its front matter already taken off).

    HTML inside is read as a browser reads it, so the two formats share one meaning.
    """
    masked = without_templates(text)
    source = masked.restore(plain_markdown(masked.text, mdx=mdx))
    parser = _parser(mdx=mdx)
    tokens = parser.parse(source)
    for token in tokens:
        for child in token.children or ():
            _tidy(child)
    return blocks_of(parser.renderer.render(tokens, parser.options, {}))


def _tidy(token: Token) -> None:
    if token.type == "text":
        token.content = _STARS.sub(_without_stars, token.content)


def _without_stars(match: re.Match[str]) -> str:
    """Drop marks of emphasis that was written wrong ("**Note: **text").

    They stay where they mean something: ``2 ** 3``, ``2**3``, ``**/*.md``.
    """
    before, after = match[1], match[2]
    spaced = before.isspace() and after.isspace()
    inside = before.isalnum() and after.isalnum()
    path = "/" in {before, after} or "*" in {before, after}
    return match[0] if spaced or inside or path or after.isdecimal() else before


def _parser(*, mdx: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"])
    return parser.disable("code") if mdx else parser
