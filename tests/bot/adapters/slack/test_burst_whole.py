"""Two hundred mentions at once in one channel, the whole way: endpoint, inbox, real desk."""

from __future__ import annotations

from pathlib import Path

from bot.answering.desk import Desk
from bot.answering.gate import load_gate
from bot.answering.routing.generic_replies import GenericAnswers
from bot.answering.routing.router import Router
from bot.domain.handoff import HandoffWording
from bot.platforms.slack.channel import SlackChannel
from bot.store.database import Store
from ingestion.sync.sync import Folder, sync_folder
from rag.answer.extractive import ExtractiveComposer
from rag.index.embedded.index import EmbeddedIndex, fingerprint_of, open_index
from rag.pipeline import Pipeline
from tests.bot.adapters.saying import TENANT
from tests.bot.adapters.slack.answering import bot_at
from tests.bot.adapters.slack.clock import Clock
from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.visitor import Visitor
from tests.bot.adapters.slack.workspace.envelopes import deliver
from tests.bot.adapters.slack.workspace.names import HELP
from tests.bot.house import PAGES, until
from tests.fakes import WordEmbedder

BURST = 200


async def test_a_burst_of_mentions_is_taken_and_answered_in_order_and_once(
    slack: FakeSlack, channel: SlackChannel, clock: Clock, store: Store, tmp_path: Path
) -> None:
    slack.now, slack.strict_rates = clock.read, True
    embedder = WordEmbedder()
    index = await open_index(tmp_path / "index.sqlite", fingerprint_of(embedder))
    written(tmp_path / "pages")
    folder = Folder(tmp_path / "pages", "IT")
    await sync_folder(folder, index, embedder, tenant=TENANT, data_dir=tmp_path)
    async with channel.session(), bot_at(slack, channel, store, desk_over(index, embedder)) as bot:
        alice = Visitor(slack, bot.client)
        alice.held = []
        asked = [
            await alice.say(HELP, "What does vpn error 809 mean?", mention=True)
            for _ in range(BURST)
        ]
        answers = await deliver(alice.door, alice.held, at_once=True)
        await until(lambda: len(slack.answers(HELP)) >= BURST, seconds=90)
    await index.close()

    replies = slack.answers(HELP)
    assert {answer.status for answer in answers} == {200}, "0 is one that was not taken in time"
    assert [post.thread_ts for post in replies] == asked
    assert all("blue socket" in post.shown for post in replies)
    assert slack.refused_for_rate == 0


def written(folder: Path) -> None:
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")


def desk_over(index: EmbeddedIndex, embedder: WordEmbedder) -> Desk:
    return Desk(
        router=Router(embedder, None, None),
        generic=GenericAnswers(None),
        pipeline=Pipeline(index, embedder, ExtractiveComposer(embedder)),
        gate=load_gate(0.0),
        wording=HandoffWording(not_found="Not found.", uncertain="Not sure."),
    )
