"""Parse the command line (`frontdesk COMMAND` or `python -m bot COMMAND`) and run one command.

A command's module is imported only when it runs, so that `--help` and `settings` stay quick.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bot import __version__
from bot.app.cli import (
    EXAMPLES,
    add_channels,
    add_person,
    add_sessions,
    add_shadow,
    add_teams_package,
    add_webhooks,
)
from bot.domain.errors import BotError
from bot.domain.settings import Settings
from bot.domain.settings_loading import load_settings
from bot.observability.logs import set_up_logs
from ingestion.help_texts import add_examples
from rag.errors import RagError
from rag.file_modes import GROUP_AND_OTHERS, restrict_to_owner

_LARGEST_LIMIT = 1_000_000
_CONSOLE_SCRIPT = "frontdesk"
_WIKI = "wiki"


def main(arguments: Sequence[str] | None = None, prog: str = "python -m bot") -> int:
    """Run a command; return its exit code. A known error prints one line and returns 2."""
    started = time.perf_counter()
    options = build_parser(prog).parse_args(arguments)
    if options.command == "settings":
        from bot.app.cli import administration

        return administration.settings_table(example=options.example)
    if options.command == "init":
        from bot.app.cli import init

        set_up_logs("error")
        return asyncio.run(init.run())
    try:
        settings = load_settings(**_given_settings(options))
        set_up_logs(settings.log_level)
        restrict_to_owner(settings.data_dir)
        return asyncio.run(_run_command(options, settings, started))
    except (BotError, RagError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _given_settings(options: argparse.Namespace) -> dict[str, object]:
    """Return the settings that the command line gives, which count before all others."""
    role = getattr(options, "role", None)
    return {} if role is None else {"role": role}


async def _run_command(options: argparse.Namespace, settings: Settings, started: float) -> int:
    match options.command:
        case "serve":
            # Most of what the start makes stays, and collections take a tenth of it. `serve`
            # enables them when it is ready.
            gc.disable()
            try:
                from bot.app.cli import serve

                return await serve.serve(settings, sample=options.sample, started=started)
            finally:
                gc.enable()
        case "doctor":
            from bot.app.cli import doctor
            from bot.app.confluence import confluence_checks, people_checks

            return await doctor.doctor(
                settings, confluence_checks, partial(people_checks, settings)
            )
        case "escalations" | "channels" | "labels" | "shadow" | "webhooks" | "teams-package":
            return await _run_administration(options, settings)
        case "pause" | "resume" | "sessions":
            return await _run_switch(options, settings)
        case "person" | "outbound":
            return await _run_personal_data(options, settings)
        case _:
            return await _run_evaluation(options, settings)


async def _run_administration(options: argparse.Namespace, settings: Settings) -> int:
    from bot.app.cli import administration

    if options.command == "teams-package":
        return administration.teams_package(settings, options)
    if options.command == "channels":
        return await administration.channels(settings, options)
    if options.command == "labels":
        return await administration.export_labels(settings, options.out)
    if options.command == "shadow":
        return await administration.shadow(settings, options.channel, live=options.live)
    if options.command == "webhooks":
        return await administration.replay_webhook(settings, options.since)
    return await administration.escalations(
        settings,
        done=options.done,
        shown=options.id,
        everything=options.all,
        limit=options.limit,
    )


async def _run_personal_data(options: argparse.Namespace, settings: Settings) -> int:
    from bot.app.cli import person

    return await person.run(settings, options)


async def _run_switch(options: argparse.Namespace, settings: Settings) -> int:
    from bot.app.cli import administration

    if options.command == "sessions" and options.act == "end":
        return await administration.end_sessions(settings, options.person)
    if options.command == "sessions":
        return await administration.list_sessions(settings)
    if options.command == "pause":
        return await administration.pause(settings, reason=options.reason, by=options.by)
    return await administration.resume(settings, by=options.by)


async def _run_evaluation(options: argparse.Namespace, settings: Settings) -> int:
    from bot.app.cli import questions

    if options.command == "ask":
        return await questions.ask(settings, " ".join(options.question), groups=options.group)
    if options.command == "certify":
        return await questions.run_certification(settings, options.questions, model=options.model)
    if options.command == "train":
        return await questions.run_training(
            settings, options.questions, model=options.model, again=options.again
        )
    if options.sample:
        return await questions.run_sample_evaluation(
            settings, options.model, yes=options.yes, again=options.again, out=options.out
        )
    return await questions.run_evaluation(
        settings, options.questions, out=options.out, models=options.model
    )


def build_parser(prog: str) -> argparse.ArgumentParser:
    """Return the parser of the command line; ``prog`` is what help texts call the program."""
    parser = argparse.ArgumentParser(prog=prog, description="Frontdesk, the help desk.")
    parser.add_argument("--version", action="version", version=f"Frontdesk {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve chat, API and platforms")
    serve.add_argument("--sample", action="store_true", help="index the sample company first")
    serve.add_argument(
        "--role", choices=("all", "accept", "work"), help="what this process does: FRONTDESK_ROLE"
    )
    commands.add_parser("init", help="ask for tokens and addresses, try each, and write .env")
    asking = commands.add_parser("ask", help="ask one question here")
    asking.add_argument("question", nargs="+")
    asking.add_argument("--group", action="append", default=[], help="ask as a member of it")
    commands.add_parser("doctor", help="check every configured part for real")
    waiting = commands.add_parser("escalations", help="list questions that wait for a person")
    waiting.add_argument("--all", action="store_true", help="list settled ones too")
    one = waiting.add_mutually_exclusive_group()
    one.add_argument("--id", metavar="ID", help="show one with its history")
    one.add_argument("--done", metavar="ID", help="note that one is resolved")
    waiting.add_argument("--limit", type=_positive_number, default=1000, help="how many to list")
    add_channels(commands)
    add_sessions(commands)
    add_shadow(commands)
    add_webhooks(commands)
    add_person(commands)
    commands.add_parser("outbound", help="say what leaves this machine, and to whom")
    _add_pause_and_resume(commands)
    _add_measuring(commands)
    table = commands.add_parser("settings", help="print all settings as a table")
    table.add_argument("--example", action="store_true", help="print them as .env.example")
    add_teams_package(commands)
    if prog == _CONSOLE_SCRIPT:
        # Listed by --help; console_script runs it.
        commands.add_parser(_WIKI, help="bring pages into the index: `frontdesk wiki --help`")
    add_examples(commands, EXAMPLES, prog)
    return parser


def _add_measuring(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    evaluate = commands.add_parser("evaluate", help="measure answers on labelled questions")
    asked = evaluate.add_mutually_exclusive_group(required=True)
    asked.add_argument("questions", type=Path, nargs="?", help="labelled questions of your own")
    asked.add_argument("--sample", action="store_true", help="those of the sample company")
    evaluate.add_argument("--out", type=Path, help="write the report as JSON")
    evaluate.add_argument(
        "--model", action="append", default=[], metavar="NAME", help="ask this one; repeatable"
    )
    evaluate.add_argument("--yes", action="store_true", help="agree to the cost of --sample")
    train = commands.add_parser("train", help="fit the gate to your model and your questions")
    certify = commands.add_parser("certify", help="certify the gate's threshold on your questions")
    for command in (train, certify):
        command.add_argument("questions", type=Path)
        command.add_argument("--model", default="", metavar="NAME", help="default: the usual one")
    labels = commands.add_parser("labels", help="write the accepted labels into a questions file")
    labels.add_argument("out", type=Path, metavar="FILE")
    for command in (evaluate, train):
        command.add_argument("--again", action="store_true", help="forget what is answered already")


def _add_pause_and_resume(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    pause = commands.add_parser("pause", help="stop answering; who asks is told why")
    pause.add_argument(
        "--reason", required=True, type=_non_empty_text, help="shown to everyone who asks"
    )
    resume = commands.add_parser("resume", help="answer again")
    for command in (pause, resume):
        command.add_argument(
            "--by", type=_non_empty_text, help="who does it; default: the system's user"
        )


def _positive_number(argument: str) -> int:
    """Parse a number from 1 to _LARGEST_LIMIT."""
    if not argument.isdecimal() or not 1 <= int(argument) <= _LARGEST_LIMIT:
        raise argparse.ArgumentTypeError(f"it must be a number from 1 to {_LARGEST_LIMIT}")
    return int(argument)


def _non_empty_text(argument: str) -> str:
    """Parse a text that is not blank."""
    if not argument.strip():
        raise argparse.ArgumentTypeError("it must not be empty")
    return argument.strip()


def console_script() -> int:
    """Run `frontdesk`, the command that the installed package brings; return the exit code.

    `frontdesk wiki` is the command line of ingestion.
    """
    if sys.argv[1:2] == [_WIKI]:
        from ingestion.__main__ import run_as_process

        return run_as_process(sys.argv[2:], f"{_CONSOLE_SCRIPT} {_WIKI}")
    os.umask(GROUP_AND_OTHERS)
    return main(prog=_CONSOLE_SCRIPT)


if __name__ == "__main__":
    os.umask(GROUP_AND_OTHERS)
    sys.exit(main())
