"""Who alone may read one page, which both editions tell alike."""

from __future__ import annotations

from tests.confluence.call import Answer, Call, Refusal
from tests.confluence.shapes_people import restriction_json

PREFIX = "restrictions."


def restriction(call: Call) -> Answer:
    """Tell a page's own restriction; empty lists mean that there is none."""
    found = call.content(call.names["id"])
    wanted = call.listed("expand")
    inner = frozenset(name.removeprefix(PREFIX) for name in wanted if name.startswith(PREFIX))
    if not inner <= {"user", "group"}:
        raise Refusal(400, f"nothing of {sorted(inner)} to expand", unexpected=True)
    call.check(frozenset(wanted), [found])
    start = call.sent.get("start", "0")
    if not start.isdecimal():
        raise Refusal(400, f"start must be a number, not {start!r}")
    return Answer(restriction_json(call, found, inner, int(start)))
