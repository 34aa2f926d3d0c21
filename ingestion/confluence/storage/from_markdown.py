"""Convert Markdown into Confluence's storage format (XHTML). Pure.

Text stays text: HTML, images and macros in it are shown as they are written. Links are those of
http, https and mailto. The other direction is ingestion.confluence.storage.convert.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from ingestion.confluence.storage.parsing import xml_text

_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_LANGUAGE = re.compile(r"[A-Za-z0-9+#-]{1,20}")


def storage_of(markdown: str) -> str:
    """Return a Markdown text as the body of a page."""
    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": True})
    parser.enable("table").disable("image")
    parser.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]  # its documented way
    for kind in ("fence", "code_block"):
        parser.add_render_rule(kind, _code)
    rendered: str = parser.render(xml_text(markdown))
    return rendered.strip()


def _code(
    _self: RendererHTML, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType
) -> str:
    """Return a block of code as Confluence's macro, whose text needs no escaping but its end."""
    token = tokens[at]
    language = _LANGUAGE.fullmatch(token.info.split()[0]) if token.info.strip() else None
    named = (
        f'<ac:parameter ac:name="language">{escape(language[0])}</ac:parameter>' if language else ""
    )
    text = token.content.rstrip("\n").replace("]]>", "]]]]><![CDATA[>")
    body = f"<ac:plain-text-body><![CDATA[{text}]]></ac:plain-text-body>"
    return f'<ac:structured-macro ac:name="code">{named}{body}</ac:structured-macro>\n'
