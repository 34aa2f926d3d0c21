"""Parse the text of a slash command, or of a message, into a command.

Pure. Links are replaced by their URLs, quotes and typographic dashes are normalised, and a misspelt
command gets a suggestion.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.chat.commands.types import (
    AllSpaces,
    AskRequest,
    CommandRequest,
    CommandSyntax,
    DigestRequest,
    HelpRequest,
    InvalidCommand,
    MyCasesRequest,
    PageByUrl,
    ReindexCancelRequest,
    ReindexRequest,
    ReindexStatusRequest,
    SettingsRequest,
    ShareRequest,
    SpaceByName,
    StatusRequest,
    Target,
    WhyRequest,
)
from bot.domain.markdown import clip
from bot.domain.texts import join_texts, tr

_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_DASH = re.compile(f"[{_DASHES}_]+")
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02`", '"'))
_SLACK_LINK = re.compile(r"<(https?://[^\s<>|]+)(?:\|([^<>\n]*))?>", re.IGNORECASE)
_MARKDOWN_LINK = re.compile(r"\[[^\[\]\n]*\]\((https?://[^\s()]+)\)", re.IGNORECASE)
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_STRAY = "\"'\u2018\u2019\u201a"
_LONGEST_QUOTE = 60


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command; ``plain``: it was quoted, and is taken literally as a name."""

    text: str
    plain: bool = False

    @property
    def key(self) -> str:
        """The normalised word to compare with keywords; "" for a quoted one."""
        return "" if self.plain else self.text.casefold().strip(".,:;!?")

    @property
    def flag(self) -> str:
        """The name of a flag, without dashes; "" for any other word."""
        if self.plain or self.text[:1] not in _DASHES:
            return ""
        return _DASH.sub("", self.text).casefold()


def split_words(text: str) -> tuple[Word, ...]:
    """Split a text into words: links replaced by URLs, quotes removed, dashes normalised."""
    linked = _MARKDOWN_LINK.sub(r" \1 ", _SLACK_LINK.sub(_link_address, text)).translate(_QUOTES)
    return tuple(_each_word(linked))


def quote_input(text: str) -> str:
    """Return user input quoted for a message: printable, and clipped."""
    printable = "".join(each if each.isprintable() else " " for each in text)
    return f"\u201c{clip(printable, _LONGEST_QUOTE)}\u201d"


def _each_word(text: str) -> Iterator[Word]:
    for quoted, bare in _WORD.findall(text):
        if quoted.strip():
            yield Word(quoted.strip(), plain=True)
        elif (word := bare.strip(_STRAY)).strip(_DASHES):
            yield Word(word)


def _link_address(link: re.Match[str]) -> str:
    """Return a link's URL; for a host name that Slack linked by itself, the text as typed."""
    address, label = link[1].replace("&amp;", "&"), link[2] or ""
    made_up = label and address.rstrip("/").casefold() == f"http://{label}".casefold()
    return f" {label if made_up else address} "


_ALONE: Mapping[str, CommandRequest] = {
    "help": HelpRequest(),
    "status": StatusRequest(),
    "why": WhyRequest(),
    "settings": SettingsRequest(),
}
_ALL = frozenset({"all", "everything", "*"})
_CANCEL = frozenset({"cancel", "stop"})
_DRY_RUN, _MASS_DELETE = "dryrun", "allowmassdelete"
_FLAGS = frozenset({_DRY_RUN, _MASS_DELETE})
_WHY_IN_WORDS = re.compile(
    r"/?why (?:(?:did (?:i|you) (?:get|give|give me|say) )?(?:this|that|the|the last|no)"
    r" (?:answer|reply)|a question back|a person)[ ?!.\u2026]*",
    re.IGNORECASE,
)
"""Label of the button below an answer, and what people type instead."""

_SHARING = re.compile(r"/?share my questions(?: (on|off))?[ .!?]*", re.IGNORECASE)

_MY_CASES = re.compile(r"/?my (?:open )?(?:cases|questions)[ .!?]*", re.IGNORECASE)

_DIGEST = re.compile(r"/?digest(?: (on|off))?[ .!?]*", re.IGNORECASE)

_LIKENESS = 0.85
"""From this similarity on, a word counts as a misspelt command."""

_LONGEST_COMMAND = 4
"""Messages of at most this many words that begin with "reindex" are always a command."""


def parse_command_text(text: str, spelling: CommandSyntax) -> CommandRequest | InvalidCommand:
    """Parse the text after the bot's slash command: a subcommand, or else a question."""
    first, rest = _first_word(text)
    if whole := _whole_phrase(text) if first else HelpRequest():
        return whole
    match _key(first):
        case "ask":
            return _question(rest, spelling)
        case "reindex":
            return parse_reindex_text(rest, spelling)
        case key if not rest:
            return _ALONE.get(key) or _unknown(first, spelling)
        case key if difflib.get_close_matches(key, ["reindex"], cutoff=_LIKENESS):
            return InvalidCommand(
                tr("Did you mean {command}?", command=spelling.reindexing(_typed_again(rest)))
            )
        case _:
            return AskRequest(text.strip())


