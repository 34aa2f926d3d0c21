"""Write rows into the record as an earlier day or weeks of use left them, and read them."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from sqlalchemy import create_engine, func, insert, make_url, select

from bot.domain.interactions import (
    Clarification,
    Escalation,
    EscalationReason,
    Outcome,
    Reply,
    Route,
    Source,
    Trace,
)
from bot.domain.messages import Intent, Message, Person, Thread
from bot.store.database import Store
from bot.store.rows import MICROS_PER_DOLLAR, Rows, channel_of, turn_rows
from bot.store.tables import (
    ConversationRow,
    EscalationRow,
    EscalationStepRow,
    FeedbackRow,
    InteractionRow,
    ProgressRow,
    Table,
    TurnRow,
    UsageRow,
)
from rag.types import ModelCall
from tests.fakes.builders import NOON, message

RowsOfTables = list[tuple[type[Table], dict[str, object]]]


async def add(store: Store, table: type[Table], **values: object) -> None:
    await add_all(store, [(table, values)])


async def add_all(store: Store, added: RowsOfTables) -> None:
    """Add rows in one transaction."""
    async with store.transactions.writing() as connection:
        for table, values in added:
            await connection.execute(insert(table).values(**values))


async def count(store: Store, table: type[Table]) -> int:
    async with store.transactions.reading() as connection:
        return int(await connection.scalar(select(func.count()).select_from(table)) or 0)


def interaction_rows(
    name: str,
    *,
    at: datetime = NOON,
    status: str = "done",
    posted: bool = True,
    thread: str = "web:default:anna:t1",
    **more: object,
) -> RowsOfTables:
    """One with a turn and a progress row; it ended when it came."""
    asked = message("Where is the VPN?", message_id=name)
    values: dict[str, object] = {
        "id": name,
        "tenant": "default",
        "thread": thread,
        "person": "anna",
        "status": status,
        "message": Rows().message(asked),
        "posted_channel": "anna" if posted else None,
        "posted_id": name if posted else None,
        "created_at": at,
        "finished_at": None if status == "working" else at,
        "channel": "web:anna",
        **more,
    }
    own: dict[str, object] = {"interaction_id": name, "tenant": "default"}
    return [
        (InteractionRow, values),
        (TurnRow, {**own, "thread": thread, "role": "user", "text": "Where is the VPN?"}),
        (ProgressRow, {**own, "sequence": 1, "stage": "received", "at": at}),
    ]


async def add_interaction(store: Store, name: str, **more: Any) -> None:  # noqa: ANN401 - as interaction_rows
    await add_all(store, interaction_rows(name, **more))


def escalation_rows(name: str, **more: object) -> RowsOfTables:
    """One that waits since noon."""
    values: dict[str, object] = {
        "interaction_id": name,
        "tenant": "default",
        "state": "open",
        "reason": "asked_for_human",
        "question": "a human please",
        "opened_at": NOON,
        "changed_at": NOON,
    }
    return [(EscalationRow, {**values, **more})]


async def add_escalation(store: Store, name: str, **more: object) -> None:
    await add_all(store, escalation_rows(name, **more))


def conversation_rows(thread: str, **more: object) -> RowsOfTables:
    """One that was begun at noon."""
    values: dict[str, object] = {
        "tenant": "default",
        "thread": thread,
        "channel": "web:anna",
        "private": True,
        "started_at": NOON,
        "last_at": NOON,
    }
    return [(ConversationRow, {**values, **more})]


async def add_conversation(store: Store, thread: str, **more: object) -> None:
    await add_all(store, conversation_rows(thread, **more))


async def add_usage(store: Store, sequence: int, **more: object) -> None:
    values: dict[str, object] = {
        "tenant": "default",
        "interaction_id": "i1",
        "sequence": sequence,
        "at": NOON,
        "channel": "web:anna",
        "person": "anna",
        "purpose": "answer",
        "model": "small",
        "input_tokens": 100,
        "output_tokens": 10,
        "cost_usd": 0.25,
    }
    await add(store, UsageRow, **{**values, **more})


def rows(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement outside of the store, and return what it gives."""
    engine = create_engine(make_url(url.replace("+aiosqlite", "")))
    with engine.begin() as connection:
        result = connection.exec_driver_sql(statement)
        found = [tuple(row) for row in result] if result.returns_rows else []
    engine.dispose()
    return found


