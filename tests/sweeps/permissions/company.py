"""Generate a company: people, nested groups, pages with marks in every place, and what changes.

``Company.may_read`` is the plain rule that the product is held against.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.confluence import site as wiki_site
from tests.fakes.confluence.site import Site

PLACES = ("title", "head", "text", "table", "code", "label", "file", "filetext", "front")
_MARK = re.compile(rf"z(\d{{3}})({'|'.join(PLACES)})q", re.IGNORECASE)
TOPICS = ("printer toner", "door badge", "parking permit", "backup tape", "travel booking")
GROUPS = ("red", "blue", "green", "leads", "everybody-in-it")
ADMIN, EXPERT, UNMAPPED, HIDDEN = "ann", "ben", "eve", "finn"
COLLEAGUES = (ADMIN, EXPERT, "cid", "dora", UNMAPPED, HIDDEN)
"""Who works here: the unmapped one has no account in the wiki, the hidden one shows no address."""
WIKI_SPACES = ("IT", "HR", "OPEN")
FOLDER_SPACE = "FILES"
_ASKED_AGAIN, _REMEMBERED = 0.5, 5
OPEN_SPACES = ("OPEN",)
"""The spaces that people from outside are answered from."""


def address(person: str) -> str:
    return f"{person}@acme.example"


def pages_in(text: str) -> frozenset[int]:
    """Return the pages of which any mark stands in a text."""
    return frozenset(int(number) for number, _ in _MARK.findall(text))


def places_in(text: str, pages: Collection[int]) -> frozenset[str]:
    """Return the places of which a mark of these pages stands in a text."""
    return frozenset(place.lower() for number, place in _MARK.findall(text) if int(number) in pages)


@dataclass
class Named:
    """Who is named at one layer; without anybody it is no restriction."""

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    anybody: bool = False

    @property
    def empty(self) -> bool:
        return not (self.users or self.groups or self.anybody)


@dataclass
class MarkedPage:
    """A page of the wiki, or of the folder if it has ``readers`` as its front matter says."""

    number: int
    topic: str
    space: str
    parent: int | None = None
    restriction: Named = field(default_factory=Named)
    readers: tuple[frozenset[str], ...] | None = None
    id: str = ""
    attached: str = ""
    gone: bool = False

    @property
    def bait(self) -> str:
        """Return the word to ask for; it is no mark."""
        return f"bait{self.number:03d}"

    def mark(self, place: str) -> str:
        return f"z{self.number:03d}{place}q"

    @property
    def sentence(self) -> str:
        return f"The {self.topic} of {self.bait} is told to {self.mark('text')} at the desk."


@dataclass(frozen=True)
class Reader:
    """Somebody, or with ``person`` None everybody at once, as one platform knows them.

    ``web``: the issuer tells the groups; ``outside``: only the open spaces are read.
    """

    person: str | None = None
    web: bool = False
    outside: bool = False
    nobody: bool = False


NOBODY = Reader(outside=True, nobody=True)
EVERYBODY = Reader()
OUTSIDERS = Reader(outside=True)


class Company:
    """People, groups and pages drawn from a seed; its changes are done to the wiki's site too."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self.site = Site()
        self.folder = folder
        self.members: dict[str, set[str]] = {name: set() for name in GROUPS}
        self.within: dict[str, set[str]] = {"everybody-in-it": {"red", "leads"}, "leads": {"blue"}}
        self.viewers: dict[str, Named] = {}
        self.pages: list[MarkedPage] = []
        self._people()
        self._spaces()
        for number in range(16):
            self._add_to_wiki(number)
        for number in range(16, 24):
            self._add_to_folder(number)

    # The oracle

    def people_of(self, group: str) -> set[str]:
        """Return who is in a group, or in one within it."""
        inner = (self.people_of(each) for each in self.within.get(group, ()))
        return self.members[group].union(*inner)

    def groups_of(self, person: str) -> set[str]:
        return {group for group in GROUPS if person in self.people_of(group)}

    def may_read(self, reader: Reader, page: MarkedPage) -> bool:
        """Say whether somebody may read a page: space, page, and all that it hangs under."""
        if page.gone or reader.nobody or (reader.outside and page.space not in OPEN_SPACES):
            return False
        if page.readers is not None:
            return bool(page.readers) and all(
                names & self._names_of(reader) for names in page.readers
            )
        layers = [self.viewers[page.space]]
        at: MarkedPage | None = page
        while at is not None:
            layers += [] if at.restriction.empty else [at.restriction]
            at = None if at.parent is None else self.pages[at.parent]
        return all(self._is_named(reader, layer) for layer in layers)

    def readable(self, reader: Reader) -> frozenset[int]:
        return frozenset(page.number for page in self.pages if self.may_read(reader, page))

    def _names_of(self, reader: Reader) -> set[str]:
        if reader.person is None or reader.outside:
            return {"everyone"}
        groups = self.groups_of(reader.person) if reader.web else set()
        return {"everyone", f"user:{address(reader.person)}", *(f"group:{each}" for each in groups)}

    def _is_named(self, reader: Reader, layer: Named) -> bool:
        known = reader.person not in {None, UNMAPPED, HIDDEN} and not reader.outside
        if layer.anybody:
            return True
        if not known:
            return False
        in_groups = any(reader.person in self.people_of(group) for group in layer.groups)
        return reader.person in layer.users or in_groups

    # How it begins

    def _people(self) -> None:
        for person in COLLEAGUES:
            if person != UNMAPPED:
                self.site.add_person(person, email=address(person), email_shown=person != HIDDEN)
            for group in GROUPS[:4]:
                if self.draw.random() < 0.3:
                    self.members[group].add(person)
        for group in GROUPS:
            self.site.add_group(group)
        self._tell_groups()

    def _spaces(self) -> None:
        self.viewers = {
            "IT": Named(anybody=True),
            "HR": Named(users=frozenset({"cid"}), groups=frozenset({"everybody-in-it"})),
            "OPEN": Named(anybody=True),
        }
        for key, who in self.viewers.items():
            users, groups = who.users, who.groups
            self.site.add_space(key, users=users, groups=groups, anonymous=who.anybody)

    def _add_to_wiki(self, number: int) -> None:
        space = self.draw.choice(WIKI_SPACES)
        above = [page.number for page in self.pages if page.space == space]
        parent = self.draw.choice([*above, None])
        page = MarkedPage(number, self.draw.choice(TOPICS), space, parent)
        self.pages.append(page)
        made = self.site.create(
            space,
            f"{page.topic} {page.mark('title')}",
            _storage(page),
            parent=None if parent is None else self.pages[parent].id,
            labels=[page.mark("label")],
        )
        page.id = made.id
        text = f"The {page.topic} file of {page.bait} says {page.mark('filetext')}."
        page.attached = self.site.attach(made.id, f"{page.mark('file')}.txt", text.encode()).id
        if self.draw.random() < 0.4:
            self.restrict(page, self._drawn_names())

    def _add_to_folder(self, number: int) -> None:
        page = MarkedPage(number, self.draw.choice(TOPICS), FOLDER_SPACE, readers=())
        page.id = f"page{number}.md"
        self.pages.append(page)
        self.reopen(page)

    def _drawn_names(self) -> Named:
        users = self.draw.sample(("ann", "ben", "cid", "dora"), self.draw.randint(0, 2))
        groups = self.draw.sample(GROUPS, self.draw.randint(0 if users else 1, 2))
        return Named(frozenset(users), frozenset(groups))

    # What changes

    def change(self) -> str:
        """Do one drawn change; return what it was."""
        there = [page for page in self.pages if not page.gone]
        wiki = [page for page in there if page.readers is None]
        match self.draw.choice(("restrict", "open", "leave", "join", "close", "folder", "delete")):
            case "restrict":
                page = self.draw.choice(wiki)
                self.restrict(page, self._drawn_names())
                return f"page {page.number} is for {page.restriction}"
            case "open":
                page = self.draw.choice(wiki)
                self.restrict(page, Named())
                return f"page {page.number} has no restriction"
            case ("leave" | "join") as how:
                return self._move_person(how)
            case "close":
                return self._switch_space()
            case "folder":
                page = self.draw.choice([each for each in there if each.readers is not None])
                self.reopen(page)
                return f"page {page.number} is for {page.readers}"
            case _:
                page = self.draw.choice(wiki)
                self.delete(page)
                return f"page {page.number} is gone"

    def restrict(self, page: MarkedPage, named: Named) -> None:
        """Restrict a page; the account that reads the wiki is named too, else it is not indexed."""
        page.restriction = named
        reading = frozenset[str]() if named.empty else {wiki_site.ADMIN}
        self.site.restrict(page.id, users=named.users | reading, groups=named.groups)

    def reopen(self, page: MarkedPage) -> None:
        """Draw the readers of a page of the folder anew."""
        mine = f"user:{address(self.draw.choice(COLLEAGUES))}"
        group = f"group:{self.draw.choice(GROUPS)}"
        page.readers = self.draw.choice(
            (
                (frozenset({"everyone"}),),
                (frozenset({mine}),),
                (frozenset({group}),),
                (frozenset({mine, group}),),
                (frozenset({mine}), frozenset({group})),
                (),
            )
        )
        space = self.folder / FOLDER_SPACE
        space.mkdir(parents=True, exist_ok=True)
        (space / page.id).write_text(_markdown(page), encoding="utf-8")

    def delete(self, page: MarkedPage) -> None:
        """Trash a page; what hangs under it moves up."""
        self.site.trash(page.id)
        page.gone = True
        for below in self.pages:
            if below.parent == page.number:
                below.parent = page.parent

    def _move_person(self, how: str) -> str:
        person, group = self.draw.choice(COLLEAGUES), self.draw.choice(GROUPS[:4])
        (self.members[group].add if how == "join" else self.members[group].discard)(person)
        self._tell_groups()
        return f"{person} does {how} {group}"

    def _switch_space(self) -> str:
        closed = not self.viewers["IT"].anybody
        self.viewers["IT"] = Named(groups=frozenset({"red"}), anybody=closed)
        if closed:
            self.site.grant_space("IT", groups=["red"], anonymous=True)
        else:
            self.site.grant_space("IT", groups=["red"])
            self.site.revoke_space("IT", anonymous=True)
        return f"the space IT is for {self.viewers['IT']}"

    def _tell_groups(self) -> None:
        """Tell the site who is in which group: it names all whom a group has, also within."""
        for group in GROUPS:
            for person in self.site.people.keys() & set(COLLEAGUES):
                inside = person in self.people_of(group)
                (self.site.join if inside else self.site.leave)(person, group)

    # What is asked

    def questions(
        self, persons: Collection[str], *, again: bool = False
    ) -> Iterator[tuple[str, MarkedPage, str]]:
        """Yield for ever who asks, about which page, and in which words.

        With ``again`` half of the questions were asked just before, by the same person or any: they
        may be answered by what is saved.
        """
        asked: list[tuple[str, MarkedPage, str]] = []
        while True:
            page = self.draw.choice(self.pages)
            text = self.draw.choice(FORMS).format(topic=page.topic, bait=page.bait)
            person = self.draw.choice(sorted(persons))
            if again and asked and self.draw.random() < _ASKED_AGAIN:
                before, page, text = self.draw.choice(asked[-_REMEMBERED:])
                person = self.draw.choice((before, person))
            asked.append((person, page, text))
            yield person, page, text


