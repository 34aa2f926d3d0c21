"""Diagnose a Confluence configuration: try every operation, change nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ingestion.config import Settings
from ingestion.confluence.assembly import ConfluenceSite, confluence_site
from ingestion.confluence.client.connection import address_of
from ingestion.confluence.client.retry import RetryLimits
from ingestion.confluence.permissions import Rules, rules_of
from ingestion.confluence.probes import RightsChecks, SpaceChecks
from ingestion.confluence.wiki import WikiAbout, WikiSpace
from ingestion.errors import IngestionError, SettingInvalid
from rag.types import Check

DIAGNOSTIC_LIMITS = RetryLimits(attempts=3, deadline_seconds=30.0, try_seconds=20.0)
"""Limits for diagnostics, where somebody waits for the answer."""
_CLOCK_TOLERANCE = timedelta(minutes=2)
_NAMED = 10


async def diagnose_confluence(
    settings: Settings, patience: RetryLimits = DIAGNOSTIC_LIMITS
) -> Sequence[Check]:
    """Try every operation that is used on the configured Confluence; empty without one."""
    try:
        wiki, rules = confluence_site(settings, patience), rules_of(settings)
    except SettingInvalid as error:
        return (Check("", works=False, detail=str(error)),)
    if wiki is None:
        return ()
    try:
        return await _Diagnosis(wiki, settings, rules).all()
    finally:
        await wiki.close()


@dataclass(frozen=True, slots=True)
class _Diagnosis:
    wiki: ConfluenceSite
    settings: Settings
    rules: Rules

    async def all(self) -> Sequence[Check]:
        try:
            spaces = await self.wiki.spaces()
        except IngestionError as error:
            return (Check("", works=False, detail=str(error)),)
        now = datetime.now(UTC)
        about = await _unless_refused(self.wiki.about)
        read = [space for space in spaces if not self.rules.selection.space(space)]
        account = about.account if isinstance(about, WikiAbout) else None
        in_spaces, sample = await self._by_space().all(read, account)
        rights = RightsChecks(self.wiki, self.settings, sample)
        return (
            *([about] if isinstance(about, Check) else _site(about, now)),
            *self._spaces(spaces, read),
            *in_spaces,
            *await rights.all(),
            _schedule(self.settings),
        )

    def _by_space(self) -> SpaceChecks:
        url, edition = self.settings.confluence_url or "", self.settings.confluence_edition
        return SpaceChecks(
            self.wiki,
            self.rules,
            cloud=address_of(url, edition).edition == "cloud",
            directory=self.settings.confluence_directory is not None,
        )

    def _spaces(self, spaces: Sequence[WikiSpace], read: Sequence[WikiSpace]) -> Sequence[Check]:
        """Report which spaces are read, which are excluded, and which are not visible."""
        missing = sorted(set(self.settings.confluence_spaces) - {each.key for each in spaces})
        checks = [Check("spaces", works=bool(read), detail=self._chosen(spaces, read))]
        if missing:
            told = (
                f"{', '.join(missing)} of CONFLUENCE_SPACES can't be seen. Check the keys, and "
                "that the token's account may view these spaces."
            )
            checks.append(Check("spaces unseen", works=False, detail=told))
        return checks

    def _chosen(self, spaces: Sequence[WikiSpace], read: Sequence[WikiSpace]) -> str:
        if not spaces:
            return "the token sees no space. Give its account the right to view some."
        left_out = [space for space in spaces if space not in read]
        told = [f"{len(read)} of {len(spaces)} that the token sees are read"]
        told += [f"{each.key}: {self.rules.selection.space(each)}" for each in left_out[:_NAMED]]
        told += [f"and {len(left_out) - _NAMED} more"] if len(left_out) > _NAMED else []
        return "; ".join(told)


async def _unless_refused(ask: Callable[[], Awaitable[WikiAbout]]) -> WikiAbout | Check:
    """Return the site's information; a site may refuse it and still let spaces be read."""
    try:
        return await ask()
    except IngestionError as error:
        return Check("token", works=None, detail=f"whose it is can't be told. {error}")


def _site(about: WikiAbout, now: datetime) -> Sequence[Check]:
    return (
        Check("", works=True, detail=f"{_named(about)} at {about.base}"),
        _account(about),
        _clock(about.asked_at - now),
    )


def _named(about: WikiAbout) -> str:
    if about.edition == "cloud":
        return "Cloud"
    return f"Data Center {about.version}" if about.version else "Data Center before 9.1"


def _account(about: WikiAbout) -> Check:
    if about.account is None:
        told = (
            "Confluence takes it for nobody's, so it shows only what is open to the world. Make a "
            "new one, and set CONFLUENCE_TOKEN."
        )
        return Check("token", works=False, detail=told)
    return Check("token", works=True, detail=f"is {about.account.name or about.account.id}'s")


def _clock(ahead: timedelta) -> Check:
    """Check the site's clock; ``ahead`` is how far it is ahead of ours."""
    if abs(ahead) <= _CLOCK_TOLERANCE:
        return Check("clock", works=True, detail="agrees with this machine's")
    minutes = round(abs(ahead).total_seconds() / 60)
    way = "behind" if ahead > timedelta() else "ahead of"
    told = (
        f"this machine's is {minutes} minutes {way} the site's. Nothing is missed for it, but ages "
        "of pages are told wrongly: let NTP set it."
    )
    return Check("clock", works=None, detail=told)


def _schedule(settings: Settings) -> Check:
    changes, whole = settings.confluence_sync_minutes, settings.confluence_reconcile_minutes
    if not (changes or whole):
        told = (
            "nothing is read by a server itself. Run python -m ingestion sync --all by a schedule "
            "of your own, or set CONFLUENCE_SYNC_MINUTES and CONFLUENCE_RECONCILE_MINUTES."
        )
        return Check("schedule", works=None, detail=told)
    if not whole:
        told = (
            f"what was edited is seen every {changes} minutes; deletions, moves and restrictions "
            "never. Set CONFLUENCE_RECONCILE_MINUTES."
        )
        return Check("schedule", works=None, detail=told)
    edited = f"what was edited every {changes} minutes, " if changes else ""
    return Check("schedule", works=True, detail=f"{edited}everything every {whole} minutes")
