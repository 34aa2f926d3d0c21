"""Generate a plausible wiki from a seed, and let random changes happen in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from tests.fakes.confluence.content import Content
from tests.fakes.confluence.site import ADMIN, Site

THINGS = (
    "VPN,laptop,printer,badge,payroll,holiday,expense,server,database,backup,certificate,"
    "mailbox,phone,travel,contract,invoice,onboarding,password,licence,monitor"
).split(",")
DOINGS = "Requesting,Resetting,Replacing,Ordering,Renewing,Reporting,Approving,Restoring".split(",")
PLACES = ("the service desk", "the portal", "your manager", "the operations room", "the intranet")
CALLOUTS = ("info", "note", "tip", "warning")


def title_of(random: Random) -> str:
    return f"{random.choice(DOINGS)} a {random.choice(THINGS)}"


def storage_of(random: Random, space: str) -> str:
    """Return a page's text: some sentences, and two or three other things."""
    parts = [_paragraph(random), f"<h2>How to go about a {random.choice(THINGS)}</h2>"]
    kinds = random.sample(KINDS, k=random.randint(1, 3))
    parts += [kind(random, space) for kind in kinds]
    return "".join([*parts, _paragraph(random)])


def _sentence(random: Random) -> str:
    thing, place = random.choice(THINGS), random.choice(PLACES)
    days, number = random.randint(1, 30), random.randint(100, 999)
    return random.choice(
        (
            f"A {thing} is asked for at {place} at least {days} days ahead.",
            f"If the {thing} fails with error {number}, tell {place} within {days} hours.",
            f"Form {number} names who pays for the {thing} &amp; who signs for it.",
            f"After {days} days without an answer about your {thing}, ask {place} again.",
        )
    )


def _paragraph(random: Random, *_: str) -> str:
    return f"<p>{' '.join(_sentence(random) for _ in range(random.randint(2, 4)))}</p>"


def _list(random: Random, space: str) -> str:
    items = "".join(f"<li><p>{_sentence(random)}</p></li>" for _ in range(random.randint(2, 5)))
    return f"<ol>{items}</ol>"


def _table(random: Random, space: str) -> str:
    rows = "".join(_row(random) for _ in range(random.randint(2, 4)))
    return f"<table><tbody><tr><th>Thing</th><th>Takes</th></tr>{rows}</tbody></table>"


def _row(random: Random) -> str:
    days = random.randint(1, 90)
    return f"<tr><td><p>{random.choice(THINGS)}</p></td><td><p>{days} days</p></td></tr>"


def _macro(name: str, body: str, parameters: str = "") -> str:
    return f'<ac:structured-macro ac:name="{name}">{parameters}{body}</ac:structured-macro>'


def _callout(random: Random, space: str) -> str:
    body = f"<ac:rich-text-body>{_paragraph(random)}</ac:rich-text-body>"
    return _macro(random.choice(CALLOUTS), body)


def _code(random: Random, space: str) -> str:
    command = (
        f"if [ $days -gt {random.randint(1, 9)} ]; then\n  renew --{random.choice(THINGS)}\nfi"
    )
    language = '<ac:parameter ac:name="language">bash</ac:parameter>'
    return _macro(
        "code", f"<ac:plain-text-body><![CDATA[{command}]]></ac:plain-text-body>", language
    )


def _expand(random: Random, space: str) -> str:
    title = '<ac:parameter ac:name="title">More about this</ac:parameter>'
    return _macro("expand", f"<ac:rich-text-body>{_list(random, space)}</ac:rich-text-body>", title)


def _tasks(random: Random, space: str) -> str:
    tasks = "".join(
        f"<ac:task><ac:task-id>{number}</ac:task-id>"
        f"<ac:task-status>{random.choice(('complete', 'incomplete'))}</ac:task-status>"
        f"<ac:task-body>{_sentence(random)}</ac:task-body></ac:task>"
        for number in (1, 2)
    )
    return f"<ac:task-list>{tasks}</ac:task-list>"


def _link(random: Random, space: str) -> str:
    target = f'<ri:page ri:space-key="{space}" ri:content-title="{space} home" />'
    return f"<p>See <ac:link>{target}<ac:link-body>the home page</ac:link-body></ac:link>.</p>"


def _contents(random: Random, space: str) -> str:
    return _macro("toc", "")


KINDS: tuple[Callable[[Random, str], str], ...] = (
    _list,
    _table,
    _callout,
    _code,
    _expand,
    _tasks,
    _link,
    _contents,
)


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


@dataclass(frozen=True)
class RandomActivity:
    """Lets things happen on a site, each what people do there and each as likely as there.

    The admin stays among those who are named, so that its token sees all that there is. What is
    told of an event is for a test's message when it fails.
    """

    site: Site
    random: Random

    @classmethod
    def of(cls, site: Site, seed: int) -> RandomActivity:
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


EVENTS: tuple[tuple[Callable[[RandomActivity], str], int], ...] = (
    (RandomActivity.edit, 30),
    (RandomActivity.write, 14),
    (RandomActivity.restrict, 12),
    (RandomActivity.move, 9),
    (RandomActivity.go, 9),
    (RandomActivity.label, 8),
    (RandomActivity.attach, 6),
    (RandomActivity.mingle, 5),
    (RandomActivity.rename, 4),
    (RandomActivity.come_back, 4),
    (RandomActivity.admit, 3),
)
