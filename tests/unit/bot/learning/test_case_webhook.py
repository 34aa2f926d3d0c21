"""Tests of the case webhook: what is sent, to whom, in which order, and how often."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.answering.visibility import ReadableInIndex
from bot.domain.cases import Act, Actor
from bot.domain.errors import SettingInvalid
from bot.domain.interactions import Interaction
from bot.domain.messages import InteractionId
from bot.escalations.casework import Casework
from bot.learning.case_webhook import (
    CaseWebhook,
    WebhookEndpoint,
    endpoint_of,
    replay_events,
    signed_headers,
)
from bot.store.database import Store
from tests.fakes.board_app import CLOSED, SECRET, UNSURE, TwoPageIndex, ask
from tests.fakes.escalations import Clock
from tests.fakes.http_server import settings_for
from tests.fakes.webhook_receiver import WebhookReceiver, Zammad

KEY = b"a key of at least twenty-four bytes"
WHSEC = f"whsec_{base64.b64encode(KEY).decode()}"
ANNA = Actor("anna@acme.example", "Anna Lopez", "expert")
BEN = Actor("ben@acme.example", "Ben Okafor", "expert")


class Sender:
    """A webhook over a real record, by a clock of its own; it sends until nothing is due."""

    def __init__(self, store: Store, url: str, index: TwoPageIndex | None = None) -> None:
        self.clock = Clock(datetime.now(UTC))
        readable = ReadableInIndex(index or TwoPageIndex())  # type: ignore[arg-type]  # only what it reads
        self.webhook = CaseWebhook(
            "default",
            endpoint=WebhookEndpoint(url, KEY),
            events=store.webhook_events,
            casework=Casework(
                cases=store.escalations, interactions=store.interactions, readable=readable
            ),
            now=self.clock,
            public_url="https://desk.example",
            timeout_seconds=0.2,
        )

    async def send_all(self) -> None:
        while await self.webhook.run():
            pass


@pytest.fixture
async def receiver() -> WebhookReceiver:
    return WebhookReceiver()


@pytest.fixture
async def sender(store: Store, receiver: WebhookReceiver) -> AsyncIterator[Sender]:
    async with receiver.serving() as url:
        yield Sender(store, url)
        receiver.goes_on.set()


async def act(
    store: Store, case: Interaction, what: Act, who: Actor = ANNA, text: str = ""
) -> None:
    await store.escalations.act("default", case.id, what, who, text)


async def work_through(store: Store, name: str = "m1") -> Interaction:
    """Open a case, and have every act done on it."""
    case = await ask(store, name, response=UNSURE)
    await act(store, case, "claim")
    await act(store, case, "release")
    await act(store, case, "reply", text="Restart it.")
    await act(store, case, "resolve")
    await act(store, case, "reopen", Actor("mika", "Mika Salo", "asker"), "Still broken.")
    await act(store, case, "decline", BEN, "Ask facilities.")
    return case


STEPS = ["open", "claim", "release", "reply", "resolve", "reopen", "decline"]


async def test_every_step_is_sent_once_in_order_with_its_state(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    case = await work_through(store)

    await sender.send_all()
    await sender.send_all()

    assert [each["data"]["step"]["name"] for each in receiver.bodies] == STEPS
    states = [
        (each["data"]["case"]["state"], each["data"]["case"]["owner"]) for each in receiver.bodies
    ]
    assert states == [
        ("open", None),
        ("claimed", "Anna Lopez"),
        ("open", None),
        ("answered", "Anna Lopez"),
        ("resolved", "Anna Lopez"),
        ("reopened", None),
        ("declined", "Ben Okafor"),
    ]
    assert receiver.ids == [f"{case.id}-{number}" for number in range(1, 8)]
    assert receiver.bodies[3]["data"]["step"] == {
        "number": 4,
        "name": "reply",
        "by": "Anna Lopez",
        "role": "expert",
        "text": "Restart it.",
        "to": None,
        "about": None,
    }


async def test_a_reminder_is_sent_as_a_step_of_nobody(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    await ask(store, response=UNSURE)
    await store.notices.remind(datetime.now(UTC) + timedelta(days=1))

    sender.clock.pass_by(hours=1)
    await sender.send_all()

    assert [each["type"] for each in receiver.bodies] == ["case.open", "case.ping"]
    assert receiver.bodies[1]["data"]["step"]["by"] is None


async def test_the_signature_is_that_of_standard_webhooks(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    await ask(store, response=UNSURE)

    await sender.send_all()

    ((headers, body),) = receiver.arrived
    # By the words of the specification, not by our code.
    signed = headers["webhook-id"].encode() + b"." + headers["webhook-timestamp"].encode() + b"."
    digest = hmac.digest(KEY, signed + body, hashlib.sha256)
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    assert int(headers["webhook-timestamp"]) == int(sender.clock.now.timestamp())


async def test_the_signature_is_that_of_the_examples_of_the_standard() -> None:
    """The values are those of the tests of the standard's own Python library."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    at = datetime.fromtimestamp(1614265330, UTC)

    headers = signed_headers(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, b'{"test": 2432232314}')

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("behaviour", [500, 301, 404, 429, "close", "slow"])
async def test_a_receiver_that_misbehaves_gets_it_again_later(
    store: Store, receiver: WebhookReceiver, sender: Sender, behaviour: int | str
) -> None:
    receiver.behaviour = [behaviour, behaviour]
    await ask(store, response=UNSURE)

    await sender.send_all()
    await sender.send_all()
    assert len(receiver.arrived) == 1
    for _ in range(4):
        sender.clock.pass_by(hours=1)
        await sender.send_all()

    assert len(receiver.arrived) == 3
    assert len(set(receiver.ids)) == 1
    assert receiver.moved == 0
    counts = await store.webhook_events.counts("default")
    assert (counts.waiting, counts.given_up, counts.failure) == (0, 0, "")


