"""Parse the markup of a message: its HTML, the quotes in it, and mentions; pure.

The bot's own mention is removed, others become names. botbuilder's remove_recipient_mention removes
the bot's name anywhere in the text, and fails on an entity without a mentioned account.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lxml import etree
from lxml import html as lxml_html

from bot.platforms.teams.payloads.activity import Body, objects_at, text_at

_LONGEST_SOURCE = 100_000
"""Characters that are read; Teams limits messages to 28 KB."""

_BLOCKS = frozenset("blockquote br div h1 h2 h3 h4 h5 h6 hr li ol p pre table tr ul".split())
_PICTURES = frozenset({"img", "emoji"})
_HIDDEN = frozenset({"script", "style", "head"})
_FORWARD = "http://schema.skype.com/Forward"


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote of somebody else. ``author_id`` is Teams' id (28:… is a bot), or ""."""

    text: str
    author: str = ""
    author_id: str = ""
    forwarded: bool = False


@dataclass(frozen=True, slots=True)
class HtmlContent:
    """The writer's own text, the quotes, and the ids of attachments placed in the text."""

    text: str
    quotes: tuple[Quote, ...] = ()
    attached: tuple[str, ...] = ()


def read_html(source: str) -> HtmlContent:
    """Return the content of a message's HTML; never raises on malformed HTML.

    Elements nested deeper than 256, which nobody writes, are left out.
    """
    root = _parse(source[:_LONGEST_SOURCE])
    if root is None:
        return HtmlContent("")
    reader = _HtmlReader()
    for event, element in etree.iterwalk(root, events=("start", "end")):
        reader.begin(element) if event == "start" else reader.end(element)
    quotes = (quote.read() for quote in reader.quotes)
    return HtmlContent(
        text=_joined_lines(reader.own),
        quotes=tuple(quote for quote in quotes if quote.text),
        attached=tuple(reader.attached),
    )


def _parse(source: str) -> etree._Element | None:
    """Return the tree; None for no content. html.parser would take minutes for "<a <a <a"."""
    parser = lxml_html.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True
    )
    encoded = source.encode("utf-8", "replace")
    if not encoded.strip():
        return None
    try:
        return lxml_html.document_fromstring(encoded, parser=parser)
    except etree.ParserError:
        return None


class _QuoteBuilder:
    """A quote under construction."""

    def __init__(self, element: etree._Element) -> None:
        self.element = element
        self.words: list[str] = []
        self.author: list[str] = []
        self.author_id = ""

    def read(self) -> Quote:
        return Quote(
            text=_joined_lines(self.words),
            author=_joined_lines(self.author),
            author_id=self.author_id,
            forwarded=self.element.get("itemtype") == _FORWARD,
        )


class _HtmlReader:
    """Collects text by its place in the tree. A nested quote belongs to the outer one."""

    def __init__(self) -> None:
        self.own: list[str] = []
        self.quotes: list[_QuoteBuilder] = []
        self.attached: list[str] = []
        self._quote: _QuoteBuilder | None = None
        self._author_element: etree._Element | None = None
        self._hidden_depth = 0

    def begin(self, element: etree._Element) -> None:
        """Process the start of an element and its text."""
        if element.tag == "blockquote" and self._quote is None:
            self._quote = _QuoteBuilder(element)
            self.quotes.append(self._quote)
        elif self._quote and element.get("itemprop") == "mri":
            self._author_element, self._quote.author_id = element, element.get("itemid") or ""
        self._hidden_depth += element.tag in _HIDDEN
        if element.tag == "attachment" and element.get("id"):
            self.attached.append(element.get("id") or "")
        self._add("\n" if element.tag in _BLOCKS else "")
        self._add(element.get("alt") if element.tag in _PICTURES else element.text)

    def end(self, element: etree._Element) -> None:
        """Process the end of an element and the text after it."""
        self._hidden_depth -= element.tag in _HIDDEN
        self._add("\n" if element.tag in _BLOCKS else "")
        if self._author_element is element:
            self._author_element = None
        if self._quote and self._quote.element is element:
            self._quote = None
        self._add(element.tail)

    def _add(self, words: str | None) -> None:
        if not words or self._hidden_depth:
            return
        if self._quote is None:
            self.own.append(words)
        elif self._author_element is not None:
            self._quote.author.append(words)
        else:
            self._quote.words.append(words)


