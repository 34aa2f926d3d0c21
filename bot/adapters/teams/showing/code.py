"""Code of an answer, letter for letter: pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.adapters.teams.showing.elements import text_block
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import card_plain
from bot.rendering.markdown import split

_PLAIN = "PlainText"
_LANGUAGES: Mapping[str, str] = {
    "bash": "Bash",
    "sh": "Bash",
    "shell": "Bash",
    "zsh": "Bash",
    "console": "Bash",
    "c": "C",
    "cpp": "Cpp",
    "c++": "Cpp",
    "csharp": "CSharp",
    "c#": "CSharp",
    "cs": "CSharp",
    "css": "Css",
    "bat": "Dos",
    "cmd": "Dos",
    "dos": "Dos",
    "go": "Go",
    "graphql": "Graphql",
    "html": "Html",
    "java": "Java",
    "javascript": "JavaScript",
    "js": "JavaScript",
    "json": "Json",
    "perl": "Perl",
    "php": "Php",
    "powershell": "PowerShell",
    "ps1": "PowerShell",
    "python": "Python",
    "py": "Python",
    "sql": "Sql",
    "typescript": "TypeScript",
    "ts": "TypeScript",
    "xml": "Xml",
}
"""What Teams can colour, by what people write behind a fence; the rest is shown plainly."""


@dataclass(frozen=True, slots=True)
class Code:
    """Some code. ``language`` is as Teams calls it; ``first`` is the number of its first line."""

    text: str
    language: str = _PLAIN
    first: int = 1

    def element(self) -> Json:
        """Return it for a card; a client that can't show code shows the lines as they are."""
        shown = text_block(card_plain(self.text), fontType="Monospace")
        return {
            "type": "CodeBlock",
            "codeSnippet": self.text,
            "language": self.language,
            "startLineNumber": self.first,
            "fallback": shown,
        }

    def parts(self, fits: Callable[[Json], bool]) -> tuple[Code, ...]:
        """Cut it, between lines wherever a line fits; the parts go on with the line numbers."""
        if fits(self.element()):
            return (self,)
        parts: list[Code] = []
        first = self.first
        for text in _cut(self.text, lambda each: fits(Code(each, self.language).element())):
            parts.append(Code(text, self.language, first))
            first += text.count("\n") + 1
        return tuple(parts)


def code_in(block: str) -> Code:
    """Return the code of a closed block between fences (bot.rendering.code.plain_code)."""
    opening, *lines = block.split("\n")
    named = opening.strip(" `~").split(" ")[0].casefold()
    return Code("\n".join(lines[:-1]), _LANGUAGES.get(named, _PLAIN))


def _cut(text: str, fits: Callable[[str], bool]) -> list[str]:
    fence = "```"
    pieces = split(f"{fence}\n{text}\n{fence}", 1, lambda piece: 1 if fits(_bare(piece)) else 2)
    return [_bare(piece) for piece in pieces]


def _bare(piece: str) -> str:
    return piece.removeprefix("```\n").removesuffix("\n```")
