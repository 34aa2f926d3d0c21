"""Somebody who leaves words and identity in every place of the record, and a search for both."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData, create_engine, make_url, select

from bot.domain.cases import ActDetail, Actor
from bot.domain.interactions import (
    Escalation,
    Interaction,
    Outcome,
    PostedRef,
    Reply,
    Response,
    Route,
    Trace,
    new_feedback,
)
from bot.domain.messages import Attachment, Intent, InteractionId, Message, Person, Policy, Thread
from bot.domain.outcomes import DRAFTED
from bot.domain.users import SignedIn
from bot.learning.digest import Subscription
from bot.learning.label_review import QUESTIONS_FILE, write_questions
from bot.store.database import Store
from bot.store.forgetting import Cancel
from bot.store.learning_tables import (
    CitedPageRow,
    CitedQuoteRow,
    CorrectionRow,
    GapQuestionRow,
    GapRow,
    LabelRow,
    QuestionFactRow,
    ReviewedAnswerRow,
)
from bot.store.personal_data import KEPT_ANSWERS, ForgetWork, PersonalData
from bot.store.question_files import QuestionFileRow
from bot.store.rows import utc_now
from ingestion.records.ledger import records_at
from ingestion.records.types import Run
from ingestion.uploads import ReceivedFile, Uploads
from rag.types import ModelCall
from tests.fakes.board_app import TRACE
from tests.fakes.bot_ports import MemoryEngine
from tests.fakes.builders import ALL, NOON
from tests.fakes.record_rows import add

EXPERT = Actor("expert-1", "Erin Expert", "expert")
CALL = ModelCall("answer", "large", "answer@3", 900, 80, 700.0, cost_micro_usd=1_500)


@dataclass(frozen=True)
class Somebody:
    """A person on three platforms; ``word`` is in everything that they write.

    ``tag`` is in ids that others give, such as that of a thread.
    """

    tag: str
    slack: str
    direct: str
    teams: str
    web: str
    email: str
    name: str
    word: str

    @property
    def signs(self) -> tuple[str, ...]:
        """Return everything by which they could be found."""
        return (self.slack, self.direct, self.teams, self.web, self.email, self.name, self.word)

    def person(self, platform: str) -> Person:
        own = {"slack": self.slack, "teams": self.teams, "web": self.web}
        return Person(own[platform], self.name, self.email)


CANARY = Somebody(
    "first",
    "U0CANARY",
    "D0CANARY",
    "aad-canary-1",
    "oidc-canary-1",
    "canary@acme.example",
    "Carla Canary",
    "canaryword",
)
TWIN = Somebody(
    "second",
    "U0CANARY2",
    "D0CANARY2",
    "aad-canary-12",
    "oidc-canary-12",
    "canary@acme.example.org",
    "Carla Canaryson",
    "canarywordlike",
)
"""What denotes the other begins like this one's."""


def said_by(
    who: Somebody,
    platform: str,
    channel: str,
    *,
    name: str = "",
    **more: Any,  # noqa: ANN401
) -> Message:
    """Return a message of theirs; ``name`` tells several in one thread apart."""
    thread = Thread(platform, "default", channel, more.pop("thread", f"t-{who.tag}-{name}"))
    text = more.pop("text", f"how is {who.word} set up {name}?")
    asked = Message(f"m-{who.tag}-{name}", thread, who.person(platform), text, NOON)
    return replace(asked, **more)


async def record(
    store: Store,
    asked: Message,
    response: Response,
    *,
    trace: Trace | None = None,
    silent: bool = False,
) -> Interaction:
    """Record a question with its outcome, a model call and a posted reply."""
    route = Route(Intent.DOMAIN, 0.9, "rule", asked.text)
    given = trace or replace(TRACE, route=route, calls=(CALL,))
    opened = await store.work.open(asked, "me")
    await store.work.close(opened, Outcome(response, given, silent=silent), last=True)
    if not silent:
        await store.work.posted(opened.id, PostedRef(asked.thread.channel, f"p-{asked.id}"))
    found = await store.interactions.get(opened.id)
    assert found is not None
    return found


async def leave_traces(store: Store, who: Somebody) -> dict[str, InteractionId]:
    """Have somebody ask, vote, act and be noted in every way; return their questions by name."""
    asked = {
        "web": await _ask_on_the_web(store, who),
        "case": await _ask_a_person(store, who),
        "gap": await _ask_in_a_channel(store, who),
        "shadow": await _ask_in_shadow_mode(store, who),
    }
    working = said_by(who, "teams", f"19:{who.teams}", name="working", private=True)
    asked["working"] = (await store.work.open(working, "me")).id
    file = {"position": 0, "content": f"{who.word} says no".encode()}
    await add(store, QuestionFileRow, interaction_id=asked["working"], tenant="default", **file)
    await _act_as_an_expert(store, who)
    await _be_noted(store, who)
    return asked


