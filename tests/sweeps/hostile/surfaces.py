"""What each platform was given to show: an HTML page, JSON, calls of Slack, activities of Teams."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import lxml.html
from lxml.html import HtmlElement

from tests.fakes.hostile_wiki import PAGES
from tests.fakes.slack import hostile_text as slack_text
from tests.fakes.slack.exchange import Request
from tests.fakes.slack.names import PEOPLE
from tests.fakes.teams import hostile_text as teams_text
from tests.fakes.teams import names
from tests.sweeps.hostile.judge import Effect, Shown, around, kind_of

_ADDRESSES = frozenset(
    "href src srcset action formaction data poster background ping cite longdesc manifest "
    "xlink:href hx-get hx-post hx-put hx-patch hx-delete".split()
)
_IMAGES = frozenset("img picture source video audio track image".split())
_ACTS = frozenset("script iframe frame object embed applet base meta link style template".split())
_FRAME = frozenset("script base meta link".split())
"""What a whole page has of us; a fragment has none."""

_SOURCE_LINE = re.compile(rf"^.*\]\({re.escape(PAGES)}.*$", re.MULTILINE)
"""A source in the text of an activity: its title, space, date and author are the page's."""

_NOT_OWN = frozenset({"asked", "sources", "options"})
"""Classes of what is the asker's or the pages' words."""


def shown_on_page(markup: str, *, whole: bool = False, voice: bool = True) -> Shown:
    """Return what a browser makes of a page, or of a fragment of it.

    Args:
        markup: The HTML.
        whole: It is a page with a head, which loads our own scripts and styles.
        voice: Its text is the help desk's; else it lists names, as the explanation does.
    """
    root: Any = lxml.html.document_fromstring(markup or "<p></p>")
    live = [effect for each in root.iter() for effect in _live_element(each, whole=whole)]
    live += (effect for each in root.iter() for effect in _live_in_answer(each))
    text = str(root.text_content())
    for each in [each for each in root.iter() if _is_not_own(each)]:
        each.clear()
    return Shown(live, text, str(root.text_content()) if voice else "")


def _classes(element: HtmlElement) -> frozenset[str]:
    return frozenset(str(element.get("class", "")).split())


def _is_not_own(element: HtmlElement) -> bool:
    """Return whether it holds words of a page, or of the asker, such as a question to be edited."""
    return element.tag in {"blockquote", "textarea"} or bool(_classes(element) & _NOT_OWN)


def _live_in_answer(element: HtmlElement) -> Iterator[Effect]:
    """Yield what htmx would act upon in the text of an answer."""
    if "text" in _classes(element):
        names = (str(name) for each in element.iterdescendants() for name in each.attrib)
        yield from (Effect("script", name) for name in names if name.startswith(("hx-", "data-hx")))


def _live_element(element: HtmlElement, *, whole: bool) -> Iterator[Effect]:
    if not isinstance(element.tag, str):
        return
    tag = element.tag.casefold()
    if tag in _IMAGES and not _is_own(str(element.get("src", ""))):
        yield Effect("image", f"<{tag} src={element.get('src')}>")
    if tag in _ACTS and not (whole and tag in _FRAME):
        yield Effect("script", f"<{tag}>")
    if tag == "script" and (element.text or "").strip():
        yield Effect("script", str(element.text)[:200])
    for name, value in element.attrib.items():
        yield from _live_attribute(str(name), str(value))


def _live_attribute(name: str, value: str) -> Iterator[Effect]:
    if name.startswith(("on", "hx-on", "data-hx")) or name in {"style", "srcdoc"}:
        yield Effect("script", f"{name}={value:.100}")
    elif name in _ADDRESSES and not _is_own(value):
        yield Effect("link", f"{name}={value:.100}")


def _is_own(address: str) -> bool:
    """Return whether an address leads to a page of the wiki, or to this server."""
    here = address.startswith(("/", "#", "?")) and not address.startswith(("//", "/\\"))
    return here or address == "" or address.startswith(PAGES)


def shown_by_api(body: Mapping[str, Any]) -> Shown:
    """Return what a client is told that renders the answer's Markdown."""
    answer = str(body.get("answer") or body.get("detail") or "")
    live = [Effect(kind_of(one), around(one, answer)) for one in teams_text.live_markdown(answer)]
    live += [Effect("link", url) for url in _urls(body) if not _is_own(url)]
    return Shown(
        live,
        json.dumps(body, ensure_ascii=False),
        html.unescape(answer),
        composed=body.get("answer_type") == "RAG",
    )


def _urls(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (str(value[key]) for key in ("url", "href") if value.get(key))
        for each in value.values():
            yield from _urls(each)
    elif isinstance(value, list):
        for each in value:
            yield from _urls(each)


def shown_on_slack(requests: Iterable[Request]) -> Iterator[Shown]:
    """Yield what every call of Slack's API shows."""
    for request in requests:
        live = [Effect(kind_of(one), one) for one in slack_text.wrong_in([request])]
        said = request.arguments
        answers = request.method.startswith("chat.") and said.get("channel") != PEOPLE
        yield Shown(live, slack_text.joined_text([request]), _slack_voice(said) if answers else "")


def _slack_voice(arguments: Mapping[str, Any]) -> str:
    blocks = [each for each in arguments.get("blocks") or [] if each.get("type") == "markdown"]
    said = "\n".join(str(each["text"]) for each in blocks) or str(arguments.get("text") or "")
    return html.unescape(said)


def shown_in_teams(sent: Iterable[Mapping[str, Any]]) -> Iterator[Shown]:
    """Yield what every activity shows."""
    for activity in sent:
        live = [Effect(kind_of(one), one) for one in teams_text.wrong_in([activity])]
        place = str((activity.get("conversation") or {}).get("id", ""))
        said = _SOURCE_LINE.sub("", str(activity.get("text") or ""))
        own = "" if place.startswith(names.PEOPLE) else said
        yield Shown(live, teams_text.joined_text([activity]), html.unescape(own))
