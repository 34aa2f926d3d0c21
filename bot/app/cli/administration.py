"""Run the operators' commands: pause, sessions, channels, escalations, settings, teams-package."""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bot.app.cli import ALL_SPACES
from bot.app.documents import ALL_SETTINGS
from bot.chat.commands.channel_settings import policy_differences, policy_in_words
from bot.domain.cases import Actor, Case, CaseQuery, CaseStep
from bot.domain.errors import InteractionUnknown, SettingInvalid
from bot.domain.formatting import counted
from bot.domain.messages import NO_MODEL, AnswerMode, InteractionId, Policy
from bot.domain.record_reports import PolicyRecord
from bot.domain.settings import Settings
from bot.domain.settings_pages import env_example, settings_page
from bot.escalations.lifecycle import UNSETTLED, display_name
from bot.learning.case_webhook import replay_events
from bot.learning.label_review import write_questions
from bot.learning.shadow_mode import DraftReview, report_lines
from bot.store.database import Store, database_url, open_store, reminders_of
from bot.store.sessions import PersonSessions


async def pause(settings: Settings, *, reason: str, by: str | None = None) -> int:
    """Stop answering; askers get the reason. During a pause, change the reason."""
    async with await open_store(database_url(settings)) as store:
        paused = await store.pauses.pause(settings.tenant, reason, by or operator())
    since = paused.since.strftime("%Y-%m-%d %H:%M UTC")
    print(f"Paused since {since}. Who asks is told: {paused.reason}")
    print("Answer again: python -m bot resume")
    return 0


async def resume(settings: Settings, *, by: str | None = None) -> int:
    """Resume answering. Questions asked during the pause stay unanswered."""
    async with await open_store(database_url(settings)) as store:
        lifted = await store.pauses.resume(settings.tenant, by or operator())
    print("Questions are answered again." if lifted else "It was not paused.")
    return 0


def operator() -> str:
    """Return the operating system's user as the actor: ``cli:NAME``, or ``cli`` without a name."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        # A container's user may have a numeric id without a name.
        return "cli"


async def list_sessions(settings: Settings) -> int:
    """Print who is signed in, in browsers."""
    async with await open_store(database_url(settings)) as store:
        people = await store.sessions.people(settings.tenant, datetime.now(UTC))
    for each in people:
        person = each.signed_in.person
        who = _one_line(f"{person.name} {person.email or ''}") if person else "the admin token"
        since = each.newest.strftime(_TIME_FORMAT)
        browsers = counted(each.count, "session")
        print(f"{each.person_id}  {since}  {each.signed_in.role:<6}  {browsers}  {who}")
    if not people:
        print("Nobody is signed in.")
    return 0


async def end_sessions(settings: Settings, person: str, *, by: str | None = None) -> int:
    """End all sessions of a person, named by id or address. Raises SettingInvalid for nobody's."""
    async with await open_store(database_url(settings)) as store:
        people = await store.sessions.people(settings.tenant, datetime.now(UTC))
        ids = [each.person_id for each in people if _is_person(each, person.strip())]
        actor = by or operator()
        ended = [await store.sessions.end_all(settings.tenant, each, actor=actor) for each in ids]
    if not sum(ended):
        raise SettingInvalid(f"{person!r} is not signed in. See: python -m bot sessions list")
    print(f"{counted(sum(ended), 'session')} ended, on every server.")
    return 0


def _is_person(found: PersonSessions, named: str) -> bool:
    person = found.signed_in.person
    address = (person.email or "") if person else ""
    return found.person_id == named or (bool(named) and address.casefold() == named.casefold())


_POLICY_FIELDS = ("spaces", "answers", "follow_ups", "people", "model", "other_bots", "reviewers")


async def channels(settings: Settings, options: argparse.Namespace) -> int:
    """List the channel policies, change one, or clear one."""
    async with await open_store(database_url(settings)) as store:
        match options.act:
            case "set":
                await _set_policy(store, settings, options)
            case "clear":
                await _clear_policy(store, settings, options.channel)
            case _:
                await _list_policies(store, settings)
    return 0


async def _set_policy(store: Store, settings: Settings, options: argparse.Namespace) -> None:
    channel = options.channel
    before = await store.policies.of(settings.tenant, channel) or Policy()
    after = changed_policy(before, options)
    await store.policies.set(settings.tenant, channel, after, actor=operator())
    print(f"{channel}, from the next message on:")
    for name, words in policy_in_words(after):
        print(f"  {name:<10}  {words}")
    for warning in _policy_warnings(settings, after):
        print(warning)


