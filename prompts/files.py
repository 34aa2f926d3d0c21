"""Reads a prompt file, checks it, and renders it with every input fenced as data.

The marks around text written by others cannot occur in that text.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Literal, cast, get_args

import yaml

Role = Literal["system", "user", "assistant"]
Inputs = Mapping[str, str | Sequence[str]]

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
_REQUIRED = {"name", "version", "purpose", "inputs"}
_OPTIONAL = {"temperature", "max_output_tokens"}


class PromptInvalid(Exception):
    """A prompt file or the inputs to it are wrong."""


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A checked prompt; ``temperature`` and ``max_output_tokens`` are None to take the default.

    Inputs occur in no system section, so that nobody else's text ever becomes an instruction
    of ours, and every system message is the same in every request.
    """

    name: str
    version: int
    purpose: str
    inputs: frozenset[str]
    sections: tuple[tuple[Role, str], ...]
    temperature: float | None = None
    max_output_tokens: int | None = None

    @property
    def id(self) -> str:
        """Name and version, as recorded with every call: ``answer@1``."""
        return f"{self.name}@{self.version}"

    def __str__(self) -> str:
        return self.id

    def render(self, **inputs: str | Sequence[str]) -> tuple[tuple[Role, str], ...]:
        """Return the messages as (role, text), each input between marks that it cannot contain.

        A sequence becomes numbered blocks, from 1. The same inputs always give the same text.
        Raises PromptInvalid when the inputs are not the declared ones.
        """
        if inputs.keys() != self.inputs:
            raise PromptInvalid(
                f"Prompt {self.id!r} takes {sorted(self.inputs)!r}, not {sorted(inputs)!r}; "
                "pass exactly those."
            )
        code = unforgeable_code(inputs)
        blocks = {name: fenced(name, value, code) for name, value in inputs.items()}
        return tuple((role, Template(text).substitute(blocks)) for role, text in self.sections)


def load_prompt(name: str) -> PromptFile:
    """Read and check ``prompts/NAME.md``. Raises PromptInvalid."""
    try:
        source = resources.files("prompts").joinpath(f"{name}.md").read_text(encoding="utf-8")
    except OSError as error:
        raise PromptInvalid(f"There is no prompt {name!r}; add prompts/{name}.md.") from error
    prompt = parse_prompt(source)
    if prompt.name != name:
        raise PromptInvalid(f"prompts/{name}.md calls itself {prompt.name!r}; make them equal.")
    return prompt


def parse_prompt(source: str) -> PromptFile:
    """Read a prompt file's text. Raises PromptInvalid, naming the first thing wrong."""
    match = _FRONT_MATTER.match(source)
    if match is None:
        raise PromptInvalid("A prompt starts with YAML front matter between two lines of `---`.")
    header = _header(match[1])
    sections = _sections(match[2])
    inputs = frozenset(str(name) for name in cast("Sequence[object]", header["inputs"]))
    _check_identifiers(sections, inputs)
    return PromptFile(
        name=str(header["name"]),
        version=_from_one("version", header["version"]),
        purpose=str(header["purpose"]),
        inputs=inputs,
        sections=sections,
        temperature=_number(header, "temperature"),
        max_output_tokens=_whole(header, "max_output_tokens"),
    )


def _header(text: str) -> dict[str, object]:
    try:
        header = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PromptInvalid(f"The front matter is no YAML: {error}") from error
    keys = set(header) if isinstance(header, dict) else set()
    if not _REQUIRED <= keys <= _REQUIRED | _OPTIONAL:
        raise PromptInvalid(
            f"The front matter has {sorted(map(str, keys))!r}; it needs {sorted(_REQUIRED)!r} "
            f"and may have {sorted(_OPTIONAL)!r}."
        )
    if not isinstance(header["inputs"], list):
        raise PromptInvalid(f"inputs is {header['inputs']!r}; write a list, [] for none.")
    return cast("dict[str, object]", header)


def _sections(body: str) -> tuple[tuple[Role, str], ...]:
    before, *parts = _SECTION.split(body)
    pairs = list(zip(parts[::2], parts[1::2], strict=True))
    if before.strip() or not pairs or pairs[-1][0] != "user":
        raise PromptInvalid("The body is sections `## system`, `## user`, …, the last one user's.")
    for role, _ in pairs:
        if role not in get_args(Role):
            raise PromptInvalid(f"{role!r} is no role; use one of {get_args(Role)!r}.")
    return tuple((cast("Role", role), text.strip()) for role, text in pairs)


def _check_identifiers(sections: Sequence[tuple[Role, str]], inputs: frozenset[str]) -> None:
    used: set[str] = set()
    for role, text in sections:
        template = Template(text)
        if not template.is_valid():
            raise PromptInvalid(f"A lone `$` in the {role} section; write `$$`.")
        if role == "system" and template.get_identifiers():
            raise PromptInvalid("An input stands in a system section; move it to the user's.")
        used.update(template.get_identifiers())
    if used != inputs:
        raise PromptInvalid(f"Declared inputs {sorted(inputs)!r}, used {sorted(used)!r}.")


def _number(header: Mapping[str, object], key: str) -> float | None:
    value = header.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise PromptInvalid(f"{key} is {value!r}; write a number or leave it out.")
    return None if value is None else float(value)


def _whole(header: Mapping[str, object], key: str) -> int | None:
    value = header.get(key)
    return None if value is None else _from_one(key, value)


def _from_one(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise PromptInvalid(f"{key} is {value!r}; write a whole number from 1.")
    return value


_CODE_LENGTH = 16


def unforgeable_code(inputs: Mapping[str, str | Sequence[str]]) -> str:
    """Return 16 hexadecimal digits that occur in none of the inputs.

    Made from the inputs themselves, so that the same question gives the same prompt and nobody
    who writes one of them can know the code, which also depends on all the others.
    """
    texts = tuple(itertools.chain.from_iterable(map(_blocks, inputs.values())))
    return next(code for code in _codes(texts) if not any(code in text for text in texts))


def fenced(name: str, value: str | Sequence[str], code: str) -> str:
    """Put a text, or each of several, between marks that carry the code."""
    if isinstance(value, str):
        return _fence(name, value, code)
    blocks = [_fence(f"{name} {number}", text, code) for number, text in enumerate(value, 1)]
    return "\n".join(blocks) if blocks else _fence(name, "(none)", code)


def _fence(label: str, text: str, code: str) -> str:
    return f"<<{label} {code}>>\n{text}\n<</{label} {code}>>"


def _blocks(value: str | Sequence[str]) -> Sequence[str]:
    return (value,) if isinstance(value, str) else value


def _codes(texts: Sequence[str]) -> Iterator[str]:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    for attempt in itertools.count():
        seed = digest.digest() + attempt.to_bytes(8, "big")
        yield hashlib.sha256(seed).hexdigest()[:_CODE_LENGTH]
