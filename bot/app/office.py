"""The office: what every platform reaches of the bot."""

from __future__ import annotations

from bot.app.shelves import Shelves
from bot.app.status import CheckParts
from bot.app.working import Working
from bot.chat.adapters import ChatContext
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.reindexing import ReindexRuns
from bot.chat.commands.run_status import RunWatcher
from bot.chat.messages import ListeningPolicy
from bot.domain.ports import Directory
from bot.domain.settings import Settings
from bot.escalations.casework import Casework
from bot.escalations.reading import IndexReading
from bot.fuller import FullerReplies
from bot.gating.gate import load_gate
from bot.parts import Parts, gate_path
from bot.store.store import Store
from bot.why.explaining import Explaining


def office_of(
    settings: Settings,
    parts: Parts,
    store: Store,
    *,
    working: Working,
    shelves: Shelves,
    check_parts: CheckParts,
    directory: Directory,
) -> ChatContext:
    """Join it; nothing is started."""
    readable = IndexReading(parts.index)
    return ChatContext(
        tenant=settings.tenant,
        directory=directory,
        inbox=working.inbox,
        interactions=store.interactions,
        casework=Casework(cases=working.cases, interactions=store.interactions, readable=readable),
        explaining=Explaining(
            interactions=store.interactions,
            gate=load_gate(settings.confidence_threshold, gate_path(settings)),
            readable=readable,
            public_url=settings.public_url,
        ),
        fuller=FullerReplies(readable, public_url=settings.public_url, still=parts.still),
        hearing=ListeningPolicy(store.policies, store.interactions),
        policies=store.policies,
        notes=store.notes,
        audits=store.audits,
        documents=shelves.documents,
        reindexing=shelves.reindexing,
        orders=_orders(settings, store, shelves, check_parts, directory),
        check_parts=check_parts,
    )


def _orders(
    settings: Settings,
    store: Store,
    shelves: Shelves,
    check_parts: CheckParts,
    directory: Directory,
) -> CommandExecutor:
    return CommandExecutor(
        tenant=settings.tenant,
        reindexing=ReindexRuns(
            tenant=settings.tenant,
            documents=shelves.documents,
            runs=shelves.reindexing,
            audits=store.audits,
        ),
        watch=RunWatcher(shelves.reindexing),
        policies=store.policies,
        directory=directory,
        check_parts=check_parts,
        served=settings.index_spaces,
        models=settings.openai_channel_models,
        usual_model=settings.openai_model,
    )
