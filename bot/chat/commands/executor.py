"""Execute commands for every platform, after checking whether the caller is an admin.

Nothing here raises: a command that fails returns ``Refused`` with a text.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar, assert_never

import structlog

from bot.chat.actions import LATER, ActionRejected, FindColleague
from bot.chat.commands.channel_settings import (
    GENERAL_FIELD,
    ChannelSettingsForm,
    InvalidSettings,
    OutdatedSettings,
    SubmittedSettings,
    build_form,
    describe_changes,
    read_form,
)
from bot.chat.commands.command_texts import help_text, sharing_text, status_text
from bot.chat.commands.digest_switch import DigestSwitch
from bot.chat.commands.overview import NOT_READ_ALONE, Overview, overview_text
from bot.chat.commands.reindexing import ReindexRuns
from bot.chat.commands.run_status import RunStatus, RunWatcher
from bot.chat.commands.types import (
    Admins,
    CommandCaller,
    CommandSyntax,
    DigestRequest,
    Done,
    HelpRequest,
    InGroup,
    MyCasesRequest,
    Refused,
    ReindexCancelRequest,
    ReindexRequest,
    ReindexStatusRequest,
    ShareRequest,
    Started,
    StatusRequest,
    TextRequest,
)
from bot.chat.documents import SeenBy
from bot.domain.errors import BotError, DeliveryFailed, StoreUnavailable
from bot.domain.health import CheckComponents
from bot.domain.messages import Person, Platform, Policy
from bot.domain.ports import Directory, Policies
from bot.domain.texts import join_texts, tr
from bot.escalations.own_cases import CaseFinder
from bot.learning.question_words import QuestionWords
from ingestion.library import Space
from rag.types import EVERYONE

Answer = TypeVar("Answer")


def parse_admins(names: Iterable[str], *, setting: str, is_group: Callable[[str], bool]) -> Admins:
    """Sort the names in a setting into e-mail addresses, groups (by ``is_group``) and user ids."""
    given = frozenset(name.strip() for name in names if name.strip())
    emails = frozenset(name for name in given if "@" in name)
    groups = frozenset(name for name in given - emails if is_group(name))
    return Admins(
        setting=setting,
        ids=given - emails - groups,
        groups=groups,
        emails=frozenset(name.casefold() for name in emails),
    )


async def is_admin(person: Person, admins: Admins, in_group: InGroup | None = None) -> bool:
    """Return whether a person is an admin by id, verified e-mail address or group.

    Raises DeliveryFailed if a group's membership can't be checked and nothing else matches.
    """
    if person.id in admins.ids:
        return True
    if person.email is not None and person.email.casefold() in admins.emails:
        return True
    if any(f"group:{group}" in person.principals for group in admins.groups):
        return True
    if in_group is None:
        return False
    for group in sorted(admins.groups):
        if await in_group(person.id, group):
            return True
    return False


def refusal_text(admins: Admins) -> str:
    """Return why a non-admin may not run the command, and who can change that."""
    if not admins.named:
        return tr("Nobody can do this until {setting} names somebody.", setting=admins.setting)
    return tr("Only Frontdesk admins ({setting}) can do this.", setting=admins.setting)


NOT_FOR_OUTSIDERS = tr("Only colleagues can do this.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSenders:
    """Identifies the people who run commands on one platform, by the platform's reference."""

    platform: Platform
    colleague: FindColleague
    admins: Admins
    spelling: CommandSyntax
    in_group: InGroup | None = None

    async def caller(
        self, reference: str, *, alone: bool = True, channel: str = ""
    ) -> CommandCaller:
        """Return the caller; ``alone``: nobody else will read the reply; ``channel``: where.

        Raises ActionRejected for guests, bots and people of other organisations, DeliveryFailed.
        """
        person = await self.colleague(reference)
        if person is None:
            raise ActionRejected(NOT_FOR_OUTSIDERS)
        return CommandCaller(
            person, self.platform, self.admins, self.spelling, self.in_group, alone, channel
        )


_log = structlog.get_logger(__name__)


async def reply_to_command(
    run: Callable[[], Awaitable[Answer]], as_text: Callable[[str], Answer], *, platform: Platform
) -> Answer:
    """Return the reply to a command; nothing retries a command, so a failure is a reply too."""
    try:
        return await run()
    except ActionRejected as error:
        return as_text(str(error))
    except BotError as error:
        failure = {"platform": platform, "error": type(error).__name__}
        _log.warning("orders.command_failed", **failure, why=str(error))
    except Exception as error:  # noqa: BLE001 - it is logged, and nothing retries the command
        _log.exception("orders.command_broke", platform=platform, error=type(error).__name__)
    return as_text(LATER)