async def _ask_on_the_web(store: Store, who: Somebody) -> InteractionId:
    files = (Attachment(f"{who.word}.pdf", "application/pdf", 10, "somewhere"),)
    asked = said_by(who, "web", who.web, name="web", private=True, attachments=files)
    answer = Reply(f"Set {who.word} up so.", "found", confidence=0.9, confidence_level="sure")
    own = await record(store, asked, answer)
    vote = new_feedback(own.id, who.web, "down", reason="wrong", comment=f"not about {who.word}")
    await store.interactions.rate(vote)
    of = {"interaction_id": own.id, "tenant": "default"}
    place = {"space": "IT", "page": "vpn.md"}
    await add(
        store, CitedQuoteRow, **of, **place, number=1, chunk="c", quote=f"{who.word} is", at=NOON
    )
    await add(store, CorrectionRow, **of, **place, found_at=NOON, state="held")
    await add(store, QuestionFactRow, **of, private=True, by_bot=False, space="IT")
    await add(store, CitedPageRow, **of, **place, asked_at=NOON)
    await add(
        store,
        LabelRow,
        **of,
        origin="thumb",
        truth="unanswerable",
        state="accepted",
        question=asked.text,
        created_at=NOON,
        decided_by=f"board:{EXPERT.name}",
        decided_at=NOON,
    )
    return own.id


async def _ask_a_person(store: Store, who: Somebody) -> InteractionId:
    address = f"https://hooks.example/{who.word}"
    asked = said_by(who, "slack", who.direct, name="case", private=True, reply_to=address)
    case = Escalation("I'll ask.", "asked_for_human", asked.text)
    own = await record(store, asked, case)
    act = store.escalations.act
    await act("default", own.id, "claim", EXPERT)
    await act("default", own.id, "note", EXPERT, f"{who.name} asks for {who.word} each week.")
    await act("default", own.id, "ask_more", EXPERT)
    await act(
        "default", own.id, "show_more", Actor(who.slack, who.name, "asker"), "", ActDetail(about=4)
    )
    await act("default", own.id, "reply", EXPERT, f"{who.name}, {who.word} is set up by IT.")
    await act("default", own.id, "resolve", EXPERT)
    await store.notes.put("default", f"slack:card:{own.id}", "C1 1.0", interaction_id=own.id)
    await add(
        store,
        ReviewedAnswerRow,
        id=f"answer-{who.tag}",
        tenant="default",
        kind="reviewed",
        state="live",
        question=asked.text,
        variants=f'["{who.word} set up", "help desk hours"]',
        text="IT sets this up within a day. Ask at the counter.",
        readers='[["everyone"]]',
        owner=EXPERT.id,
        owner_name=EXPERT.name,
        case=own.id,
        created_at=NOON,
        changed_at=NOON,
        live_at=NOON,
        complaints=f'[["another", "{who.slack}"], ["another", "zoe"]]',
    )
    return own.id


async def _ask_in_a_channel(store: Store, who: Somebody) -> InteractionId:
    """Ask what the wiki lacks, and have a colleague follow up on it in the same thread."""
    asked = said_by(who, "slack", "C1", name="gap", thread=f"shared-{who.tag}")
    own = await record(store, asked, Escalation("I'll ask.", "low_confidence", asked.text))
    gap = f"gap-{who.tag}"
    await add(
        store,
        GapRow,
        id=gap,
        tenant="default",
        state="planned",
        state_by=f"board:{who.web}",
        state_at=NOON,
    )
    await add(store, GapQuestionRow, **_gap_question(own.id, gap, who.email, asked.text))
    zoe = replace(asked, id=f"zoe-{who.tag}", author=Person("zoe", "Zoe"), text="and for guests?")
    searched = f"and for guests? {asked.text}"
    route = Route(Intent.DOMAIN, 0.9, "rule", searched, leaned_on=(own.id,))
    follow_up = await record(
        store,
        zoe,
        Escalation("I'll ask.", "low_confidence", searched),
        trace=replace(TRACE, route=route),
    )
    await add(store, GapQuestionRow, **_gap_question(follow_up.id, gap, "zoe", searched))
    button = replace(zoe, id=f"{asked.id}:human:zoe", text=f"A person, about {asked.text}")
    await record(store, button, Escalation("I'll ask.", "asked_for_human", button.text))
    await store.interactions.rate(new_feedback(follow_up.id, who.slack, "up", comment=who.word))
    return own.id


def _gap_question(asked: str, gap: str, person: str, question: str) -> dict[str, object]:
    return {
        "interaction_id": asked,
        "tenant": "default",
        "gap": gap,
        "cause": "low_confidence",
        "asked_at": NOON,
        "added_at": NOON,
        "person": person,
        "question": question,
        "vector": b"\0\1",
        "embedder": "small",
    }


async def _ask_in_shadow_mode(store: Store, who: Somebody) -> InteractionId:
    asked = said_by(who, "slack", "C2", name="shadow", shadow=True)
    trace = replace(TRACE, route=Route(Intent.DOMAIN, 0.9, "rule", asked.text), notes=(DRAFTED,))
    answer = Reply("It is so.", "answer", confidence=0.9, confidence_level="sure")
    own = await record(store, asked, answer, trace=trace, silent=True)
    await store.shadow_drafts.judge("default", own.id, "agree", f"slack:{who.slack}")
    return own.id


