"""The command line: arguments of `channels`, `sessions`, `webhooks` and others, and their checks.

Separate from the commands, so that `--help` imports nothing that a command needs to run.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from bot.domain.messages import AnswerMode

LONGEST_CHANNEL = 512
"""Characters; far beyond any platform's, and short enough for every database's index."""

ALL_SPACES = "all"
DEFAULT = "usual"
"""The argument that resets a field to the value of every other channel."""


def add_channels(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `channels` command to the command line."""
    parser = commands.add_parser("channels", help="say how single channels are answered")
    acts = parser.add_subparsers(dest="act")
    acts.add_parser("list", help="list the channels that have a policy of their own")
    setting = acts.add_parser("set", help="change what is named; the rest stays as it is")
    clearing = acts.add_parser("clear", help="answer a channel as every other")
    for act in (setting, clearing):
        act.add_argument("channel", type=parse_channel, help="platform:channel, as slack:C123")
    _add_policy_fields(setting)


def _add_policy_fields(setting: argparse.ArgumentParser) -> None:
    setting.add_argument("--spaces", type=parse_spaces, help="by comma, as IT,HR; or `all`")
    setting.add_argument("--answers", choices=get_args(AnswerMode), help="what is answered there")
    setting.add_argument(
        "--follow-ups", type=parse_on_off, metavar="on|off", help="in its threads without a mention"
    )
    setting.add_argument("--people", type=parse_name, help="where people are asked; or `usual`")
    setting.add_argument("--model", type=parse_name, help="a model's name, `none`, or `usual`")
    setting.add_argument(
        "--reviewers", type=parse_people, help="who judges drafts, ids by comma; or `none`"
    )
    setting.add_argument(
        "--other-bots", type=parse_on_off, metavar="on|off", help="other bots may ask"
    )


def parse_channel(argument: str) -> str:
    """Parse ``platform:channel``, with the platform's own channel id."""
    platform, _, channel = argument.strip().partition(":")
    if not platform.strip() or not channel.strip():
        raise argparse.ArgumentTypeError(
            f"{argument!r} is no channel. Name it as PLATFORM:CHANNEL, for example slack:C123"
        )
    if len(argument) > LONGEST_CHANNEL:
        raise argparse.ArgumentTypeError(f"a channel has at most {LONGEST_CHANNEL} characters")
    return f"{platform.strip()}:{channel.strip()}"


def parse_spaces(argument: str) -> frozenset[str] | str:
    """Parse comma-separated space keys, or ALL_SPACES."""
    if argument.strip() == ALL_SPACES:
        return ALL_SPACES
    keys = frozenset(part.strip() for part in argument.split(",") if part.strip())
    if not keys:
        raise argparse.ArgumentTypeError("name at least one space, or `all`")
    return keys


def parse_people(argument: str) -> frozenset[str]:
    """Parse comma-separated ids of people; `none` is nobody."""
    if argument.strip() == "none":
        return frozenset()
    ids = frozenset(part.strip() for part in argument.split(",") if part.strip())
    if not ids:
        raise argparse.ArgumentTypeError("name at least one person by id, or `none`")
    return ids


