"""A site that people live in: one thing after the other happens, by chance and by seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.confluence.content import Content
from tests.confluence.prose import storage_of, title_of
from tests.confluence.site import Site
from tests.confluence.society import ADMIN


@dataclass(frozen=True)
class Life:
    """Lets things happen on a site, each what people do there and each as likely as there.

    The admin stays among those who are named, so that its token sees all that there is. What is
    told of an event is for a test's message when it fails.
    """

    site: Site
    random: Random

    @classmethod
    def of(cls, site: Site, seed: int) -> Life:
        return cls(site, Random(seed))  # noqa: S311 - chance, no secret

    def happens(self) -> str:
        """Let one thing happen, and return what it was."""
        event, _ = self.random.choices(EVENTS, weights=[weight for _, weight in EVENTS])[0]
        return event(self) or "nothing"

    def _page(self, *kinds: str) -> Content | None:
        wanted = kinds or ("page", "blogpost")
        there = [c for c in self.site.current() if c.kind in wanted]
        return self.random.choice(there) if there else None

    def _some(self, of: Sequence[str], most: int) -> list[str]:
        return self.random.sample(of, k=min(self.random.randint(0, most), len(of)))

    def _handle(self) -> str:
        return self.random.choice(sorted(self.site.people))

    def write(self) -> str:
        key = self.random.choice(sorted(self.site.spaces))
        above = [c for c in self.site.current(key) if c.kind == "page"]
        parent = self.random.choice(above).id if above and self.random.random() < 0.9 else None
        title = f"{title_of(self.random)} {self.site.revision}"
        text = storage_of(self.random, key)
        made = self.site.create(key, title, text, parent=parent, by=self._handle())
        return f"write {made.id} in {key} under {parent}"

    def edit(self) -> str:
        page = self._page()
        if page is None:
            return ""
        self.site.edit(page.id, storage_of(self.random, page.space), by=self._handle())
        return f"edit {page.id}"

    def rename(self) -> str:
        page = self._page()
        if page is None:
            return ""
        self.site.edit(page.id, title=f"{title_of(self.random)} {self.site.revision}")
        return f"rename {page.id}"

    def move(self) -> str:
        page, target = self._page("page"), self._page("page")
        if page is None or target is None:
            return ""
        below = {page.id, *(c.id for c in self.site.below(page.id))}
        if target.id in below:
            self.site.move(page.id, None)
            return f"move {page.id} to the top of {page.space}"
        self.site.move(page.id, target.id)
        return f"move {page.id} under {target.id}"

    def go(self) -> str:
        page, how = self._page(), self.random.choice(("trash", "archive", "purge"))
        if page is None:
            return ""
        below = self.random.random() < 0.2
        if how == "purge":
            self.site.purge(page.id)
        elif how == "trash":
            self.site.trash(page.id, below=below)
        else:
            self.site.archive(page.id, below=below)
        return f"{how} {page.id}{' and all below' if below and how != 'purge' else ''}"

    def come_back(self) -> str:
        gone = [c for c in self.site.contents.values() if c.status in {"trashed", "archived"}]
        if not gone:
            return ""
        page = self.random.choice(gone)
        self.site.restore(page.id)
        return f"restore {page.id}"

    def restrict(self) -> str:
        page = self._page()
        if page is None:
            return ""
        if self.random.random() < 0.3:
            self.site.unrestrict(page.id)
            return f"unrestrict {page.id}"
        users = [ADMIN, *self._some(sorted(self.site.people), 2)]
        groups = self._some(sorted(self.site.groups), 2)
        self.site.restrict(page.id, users=users, groups=groups)
        return f"restrict {page.id} to {users} and {groups}"

    def label(self) -> str:
        page, label = self._page(), self.random.choice(("faq", "how-to", "superseded"))
        if page is None:
            return ""
        if label in page.labels:
            self.site.unlabel(page.id, label)
            return f"unlabel {page.id}: {label}"
        self.site.label(page.id, label)
        return f"label {page.id}: {label}"

    def mingle(self) -> str:
        person = self._handle()
        if not self.site.groups:
            return ""
        group = self.random.choice(sorted(self.site.groups))
        if person in self.site.groups[group].members:
            self.site.leave(person, group)
            return f"{person} leaves {group}"
        self.site.join(person, group)
        return f"{person} joins {group}"

    def admit(self) -> str:
        key = self.random.choice(sorted(self.site.spaces))
        if not self.site.groups:
            return ""
        group = self.random.choice(sorted(self.site.groups))
        if group in self.site.spaces[key].readers.groups:
            self.site.revoke_space(key, groups=[group])
            return f"{key} no longer for {group}"
        self.site.grant_space(key, groups=[group])
        return f"{key} for {group}"

    def attach(self) -> str:
        page = self._page()
        if page is None:
            return ""
        if page.attachments and self.random.random() < 0.5:
            file = self.random.choice(sorted(page.attachments))
            self.site.detach(file)
            return f"detach {file} from {page.id}"
        words = f"Notes {self.site.revision}: {title_of(self.random)}.\n".encode()
        file = self.site.attach(page.id, f"notes-{self.random.randint(1, 3)}.txt", words).id
        return f"attach {file} to {page.id}"


EVENTS: tuple[tuple[Callable[[Life], str], int], ...] = (
    (Life.edit, 30),
    (Life.write, 14),
    (Life.restrict, 12),
    (Life.move, 9),
    (Life.go, 9),
    (Life.label, 8),
    (Life.attach, 6),
    (Life.mingle, 5),
    (Life.rename, 4),
    (Life.come_back, 4),
    (Life.admit, 3),
)
