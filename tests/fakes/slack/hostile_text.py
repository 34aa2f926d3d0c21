"""Attack strings, and the check that nothing in a payload works that code did not build."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from bot.domain.markdown import outside_code
from tests.fakes.hostile_wiki import PAGES
from tests.fakes.slack.exchange import Request

ATTACKS = (
    "<!channel>",
    "<!here|here>",
    "<!everyone>",
    "<@U0CEO0000>",
    "<!subteam^S0ADMINS0>",
    "<#C0HELP000|help>",
    "<https://evil.example|click>",
    "<https://evil.example/?d=1>",
    "<mailto:evil@evil.example|mail>",
    "<!date^1392734382^{date}^https://evil.example/|x>",
    "https://evil.example/?d=1",
    "HTTPS://EVIL.EXAMPLE",
    "http:\\\\evil.example",
    "evil.example/path?d=1",
    "www.evil.example",
    "![x](https://evil.example/x.png?d=1)",
    "[click](https://evil.example)",
    "[click](<https://evil.example>)",
    "[click][1]\n\n[1]: https://evil.example",
    "[![x](https://evil.example/a)](https://evil.example/b)",
    "<a href='https://evil.example'>x</a>",
    "<img src=https://evil.example/x.png>",
    "&lt;!channel&gt;",
    "&amp;lt;!channel&amp;gt;",
    "<\u200b!channel>",
    "<!\u200bchannel>",
    "\u202e<lennahc!>",
    "`<!channel>`",
    "``` <!channel>",
    "```\n<!channel>\n```",
    "~~~\nhttps://evil.example",
    "`https://evil.example",
    "``https://evil.example``",
    "`` a ` https://evil.example ``",
    "````\n```\nhttps://evil.example\n````",
    "~~~\n```\nhttps://evil.example\n~~~",
    "```\na ``` https://evil.example\n```",
    "> <!channel>",
    ">>> <!here>",
    "a|b>c<!channel>",
    "x>|<https://evil.example|y",
    "\\<!channel\\>",
    "*_~<@U0CEO0000>~_*",
    "javascript:alert(1)",
    "@channel @here @everyone",
)

_TOKEN = re.compile(r"<([^<>]*)>")
_OWN_LINK = re.compile(r"https://wiki\.example\.com/[^|<>\s]*\|[^<>]*")
_BARE = re.compile(r"https?://\w|(?<!@)\bevil\.example(?!\w)", re.IGNORECASE)
"""Mail addresses stay what they are: whom to write to is an answer."""

_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
"""Code as Slack's older notation has it."""

_QUOTE = re.compile(r"^( {0,3}(?:> ?)+)", re.MULTILINE)


def texts(payload: object) -> Iterator[tuple[str, str]]:
    """Yield every text that a payload shows, with the type of what holds it."""
    if isinstance(payload, Mapping):
        kind = str(payload.get("type", ""))
        if isinstance(payload.get("text"), str):
            yield kind, payload["text"]
        if isinstance(payload.get("accessibility_label"), str):
            yield "plain_text", payload["accessibility_label"]
        for value in payload.values():
            yield from texts(value)
    elif isinstance(payload, list):
        for value in payload:
            yield from texts(value)


def live(kind: str, text: str, *, alone: bool) -> list[str]:
    """Return what works in a text that code did not build.

    ``alone``: there are no blocks, so that Slack makes links of addresses in the text itself.
    """
    if kind == "text":  # of rich text: a mention or link is an element of its own
        return []
    if kind == "plain_text":
        return re.findall(r"[<>]", text)
    tokens = [token for token in _TOKEN.findall(text) if not _OWN_LINK.fullmatch(token)]
    own = _TOKEN.sub("", text) if kind != "markdown" else text
    brackets = re.findall(r"[<>]", _QUOTE.sub("", own))
    addresses: list[str] = []
    if kind == "markdown":
        outside_code(own, lambda prose: _noted(addresses, prose))
    elif kind == "" and alone:
        _noted(addresses, _CODE.sub(" ", own))
    return [*tokens, *brackets, *addresses]


def _noted(found: list[str], prose: str) -> str:
    found += _live_in(prose)
    return prose


def _live_in(prose: str) -> list[str]:
    images = re.findall(r"!?\[[^\]]*\]\([^)]*\)", prose)
    return [*_BARE.findall(prose), *images, *re.findall(r"^ *\[[^\]]+\]:", prose, re.MULTILINE)]


def found_in(payload: Mapping[str, object]) -> list[str]:
    alone = not payload.get("blocks")
    shown = {"text": payload["text"], "blocks": payload.get("blocks") or []}
    found = [one for kind, text in texts(shown) for one in live(kind, text, alone=alone)]
    found += ["image"] * ('"type": "image"' in json.dumps(shown))
    unfurled = payload.get("unfurl_links") is not False or payload.get("unfurl_media") is not False
    return found + ["unfurled"] * unfurled


_OURS = re.compile(
    r"<https://(?:wiki\.example\.com/IT/case|acme\.slack\.com/archives/)[^|<>\s]*\|[^<>]*>"
    r"|<https://acme\.slack\.com/archives/[^|<>\s]*>"
    r"|<https://desk\.example\.com/[^|<>\s]*\|[^<>]*>"
    r"|<@U0CASE\d{3,4}>"
    r"|<!date\^\d+\^\{(?:ago|date_short_pretty|time)[^|<>^]*\}\|[^<>|]*>"
)
"""Links, askers and times as code writes them, label and all."""

_UNFURLED = ("chat.postMessage", "chat.postEphemeral")
_ADDRESS_FIELDS = ("url", "image_url", "thumb_url", "slack_file", "icon_url")
_OUR_ADDRESSES = (PAGES, "https://acme.slack.com/archives/")


def wrong_in(requests: Iterable[Request]) -> list[str]:
    """Return what works in any of these calls though code did not build it."""
    return [
        f"{request.method}: {one}"
        for request in requests
        for one in _wrong(request.method, request.arguments)
    ]


def joined_text(requests: Iterable[Request]) -> str:
    """Return everything that was sent, as one text."""
    return "\n".join(json.dumps(request.arguments, ensure_ascii=False) for request in requests)


# Cells of tables are rich text, of elements that are shown as they are and not among these.
_LIVE_TYPES = frozenset("image video file link user usergroup channel broadcast team".split())


def _wrong(method: str, arguments: Mapping[str, object]) -> Iterator[str]:
    alone = not (arguments.get("blocks") or arguments.get("view"))
    for kind, text in texts(arguments):
        yield from live(kind, _OURS.sub("", text), alone=alone)
    for field, value in _fields(arguments):
        if field in _ADDRESS_FIELDS and not str(value).startswith(_OUR_ADDRESSES):
            yield f"{field} {value!r}"
        if field == "type" and value in _LIVE_TYPES:
            yield f"a block {value!r}"
        if field in {"attachments", "markdown_text", "icon_emoji", "link_names", "parse"}:
            yield f"a field {field!r}"
    if method in _UNFURLED:
        quiet = {arguments.get("unfurl_links"), arguments.get("unfurl_media")} == {False}
        yield from () if quiet else ("unfurled",)


def _fields(payload: object) -> Iterator[tuple[str, object]]:
    if isinstance(payload, Mapping):
        for key, value in payload.items():
            yield str(key), value
            yield from _fields(value)
    elif isinstance(payload, list):
        for value in payload:
            yield from _fields(value)
