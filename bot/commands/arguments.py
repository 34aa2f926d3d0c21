"""The arguments of `channels`, apart from what it needs to run."""

from __future__ import annotations

import argparse

LONGEST_CHANNEL = 512
"""Characters; far beyond any platform, and short enough for every database's index."""


def add_channels(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("channels", help="say which spaces a channel is answered from")
    acts = parser.add_subparsers(dest="act")
    acts.add_parser("list", help="list the channels that have spaces of their own")
    setting = acts.add_parser("set", help="answer a channel from these spaces alone")
    clearing = acts.add_parser("clear", help="answer a channel as every other")
    for act in (setting, clearing):
        act.add_argument("channel", type=channel_name, help="platform:channel, as slack:C123")
    setting.add_argument("--spaces", type=space_keys, required=True, help="by comma, as IT,HR")


def channel_name(argument: str) -> str:
    """Read ``platform:channel``; the channel is named as its platform names it."""
    platform, _, channel = argument.strip().partition(":")
    if not platform.strip() or not channel.strip():
        raise argparse.ArgumentTypeError(
            f"{argument!r} is no channel. Name it as PLATFORM:CHANNEL, for example slack:C123"
        )
    if len(argument) > LONGEST_CHANNEL:
        raise argparse.ArgumentTypeError(f"a channel has at most {LONGEST_CHANNEL} characters")
    return f"{platform.strip()}:{channel.strip()}"


def space_keys(argument: str) -> frozenset[str]:
    """Read space keys by comma."""
    keys = frozenset(part.strip() for part in argument.split(",") if part.strip())
    if not keys:
        raise argparse.ArgumentTypeError("name at least one space, or use `channels clear`")
    return keys