def changed_policy(policy: Policy, options: argparse.Namespace) -> Policy:
    """Return a policy with the given options applied. Raises SettingInvalid when there are none."""
    given = {name: getattr(options, name) for name in _POLICY_FIELDS}
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in _POLICY_FIELDS)
        raise SettingInvalid(f"Nothing is changed. Say what to set: {flags}.")
    if given.get("spaces") == ALL_SPACES:
        given["spaces"] = None
    return replace(policy, **given)


def _policy_warnings(settings: Settings, policy: Policy) -> Iterator[str]:
    everywhere, spaces = settings.index_spaces, policy.spaces or frozenset()
    shut = spaces - everywhere if everywhere is not None else frozenset()
    if shut:
        names = ", ".join(sorted(shut))
        yield f"FRONTDESK_SPACES leaves {names} out everywhere; a channel can't add it."
    if policy.answers == "shadow" and not policy.reviewers:
        yield "Nobody would read the drafts: name reviewers, --reviewers U0123,U0456."
    known = [*(each.name for each in settings.language_models), NO_MODEL]
    if policy.model not in {"", *known}:
        yield (
            f"No model is called {policy.model!r}: neither OPENAI_CHANNEL_MODELS nor "
            f"MODELS__NAME__MODEL names it. Until one does, the usual model answers there; known "
            f"are {', '.join(known)}."
        )


async def _clear_policy(store: Store, settings: Settings, channel: str) -> None:
    had = await store.policies.remove(settings.tenant, channel, actor=operator())
    print(
        f"{channel} is answered as every other." if had else f"{channel} had no policy of its own."
    )


async def _list_policies(store: Store, settings: Settings) -> None:
    kept = await store.policies.all(settings.tenant)
    for each in kept:
        print(_policy_line(each))
    if not kept:
        print(
            "No channel has a policy of its own. python -m bot channels set slack:C123 --spaces IT"
        )


def _policy_line(kept: PolicyRecord) -> str:
    when = kept.changed_at.strftime("%Y-%m-%d %H:%M")
    differences = "; ".join(policy_differences(kept.policy))
    return f"{kept.channel}  {differences}  (by {kept.changed_by}, {when})"


_LONGEST_QUESTION = 160
_TIME_FORMAT = "%Y-%m-%d %H:%M"


async def escalations(
    settings: Settings,
    *,
    done: str | None = None,
    shown: str | None = None,
    everything: bool,
    limit: int,
) -> int:
    """Print the unsettled escalations, or one with its history; or resolve one.

    Raises InteractionUnknown; ActRefused for one that another person owns.
    """
    async with await open_store(database_url(settings), reminders_of(settings)) as store:
        if done is not None:
            await _resolve_case(store, settings.tenant, InteractionId(done.strip()))
        elif shown is not None:
            await _show_case(store, settings.tenant, InteractionId(shown.strip()))
        else:
            await _list_cases(store, settings.tenant, everything=everything, limit=limit)
    return 0


async def _list_cases(store: Store, tenant: str, *, everything: bool, limit: int) -> None:
    query = CaseQuery() if everything else CaseQuery(states=UNSETTLED)
    listed = await store.escalations.find(tenant, query, limit=limit + 1)
    for each in listed[:limit]:
        print(_case_line(each))
    if not listed:
        print("No question ever went to a person." if everything else "Nothing waits for a person.")
    elif len(listed) > limit:
        print("… and more; see them with a larger --limit")


async def _show_case(store: Store, tenant: str, case_id: InteractionId) -> None:
    case = await store.escalations.get(tenant, case_id)
    if case is None:
        raise InteractionUnknown(
            f"There is no escalation {case_id!r}. Use an id from `python -m bot escalations --all`."
        )
    print(_case_line(case))
    for step in await store.escalations.steps(tenant, case_id):
        print(_step_line(step))


async def _resolve_case(store: Store, tenant: str, case_id: InteractionId) -> None:
    who = operator()
    resolved = await store.escalations.act(tenant, case_id, "resolve", Actor(who, who, "expert"))
    by = (
        f" by {_one_line(display_name(resolved.status.owner_name))}"
        if resolved.status.owner_id
        else ""
    )
    when = resolved.changed_at.strftime(f"{_TIME_FORMAT} UTC")
    print(f"Resolved{by} on {when}: {_question(resolved)}")