async def write_arrival(store: Store, *asked: Message) -> None:
    """Record messages in this order, each at the moment it was received."""
    rows = [
        {
            "id": message.interaction_id,
            "tenant": message.thread.tenant,
            "thread": message.thread.key,
            "channel": f"{message.thread.platform}:{message.thread.channel}",
            "person": message.author.id,
            "status": "working",
            "message": "{}",
            "created_at": message.received_at,
        }
        for message in asked
    ]
    async with store.transactions.writing() as connection:
        for row in rows:
            await connection.execute(insert(InteractionRow).values(**row))


async def write_model_call(
    store: Store,
    number: int,
    at: datetime,
    tokens: tuple[int, int],
    usd: float | None = None,
    *,
    tenant: str = "default",
    person: str = "anna",
) -> None:
    """Record one model call."""
    row = {
        "tenant": tenant,
        "interaction_id": f"i{number}",
        "sequence": 1,
        "at": at,
        "channel": "slack:C1",
        "person": person,
        "purpose": "answer",
        "model": "m",
        "input_tokens": tokens[0],
        "output_tokens": tokens[1],
        "cost_usd": usd,
    }
    async with store.transactions.writing() as connection:
        await connection.execute(insert(UsageRow).values(**row))


PEOPLE = ("Anna Lopez", "Ben Okafor", "Chiara Rossi", "Dev Patel", "Eva Lind", "Farid Aziz")
EXPERTS = ("Tomas Berg", "Ines Moreau")
KNOWN = (
    ("vpn says error 809, what now?", "Error 809 means that UDP port 4500 is blocked.", "VPN"),
    ("How do I reset my password?", "Open the portal and choose “Forgotten”.", "Passwords"),
    ("Who approves travel?", "Your line manager approves travel in the tool.", "Travel"),
    ("how many days of leave do I have", "Everyone has 28 days of annual leave.", "Leave"),
    ("guest wifi for visitors tomorrow", "Reception prints a voucher a guest.", "Guest Wi-Fi"),
)
UNKNOWN = (
    "Is the Lisbon office open on Friday?",
    "My badge stopped working at the north gate",
    "Can I get a second monitor at home?",
    "Why was my expense report sent back?",
)
GENERIC = ("thanks!", "hello", "what can you do?", "write a polite out of office note")
PLACES = (("web", ""), ("slack", "C0HELP"), ("teams", "19:help"), ("web", ""), ("slack", "D0DM"))
MODELS = (("gpt-4.1-mini", 0.9), ("gpt-4.1-mini", 1.1), ("gpt-4.1", 4.5), ("qwen3-8b", None))
REASONS: tuple[EscalationReason, ...] = ("low_confidence", "nothing_found", "asked_for_human")


