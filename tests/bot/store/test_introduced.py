"""Who asked, as their platform introduced them: recorded with the answer, forgotten with it."""

from __future__ import annotations

from dataclasses import replace

from bot.domain.interactions import Escalation, Outcome, Trace
from bot.domain.messages import Attachment, Person
from bot.store.database import Store
from rag.types import EVERYONE, Principal
from tests.bot.fakes import replied
from tests.bot.recorded import answered, recorded
from tests.bot.store.filled import rows
from tests.builders import message

ANNA = Person(
    "anna", "Anna Lopez", "anna@acme.example", frozenset({EVERYONE, Principal("user:anna")})
)


def handed_over() -> Outcome:
    asked = Escalation("I've asked.", "low_confidence", "VPN?")
    return Outcome(asked, Trace(replied("").trace.route), asker=ANNA)


async def test_the_record_and_the_peoples_list_name_who_asked(store: Store, url: str) -> None:
    kept = await answered(store, message("VPN?", private=False), handed_over())

    assert kept.message.author == ANNA
    assert kept.outcome is not None
    assert kept.outcome.asker is None
    assert rows(url, "SELECT asker, asker_name FROM escalations") == [("anna", "Anna Lopez")]
    assert rows(url, "SELECT actor_name FROM escalation_steps") == [("Anna Lopez",)]


async def test_who_was_not_introduced_is_recorded_as_the_message_said(store: Store) -> None:
    asked = message("hi")

    kept = await answered(store, asked, "hello")

    assert kept.message.author == asked.author


async def test_a_withdrawn_question_forgets_who_asked_but_for_the_id(
    store: Store, url: str
) -> None:
    file = Attachment("lopez-payslip.txt", "text/plain", 9, "https://files.example/lopez")
    asked = replace(message("VPN?", private=False), attachments=(file,))
    kept = await answered(store, asked, handed_over())

    await store.work.cancel(kept.id)

    for table in ("interactions", "escalations", "escalation_steps"):
        held = repr(rows(url, f"SELECT * FROM {table}"))  # noqa: S608 - a test's own name
        assert "lopez" not in held.lower()
    await store.work.cancelled(kept.id)
    assert (await recorded(store, kept.id)).message.author == Person("anna")


async def test_of_files_only_what_they_were_called_is_kept_with_an_answer(
    store: Store, url: str
) -> None:
    file = Attachment("vpn.log", "text/plain", 9, "https://files.example/T1/vpn.log")
    asked = replace(message("VPN?"), attachments=(file,))
    opened = await store.work.open(asked, "me")
    assert opened.message.attachments == (file,)

    kept = await answered(store, replace(asked, id="m2"), "hello")

    assert kept.message.attachments == (replace(file, place=""),)
    held = repr(rows(url, f"SELECT * FROM interactions WHERE id = '{kept.id}'"))  # noqa: S608 - a test's own id
    assert "files.example" not in held