async def test_later_steps_of_a_case_wait_and_other_cases_do_not(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    receiver.behaviour = [500]
    first = await ask(store, "m1", response=UNSURE)
    await sender.send_all()
    await act(store, first, "claim")
    second = await ask(store, "m2", response=UNSURE)

    await sender.send_all()
    assert receiver.ids == [f"{first.id}-1", f"{second.id}-1"]
    sender.clock.pass_by(hours=1)
    await sender.send_all()

    assert receiver.ids[2:] == [f"{first.id}-1", f"{first.id}-2"]


async def test_after_a_day_it_is_given_up_and_the_next_step_goes(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    receiver.behaviour = [503] * 100
    case = await ask(store, response=UNSURE)
    for _ in range(30):
        await sender.send_all()
        sender.clock.pass_by(hours=1)

    assert (await store.webhook_events.counts("default")).given_up == 1
    tried = len(receiver.arrived)
    assert 20 < tried < 30
    receiver.behaviour = []
    await act(store, case, "claim")
    sender.clock.now = datetime.now(UTC)
    await sender.send_all()
    assert receiver.ids[tried:] == [f"{case.id}-2"]


async def test_a_sender_that_dies_before_it_recorded_sends_the_same_again(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    """Each event is new to the receiver once, in order, wherever the sender was killed."""
    case = await work_through(store)
    receiver.behaviour = ["slow", 204] * 7

    for _ in range(len(STEPS)):
        receiver.came.clear()
        dying = asyncio.create_task(sender.webhook.run())
        await receiver.came.wait()
        dying.cancel()
        with suppress(asyncio.CancelledError):
            await dying
        await sender.webhook.run()

    assert len(receiver.ids) == 2 * len(STEPS)
    assert list(dict.fromkeys(receiver.ids)) == [f"{case.id}-{number}" for number in range(1, 8)]
    assert (await store.webhook_events.counts("default")).waiting == 0


async def test_pages_that_not_everyone_may_read_never_leave(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    await ask(store, response=UNSURE)

    await sender.send_all()

    (body,) = receiver.bodies
    assert body["data"]["case"]["pages"] == [
        {"title": "VPN guide", "url": "https://desk.example/pages/IT/vpn.md"}
    ]
    assert SECRET not in str(body)
    assert CLOSED.text not in str(body)


async def test_without_the_index_no_page_is_named(store: Store, receiver: WebhookReceiver) -> None:
    await ask(store, response=UNSURE)
    async with receiver.serving() as url:
        await Sender(store, url, TwoPageIndex(away=True)).send_all()

    assert [each["data"]["case"]["pages"] for each in receiver.bodies] == [[]]


async def test_nothing_of_a_withdrawn_question_leaves(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    case = await work_through(store)
    await store.work.cancel(case.id)

    await sender.send_all()
    since = datetime.now(UTC) - timedelta(days=1)
    await replay_events(store.webhook_events, store.audits, "default", since, "cli:ada")
    await sender.send_all()

    assert receiver.arrived == []


async def test_a_question_whose_asker_has_not_agreed_is_not_sent(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    await ask(store, response=replace(UNSURE, consent_needed=True))

    await sender.send_all()

    assert receiver.arrived == []


async def test_a_replay_sends_what_happened_since_again_and_is_audited(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    case = await work_through(store)
    await sender.send_all()
    steps = await store.escalations.steps("default", InteractionId(case.id))
    sent = receiver.ids

    count = await replay_events(
        store.webhook_events, store.audits, "default", steps[4].at, "cli:ada"
    )
    sender.clock.pass_by(seconds=1)
    await sender.send_all()

    assert count == 3
    assert receiver.ids == [*sent, *sent[4:]]
    (audited, *_) = await store.audits.newest("default", 1)
    assert (audited.act, audited.actor) == ("webhook.replay", "cli:ada")


async def test_other_tenants_cases_are_not_sent(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    await ask(store, response=UNSURE)

    assert not await store.webhook_events.due(
        "other", after=datetime.min.replace(tzinfo=UTC), now=sender.clock.now, limit=5
    )


def test_the_endpoint_is_what_is_configured(tmp_path: Path) -> None:
    settings = settings_for(
        tmp_path, case_webhook_url="https://t.example/x?k=secret", case_webhook_secret=WHSEC
    )

    endpoint = endpoint_of(settings)

    assert endpoint is not None
    assert (endpoint.url, endpoint.key) == ("https://t.example/x?k=secret", KEY)
    assert endpoint.host == "t.example"
    assert "secret" not in repr(endpoint)
    assert endpoint_of(settings_for(tmp_path)) is None


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("http://tickets.example/x", WHSEC),
        ("ftp://127.0.0.1/x", WHSEC),
        ("https:///x", WHSEC),
        ("https://tickets.example/x", None),
        (None, WHSEC),
        ("https://tickets.example/x", "whsec_dG9vIHNob3J0"),
        ("https://tickets.example/x", "a password"),
    ],
)
def test_an_open_address_or_a_weak_key_stops_the_start(
    tmp_path: Path, url: str | None, secret: str | None
) -> None:
    with pytest.raises(SettingInvalid) as refused:
        settings_for(tmp_path, case_webhook_url=url, case_webhook_secret=secret)

    assert "tickets.example" not in str(refused.value)


def test_this_machine_needs_no_https(tmp_path: Path) -> None:
    url = "http://127.0.0.1:8099"

    settings = settings_for(tmp_path, case_webhook_url=url, case_webhook_secret=WHSEC)

    assert endpoint_of(settings) == WebhookEndpoint(url, KEY)


DOCUMENTED = Path("docs/webhooks.md").read_text(encoding="utf-8")


async def test_the_documented_body_has_the_fields_of_the_real_one(
    store: Store, receiver: WebhookReceiver, sender: Sender
) -> None:
    (example,) = re.findall(r"```json\n(.+?)```", DOCUMENTED, re.DOTALL)
    await ask(store, response=UNSURE)

    await sender.send_all()

    assert _shape(json.loads(example)) == _shape(receiver.bodies[0])


def _shape(value: object) -> object:
    if isinstance(value, dict):
        return {name: _shape(each) for name, each in value.items()}
    return [_shape(value[0])] if isinstance(value, list) else ""


async def test_the_documented_example_opens_and_follows_a_ticket(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (code,) = re.findall(r"```python\n(.+?)```", DOCUMENTED, re.DOTALL)
    assert len(list(filter(None, code.splitlines()))) <= 40
    zammad = Zammad()
    case = await work_through(store)
    monkeypatch.chdir(tmp_path)
    async with zammad.serving() as address:
        for name, value in {
            "CASE_WEBHOOK_SECRET": WHSEC,
            "ZAMMAD_URL": address,
            "ZAMMAD_TOKEN": "zammad-token",
        }.items():
            monkeypatch.setenv(name, value)
        example: dict[str, type] = {}
        exec(compile(code, "docs/webhooks.md", "exec"), example)  # noqa: S102 - it is ours
        server = example["HTTPServer"](("127.0.0.1", 0), example["Receiver"])
        serving = asyncio.create_task(asyncio.to_thread(server.serve_forever, 0.01))
        sender = Sender(store, f"http://127.0.0.1:{server.server_port}")
        try:
            await sender.send_all()
            await replay_events(
                store.webhook_events, store.audits, "default", case.created_at, "cli:ada"
            )
            await sender.send_all()
        finally:
            await asyncio.to_thread(server.shutdown)
            server.server_close()
            await serving

    assert list(zammad.tickets) == [1]
    state, articles = zammad.tickets[1]
    assert state == "closed"
    assert len(articles) == len(STEPS)
    assert articles[0].startswith("vpn 809?")
    assert "Restart it." in articles[3]
