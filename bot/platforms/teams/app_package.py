"""Build the app package: a zip of manifest and icons, byte-identical for the same settings.

The manifest is the one in infra/teams, completed from the settings and the command line.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator, ValidationError

from bot.domain.errors import SettingInvalid
from bot.domain.settings import Settings
from bot.domain.suggested_prompts import SuggestedPrompt
from bot.domain.texts import load_catalogue
from bot.domain.urls import is_local_host

SOURCE = "infra/teams/manifest.json"
READ_ALONG_PERMISSIONS = ("ChannelMessage.Read.Group", "ChatMessage.Read.Chat")
"""Permissions under which Teams sends all messages of a conversation, not only mentions."""

_GUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_READS_ALONG = (
    "It receives what is written in the channels and chats that it was added to, so that it can "
    "answer follow-up questions without a mention; what is not for it is dropped, not kept."
)
_COPILOT_SCOPE = "copilot"
_COPILOT_DISCLAIMER = (
    "Frontdesk answers from the company's own pages. What a model composed is checked against its "
    "sources and says so. Check what matters at the source."
)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageOptions:
    """Options of a package that are not settings.

    Attributes:
        follow_ups: Request the permissions to receive messages without a mention.
        copilot: Offer the bot in Microsoft 365 Copilot, too, as a custom engine agent.
        version: Of the package, as 1.0.1; None keeps the source's version.
        privacy_url: Address of the privacy statement; None is PUBLIC_URL.
        terms_url: Address of the terms of use; None is PUBLIC_URL.
    """

    follow_ups: bool = False
    copilot: bool = False
    version: str | None = None
    privacy_url: str | None = None
    terms_url: str | None = None


def manifest_for(source: Mapping[str, Any], settings: Settings, options: PackageOptions) -> Json:
    """Return the manifest for an installation.

    Raises SettingInvalid for missing settings, and for values that Teams would reject.
    """
    app_id, home = _app_id(settings), _public_url(settings)
    try:
        prompts = () if settings.teams_hello else _suggested(settings)
        manifest = _filled_manifest(_with_bot(source, app_id, prompts), app_id, home, options)
    except (AttributeError, KeyError, TypeError) as error:
        raise SettingInvalid(
            f"{SOURCE} is not formed as that of the repository ({error}). Begin with that one."
        ) from error
    if problems := manifest_problems(manifest):
        raise SettingInvalid(f"Teams would not take {SOURCE}: {'; '.join(problems)}. Correct that.")
    return manifest


def _filled_manifest(
    source: Mapping[str, Any], app_id: str, home: str, options: PackageOptions
) -> Json:
    manifest = dict(source)
    manifest["id"] = app_id
    manifest["version"] = options.version or source["version"]
    manifest["developer"] = {
        **source["developer"],
        "websiteUrl": home,
        "privacyUrl": options.privacy_url or home,
        "termsOfUseUrl": options.terms_url or home,
    }
    manifest["validDomains"] = [urlsplit(home).hostname]
    if options.copilot:
        manifest |= _in_copilot(manifest, app_id)
    return manifest | _reading_along(manifest, app_id) if options.follow_ups else manifest


def _app_id(settings: Settings) -> str:
    app_id = settings.microsoft_app_id
    if app_id is None:
        raise SettingInvalid(
            "MICROSOFT_APP_ID is not set. Set it to the bot registration's id: docs/teams.md"
        )
    if not _GUID.fullmatch(app_id):
        raise SettingInvalid(
            f"MICROSOFT_APP_ID={app_id!r} is no id. Copy it from the bot's Configuration > "
            "Microsoft App ID, such as 00000000-0000-0000-0000-000000000000."
        )
    return app_id


def _public_url(settings: Settings) -> str:
    home = settings.public_url
    if home is None:
        raise SettingInvalid(
            "PUBLIC_URL is not set. Set it to where colleagues reach this server, such as "
            "https://frontdesk.example.com; Teams shows it with the app."
        )
    if (
        not home.lower().startswith("https://")
        or is_local_host(home)
        or not urlsplit(home).hostname
    ):
        raise SettingInvalid(
            f"PUBLIC_URL={home!r} can't be opened from Teams. Set it to the https:// address by "
            "which others reach this server."
        )
    return home


def _suggested(settings: Settings) -> Sequence[SuggestedPrompt]:
    """Return the prompts in the language of Teams: what they send is the asker's own message."""
    said = load_catalogue(settings.ui_language).default.text
    return [SuggestedPrompt(said(each.title), said(each.message)) for each in settings.prompts]


