"""Builds the app package that is uploaded to Teams."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.adapters.teams.installing.manifest import READ_ALONG, Wishes
from bot.adapters.teams.installing.package import package_of
from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings


def teams_package(settings: Settings, options: argparse.Namespace) -> int:
    """Write the package, and say what to do with it."""
    wishes = Wishes(
        follow_ups=options.follow_ups,
        version=options.app_version,
        privacy_url=options.privacy_url,
        terms_url=options.terms_url,
    )
    _write(options.out, package_of(settings, wishes))
    print(f"{options.out}, for the bot {settings.microsoft_app_id}.")
    if options.follow_ups:
        print(f"It asks for {' and '.join(READ_ALONG)}: owners consent where they add the app.")
    print("Teams > Apps > Manage your apps > Upload an app: docs/teams.md")
    return 0


def _write(out: Path, package: bytes) -> None:
    try:
        out.write_bytes(package)
    except OSError as error:
        raise SettingInvalid(
            f"--out {str(out)!r} can't be written: {error.strerror}. Name a file in a folder that "
            "is there."
        ) from error