@dataclass
class BusyRecord:
    """Rows of a record, by table, in the order in which they can be inserted."""

    seed: int = 1
    tenant: str = "default"
    rows: defaultdict[type[Table], list[dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def __post_init__(self) -> None:
        self._drawn = Random(self.seed)  # noqa: S311 - repeatable, not secret
        self._codec = Rows()

    def fill(self, until: datetime, *, days: int, a_day: int) -> None:
        """Add some days of questions up to a moment, fewer of them at weekends."""
        for at in sorted(self._moments(until, days, a_day)):
            self._ask(at, until)

    def _moments(self, until: datetime, days: int, a_day: int) -> Iterator[datetime]:
        for back in range(days):
            day = (until - timedelta(days=back)).replace(hour=8, minute=0, second=0)
            weekend = day.weekday() > 4
            share = (0.15 if weekend else 1.0) * (1 - back / days / 2)
            for _ in range(max(1, round(a_day * share * self._drawn.uniform(0.8, 1.2)))):
                at = day + timedelta(seconds=self._drawn.uniform(0, 10 * 3600))
                if at < until - timedelta(seconds=5):
                    yield at

    def _ask(self, at: datetime, until: datetime) -> None:
        outcome, text = self._outcome()
        message = self._message(at, text)
        took = timedelta(seconds=min(12, self._drawn.lognormvariate(0.2, 0.6)))
        undelivered = self._drawn.random() < 0.004
        self.rows[InteractionRow].append(
            {
                "id": message.interaction_id,
                "tenant": self.tenant,
                "thread": message.thread.key,
                "person": message.author.id,
                "status": "failed" if undelivered else "done",
                "message": self._codec.message(message),
                "created_at": at,
                "finished_at": at + took,
                "channel": channel_of(message.thread),
                "posted_channel": None if undelivered else message.thread.channel,
                "posted_id": None if undelivered else message.id,
                "failure": "The channel is archived." if undelivered else "",
                **self._codec.outcome(outcome),
            }
        )
        self.rows[TurnRow] += turn_rows(message, outcome)
        self._spend(message, outcome, at + took)
        self._converse(message, at)
        self._judge(message, outcome, at)
        self._escalate(message, outcome, at + took, until)

    def _message(self, at: datetime, text: str) -> Message:
        platform, channel = self._drawn.choice(PLACES)
        name = self._drawn.choice(PEOPLE)
        person = name.partition(" ")[0].lower()
        private = channel in {"", "D0DM"}
        thread = Thread(platform, self.tenant, channel or person, self._id())
        return Message(self._id(), thread, Person(person, name), text, at, private=private)

    def _outcome(self) -> tuple[Outcome, str]:
        luck = self._drawn.random()
        if luck < 0.56:
            text, answer, title = self._drawn.choice(KNOWN)
            page = f"{title.lower()}.md"
            space = "HR" if title in {"Leave", "Travel"} else "IT"
            place = f"/pages/{space}/{page}"
            source = Source(page, page, title, place, "", answer, None, 0.9, "f", page, space=space)
            sure = self._drawn.uniform(0.66, 0.99)
            return self._traced(Reply(f"{answer} [1]", "answer", (source,), sure), text), text
        if luck < 0.68:
            text = self._drawn.choice(GENERIC)
            return self._traced(Reply("Happy to help.", "generic"), text, Intent.GENERIC), text
        if luck < 0.75:
            text = "which laptop can I order?"
            asked_back = Clarification("Which one do you mean?", ("New", "Repair"), confidence=0.5)
            return self._traced(asked_back, text), text
        if luck < 0.78:
            text = self._drawn.choice(UNKNOWN)
            busy = Reply("I can only take 10 messages a minute.", "generic", refused=True)
            return Outcome(busy, Trace(Route(Intent.UNKNOWN, 0.0, "default", text))), text
        text = self._drawn.choice(UNKNOWN)
        reason = self._drawn.choice(REASONS)
        unsure = Escalation("I've asked a person.", reason, text, confidence=0.3)
        return self._traced(unsure, text), text

    def _traced(
        self,
        response: Reply | Clarification | Escalation,
        text: str,
        intent: Intent = Intent.DOMAIN,
    ) -> Outcome:
        model, price = self._drawn.choice(MODELS)
        tokens = self._drawn.randint(600, 2600), self._drawn.randint(40, 260)
        cost = None if price is None else round(sum(tokens) * price)
        call = ModelCall("answer", model, "answer@3", *tokens, 800.0, cost)
        return Outcome(response, Trace(Route(intent, 0.9, "classifier", text), calls=(call,)))

    def _spend(self, message: Message, outcome: Outcome, at: datetime) -> None:
        for sequence, call in enumerate(outcome.trace.calls, start=1):
            cost = call.cost_micro_usd
            self.rows[UsageRow].append(
                {
                    "tenant": self.tenant,
                    "interaction_id": message.interaction_id,
                    "sequence": sequence,
                    "at": at,
                    "channel": channel_of(message.thread),
                    "person": message.author.id,
                    "purpose": call.purpose,
                    "model": call.model,
                    "input_tokens": call.input_tokens,
                    "output_tokens": call.output_tokens,
                    "cost_usd": None if cost is None else cost / MICROS_PER_DOLLAR,
                }
            )

    def _converse(self, message: Message, at: datetime) -> None:
        self.rows[ConversationRow].append(
            {
                "tenant": self.tenant,
                "thread": message.thread.key,
                "channel": channel_of(message.thread),
                "private": message.private,
                "started_at": at,
                "last_at": at,
            }
        )

    def _judge(self, message: Message, outcome: Outcome, at: datetime) -> None:
        if not isinstance(outcome.response, Reply) or self._drawn.random() > 0.25:
            return
        up = self._drawn.random() < 0.82
        self.rows[FeedbackRow].append(
            {
                "interaction_id": message.interaction_id,
                "person": message.author.id,
                "tenant": self.tenant,
                "vote": "up" if up else "down",
                "reason": None if up else self._drawn.choice(("wrong", "outdated", "incomplete")),
                "comment": None if up else "This changed in spring.",
                "given_at": at + timedelta(seconds=40),
            }
        )

    def _escalate(self, message: Message, outcome: Outcome, at: datetime, until: datetime) -> None:
        response = outcome.response
        if not isinstance(response, Escalation):
            return
        steps = [each for each in self._steps(at) if each[1] < until]
        expert = self._drawn.choice(EXPERTS)
        own = expert.partition(" ")[0].lower()
        states = {"open": "open", "claim": "claimed", "reply": "answered", "resolve": "resolved"}
        state = states[steps[-1][0]]
        has = state in {"claimed", "answered", "resolved"}
        case = {"interaction_id": message.interaction_id, "tenant": self.tenant}
        self.rows[EscalationRow].append(
            {
                **case,
                "state": state,
                "reason": response.reason,
                "question": response.question,
                "owner": own if has else None,
                "owner_name": expert if has else "",
                "asker": message.author.id,
                "asker_name": message.author.name,
                "private": message.private,
                "opened_at": at,
                "changed_at": steps[-1][1],
                "version": len(steps) - 1,
            }
        )
        for number, (step, moment) in enumerate(steps, start=1):
            by_expert = step != "open"
            self.rows[EscalationStepRow].append(
                {
                    **case,
                    "number": number,
                    "step": step,
                    "actor": own if by_expert else message.author.id,
                    "actor_name": expert if by_expert else message.author.name,
                    "actor_role": "expert" if by_expert else "asker",
                    "text": "It is open again from nine." if step == "reply" else "",
                    "at": moment,
                }
            )

    def _steps(self, at: datetime) -> list[tuple[str, datetime]]:
        steps = [("open", at)]
        for step, minutes in (("claim", 25), ("reply", 40), ("resolve", 200)):
            if self._drawn.random() < 0.06:
                break
            at += timedelta(minutes=self._drawn.expovariate(1 / minutes))
            steps.append((step, at))
        return steps

    def _id(self) -> str:
        return str(uuid.UUID(int=self._drawn.getrandbits(128)))


async def fill(
    store: Store, until: datetime, *, days: int = 30, a_day: int = 40, seed: int = 1
) -> BusyRecord:
    """Fill an empty record with some days of use up to a moment; return what was put in."""
    record = BusyRecord(seed=seed)
    record.fill(until, days=days, a_day=a_day)
    async with store.transactions.writing() as connection:
        for table, rows in record.rows.items():
            await connection.execute(insert(table), rows)
    return record