def parse_message_text(
    text: str, spelling: CommandSyntax
) -> CommandRequest | InvalidCommand | None:
    """Parse a message that may be a command; None if it is rather a question.

    For platforms without slash commands. A bare "Why?" is an ordinary question; "/why" and "Why
    this answer?" are commands.
    """
    written = text.strip()
    if whole := _whole_phrase(written):
        return whole
    first, rest = _first_word(written.removeprefix("/"))
    key = first.casefold()
    if key == "reindex":
        order = parse_reindex_text(rest, spelling)
        many = len(text.split()) > _LONGEST_COMMAND
        return None if many and isinstance(order, InvalidCommand) else order
    if rest or written.casefold() == "why":
        return None
    return _ALONE.get(key)


def asks_why(text: str) -> bool:
    """Return whether a text only asks why the last answer was given."""
    return _WHY_IN_WORDS.fullmatch(" ".join(text.split())) is not None


def asks_for_cases(text: str) -> bool:
    """Return whether a text only asks for the writer's own cases."""
    return _MY_CASES.fullmatch(" ".join(text.split())) is not None


def _whole_phrase(
    text: str,
) -> WhyRequest | MyCasesRequest | ShareRequest | DigestRequest | None:
    """Return the command that a whole text is in words; None if it is none."""
    if asks_why(text):
        return WhyRequest()
    if asks_for_cases(text):
        return MyCasesRequest()
    said = " ".join(text.split())
    if found := _SHARING.fullmatch(said):
        return ShareRequest(_switch(found[1]))
    if found := _DIGEST.fullmatch(said):
        return DigestRequest(_switch(found[1]))
    return None


def _switch(word: str | None) -> bool | None:
    return None if word is None else word.casefold() == "on"


def parse_reindex_text(text: str, spelling: CommandSyntax) -> CommandRequest | InvalidCommand:
    """Parse the text after the reindex command."""
    words = split_words(text)
    flags = {_flag(word): word.text for word in words if _flag(word)}
    unknown = [written for flag, written in flags.items() if flag not in _FLAGS]
    if unknown:
        return _invalid(
            tr("I don't know {options}.", options=", ".join(map(quote_input, unknown))), spelling
        )
    named = [word for word in words if not _flag(word)]
    match named[0].key if named else "":
        case "help":
            return HelpRequest()
        case "status":
            return ReindexStatusRequest()
        case key if key in _CANCEL:
            return _cancelling(named[1:], spelling)
    if len(named) != 1:
        return _invalid(_not_one(named), spelling)
    return ReindexRequest(_target(named[0]), _DRY_RUN in flags, _MASS_DELETE in flags)


def _first_word(text: str) -> tuple[str, str]:
    """Return the first word, and the text after it."""
    parts = text.split(maxsplit=1)
    return (parts[0] if parts else ""), (parts[1].strip() if len(parts) > 1 else "")


def _flag(word: Word) -> str:
    """Return a flag's name; the known flags also without dashes."""
    bare = word.key.replace("-", "")
    return word.flag or (bare if bare in _FLAGS else "")


def _target(word: Word) -> Target:
    if word.key in _ALL:
        return AllSpaces()
    return PageByUrl(word.text) if "/" in word.text else SpaceByName(word.text)


def _cancelling(named: Sequence[Word], spelling: CommandSyntax) -> CommandRequest | InvalidCommand:
    if len(named) > 1:
        return _invalid(tr("I can only stop one run at a time."), spelling)
    if not named:
        return ReindexCancelRequest()
    return ReindexCancelRequest("all" if named[0].key in _ALL else named[0].text)


def _not_one(named: Sequence[Word]) -> str:
    if not named:
        return tr("Tell me what to reindex.")
    return tr(
        "Name one, or all: you named {names}.",
        names=", ".join(quote_input(each.text) for each in named),
    )


def _question(rest: str, spelling: CommandSyntax) -> CommandRequest | InvalidCommand:
    if rest:
        return AskRequest(rest)
    example = f"{spelling.command}ask How do I book leave?"
    return InvalidCommand(tr("Add your question, for example: {command}", command=example))


def _unknown(word: str, spelling: CommandSyntax) -> InvalidCommand:
    near = difflib.get_close_matches(_key(word), [*_ALONE, "reindex", "ask"], n=1)
    unknown = tr("I don't know the command {name}.", name=quote_input(word))
    if near:
        meant = tr("Did you mean {command}?", command=f"{spelling.command}{near[0]}")
        unknown = join_texts(" ", (unknown, meant))
    ask = tr("To ask about it: {command}", command=f"{spelling.command}ask {_typed_again(word)}")
    known = tr("All commands: {command}", command=f"{spelling.command}help")
    return InvalidCommand(join_texts("", (unknown, " ", ask, "\n", known)))


def _invalid(trouble: str, spelling: CommandSyntax) -> InvalidCommand:
    reindexing = spelling.reindexing
    lines = (
        trouble,
        tr(
            "{command} for a space, for example {example}",
            command=reindexing("SPACE"),
            example=reindexing("HR"),
        ),
        tr("{command} for one page, even a new one", command=reindexing("PAGE-URL")),
        tr("{command} for everything", command=reindexing("all")),
        tr(
            "Add {dry_run} to only see what would change, {mass_delete} if many pages may be "
            "removed.",
            dry_run="--dry-run",
            mass_delete="--allow-mass-delete",
        ),
        tr(
            "{status} shows the progress, {cancel} stops it.",
            status=reindexing("status"),
            cancel=reindexing("cancel"),
        ),
    )
    return InvalidCommand(join_texts("\n", lines))


def _key(word: str) -> str:
    return word.casefold().strip(".,:;!?\"'")


def _typed_again(rest: str) -> str:
    """Return user input on one line, clipped, for a command to copy."""
    return quote_input(rest)[1:-1]
