"""Markdown and MDX to blocks: template and dialect syntax out, then CommonMark, then HTML. Pure."""

from __future__ import annotations

from markdown_it import MarkdownIt

from ingestion.convert_html import blocks_of
from ingestion.dialects import plain_markdown
from ingestion.templates import without_templates
from ingestion.types import Block


def markdown_blocks(text: str, *, mdx: bool = False) -> tuple[Block, ...]:
    """Return the blocks of a Markdown text (its front matter already taken off).

    HTML inside is read as a browser reads it, so the two formats share one meaning.
    """
    masked = without_templates(text)
    source = masked.restore(plain_markdown(masked.text, mdx=mdx))
    return blocks_of(_parser(mdx=mdx).render(source))


def _parser(*, mdx: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable(
        ["table", "strikethrough"]
    )
    return parser.disable("code") if mdx else parser