FORMS = (
    "{topic}",
    "How do I get a {topic}?",
    "who is told about the {topic} of {bait}?",
    "who is told about the {topic} of {bait}?",
    "what does the {topic} file of {bait} say?",
    "{bait}",
    "And what about {bait}?",
    "where is it?",
    "Thanks! Translate your last answer into French please",
    "Can I talk to a human about {bait}?",
)


def _storage(page: MarkedPage) -> str:
    return (
        f"<h2>{page.mark('head')}</h2><p>{page.sentence}</p>"
        f"<table><tbody><tr><th>{page.topic}</th><th>price</th></tr>"
        f"<tr><td>{page.bait}</td><td>{page.mark('table')}</td></tr></tbody></table>"
        '<ac:structured-macro ac:name="code"><ac:plain-text-body>'
        f"<![CDATA[order {page.bait} {page.mark('code')}]]></ac:plain-text-body>"
        "</ac:structured-macro>"
    )


def _markdown(page: MarkedPage) -> str:
    readers = ", ".join(f"[{', '.join(sorted(names))}]" for names in page.readers or ())
    front = (
        f"readers: [{readers}]\nupdated_by: {page.mark('front')}\nlabels: [{page.mark('label')}]"
    )
    return (
        f"---\ntitle: {page.topic} {page.mark('title')}\n{front}\n---\n"
        f"## {page.mark('head')}\n\n{page.sentence}\n\n"
        f"| {page.topic} | price |\n|---|---|\n| {page.bait} | {page.mark('table')} |\n\n"
        f"```\norder {page.bait} {page.mark('code')}\n```\n"
    )
