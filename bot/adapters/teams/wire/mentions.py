"""Who a message mentions: the bot's own mention is taken out, others become names. Pure.

botbuilder's remove_recipient_mention deletes the bot's name wherever it stands, and fails on an
entity that does not say whom it mentions.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bot.adapters.teams.wire.body import Body, objects_at, text_at

_AT = re.compile(r"<at(?:\s[^<>]{0,256})?>([^<>]{0,256})</at>")


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention. ``written`` is how it stands in the text, "" where that is not said."""

    who: str
    name: str
    written: str


def mentions_in(body: Body) -> Iterator[Mention]:
    """Yield the mentions of an activity; an entity that names nobody is none."""
    for entity in objects_at(body, "entities"):
        who = text_at(entity, "mentioned", "id")
        if text_at(entity, "type") == "mention" and who:
            yield Mention(who, text_at(entity, "mentioned", "name"), text_at(entity, "text"))


def is_addressed(body: Body) -> bool:
    """Tell whether an activity mentions the bot that it is sent to."""
    bot = text_at(body, "recipient", "id")
    return any(each.who == bot for each in mentions_in(body))


def without_mentions(body: Body, text: str, *, shown: Callable[[str], str] = str) -> str:
    """Return a text without the bot's own mentions, other people's as ``shown`` names.

    Each entity stands for one place in the text, and no other word is touched. After a mention
    that the text begins with, a comma or colon goes, too. The text has plain spaces.
    """
    left: defaultdict[str, deque[Mention]] = defaultdict(deque)
    for mention in mentions_in(body):
        if mention.written.strip():
            left[_key(mention.written)].append(mention)
    if not left:
        return text.strip()
    return _Replacing(left, bot=text_at(body, "recipient", "id"), shown=shown).of(text)


class _Replacing:
    """One pass over a text: what was put in is not read again."""

    def __init__(
        self, left: dict[str, deque[Mention]], *, bot: str, shown: Callable[[str], str]
    ) -> None:
        self._left = left
        self._bot = bot
        self._shown = shown
        self._leads = False

    def of(self, text: str) -> str:
        bare = sorted((key for key in self._left if not _AT.fullmatch(key)), key=len, reverse=True)
        forms = "|".join([_AT.pattern, *map(re.escape, bare)])
        said = re.sub(f"( ?)({forms})", self._replaced, text.strip()).strip()
        return said.removeprefix(":").removeprefix(",").strip() if self._leads else said

    def _replaced(self, match: re.Match[str]) -> str:
        queue = self._left.get(_key(match[2]))
        if not queue:
            return match[0]
        mention = queue.popleft()
        if mention.who == self._bot:
            self._leads |= match.start() == 0
            return ""
        return match[1] + self._shown(_name(mention))


def _key(written: str) -> str:
    """Return a mention without what may differ between text and entity: its tag's attributes."""
    plain = plain_spaces(written)
    named = _AT.fullmatch(plain)
    return f"<at>{html.unescape(named[1])}</at>" if named else plain


def _name(mention: Mention) -> str:
    named = _AT.fullmatch(plain_spaces(mention.written))
    return html.unescape(named[1]) if named else mention.name or mention.written


def plain_spaces(text: str) -> str:
    """Return a text with spaces for all that Teams writes for one."""
    return text.replace("&nbsp;", " ").replace("&#160;", " ").replace("\u00a0", " ")
