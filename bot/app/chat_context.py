"""Build the services that the chat adapters share; nothing is started."""

from __future__ import annotations

from bot.answering.explanations.explainer import Explainer
from bot.answering.gate import load_gate
from bot.answering.private_answers import PrivateAnswers
from bot.answering.visibility import ReadableInIndex
from bot.app.components import Components, gate_path
from bot.app.documents import DocumentServices
from bot.app.learning_jobs import digest_schedule, utc_now
from bot.app.worker import BackgroundWork
from bot.chat.adapters import ChatContext
from bot.chat.answer_keeping import AnswerKeeping
from bot.chat.commands.digest_switch import DigestSwitch
from bot.chat.commands.executor import CommandExecutor
from bot.chat.commands.reindexing import ReindexRuns
from bot.chat.commands.run_status import RunWatcher
from bot.chat.messages import ListeningPolicy
from bot.domain.health import CheckComponents
from bot.domain.ports import Directory
from bot.domain.settings import Settings
from bot.domain.texts import load_catalogue
from bot.escalations.casework import Casework, QuestionLinks
from bot.escalations.own_cases import CaseFinder
from bot.learning.question_words import QuestionWords
from bot.learning.shadow_mode import DraftReview
from bot.store.database import Store


def build_chat_context(
    settings: Settings,
    components: Components,
    store: Store,
    *,
    background: BackgroundWork,
    documents: DocumentServices,
    check_parts: CheckComponents,
    directory: Directory,
    keeping: AnswerKeeping,
    origins: QuestionLinks,
) -> ChatContext:
    """Build what every chat adapter gets. ``origins`` finds links to questions."""
    readable = ReadableInIndex(components.index)
    return ChatContext(
        tenant=settings.tenant,
        directory=directory,
        inbox=background.inbox,
        interactions=store.interactions,
        casework=Casework(
            cases=background.cases, interactions=store.interactions, readable=readable
        ),
        explainer=Explainer(
            interactions=store.interactions,
            gate=load_gate(settings.confidence_threshold, gate_path(settings)),
            readable=readable,
            public_url=settings.public_url,
        ),
        private_answers=PrivateAnswers(
            readable, public_url=settings.public_url, recheck=components.recheck
        ),
        listening=ListeningPolicy(
            store.policies, store.interactions, load_catalogue(settings.ui_language).default
        ),
        policies=store.policies,
        notes=store.notes,
        audits=store.audits,
        documents=documents.documents,
        reindexing=documents.reindexing,
        commands=_build_commands(
            settings,
            components,
            store,
            documents=documents,
            check_parts=check_parts,
            directory=directory,
            origins=origins,
        ),
        check_parts=check_parts,
        drafts=DraftReview(
            settings.tenant,
            drafts=store.shadow_drafts,
            interactions=store.interactions,
            policies=store.policies,
        ),
        names=components.names,
        keeping=keeping,
    )


def _build_commands(
    settings: Settings,
    components: Components,
    store: Store,
    *,
    documents: DocumentServices,
    check_parts: CheckComponents,
    directory: Directory,
    origins: QuestionLinks,
) -> CommandExecutor:
    return CommandExecutor(
        tenant=settings.tenant,
        reindexing=ReindexRuns(
            tenant=settings.tenant,
            documents=documents.documents,
            runs=documents.reindexing,
            audits=store.audits,
        ),
        watch=RunWatcher(documents.reindexing.get),
        policies=store.policies,
        list_channels=store.policies.channels,
        directory=directory,
        check_parts=check_parts,
        cases=CaseFinder(settings.tenant, store.escalations, store.interactions.get, origins.of),
        words=QuestionWords(store.escalations, store.notes, ReadableInIndex(components.index)),
        digests=DigestSwitch(
            settings.tenant, store.digests, digest_schedule(settings), now=utc_now
        ),
        served=settings.index_spaces,
        models=tuple(each.name for each in settings.further_models),
        usual_model=settings.openai_model,
    )
