"""Words for grown pages: titles, and text in storage format with the macros that wikis have."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

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
