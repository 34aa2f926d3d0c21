"""Run the operators' commands about personal data: person export, person forget, outbound."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from functools import partial
from pathlib import Path

from bot.app.cli.administration import operator
from bot.app.documents import load_ingestion_settings
from bot.app.personal_data import open_personal_data
from bot.domain.errors import SettingInvalid
from bot.domain.formatting import counted
from bot.domain.personal_data import ForgetRequest, PersonSummary
from bot.domain.settings import Settings
from bot.inbox.engine import engine_url, forget_work_at
from bot.observability.data_flows import data_flows
from bot.store.personal_data import PersonalData


async def run(settings: Settings, options: argparse.Namespace) -> int:
    """Export what is kept about a person, forget them, or print what leaves the machine.

    Raises SettingInvalid.
    """
    if options.command == "outbound":
        return _print_outbound(settings)
    forget_work = partial(forget_work_at, engine_url(settings))
    async with open_personal_data(settings, forget_work) as personal:
        if options.act == "export":
            return await _export(personal, options.identity, options.out)
        return await _forget(
            personal, options.identity, dry_run=options.dry_run, agreed=options.yes
        )


async def _export(personal: PersonalData, identity: str, out: Path) -> int:
    exported = await personal.export([identity], operator())
    text = json.dumps(exported, ensure_ascii=False, indent=2)
    try:
        await asyncio.to_thread(out.write_text, f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise SettingInvalid(f"{str(out)!r} can't be written: {error.strerror}.") from error
    print(f"All that is kept about {identity} is in {out}. What it means: docs/security.md")
    return 0


async def _forget(personal: PersonalData, identity: str, *, dry_run: bool, agreed: bool) -> int:
    request = await personal.open_request(identity)
    if request is None or dry_run:
        summary = await personal.summary([identity])
        _print_summary(identity, summary)
        if dry_run or not summary.total:
            return 0
        if not agreed and not await asyncio.to_thread(_agrees):
            print("Nothing was changed.")
            return 1
        request = await personal.request([identity], operator())
    return await _carry_out(personal, request)


async def _carry_out(personal: PersonalData, request: ForgetRequest) -> int:
    progress = await personal.carry_out(request)
    for each in await personal.store.forgetting.unposted(personal.tenant, request):
        await personal.store.work.cancelled(each)
    if not progress.done:
        progress = await personal.carry_out(request)
    if progress.done:
        print(f"Forgotten. What they did for others stays, by {request.pseudonym}.")
    else:
        print(
            f"Their words are gone. {counted(progress.waiting, 'reply', 'replies')} may stand on a "
            "platform yet: the server removes them and ends it; start it if none runs."
        )
    return 0


def _print_summary(identity: str, summary: PersonSummary) -> None:
    keys = summary.keys
    known = ", ".join(sorted(keys.ids | keys.emails))
    if not summary.total:
        print(f"Nothing is kept about {identity!r}.")
        return
    print(f"Kept about {known}:")
    for place, count in sorted(summary.counts.items()):
        print(f"  {count:>7}  {place}")


def _agrees() -> bool:
    if not sys.stdin.isatty():
        raise SettingInvalid("Nobody can be asked here. Say --yes to forget them, or --dry-run.")
    return input("Forget them? It can't be undone. Write yes: ").strip().lower() == "yes"


def _print_outbound(settings: Settings) -> int:
    """Print what leaves this machine with these settings."""
    flows = data_flows(settings, load_ingestion_settings())
    for flow in [each for each in flows if each.hosts]:
        print(f"{flow.name}: {', '.join(flow.hosts)}")
        print(f"  what  {flow.what}")
        print(f"  when  {flow.when}")
        print(f"  off   {flow.off}")
    off = [flow.name for flow in flows if not flow.hosts]
    print(f"Nothing is sent to: {', '.join(off)}.")
    return 0
