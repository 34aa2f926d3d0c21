"""What is looked for in all that Slack is sent: nothing works in it that code did not build."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from tests.bot.adapters.slack.exchange import Request
from tests.bot.adapters.slack.hostility import live, texts
from tests.whole.hostile_pages import WIKI

_OURS = re.compile(
    r"<https://(?:wiki\.example\.com/IT|acme\.slack\.com/archives)/[^|<>\s]*\|[^<>]*>"
    r"|<https://acme\.slack\.com/archives/[^|<>\s]*>"
    r"|<@U0CASE\d{3}>"
    r"|<!date\^\d+\^\{(?:ago|date_short_pretty|time)[^|<>^]*\}\|[^<>|]*>"
)
"""Links, askers and times as code writes them, label and all."""

_UNFURLED = ("chat.postMessage", "chat.postEphemeral")
_ADDRESS_FIELDS = ("url", "image_url", "thumb_url", "slack_file", "icon_url")
_OUR_ADDRESSES = (WIKI, "https://acme.slack.com/archives/")


def wrong_in(requests: Iterable[Request]) -> list[str]:
    """Return what works in any of these calls though code did not build it."""
    return [
        f"{request.method}: {one}"
        for request in requests
        for one in _wrong(request.method, request.arguments)
    ]


def written(requests: Iterable[Request]) -> str:
    """Return everything that was sent, as one text."""
    return "\n".join(json.dumps(request.arguments, ensure_ascii=False) for request in requests)


def _wrong(method: str, arguments: Mapping[str, object]) -> Iterator[str]:
    alone = not (arguments.get("blocks") or arguments.get("view"))
    for kind, text in texts(arguments):
        yield from live(kind, _OURS.sub("", text), alone=alone)
    for field, value in _fields(arguments):
        if field in _ADDRESS_FIELDS and not str(value).startswith(_OUR_ADDRESSES):
            yield f"{field} {value!r}"
        if field == "type" and value in {"image", "video", "rich_text", "file"}:
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
