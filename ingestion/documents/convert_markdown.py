"""Convert Markdown and MDX to blocks: strip dialect syntax, parse CommonMark, convert HTML. Pure.

Dialects add alerts, admonitions, includes, directives, wiki links and JSX to plain Markdown. Their
rules apply to text whose code is masked already (ingestion.documents.template_tags).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingestion.documents.convert_html import blocks_of
from ingestion.documents.html_elements import HIDES_CONTENT
from ingestion.documents.template_tags import without_templates
from ingestion.types import Block

_OPENER = re.compile(
    r"^(?P<indent> *)(?:(?:!!!|\?\?\?\+?)\s+(?P<kind>[\w -]*?)|===\+?!?)"
    r"\s*(?:[\"'](?P<title>.*)[\"'])?\s*$"
)
_DIRECTIVE = re.compile(
    r"^(?P<quote>[ >]*):{3,}[ \t]*(?P<kind>[\w-]*)[ \t]*(?:\{[^}\n]*\})?[ \t]*"
    r"(?:\[(?P<label>[^\]\n]*)\])?(?P<title>[^\n]*)$",
    re.MULTILINE,
)
_ALERT = re.compile(r"^(?P<quote>[ \t]*(?:>[ \t]*)+)\[!(?P<kind>[\w-]+)\][+-]?[ \t]*", re.MULTILINE)
_INCLUDE = re.compile(
    r"^[ \t]*(?:!{1,2}include\b[^\n]*|\{!.*?!\}|-{1,2}8<-{1,2}[^\n]*|:?\[!include\s*\[[^\n]*"
    r"|@include\b[^\n]*|include::[^\n]*\[[^\]\n]*\])[ \t]*$"
    r"|\[!include\s*\[[^\]\n]*\]\([^)\n]*\)\]",
    re.MULTILINE | re.IGNORECASE,
)
_CONTENTS = re.compile(
    r"^[ \t]*(?:\[\[?_?toc_?\]\]?|\{:toc\}|@\[toc\].*)[ \t]*$", re.IGNORECASE | re.MULTILINE
)
_ATTRIBUTES = re.compile(r"\{:[^}\n]*\}")
_HEADING_ATTRIBUTES = re.compile(r"^(#{1,6} .*?)[ \t]*\{[#.][^}\n]*\}[ \t]*#*[ \t]*$", re.MULTILINE)
_FOOTNOTE = re.compile(r"^\[\^([^\]\s]+)\]:[ \t]*", re.MULTILINE)
_FOOTNOTE_MARK = re.compile(r"\[\^[^\]\s]+\]")
_WIKI_LINK = re.compile(r"(?<!!)\[\[([^\[\]|\n]+)(?:\|([^\[\]|\n]+))?\]\]")
_DEAD = r"<?(?:javascript|vbscript|data|file):"
_DEAD_LINK = re.compile(rf"\]\(\s*{_DEAD}[^()]*(?:\([^()]*\)[^()]*)*\)", re.IGNORECASE)
_DEAD_DEFINITION = re.compile(
    rf"^(\[[^\]\n]+\]:)[ \t]*{_DEAD}[^\n]*$", re.IGNORECASE | re.MULTILINE
)
_SPACED_LINK = re.compile(
    r"\[([^\[\]\n]+)\]\((?=[#./]|[\w-]+\.md)[^()\n\"'<>]*[ \t][^()\n\"'<>]*\)"
)
_EMBED = re.compile(r"!\[\[[^\[\]\n]*\]\]")
_MODULE = re.compile(
    r"^(?:import\s+(?:[\w*{}\s,$]+\s+from\s+)?[\"']"
    r"|export\s+(?:const|let|var|function|default|class|async|\{|\*))"
    r".*?(?=\n[ \t]*\n|\n(?=import\s|export\s)|\Z)",
    re.MULTILINE | re.DOTALL,
)
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_COMPONENT = re.compile(
    rf"</?(?:[A-Z][\w.]*(?:\s+[\w:-]+(?:=(?:\"[^\"]*\"|'[^']*'|{_BRACES}))?|\s+{_BRACES})*)?\s*/?>"
)
_SHOWN_ATTRIBUTE = re.compile(r"\b(?:label|title|summary|heading)=(?:\{\s*)?[\"']([^\"']+)[\"']")
_EXPRESSION = re.compile(_BRACES)
_STRING_EXPRESSION = re.compile(r"\{\s*(?:\"([^\"]*)\"|'([^']*)')\s*\}")
_TAG = re.compile(r"<(?=/?([A-Za-z][\w.-]*)([^<>\n]*)>?)")
_CLOSING = re.compile(r"</([A-Za-z]+)")
_HTML = frozenset(
    """
    a abbr acronym address article aside audio b bdi bdo big blockquote body br button canvas
    caption center cite code col colgroup dd del details dfn dialog dir div dl dt em embed fieldset
    figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins
    kbd label legend li link main map mark math menu meta nav noscript object ol optgroup option p
    picture pre progress q rp rt ruby s samp script section select small source span strike strong
    style sub summary sup svg path g table tbody td template textarea tfoot th thead time title tr
    track tt u ul var video wbr
    """.split()
)


def plain_markdown(text: str, *, mdx: bool = False) -> str:
    """Return the text with dialect syntax resolved to what a reader of the page would see."""
    if mdx:
        text = _MODULE.sub("", text)
    text = _components(text, mdx=mdx)
    text = "\n".join(_unindented(text.split("\n")))
    for mark, pattern, replacement in _RULES:
        if mark in text:
            text = pattern.sub(replacement, text)
    return _only_tags(text)


def _components(text: str, *, mdx: bool) -> str:
    """Remove JSX, keeping the titles that it shows."""
    if mdx:
        text = _STRING_EXPRESSION.sub(lambda match: match[1] or match[2] or "", text)
        text = _COMPONENT.sub(_component, text)
        return _EXPRESSION.sub("", text)
    return _COMPONENT.sub(
        lambda match: _component(match) if _is_component(match, text) else match[0], text
    )


def _is_component(match: re.Match[str], text: str) -> bool:
    """Return whether a tag is a component: outside MDX only if closed, else a placeholder."""
    name = re.match(r"</?([\w.]*)", match[0])
    if name is None or not name[1] or name[1].lower() in _HTML:
        return False
    return match[0].endswith("/>") or (f"</{name[1]}>" in text and f"<{name[1]}" in text)


def _component(match: re.Match[str]) -> str:
    start = match.string.rfind("\n", 0, match.start()) + 1
    before = match.string[start : match.start()]
    shown = _SHOWN_ATTRIBUTE.search(match[0])
    if shown is None or before.strip():
        return ""
    return f"{shown[1]}\n\n{before}"


def _unindented(lines: list[str]) -> Iterable[str]:
    """Yield lines with the bodies of ``!!!``, ``???`` and ``===`` blocks unindented."""
    position = 0
    while position < len(lines):
        opener = _OPENER.match(lines[position])
        body_end = _body_end(lines, position + 1, len(opener["indent"]) + 4) if opener else position
        if opener is None or body_end == position + 1:
            yield lines[position]
            position += 1
            continue
        indent = opener["indent"]
        yield indent + _label(opener["kind"] or "", opener["title"])
        yield from ("",) if opener["title"] else ()
        body = [line[4:] if line.strip() else "" for line in lines[position + 1 : body_end]]
        yield from _unindented(body)
        position = body_end


def _body_end(lines: list[str], start: int, indent: int) -> int:
    end = start
    for position in range(start, len(lines)):
        if lines[position].strip() and not lines[position].startswith(" " * indent):
            break
        end = position + 1
    return end if any(line.strip() for line in lines[start:end]) else start


def _label(kind: str, title: str | None) -> str:
    """Return the label shown above an admonition."""
    if title is not None:
        return title
    word = kind.strip().split(" ")[0] if kind.strip() else ""
    return f"{word.capitalize()}:" if word else ""


def _alert(match: re.Match[str]) -> str:
    return f"{match['quote']}{match['kind'].capitalize()}: "


def _directive(match: re.Match[str]) -> str:
    if not match["kind"]:
        return match["quote"]
    title = (match["label"] or match["title"] or "").strip() or None
    gap = f"\n{match['quote']}" if title else ""
    return f"{match['quote']}{_label(match['kind'], title)}{gap}"


def _wiki_link(match: re.Match[str]) -> str:
    return (match[2] or match[1]).strip()


def _only_tags(text: str) -> str:
    """Escape ``<your name>`` as text: only HTML's own tags are tags.

    A tag that hides what follows is one only if it is closed, so that no page loses its text.
    """
    closed = {match[1].lower(): match.start() for match in _CLOSING.finditer(text)}

    def written(match: re.Match[str]) -> str:
        name, rest = match[1].lower(), match[2]
        if name in HIDES_CONTENT and closed.get(name, -1) < match.start():
            return "&lt;"
        autolink = rest.startswith((":", "@")) or "@" in match[1] + rest.split(" ")[0]
        return "<" if name in _HTML or autolink else "&lt;"

    return _TAG.sub(written, text)


Replacement = str | Callable[[re.Match[str]], str]

_RULES: tuple[tuple[str, re.Pattern[str], Replacement], ...] = (
    ("", _INCLUDE, ""),
    ("", _CONTENTS, ""),
    ("[!", _ALERT, _alert),
    (":::", _DIRECTIVE, _directive),
    ("{:", _ATTRIBUTES, ""),
    ("{", _HEADING_ATTRIBUTES, r"\1"),
    ("[^", _FOOTNOTE, r"Note \1: "),
    ("[^", _FOOTNOTE_MARK, ""),
    ("](", _DEAD_LINK, "]()"),
    ("]:", _DEAD_DEFINITION, r"\1 #"),
    ("](", _SPACED_LINK, r"\1"),
    ("![[", _EMBED, ""),
    ("[[", _WIKI_LINK, _wiki_link),
)
"""Mark, pattern and replacement. Every match contains the mark, so that a text without it need not
be searched; "" where the matches have no mark in common."""


_DEEPEST = 100_000
"""Effectively no limit: text nested too deeply must raise an error, not lose its content."""

_STARS = re.compile(r"(.?)\*\*(?=(.?))", re.DOTALL)


def markdown_blocks(text: str, *, mdx: bool = False) -> tuple[Block, ...]:
    """Return the blocks of a Markdown text (its front matter already removed).

    HTML inside is converted as HTML files are, so both formats give the same blocks.
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
    if token.type == "text" and "**" in token.content:
        token.content = _STARS.sub(_without_stars, token.content)


def _without_stars(match: re.Match[str]) -> str:
    """Remove stray emphasis marks ("**Note: **text").

    They are kept where they have a meaning: ``2 ** 3``, ``2**3``, ``**/*.md``.
    """
    before, after = match[1], match[2]
    spaced = before.isspace() and after.isspace()
    inside = before.isalnum() and after.isalnum()
    path = "/" in {before, after} or "*" in {before, after}
    return match[0] if spaced or inside or path or after.isdecimal() else before


@cache
def _parser(*, mdx: bool) -> MarkdownIt:
    """Return a parser that threads may share."""
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _DEEPEST})
    parser.enable(["table", "strikethrough"])
    if mdx:
        parser.disable("code")
    # The first parse compiles the rules, and the first link a table, without a lock.
    parser.parse("[text](/link)")
    return parser
