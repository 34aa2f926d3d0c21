"""Questions as they came from the local workspace, and where their replies are."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.domain.messages import Message, Person, Thread
from tests.bot.adapters.slack.events import ALICE
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.posts import Post

HELP, PEOPLE, DIRECT = "C0HELP000", "C0PEOPLE0", "D0ALICE00"
ROOT = "1700000000.000100"


def question(*, private: bool = False, id: str = ROOT) -> Message:  # noqa: A002  # the field's name
    return Message(
        id=id,
        thread=Thread("slack", "acme", DIRECT if private else HELP, ROOT),
        author=Person(id=ALICE),
        text="vpn down?",
        received_at=datetime.now(UTC),
        private=private,
    )


def replies(slack: FakeSlack) -> list[Post]:
    """Return what the bot wrote in the thread."""
    return [post for post in slack.in_thread(HELP, ROOT) if "metadata" in post.payload]
