"""Test answers in channels as one card: what it shows, and that it stays one message."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.domain.errors import DeliveryFailed
from bot.domain.interactions import Escalation, Outcome, Reply
from bot.domain.settings import Settings
from bot.domain.texts import load_catalogue
from bot.platforms.teams.channel import TeamsChannel, connect
from bot.platforms.teams.client.registration import Cloud
from bot.platforms.teams.rendering.answer_cards import answer_card
from bot.store.database import Store
from rag.parts import Code, Table, paragraph
from tests.fakes.desk import ANSWER, LOCAL, TRACE, VPN, delivery
from tests.fakes.teams import cards
from tests.fakes.teams.activities import question
from tests.fakes.teams.credentials import CountingCredentials
from tests.fakes.teams.exchange import Fault
from tests.fakes.teams.server import FakeTeams
from tests.unit.bot.platforms.teams.conftest import Restart

BAD = Fault(400, code="BadArgument")
LOST = Fault(status=0, after=True)
QUOTED = replace(ANSWER, text="Do this:\n\n> Restart the client.\n> Then `sudo x`. [1]\n\nDone.")
PARTS = replace(
    ANSWER,
    parts=(
        paragraph("See", (1,)),
        Table(("Code", "Cure"), (("809", "Call IT"),)),
        Code("ping vpn", "bash"),
        paragraph("Then wait.", (1,)),
    ),
)


OLD = replace(
    VPN, updated_at=datetime.now(UTC) - timedelta(days=400), updated_by="Mika", superseded="alt"
)
GERMAN = replace(ANSWER, text="Neu starten. [1]", sources=(OLD,))
UNSURE = Escalation("Ungewiss.", "low_confidence", "VPN?", suggestions=(OLD,), consent_needed=True)


def body_of(teams: FakeTeams, reply: Reply) -> list[dict[str, Any]]:
    asked, now = question(teams), datetime.now(UTC)
    shown: Any = answer_card(Outcome(reply, TRACE), asked, now=now)
    (card,) = cards.attached(shown)
    assert cards.card_problems(card) == []
    return list(card["body"])


@pytest.mark.mended(id="teams-3")
async def test_in_a_channel_an_answer_and_its_buttons_are_one_message(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    ref = await channel.deliver(delivery(question(teams)))
    (sent,) = teams.visible.values()
    assert ref.id == sent.id
    assert "text" not in sent.activity
    assert sent.text.startswith("Restart the client [1].")
    assert len(sent.labels) == 2
    assert sent.activity["channelData"] == {"feedbackLoop": {"type": "default"}}
    assert sent.activity["entities"][0]["additionalType"] == ["AIGeneratedContent"]


@pytest.mark.mended(id="teams-3")
async def test_where_cards_are_split_a_channel_gets_words_and_buttons_apart(
    teams: FakeTeams, settings: Settings, cloud: Cloud
) -> None:
    apart = settings.model_copy(update={"teams_split_cards": True})
    channel = connect(apart, cloud=cloud, credentials=CountingCredentials())
    await channel.deliver(delivery(question(teams)))
    words, buttons = teams.visible.values()
    assert "citation" in words.activity["entities"][0]
    assert (words.labels, len(buttons.labels)) == ([], 2)


async def test_an_answer_without_buttons_is_text(teams: FakeTeams, channel: TeamsChannel) -> None:
    await channel.deliver(delivery(question(teams), Reply(text="Hello", tone="generic")))
    (sent,) = teams.visible.values()
    assert (sent.activity["text"], sent.cards) == ("Hello", [])


async def test_a_refused_card_comes_as_words_with_buttons_below(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    teams.fail(BAD)
    sent = delivery(question(teams))
    ref = await channel.deliver(sent)
    words, buttons = teams.visible.values()
    assert ref.id == words.id
    assert "citation" in words.activity["entities"][0]
    assert len(buttons.labels) == 2
    assert await channel.deliver(sent) == ref
    assert len(teams.visible) == 2


async def test_a_card_that_may_be_there_twice_says_so(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    sent = delivery(question(teams))
    teams.fail(LOST)
    with pytest.raises(DeliveryFailed):
        await channel.deliver(sent)
    await channel.deliver(sent)
    first, again = teams.visible.values()
    assert ("twice" in first.text, "twice" in again.text) == (False, True)
    assert first.labels == again.labels


async def test_another_process_knows_the_card_that_is_there(
    teams: FakeTeams, noted_restart: Restart, store: Store
) -> None:
    sent = delivery(question(teams))
    await store.work.open(sent.message, "here")
    ref = await noted_restart().deliver(sent)
    assert await noted_restart().deliver(sent) == ref
    assert len(teams.visible) == 1
    await noted_restart().withdraw(sent.message, [])
    assert not teams.visible


async def test_a_card_is_corrected_in_its_place_by_another_process(
    teams: FakeTeams, restart: Restart
) -> None:
    message = question(teams)
    ref = await restart().deliver(delivery(message))
    await restart().correct(delivery(message, replace(ANSWER, text="Wait for IT [1].")), ref)
    (sent,) = teams.visible.values()
    assert sent.text.startswith("Wait for IT [1].")
    assert len(sent.labels) == 2


async def test_a_correction_that_is_refused_as_a_card_is_text(
    teams: FakeTeams, channel: TeamsChannel
) -> None:
    message = question(teams)
    ref = await channel.deliver(delivery(message))
    teams.fail(BAD, call="update")
    await channel.correct(delivery(message, replace(ANSWER, text="Wait for IT [1].")), ref)
    (sent,) = teams.visible.values()
    assert sent.activity["text"].startswith("Wait for IT [1].")


@pytest.mark.parametrize("reply", [GERMAN, UNSURE])
def test_around_an_answers_own_words_its_card_is_in_the_language_set(
    teams: FakeTeams, reply: Reply | Escalation
) -> None:
    asked, now = question(teams), datetime.now(UTC)
    whole = answer_card(Outcome(reply, TRACE), asked, now=now)
    german: Any = load_catalogue("de").default.render_all(whole)
    (card,) = cards.attached(german)
    shown = cards.words(card)
    titles = [each["title"] for each in card["actions"]]
    assert "vor 13 Monaten von Mika ge\u00e4ndert" in shown
    assert re.search("Quellen|Seiten", shown)
    english = re.compile(r"(?i)\b(the|of|by|ago|and|not|is|as|why|ask|yes|sources?|pages?)\b")
    assert not english.search("\n".join([shown, *titles, german["summary"], card["fallbackText"]]))


def test_tables_and_code_stand_in_their_place_on_a_card(teams: FakeTeams) -> None:
    kinds = [each["type"] for each in body_of(teams, PARTS)]
    assert kinds[:4] == ["TextBlock", "Table", "CodeBlock", "TextBlock"]


def test_what_an_answer_quotes_has_a_ground_of_its_own(teams: FakeTeams) -> None:
    before, quoted, after, *_ = body_of(teams, QUOTED)
    assert (before["text"], after["text"]) == ("Do this:", "Done.")
    assert quoted["style"] == "emphasis"
    (item,) = quoted["items"]
    assert item["text"] == "Restart the client.\n\nThen sudo x. [1]"


def test_pages_are_listed_with_links_for_lack_of_citations(teams: FakeTeams) -> None:
    shown = body_of(teams, replace(ANSWER, sources=(VPN, LOCAL)))
    pages = next(each["text"] for each in shown if "**Sources**" in each["text"])
    assert f"- \\[1\\] [VPN guide \u203a Reset]({VPN.url})" in pages
    assert "- \\[2\\] Offices" in pages


def test_hostile_words_are_dead_on_a_card(teams: FakeTeams) -> None:
    text = (
        "<at>Everyone</at> [click](https://evil.example) {{DATE(2026-01-01)}} https://evil.example"
    )
    title = replace(VPN, title="](https://evil.example) {{DATE(2026-01-01)}}", section="")
    said = "\n".join(map(str, body_of(teams, replace(ANSWER, text=text, sources=(title,)))))
    assert not [live for live in ("<at", "](https://evil", "{{", "https://evil") if live in said]


@pytest.mark.parametrize("text", ["a {{DATE(2026-01-01)}}", "x {{{TIME(2026-01-01)}}} `{{`{{"])
def test_the_summary_of_a_card_has_no_function(teams: FakeTeams, text: str) -> None:
    asked, now = question(teams), datetime.now(UTC)
    whole: Any = answer_card(Outcome(replace(ANSWER, text=text), TRACE), asked, now=now)
    assert "DATE" in str(whole) or "TIME" in str(whole)
    assert "{{" not in whole["summary"]
    assert "{{" not in whole["attachments"][0]["content"]["fallbackText"]