def _joined_lines(words: list[str]) -> str:
    """Join words into lines as displayed, without empty lines."""
    lines = "".join(words).replace("\u00a0", " ").splitlines()
    tidied = (re.sub(r"[ \t]+", " ", line).strip() for line in lines)
    return "\n".join(line for line in tidied if line)


_MENTION_TAG = re.compile(r"<at(?:\s[^<>]{0,256})?>([^<>]{0,256})</at>")


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention. ``written`` is its form in the text; "" if the entity lacks it."""

    who: str
    name: str
    written: str


def mentions_in(body: Body) -> Iterator[Mention]:
    """Yield the mentions of an activity; entities without a mentioned account are skipped."""
    for entity in objects_at(body, "entities"):
        who = text_at(entity, "mentioned", "id")
        if text_at(entity, "type") == "mention" and who:
            yield Mention(who, text_at(entity, "mentioned", "name"), text_at(entity, "text"))


def mentions_bot(body: Body) -> bool:
    """Return whether an activity mentions the bot that it is sent to."""
    bot = text_at(body, "recipient", "id")
    return any(each.who == bot for each in mentions_in(body))


def without_mentions(body: Body, text: str, *, shown: Callable[[str], str] = str) -> str:
    """Return a text without the bot's own mentions, with other people's as ``shown`` names.

    Each entity replaces one place in the text, and no other word is changed. A comma or colon after
    a mention at the start of the text is removed too. The result has plain spaces only.
    """
    left: defaultdict[str, deque[Mention]] = defaultdict(deque)
    for mention in mentions_in(body):
        if mention.written.strip():
            left[_mention_key(mention.written)].append(mention)
    if not left:
        return text.strip()
    return _MentionReplacer(left, bot=text_at(body, "recipient", "id"), shown=shown).replace(text)


class _MentionReplacer:
    """Replaces mentions in one pass over a text; replacements are not scanned again."""

    def __init__(
        self, left: dict[str, deque[Mention]], *, bot: str, shown: Callable[[str], str]
    ) -> None:
        self._left = left
        self._bot = bot
        self._shown = shown
        self._leads = False

    def replace(self, text: str) -> str:
        bare = sorted(
            (key for key in self._left if not _MENTION_TAG.fullmatch(key)), key=len, reverse=True
        )
        forms = "|".join([_MENTION_TAG.pattern, *map(re.escape, bare)])
        said = re.sub(f"( ?)({forms})", self._replaced, text.strip()).strip()
        return said.removeprefix(":").removeprefix(",").strip() if self._leads else said

    def _replaced(self, match: re.Match[str]) -> str:
        queue = self._left.get(_mention_key(match[2]))
        if not queue:
            return match[0]
        mention = queue.popleft()
        if mention.who == self._bot:
            self._leads |= match.start() == 0
            return ""
        return match[1] + self._shown(_mention_name(mention))


def _mention_key(written: str) -> str:
    """Return a mention without its tag's attributes, which may differ between text and entity."""
    plain = plain_spaces(written)
    named = _MENTION_TAG.fullmatch(plain)
    return f"<at>{html.unescape(named[1])}</at>" if named else plain


def _mention_name(mention: Mention) -> str:
    named = _MENTION_TAG.fullmatch(plain_spaces(mention.written))
    return html.unescape(named[1]) if named else mention.name or mention.written


def plain_spaces(text: str) -> str:
    """Return a text with plain spaces instead of the other space characters that Teams uses."""
    return text.replace("&nbsp;", " ").replace("&#160;", " ").replace("\u00a0", " ")
