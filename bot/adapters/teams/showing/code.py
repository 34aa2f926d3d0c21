"""Code of an answer, letter for letter: pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bot.adapters.teams.showing.elements import text_block
from bot.adapters.teams.showing.sizes import most
from bot.adapters.teams.wire.body import Json
from bot.adapters.teams.wire.text import card_plain

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
        parts: list[Code] = []
        left: Code | None = self
        while left is not None:
            part, left = _cut(left, fits)
            parts.append(part)
        return tuple(parts)


def code_in(block: str) -> Code:
    """Return the code of a closed block between fences (bot.domain.text.markdown.plain_code)."""
    opening, *lines = block.split("\n")
    named = opening.strip(" `~").split(" ")[0].casefold()
    return Code("\n".join(lines[:-1]), _LANGUAGES.get(named, _PLAIN))


def _cut(code: Code, fits: Callable[[Json], bool]) -> tuple[Code, Code | None]:
    """Return the beginning that fits, and what is left, if anything."""
    lines = code.text.split("\n")
    count = most(len(lines), lambda n: fits(_with("\n".join(lines[:n]), code).element()))
    whole = "\n".join(lines[:count])
    end = most(len(whole), lambda n: fits(_with(whole[:n], code).element()))
    rest = code.text[end:]
    first = code.first + whole[:end].count("\n") + rest.startswith("\n")
    left = Code(rest.removeprefix("\n"), code.language, first)
    return _with(whole[:end], code), left if left.text else None


def _with(text: str, code: Code) -> Code:
    return replace(code, text=text)