def _with_bot(source: Mapping[str, Any], app_id: str, prompts: Sequence[SuggestedPrompt]) -> Json:
    """Return the source with the bot's id, and with the suggested prompts in all its scopes."""
    bots = [
        {
            **bot,
            "botId": app_id,
            "commandLists": [_with_prompts(each, prompts) for each in bot["commandLists"]],
        }
        for bot in source["bots"]
    ]
    return {**source, "bots": bots}


def _with_prompts(commands: Mapping[str, Any], prompts: Sequence[SuggestedPrompt]) -> Json:
    suggested = [
        {
            "title": each.title,
            "description": each.message,
            "type": "prompt",
            "prompt": each.message,
        }
        for each in prompts
    ]
    return {**commands, "commands": [*suggested, *commands["commands"]]}


def _in_copilot(manifest: Mapping[str, Any], app_id: str) -> Json:
    """Return the keys by which Microsoft 365 Copilot offers the same bot as an agent.

    Microsoft wants the bot's own id, its personal scope, and the app's short name and description.
    """
    agent = {"id": app_id, "type": "bot", "disclaimer": {"text": _COPILOT_DISCLAIMER}}
    bots = [
        {**bot, "scopes": [*bot["scopes"], _COPILOT_SCOPE], "commandLists": _copilot_lists(bot)}
        for bot in manifest["bots"]
    ]
    return {"bots": bots, "copilotAgents": {"customEngineAgents": [agent]}}


def _copilot_lists(bot: Mapping[str, Any]) -> Sequence[Json]:
    """Return the command lists; what is offered in personal chats is offered in Copilot, too."""
    return [
        {**each, "scopes": [*each["scopes"], _COPILOT_SCOPE]}
        if "personal" in each["scopes"]
        else each
        for each in bot["commandLists"]
    ]


def _reading_along(manifest: Mapping[str, Any], app_id: str) -> Json:
    """Return the keys that request all messages, and the reason, which Microsoft requires."""
    told, permissions = (
        manifest["description"],
        [{"name": name, "type": "Application"} for name in READ_ALONG_PERMISSIONS],
    )
    return {
        "description": {**told, "full": f"{told['full']} {_READS_ALONG}"},
        "webApplicationInfo": {"id": app_id, "resource": f"https://{manifest['validDomains'][0]}"},
        "authorization": {"permissions": {"resourceSpecific": permissions}},
    }


FOLDER = Path(__file__).parents[3] / "infra" / "teams"
MANIFEST = "manifest.json"

ICON_SIZES = {"color": 192, "outline": 32}
"""Width and height of an icon in pixels, by its key in the manifest."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_HEADER = struct.Struct(">8sL4sLL")
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)  # The earliest date of the zip format.
_FILE_MODE = 0o100644 << 16  # A regular file; Unix modes are in the upper 16 bits.
_UNIX_SYSTEM = 3  # Set on every system, so that the bytes are the same.


def package_of(settings: Settings, options: PackageOptions, *, folder: Path = FOLDER) -> bytes:
    """Return the package. Raises SettingInvalid: the missing or invalid setting, and its cure."""
    manifest = manifest_for(_source(folder / MANIFEST), settings, options)
    said = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    icons = {
        name: _icon(folder / name, ICON_SIZES[kind]) for kind, name in manifest["icons"].items()
    }
    return _zip({MANIFEST: said.encode(), **icons})


def _icon(file: Path, pixels: int) -> bytes:
    content = _read_file(file)
    head = content[: _PNG_HEADER.size]
    _, _, kind, *size = (
        _PNG_HEADER.unpack(head) if len(head) == _PNG_HEADER.size else (b"", 0, b"", 0, 0)
    )
    if not content.startswith(_SIGNATURE) or kind != b"IHDR" or size != [pixels, pixels]:
        raise SettingInvalid(f"{file} is no PNG of {pixels} x {pixels} pixels. Take one that is.")
    return content


def _source(file: Path) -> Mapping[str, Any]:
    try:
        read = json.loads(_read_file(file))
    except ValueError as error:
        raise SettingInvalid(f"{SOURCE} can't be read as JSON: {error}. Correct it.") from error
    if not isinstance(read, dict):
        raise SettingInvalid(f"{SOURCE} holds no JSON object. Take that of the repository.")
    return read


def _read_file(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        cure = "Take it from the repository."
        raise SettingInvalid(f"{file} can't be read: {error.strerror}. {cure}") from error


def _zip(files: Mapping[str, bytes]) -> bytes:
    """Return a zip without timestamps and compression, which differs between libraries."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _ZIP_DATE)
            entry.create_system, entry.external_attr = _UNIX_SYSTEM, _FILE_MODE
            archive.writestr(entry, content)
    return written.getvalue()