def _case_line(case: Case) -> str:
    platform = case.channel.partition(":")[0]
    return (
        f"{case.interaction_id}  {case.opened_at.strftime(_TIME_FORMAT)}  {platform:<6} "
        f"{case.reason:<16} {_state_and_owner(case)}{_question(case)}"
    )


def _state_and_owner(case: Case) -> str:
    """Return state and owner of a case; "" while it is open."""
    status = case.status
    if status.state == "open":
        return ""
    by = f" by {_one_line(display_name(status.owner_name))}" if status.owner_id else ""
    return f"[{status.state}{by}] "


def _step_line(step: CaseStep) -> str:
    parts = (
        step.at.strftime(_TIME_FORMAT),
        f"{step.step:<8}",
        _actor_name(step),
        _one_line(step.text),
    )
    return "  " + "  ".join(part for part in parts if part).rstrip()


def _actor_name(step: CaseStep) -> str:
    if step.actor is None:
        return ""
    nameless_asker = step.actor.role == "asker" and not step.actor.name.strip()
    return "the asker" if nameless_asker else _one_line(display_name(step.actor.name))


def _question(case: Case) -> str:
    return _one_line(case.question)[:_LONGEST_QUESTION]


def _one_line(text: str) -> str:
    """Return a text in one line, without control characters that a terminal would obey."""
    words = " ".join(text.split())
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in words
    )


async def export_labels(settings: Settings, out: Path) -> int:
    """Write the accepted labels of the record into a questions file, and say how many."""
    async with await open_store(database_url(settings)) as store:
        accepted = await store.labels.accepted(settings.tenant)
    try:
        count = write_questions(out, accepted)
    except OSError as error:
        raise SettingInvalid(f"{str(out)!r} can't be written: {error.strerror}.") from error
    print(f"{count} questions from use are in {out}; its other lines are as they were.")
    return 0


async def shadow(settings: Settings, channel: str, *, live: AnswerMode | None = None) -> int:
    """Print the report of a channel in shadow mode; with ``live``, end the mode there."""
    async with await open_store(database_url(settings)) as store:
        review = DraftReview(
            settings.tenant,
            drafts=store.shadow_drafts,
            interactions=store.interactions,
            policies=store.policies,
        )
        report = await review.report(channel)
        for line in report_lines(report):
            print(line)
        if live is not None:
            changed = await review.go_live(channel, live, actor=operator())
            print(f"{channel} is live." if changed else f"{channel} is not in shadow mode.")
    return 0


async def replay_webhook(settings: Settings, since: datetime, *, by: str | None = None) -> int:
    """Queue the events of all steps since a time once more; the server sends them."""
    async with await open_store(database_url(settings)) as store:
        actor = by or operator()
        count = await replay_events(
            store.webhook_events, store.audits, settings.tenant, since, actor
        )
    print(f"{counted(count, 'step')} since {since.strftime(_TIME_FORMAT)} UTC will be sent again.")
    if settings.case_webhook_url is None:
        print("CASE_WEBHOOK_URL is not set, so nothing is sent before it is: docs/webhooks.md")
    return 0


def settings_table(*, example: bool) -> int:
    """Print all settings as a table, or as an example of the .env file."""
    text = env_example(ALL_SETTINGS) if example else settings_page(ALL_SETTINGS)
    print(text, end="")
    return 0


def teams_package(settings: Settings, options: argparse.Namespace) -> int:
    """Write the Teams app package, and print what to do with it."""
    # Its JSON Schema library is needed for nothing else and takes a tenth of a second to load.
    from bot.platforms.teams.app_package import READ_ALONG_PERMISSIONS, PackageOptions, package_of

    wishes = PackageOptions(
        follow_ups=options.follow_ups,
        copilot=options.copilot,
        version=options.app_version,
        privacy_url=options.privacy_url,
        terms_url=options.terms_url,
    )
    _write_package(options.out, package_of(settings, wishes))
    print(f"{options.out}, for the bot {settings.microsoft_app_id}.")
    if options.follow_ups:
        print(
            f"It asks for {' and '.join(READ_ALONG_PERMISSIONS)}: "
            "owners consent where they add the app."
        )
    print("Teams > Apps > Manage your apps > Upload an app: docs/teams.md")
    return 0


def _write_package(out: Path, package: bytes) -> None:
    try:
        out.write_bytes(package)
    except OSError as error:
        raise SettingInvalid(
            f"--out {str(out)!r} can't be written: {error.strerror}. Name a file in a folder that "
            "is there."
        ) from error
