"""Strip template languages from Markdown, code untouched: Liquid, Jinja, Hugo, ERB. Pure.

Text that a template would print is kept where the source holds it (a quoted argument); the rest of
the tag is removed. Code (fences, spans, ``<pre>``) is verbatim and masked meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_LIQUID = r"\{%(?:(?!\{%|%\}).)*%\}"
_MUSTACHE = r"\{\{(?:(?!\{\{|\}\}).)*\}\}"
_TAG = rf"(?:{_LIQUID}|{_MUSTACHE})"
_CODE = r"""
      (?P<fence>     ^(?P<lead>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)
                     (?P<mark>`{3,}(?=[^`\n]*$)|~{3,})(?P<rest>[^\n]*(?:\n.*?)?
                     (?:^[ \t>]*(?P=mark)[`~]*[ \t]*$|\Z)) )
    | (?P<pre>       <(?P<element>pre|code|script|style)\b
                     (?:(?!<(?P=element)\b).)*?</(?P=element)\s*> )
    | (?P<span>      (?<![`\\])(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`) )
    """
_COMMENTS = r"<!--.*?--> | ^[ ]{0,3}<!--.*\Z | <%(?:(?!<%|%>).)*%>"
_FLAGS = re.DOTALL | re.MULTILINE | re.VERBOSE
_WITHOUT_BRACES = re.compile(rf"(?=[<`]|^) (?: (?P<comment> {_COMMENTS} ) | {_CODE} )", _FLAGS)
"""What of _SYNTAX can match without a brace; each other rule would cost a try at each letter."""

_SYNTAX = re.compile(
    rf"""
      (?P<comment>   {_COMMENTS}
                   | \{{%-?\s*comment\b(?:(?!%\}}).)*%\}}(?:(?!\{{%-?\s*comment\b).)*?
                     \{{%-?\s*endcomment\s*-?%\}}
                   | \{{\#\s(?:(?!\{{\#|\#\}}).)*\#\}} )
    | (?P<highlight> \{{%-?\s*highlight\s+(?P<language>[\w+-]*)(?:(?!%\}}).)*%\}}
                     (?P<listing>(?:(?!\{{%-?\s*highlight\b).)*?)\{{%-?\s*endhighlight\s*-?%\}}
                   | \{{\{{<\s*highlight\s+(?P<language2>[\w+-]*)(?:(?!>\}}\}}).)*>\}}\}}
                     (?P<listing2>(?:(?!\{{\{{<\s*highlight\b).)*?)
                     \{{\{{<\s*/\s*highlight\s*>\}}\}} )
    | (?P<raw>       \{{%-?\s*raw\s*-?%\}}(?P<inside>(?:(?!\{{%-?\s*raw\b).)*?)
                     \{{%-?\s*endraw\s*-?%\}} )
    | {_CODE}
    | (?P<target>    (?P<label>!?\[[^\[\]{{}}]*)?\]\s?\(\s*
                     (?:(?!\{{[%{{])[^()\s])*{_TAG}(?:{_TAG}|[^(){{}}])*\) )
    | (?P<definition>(?<=\]:)[ \t]*{_LIQUID}[^\n]* )
    | (?P<attribute> \b(?:href|src|class|id|alt|title|style)=(?P<quote>["'])[^"'<>{{}}]*{_TAG}
                     (?:{_TAG}|[^"'<>{{}}])*(?P=quote) )
    | (?P<liquid>    {_LIQUID} )
    | (?P<mustache>  {_MUSTACHE} )
    """,
    _FLAGS,
)
_RAW_MARKS = re.compile(r"\{%-?\s*(?:end)?raw\s*-?%\}")
_ARGUMENT = re.compile(r"(?<![=:\w])(?:\"([^\"]*)\"|'([^']*)')")
_PATH = re.compile(r"[/_.#]|https?:|\S+/\S+|\S+\.[a-z0-9]{2,5}\Z", re.IGNORECASE)
_SILENT = re.compile(
    r"include|render|image|img|figure|picture|icon|svg|video|youtube|vimeo|embed|gist|asset|url|link"
    r"|download|layout|stylesheet|javascript"
    r"|^(?:end\w*|ref|relref|page|post|path|file|extends|block|import|macro|set|assign|capture|if"
    r"|unless|else|elsif|elif|for|case|when|with|load|trans|cycle|css|js|style)$",
    re.IGNORECASE,
)
_CALLOUT = re.compile(
    r"alert|callout|notice|admonition|note|tip|info|warning|important|caution|danger|hint|details"
    r"|expand|panel|tab|step|card|accordion",
    re.IGNORECASE,
)
_MASK = re.compile("\ufdd0(\\d+)\ufdd1")


