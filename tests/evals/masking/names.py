"""An invented directory, and help-desk messages that name its people."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MESSAGES = Path(__file__).with_name("messages.txt").read_text("utf-8").splitlines()
TRAPS = Path(__file__).with_name("traps.txt").read_text("utf-8").splitlines()

_FIRST = """
Anna Benoît Chloé David Elif Fatima Georg Hana Ivan Julia Karl Lena María Nadia Omar Priya
Quentin Renée Søren Tomás Ursula Vikram Wiebke Xavier Yuki Zoe Anne-Marie José Siobhan Ngozi
""".split()
_LAST = """
Schmidtke García Khan Novák Rossi O'Neil Tanaka Wöhler Owusu Jansen Kowalski Dubois Østergaard
Petrov Okafor Lindqvist Fernández Meyer-Lund Papadopoulos Nguyen Haddad Silva Eriksson Moreau
""".split()
_COMMON_FIRST = """
Will Mark Rose Grace Max Frank Jack Hope Art Bill Ada Claude Dean Page Ruby
""".split()
_COMMON_LAST = """
Price Baker Long Young Green Stone Bush Page Rich Wood Hill Field King Grant
""".split()
_SURE = 0.75


@dataclass(frozen=True, slots=True)
class Colleague:
    """A person of the directory; ``display`` is how it shows the name."""

    first: str
    last: str

    @property
    def display(self) -> str:
        return f"{self.first} {self.last}"


@dataclass(frozen=True, slots=True)
class NamedMessage:
    """A message and the names in it."""

    text: str
    names: tuple[str, ...]


def directory(people: int = 400, seed: int = 11) -> Sequence[Colleague]:
    """Return invented people; a quarter of the names are words, too."""
    draw = random.Random(seed)  # noqa: S311 - a fixed draw
    return [
        Colleague(
            draw.choice(_FIRST if draw.random() < _SURE else _COMMON_FIRST),
            draw.choice(_LAST if draw.random() < _SURE else _COMMON_LAST),
        )
        for _ in range(people)
    ]


def messages(
    people: Sequence[Colleague], count: int = 200, seed: int = 5
) -> Iterator[NamedMessage]:
    """Yield messages that name people as colleagues do: in full, by one name, in lower case.

    In lower case only names are named that are no words: nobody could tell "mark" then.
    """
    draw = random.Random(seed)  # noqa: S311 - a fixed draw
    plain = [each for each in people if each.first in _FIRST and each.last in _LAST]
    for number in range(count):
        form = MESSAGES[number % len(MESSAGES)]
        one, other = draw.choice(plain if "{lower" in form else people), draw.choice(people)
        slots = {
            "{full}": one.display,
            "{other}": other.display,
            "{first}": one.first,
            "{last}, {given}": f"{one.last}, {one.first}",
            "{last}": one.last,
            "{lower_first}": one.first.lower(),
            "{lower}": one.first.lower(),
        }
        names = tuple(name for slot, name in slots.items() if slot in form)
        if "{last}, {given}" in form:
            names = (slots["{last}, {given}"],)
        for slot, name in slots.items():
            form = form.replace(slot, name)
        yield NamedMessage(form, names)