_CHANNEL_FEATURES = "supportsChannelFeatures"
_SCHEMA = Path(__file__).with_name("manifest_schema.json")
_TYPE_WORDS = {"string": "text", "array": "list"}
_ANCHORS = ("^", r"$(?!\n)")
"""Begin and end of a pattern in the schema; an operator reads the form without them."""

_LONGEST_VALUE = 200
"""Longest value in a problem."""


def manifest_problems(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return why Teams would reject the manifest, each with its path; empty if it is valid.

    The published schema, which ``manifest_schema.json`` follows, has no rules between keys.
    """
    validator = Draft202012Validator(json.loads(_SCHEMA.read_bytes()))
    errors = list(validator.iter_errors(manifest))
    # One fault of a value is enough: what is too long is rarely well formed either.
    long = [each.absolute_path for each in errors if each.validator == "maxLength"]
    wanted = [e for e in errors if e.validator != "pattern" or e.absolute_path not in long]
    found = [text for each in wanted for text in _texts_of(each)]
    return tuple(dict.fromkeys(found)) or tuple(_inconsistent(manifest))


def schema_of(version: str) -> str:
    """Return the URL of a version's schema."""
    return (
        f"https://developer.microsoft.com/json-schemas/teams/v{version}/MicrosoftTeams.schema.json"
    )


def _texts_of(error: ValidationError) -> Iterator[str]:
    """Yield what is wrong; one error may be about several keys of an object."""
    path = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in error.absolute_path)
    at, value, limit = "".join(path)[1:], error.instance, error.validator_value
    inside, shown = f"{at}." if at else "", _clipped(repr(value))
    match error.validator:
        case "required":
            yield from (f"{inside}{key} is missing" for key in limit if key not in value)
        case "additionalProperties":
            known = error.schema["properties"]
            yield from (f"{inside}{key} is unknown here" for key in value if key not in known)
        case "maxLength" | "maxItems":
            counted = "characters" if error.validator == "maxLength" else "entries"
            yield f"{at} has {len(value)} {counted}; Teams takes {limit}"
        case "uniqueItems":
            yield f"{at} has one twice"
        case "enum":
            yield f"{at}={shown} is none of {', '.join(limit)}"
        case "type" if limit == "boolean":
            yield f"{at}={shown} is neither true nor false"
        case "type":
            yield f"{at} is no {_TYPE_WORDS.get(limit, limit)}"
        case _:
            form = limit.removeprefix(_ANCHORS[0]).removesuffix(_ANCHORS[1])
            yield f"{at}={shown} is not of the form {form}"


def _clipped(shown: str) -> str:
    longest = _LONGEST_VALUE
    return shown if len(shown) <= longest else f"{shown[:longest]}\u2026"


def _inconsistent(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield contradictions between keys of a manifest whose single values are valid."""
    version = manifest["manifestVersion"]
    if manifest.get("$schema", schema_of(version)) != schema_of(version):
        yield f"$schema is not that of manifestVersion {version}"
    scopes = [scope for bot in manifest.get("bots", ()) for scope in bot["scopes"]]
    if not scopes:
        yield "bots holds no bot that can be asked anywhere"
    if "team" in scopes and _CHANNEL_FEATURES not in manifest:
        yield f"{_CHANNEL_FEATURES} is missing; from 1.25 on Teams wants it of apps in teams"
    if manifest.get("authorization") and not manifest.get("webApplicationInfo", {}).get("resource"):
        yield "webApplicationInfo.resource is missing; resource-specific consent needs it"