def add_shadow(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `shadow` command to the command line."""
    parser = commands.add_parser("shadow", help="report on a channel in shadow mode")
    parser.add_argument("channel", type=parse_channel, help="platform:channel, as slack:C123")
    parser.add_argument(
        "--live", choices=("mentions", "questions"), help="answer there from now on"
    )


def parse_on_off(argument: str) -> bool:
    """Parse `on` or `off`."""
    known = {"on": True, "off": False}
    if argument.strip().lower() not in known:
        raise argparse.ArgumentTypeError(f"{argument!r} is neither `on` nor `off`")
    return known[argument.strip().lower()]


def parse_name(argument: str) -> str:
    """Parse a name; return "" for DEFAULT."""
    name = argument.strip()
    if not name or len(name) > LONGEST_CHANNEL:
        raise argparse.ArgumentTypeError(f"{argument!r} is no name; write one, or `{DEFAULT}`")
    return "" if name == DEFAULT else name


def add_webhooks(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `webhooks` command to the command line."""
    parser = commands.add_parser("webhooks", help="send steps of escalations again")
    acts = parser.add_subparsers(dest="act", required=True)
    replay = acts.add_parser("replay", help="send all steps since a time again")
    replay.add_argument(
        "--since", required=True, type=parse_time, metavar="TIME", help="UTC, as 2026-11-20T14:00"
    )


def add_person(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `person` command to the command line."""
    parser = commands.add_parser("person", help="export or forget what is kept about a person")
    acts = parser.add_subparsers(dest="act", required=True)
    exporting = acts.add_parser("export", help="write all that is kept about a person to a file")
    exporting.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON")
    forgetting = acts.add_parser("forget", help="delete it, and unname their acts")
    forgetting.add_argument("--dry-run", action="store_true", help="only count what is kept")
    forgetting.add_argument("--yes", action="store_true", help="do not ask")
    for act in (exporting, forgetting):
        act.add_argument("identity", help="an id on a platform, or the verified e-mail address")


def parse_time(argument: str) -> datetime:
    """Parse a date or time in ISO 8601; without an offset it is UTC."""
    try:
        at = datetime.fromisoformat(argument.strip())
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{argument!r} is no time; write it as 2026-11-20T14:00"
        ) from error
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


EXAMPLES: Mapping[str, str] = {
    "ask": "ask --group hr what are the salary bands",
    "certify": "certify questions.jsonl",
    "channels": "channels set slack:C0123 --spaces IT,HR --answers questions",
    "doctor": "doctor",
    "escalations": "escalations --all --limit 20",
    "evaluate": "evaluate questions.jsonl --out report.json",
    "init": "init",
    "labels": "labels questions.jsonl",
    "outbound": "outbound",
    "pause": "pause --reason 'The wiki is being moved; back at 2 pm.'",
    "person": "person export anna@acme.example --out anna.json",
    "resume": "resume",
    "serve": "serve --sample",
    "sessions": "sessions end anna@acme.example",
    "settings": "settings --example",
    "shadow": "shadow slack:C0123 --live mentions",
    "teams-package": "teams-package --follow-ups --out frontdesk.zip",
    "train": "train questions.jsonl",
    "webhooks": "webhooks replay --since 2026-11-20T14:00",
    "wiki": "wiki sync --all",
}
"""An example of each command of the bot, as it follows the program's name."""


def add_sessions(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `sessions` command to the command line."""
    parser = commands.add_parser("sessions", help="list who is signed in, and end their sessions")
    acts = parser.add_subparsers(dest="act")
    acts.add_parser("list", help="list who is signed in, in browsers")
    ending = acts.add_parser("end", help="end all sessions of a person, on every server")
    ending.add_argument("person", help="their id or address, as `sessions list` shows it")


DEFAULT_PACKAGE = Path("frontdesk-teams.zip")


def add_teams_package(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `teams-package` command to the command line."""
    parser = commands.add_parser("teams-package", help="build the app package for Teams")
    parser.add_argument(
        "--out", type=Path, default=DEFAULT_PACKAGE, help="the file; default: %(default)s"
    )
    parser.add_argument(
        "--follow-ups",
        action="store_true",
        help="ask owners to let the bot read along, for questions without a mention",
    )
    parser.add_argument(
        "--copilot",
        action="store_true",
        help="offer it in Microsoft 365 Copilot, too, as a custom engine agent",
    )
    parser.add_argument(
        "--app-version", metavar="X.Y.Z", help="a higher one than what is installed; default: 1.0.0"
    )
    parser.add_argument("--privacy-url", help="what is said about privacy; default: PUBLIC_URL")
    parser.add_argument("--terms-url", help="the terms of use; default: PUBLIC_URL")
