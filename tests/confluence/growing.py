"""A plausible wiki, grown from a seed: the same for the same numbers, whatever machine it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from tests.confluence.content import Content
from tests.confluence.prose import storage_of, title_of
from tests.confluence.site import Site

SPACES = ("IT", "HR", "FIN", "ENG", "OPS", "LEGAL")
GROUPS = ("staff", "it-ops", "people-team", "finance", "engineers", "board")
LABELS = ("how-to", "policy", "runbook", "faq", "onboarding", "superseded", "draft-idea")
BLOG_SHARE, FOLDER_SHARE, TOP_SHARE = 0.06, 0.03, 0.15
DEEPEST = 8
RESTRICTED_SHARE, LABEL_SHARE, FILE_SHARE, EDITED_SHARE = 0.04, 0.3, 0.05, 0.4


@dataclass(frozen=True)
class _Grower:
    site: Site
    random: Random
    handles: Sequence[str]

    def society(self, spaces: Sequence[str]) -> None:
        self.site.add_group("staff", [*self.handles, "admin"])
        for name in GROUPS[1:]:
            self.site.add_group(name, self.random.sample(self.handles, k=len(self.handles) // 3))
        for number, key in enumerate(spaces):
            open_to = "staff" if number % 3 == 0 else GROUPS[number % len(GROUPS)]
            self.site.add_space(key, groups=[open_to], anonymous=number % 3 == 1)

    def tree(self, key: str, pages: int) -> None:
        """Grow so many pages and blog posts in a space, and some folders beyond them."""
        home = self.site.create(key, f"{key} home", storage_of(self.random, key))
        self.site.spaces[key].home = home.id
        parents = [home]
        for number in range(1, pages):
            self._grow(key, f"{title_of(self.random)} {number}", parents)

    def _grow(self, key: str, title: str, parents: list[Content]) -> None:
        chance, author = self.random.random(), self.random.choice(self.handles)
        parent = self._parent(parents)
        if chance < FOLDER_SHARE:
            parent = self.site.create(key, f"{title} folder", "", kind="folder", parent=parent.id)
        blog = chance > 1 - BLOG_SHARE
        made = self.site.create(
            key,
            title,
            storage_of(self.random, key),
            kind="blogpost" if blog else "page",
            parent=None if blog else parent.id,
            by=author,
            labels=self._labels(),
        )
        self._afterwards(made, author)
        if not blog and len(self.site.ancestors(made.id)) < DEEPEST:
            parents.append(made)

    def _parent(self, parents: list[Content]) -> Content:
        """Return where the next hangs: mostly beneath something new, as people write in turn."""
        if self.random.random() < TOP_SHARE:
            return parents[0]
        return parents[-1 - min(int(self.random.expovariate(0.2)), len(parents) - 1)]

    def _labels(self) -> list[str]:
        some = self.random.random() < LABEL_SHARE
        return self.random.sample(LABELS, k=self.random.randint(1, 2)) if some else []

    def _afterwards(self, made: Content, author: str) -> None:
        if self.random.random() < EDITED_SHARE:
            made.version += self.random.randint(1, 12)
            made.updated_by = self.random.choice(self.handles)
        if self.random.random() < RESTRICTED_SHARE:
            groups = self.random.sample(GROUPS[1:], k=self.random.randint(0, 2))
            self.site.restrict(made.id, users=[author, "admin"], groups=groups)
        if self.random.random() < FILE_SHARE:
            words = f"Notes about {made.title}.\n".encode()
            self.site.attach(made.id, f"notes-{made.id}.txt", words, by=author)


def wiki_site(
    *, pages: int = 200, seed: int = 7, spaces: Sequence[str] = SPACES[:3], people: int = 12
) -> Site:
    """Grow a site: ``pages`` pages and blog posts over the spaces, the admin reading them all.

    Some are restricted, labelled, edited, in folders, with files. What it says is our own and
    in storage format with macros. The past two years are spread over what is written.
    """
    assert pages >= len(spaces), "every space has a home page"
    site = Site()
    before, site.step = site.now, timedelta(0)
    handles = [site.add_person(f"user{n:02}", email_shown=n % 3 == 0).handle for n in range(people)]
    grower = _Grower(site, Random(seed), handles)  # noqa: S311 - a plausible wiki, no secret
    site.now, site.step = before - timedelta(days=730), timedelta(days=700) / (3 * pages)
    grower.society(spaces)
    for number, key in enumerate(spaces):
        share = pages // len(spaces) + (number < pages % len(spaces))
        grower.tree(key, share)
    site.now, site.step = max(before, site.now), timedelta(seconds=1)
    return site
