"""The command line: ask, serve, doctor, evaluate, certify, escalations, settings."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bot.config import Settings, load_settings
from bot.errors import BotError
from bot.logs import set_up_logs
from bot.settings_page import settings_page
from rag.errors import RagError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code. A known error is one line and code 2."""
    started = time.perf_counter()
    options = _parser().parse_args(arguments)
    if options.command == "settings":
        print(settings_page(), end="")
        return 0
    try:
        settings = load_settings()
        set_up_logs(settings.log_level)
        return asyncio.run(_run(options, settings, started))
    except (BotError, RagError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


async def _run(options: argparse.Namespace, settings: Settings, started: float) -> int:
    match options.command:
        case "serve":
            from bot.commands import serving

            return await serving.serve(settings, sample=options.sample, started=started)
        case "ask":
            from bot.commands import ask

            return await ask.ask(settings, " ".join(options.question), groups=options.group)
        case "doctor":
            from bot.commands import doctor

            return await doctor.doctor(settings)
        case "escalations":
            from bot.commands import escalations

            return await escalations.escalations(settings, limit=options.limit)
        case "certify":
            from bot.commands import evaluating

            return await evaluating.certifying(settings, options.questions)
        case _:
            from bot.commands import evaluating

            return await evaluating.evaluating(settings, options.questions, out=options.out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bot", description="Frontdesk, the help desk.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve chat, API and platforms")
    serve.add_argument("--sample", action="store_true", help="index the sample company first")
    asking = commands.add_parser("ask", help="ask one question here")
    asking.add_argument("question", nargs="+")
    asking.add_argument("--group", action="append", default=[], help="ask as a member of it")
    commands.add_parser("doctor", help="check every configured part for real")
    waiting = commands.add_parser("escalations", help="list questions that wait for a person")
    waiting.add_argument("--limit", type=int, default=10_000, help="answered messages to look at")
    evaluate = commands.add_parser("evaluate", help="measure answers on labelled questions")
    evaluate.add_argument("questions", type=Path)
    evaluate.add_argument("--out", type=Path, help="write the report as JSON")
    certify = commands.add_parser("certify", help="certify the gate's threshold on your questions")
    certify.add_argument("questions", type=Path)
    commands.add_parser("settings", help="print all settings as a table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
