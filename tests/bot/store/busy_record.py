"""A record as it looks after weeks of use: filled quickly, through the store's own rows."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from sqlalchemy import insert

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
    Table,
    TurnRow,
    UsageRow,
)
from rag.types import ModelCall

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
            source = Source(
                page, page, title, f"/pages/IT/{page}", "", answer, None, 0.9, "f", page
            )
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