class Masked:
    """Text whose code is replaced by placeholders, so that later rules cannot change it."""

    def __init__(self, text: str, kept: list[str]) -> None:
        self.text = text
        self._kept = kept

    def restore(self, text: str) -> str:
        """Put the code back; ``text`` may have changed around the placeholders."""
        return _MASK.sub(lambda mark: self._kept[int(mark[1])], text)


def without_templates(text: str) -> Masked:
    """Return the text without template tags and comments, its code masked."""
    kept: list[str] = []

    def keep(code: str) -> str:
        kept.append(_RAW_MARKS.sub("", code))
        return f"\ufdd0{len(kept) - 1}\ufdd1"

    syntax = _SYNTAX if "{" in text else _WITHOUT_BRACES
    # The last group is the alternative: it is closed after those inside it.
    return Masked(syntax.sub(lambda match: _RULES[match.lastgroup or ""](match, keep), text), kept)


Keep = Callable[[str], str]


def _fence(match: re.Match[str], keep: Keep) -> str:
    """Mask a fence line by line without indents, so that the whole block can still be moved."""
    lines = (match["mark"] + match["rest"]).split("\n")
    indents = [line[: len(line) - len(line.lstrip(" "))] for line in lines]
    masked = (
        indent + keep(line[len(indent) :]) if line.strip() else line
        for indent, line in zip(indents, lines, strict=True)
    )
    return match["lead"] + "\n".join(masked)


def _target(match: re.Match[str], _keep: Keep) -> str:
    """Replace a link by its text, and a picture by nothing."""
    label = match["label"]
    if label is None:
        return "]()"
    return "" if label.startswith("!") else label[1:]


def _raw(match: re.Match[str], keep: Keep) -> str:
    return keep(match["inside"])


def _whole(match: re.Match[str], keep: Keep) -> str:
    return keep(match[0])


def _highlight(match: re.Match[str], keep: Keep) -> str:
    language = match["language"] or match["language2"] or ""
    listing = match["listing"] or match["listing2"] or ""
    return "\n\n" + keep(f"~~~~{language}\n" + listing.strip("\n") + "\n~~~~") + "\n\n"


def _liquid(match: re.Match[str], _keep: Keep) -> str:
    inside = match[0][2:-2].strip("-+ \t\n")
    name = re.match(r"[/\w.-]*", inside)
    tag = name[0] if name else ""
    first = next((a or b for a, b in _ARGUMENT.findall(inside)), "").strip()
    first = " ".join(first.split())
    if "channel" in tag.lower():
        return first if not first or first.startswith("#") else f"#{first}"
    if _CALLOUT.match(tag):
        return f"\n\n{first}\n\n" if first and _alone(match) else first
    return "" if _SILENT.search(tag) or _PATH.match(first) else first


def _mustache(match: re.Match[str], _keep: Keep) -> str:
    literal = re.match(r"\{\{-?\s*(?:\"([^\"]*)\"|'([^']*)')", match[0])
    return (literal[1] or literal[2] or "") if literal else ""


def _alone(match: re.Match[str]) -> bool:
    """Return whether a tag is alone on its line."""
    start = match.string.rfind("\n", 0, match.start()) + 1
    end = match.string.find("\n", match.end())
    after = match.string[match.end() : end if end >= 0 else None]
    return not match.string[start : match.start()].strip() and not after.strip()


_RULES: dict[str, Callable[[re.Match[str], Keep], str]] = {
    "comment": lambda _match, _keep: "",
    "highlight": _highlight,
    "raw": _raw,
    "fence": _fence,
    "pre": _whole,
    "span": _whole,
    "target": _target,
    "definition": lambda _match, _keep: " #",
    "attribute": lambda _match, _keep: "",
    "liquid": _liquid,
    "mustache": _mustache,
}