_AWAY = tr("I can't reach my database right now. Please try again in a minute.")
_UNKNOWN = tr("I can't check your permissions right now. Please try again in a minute.")


def _now() -> datetime:
    return datetime.now(UTC)


async def _no_problem(_: str) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandExecutor:
    """Execute commands; nothing here raises, a failure is ``Refused`` with a text.

    Attributes:
        tenant: The company that is served.
        reindexing: Starts, lists and cancels runs.
        watch: Follows a run to its end.
        policies: Policies of channels.
        list_channels: Returns the channels of a tenant that have a policy.
        directory: Looks up what a colleague may read.
        check_parts: Returns the status of every component.
        cases: Finds a person's cases.
    words: Records who lets others see their questions.
        digests: Records who gets the weekly digest.
        served: Spaces that may be answered from at all; None is all.
        models: Models that a channel can choose beside ``usual_model`` (None: no model).
    """

    tenant: str
    reindexing: ReindexRuns
    watch: RunWatcher
    policies: Policies
    list_channels: Callable[[str], Awaitable[Sequence[str]]]
    directory: Directory
    check_parts: CheckComponents
    cases: CaseFinder
    words: QuestionWords
    digests: DigestSwitch
    served: frozenset[str] | None = None
    models: tuple[str, ...] = ()
    usual_model: str | None = None
    now: Callable[[], datetime] = _now

    async def help(self, by: CommandCaller) -> Done:
        """Return the help text for the caller's role."""
        return Done(help_text(by.spelling, admin=await self._refusal(by) is None))

    async def answer(  # noqa: PLR0911 - one for each command
        self, request: TextRequest, by: CommandCaller
    ) -> Done | Refused:
        """Execute a command whose result is text alone."""
        match request:
            case HelpRequest():
                return await self.help(by)
            case StatusRequest():
                return await self.status(by)
            case MyCasesRequest():
                return await self.my_cases(by)
            case ReindexStatusRequest():
                return await self.reindex_status(by)
            case ReindexCancelRequest():
                return await self.cancel(request, by)
            case ShareRequest():
                return await self.share(request, by)
            case DigestRequest():
                return await self.digest(request, by)
            case _:
                assert_never(request)

    async def status(self, by: CommandCaller) -> Done | Refused:
        """Return the status text, limited to what all its readers may see.

        An admin sees every component if nobody else reads the reply.
        """
        admin = by.alone and await self._refusal(by) is None

        async def report() -> Done:
            directory = self.directory
            own = await directory.principals(self.tenant, by.person) if by.alone else frozenset()
            spaces = await self._spaces(own | {EVERYONE})
            parts = await self.check_parts()
            return Done(status_text(parts, spaces, self.now(), admin=admin))

        return await _or_refused(report)

    async def my_cases(self, by: CommandCaller) -> Done | Refused:
        """Return the caller's cases as text; refused where somebody else reads the reply."""
        if not by.alone:
            return Refused(NOT_READ_ALONE)

        async def report() -> Done:
            return Done(overview_text(await self.overview(by), self.now()))

        return await _or_refused(report)

    async def overview(self, by: CommandCaller) -> Overview:
        """Return the caller's cases, what they may ask, and for admins the channels' settings.

        Raises StoreUnavailable.
        """
        own = await self.directory.principals(self.tenant, by.person)
        admin = await self._refusal(by) is None
        return Overview(
            cases=await self.cases.of(by.platform, by.person),
            spaces=tuple(await self._spaces(own | {EVERYONE})),
            channels=tuple(await self.list_channels(self.tenant)) if admin else (),
        )

    async def share(self, request: ShareRequest, by: CommandCaller) -> Done | Refused:
        """Let others see the caller's questions, or stop that; return which of them holds."""

        async def set_and_tell() -> Done:
            if request.shares is not None:
                await self.words.agree(self.tenant, by.person, shares=request.shares)
            shares = await self.words.agrees(self.tenant, by.person)
            return Done(sharing_text(by.spelling.command, shares=shares))

        return await _or_refused(set_and_tell)

    async def digest(self, request: DigestRequest, by: CommandCaller) -> Done | Refused:
        """Send the weekly digest where the command was given, or stop that.

        Whoever gets it in a direct conversation may stop it; all else is for admins.
        """
        own = not by.channel and request.wanted is not True
        change = partial(self.digests.change, request, by)
        if own:
            return await _or_refused(change)
        return await self._allowed(by, "digest", change)

    async def reindex(self, request: ReindexRequest, by: CommandCaller) -> Started | Refused:
        """Start a run; the result's id can be followed."""
        return await self._allowed(by, "reindex", lambda: self.reindexing.start(request, by))

    async def reindex_status(self, by: CommandCaller) -> Done | Refused:
        """Return the progress of the runs; for admins only, as failures name pages."""
        return await self._allowed(by, "reindex status", lambda: self.reindexing.status(by))

    async def cancel(self, request: ReindexCancelRequest, by: CommandCaller) -> Done | Refused:
        """Cancel a run."""
        return await self._allowed(
            by, "reindex cancel", lambda: self.reindexing.cancel(request, by)
        )

    async def stop(self, run_id: str, by: CommandCaller) -> Done | Refused:
        """Cancel a run by its id, or the runs that resumed it."""
        return await self._allowed(by, "reindex stop", lambda: self.reindexing.stop(run_id, by))

    def follow(self, run_id: str) -> AsyncIterator[RunStatus]:
        """Yield the status of a run until it has ended, as RunWatcher.follow does."""
        return self.watch.follow(run_id)

    async def settings(self, channel: str, by: CommandCaller) -> ChannelSettingsForm | Refused:
        """Return a channel's settings as a form; ``channel`` is the platform's own id."""
        return await self._allowed(by, "settings", lambda: self._form(f"{by.platform}:{channel}"))

    async def save(
        self,
        channel: str,
        read: Callable[[ChannelSettingsForm], SubmittedSettings],
        by: CommandCaller,
        *,
        version: str,
        people_problem: Callable[[str], Awaitable[str]] = _no_problem,
    ) -> Done | InvalidSettings | OutdatedSettings | Refused:
        """Save the submitted settings; return what changes from the next question on.

        Nothing is saved if the settings are others by now than those of the form's ``version``.
        ``read`` returns the submitted values, and the present ones of what the platform can't show.
        ``people_problem`` returns why people can't be asked in a channel, "" if they can.
        """

        async def save() -> Done | InvalidSettings | OutdatedSettings:
            form = await self._form(f"{by.platform}:{channel}")
            if form.version != version:
                return OutdatedSettings(form)
            return await self._save(read(form), form, by, people_problem)

        return await self._allowed(by, "save settings", save)

    async def _form(self, channel: str) -> ChannelSettingsForm:
        return build_form(
            channel,
            await self.policies.of(self.tenant, channel) or Policy(),
            spaces=[each.name for each in await self._spaces(None)],
            models=self.models,
            usual=self.usual_model,
        )

    async def _save(
        self,
        filled: SubmittedSettings,
        form: ChannelSettingsForm,
        by: CommandCaller,
        people_problem: Callable[[str], Awaitable[str]],
    ) -> Done | InvalidSettings | OutdatedSettings:
        moved = filled.people not in {form.policy.people, ""}
        if moved and (problem := await people_problem(filled.people)):
            return InvalidSettings({"people": problem}, form, filled)
        chosen = read_form(filled, form)
        if isinstance(chosen, InvalidSettings):
            return chosen
        different = describe_changes(form.policy, chosen, form)
        if not different:
            return Done(tr("Nothing was changed."))
        saved = await _or_refused(
            lambda: self.policies.set(
                self.tenant, form.channel, chosen, actor=by.actor, instead_of=form.policy
            )
        )
        if isinstance(saved, Refused):
            return InvalidSettings({GENERAL_FIELD: saved.text}, form, filled)
        if not saved:
            return OutdatedSettings(await self._form(form.channel))
        return Done(join_texts("\n", (tr("Saved. From the next question on:"), *different)))

    async def _spaces(self, reader: SeenBy) -> Sequence[Space]:
        spaces = await self.reindexing.documents.spaces(reader)
        return [each for each in spaces if self.served is None or each.name in self.served]

    async def _allowed(
        self, by: CommandCaller, what: str, do: Callable[[], Awaitable[Answer]]
    ) -> Answer | Refused:
        """Call ``do`` for an admin; refuse and log the attempt of anyone else."""
        refused = await self._refusal(by)
        if refused is not None:
            _log.warning("orders.refused", order=what, actor=by.actor, why=refused)
            return Refused(refused)
        return await _or_refused(do)

    async def _refusal(self, by: CommandCaller) -> str | None:
        try:
            allowed = await is_admin(by.person, by.admins, by.in_group)
        except DeliveryFailed as error:
            _log.warning("orders.membership_unknown", actor=by.actor, why=str(error))
            return _UNKNOWN
        return None if allowed else refusal_text(by.admins)


async def _or_refused(do: Callable[[], Awaitable[Answer]]) -> Answer | Refused:
    try:
        return await do()
    except StoreUnavailable as error:
        _log.error("orders.unavailable", why=str(error))
        return Refused(_AWAY)