async def _act_as_an_expert(store: Store, who: Somebody) -> None:
    """Claim the case of another person, and do what admins do."""
    zoe = replace(
        said_by(who, "web", "zoe", name="others", private=True, text="who pays for parking?"),
        author=Person("zoe", "Zoe"),
    )
    case = await record(store, zoe, Escalation("I'll ask.", "asked_for_human", zoe.text))
    actor = Actor(who.email, who.name, "expert")
    await store.escalations.act("default", case.id, "claim", actor)
    await store.escalations.act("default", case.id, "reply", actor, "The company pays.")
    policy = Policy(reviewers=frozenset({who.slack, "U0OTHER"}))
    channel, by = f"slack:C-{who.tag}", f"board:{who.name}"
    await store.policies.set("default", channel, policy, actor=by)
    await store.policies.set("default", f"slack:{who.direct}", Policy(follow_ups=True), actor=by)
    await store.audits.append("default", f"slack:{who.slack}", "reindex", "IT", detail=who.email)


async def _be_noted(store: Store, who: Somebody) -> None:
    now = utc_now()
    signed_in = SignedIn("oidc", "expert", who.person("web"))
    until = now + timedelta(hours=1)
    await store.sessions.begin("default", f"hash-{who.tag}", signed_in, now, until)
    mail = Subscription(f"email:{who.email}", who.name, NOON, email=who.email)
    await store.digests.subscribe("default", mail, actor=f"web:{who.web}")
    await store.notes.put("default", f"learning:shares:{who.email}", "")
    await store.notes.put("default", f"teams:chat:{who.teams}", f"19:{who.teams}")
    await store.notes.put("default", f"slack:hello:{who.direct}", "")
    await store.notes.put("default", f"run:{who.tag}", f'{{"user": "{who.slack}"}}')


def personal_data(
    store: Store,
    data_dir: Path,
    cancel: Cancel | None = None,
    forget_work: ForgetWork | None = None,
) -> PersonalData:
    """Return what is kept in a record and a data directory, as the application joins it."""
    return PersonalData(
        "default",
        data_dir,
        store,
        Uploads(data_dir, "default"),
        records_at(data_dir, "default").ledger,
        cancel or partial(store.work.cancel, keep_acts=True),
        forget_work or MemoryEngine().forget_work,
    )


async def leave_files(store: Store, data_dir: Path, who: Somebody) -> None:
    """Have somebody upload a page, start a run, and be in labelled questions and answers."""
    uploads, ledger = Uploads(data_dir, "default"), records_at(data_dir, "default").ledger
    page = uploads.receive(b"# Parking\n\nThe company pays.")
    by = f"board:{who.name}"
    await uploads.keep("HANDBOOK", ReceivedFile(page, f"{who.tag}.md", ".md", ALL, by))
    run = Run(
        f"run-{who.tag}",
        "HANDBOOK",
        dry_run=False,
        allow_mass_delete=False,
        by=f"slack:{who.slack}",
        state="done",
        created_at=NOON,
    )
    await ledger.begin(run)
    accepted = await store.labels.accepted("default")
    write_questions(data_dir / QUESTIONS_FILE, accepted)
    folder = data_dir / KEPT_ANSWERS
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"row": {"id": each.question_id, "question": each.question}} for each in accepted]
    lines = (f"{json.dumps(row)}\n" for row in rows)
    (folder / "large-1.jsonl").write_text("".join(lines), encoding="utf-8")


@dataclass(frozen=True)
class Place:
    """A row in which a sign was found."""

    where: str
    row: str


def rows_with(url: str, who: Somebody) -> list[Place]:
    """Return the rows of all tables of a database in one of whose columns somebody is found."""
    engine = create_engine(make_url(url.replace("+aiosqlite", "")))
    metadata = MetaData()
    metadata.reflect(engine)
    pattern = pattern_of(who)
    found: list[Place] = []
    with engine.connect() as connection:
        for table in metadata.sorted_tables:
            for row in connection.execute(select(table)):
                said = repr(tuple(_plain(value) for value in row))
                if pattern.search(said):
                    found.append(Place(table.name, said))
    engine.dispose()
    return found


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value


def files_with(folder: Path, who: Somebody) -> list[str]:
    """Return the files below a folder in whose name or bytes somebody is found."""
    pattern = re.compile(pattern_of(who).pattern.encode(), re.IGNORECASE)
    return [
        str(each.relative_to(folder))
        for each in sorted(folder.rglob("*"))
        if pattern.search(str(each.relative_to(folder)).encode())
        or (each.is_file() and pattern.search(each.read_bytes()))
    ]


def pattern_of(who: Somebody) -> re.Pattern[str]:
    """Return a pattern of somebody's signs that does not match those of a namesake."""
    signs = "|".join(re.escape(each) for each in who.signs)
    return re.compile(rf"(?:{signs})(?![\w]|\.\w)", re.IGNORECASE)
