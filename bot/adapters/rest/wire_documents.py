"""The API's JSON about documents and what indexes them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from bot.adapters.rest.wire import Sent

MOST = 200
PageAddress = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)
]
SpaceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9~][A-Za-z0-9._~-]{0,99}$")]
Searched = Annotated[str, StringConstraints(max_length=500)]
RunState = Literal["waiting", "running", "done", "failed", "cancelled", "interrupted"]


class Failure(BaseModel):
    """A page that could not be read; with an empty `page` it is the whole space."""

    space: str
    page: str
    reason: str
    cure: str


class IndexedSpace(BaseModel):
    """A space: how much of it is indexed, from where, and since when."""

    name: str
    pages: int
    chunks: int
    source: str = Field(description="upload, folder, or another kind of source.")
    takes_uploads: bool = Field(description="Whether documents can be uploaded into it.")
    reindexable: bool = Field(description="Whether it is known here what fills it.")
    synced_at: datetime | None = Field(description="When a run last went over it.")
    failures: list[Failure] = Field(description="What that run could not read.")


class IndexedSpaces(BaseModel):
    """All spaces."""

    spaces: list[IndexedSpace]


class IndexedDocument(BaseModel):
    """One document; `waiting` until what was sent last can be found."""

    space: str
    id: str
    title: str
    url: str
    readers: str = Field(description="everyone, group:NAME, user:ID; nobody where none is known.")
    chunks: int
    source: str
    state: Literal["indexed", "waiting", "failed"]
    updated_at: datetime | None = Field(description="As the document says itself.")
    uploaded_at: datetime | None
    uploaded_by: str
    reason: str = Field(description="Why it failed, else empty.")
    cure: str
    removable: bool = Field(description="Whether it was uploaded, and can be deleted here.")


class IndexedDocuments(BaseModel):
    """Documents of a space, in the order of their ids."""

    space: IndexedSpace
    documents: list[IndexedDocument]
    next: str | None = Field(description="Send it as `after` for more; null at the end.")


class DocumentSearch(BaseModel):
    """Which documents."""

    model_config = ConfigDict(extra="forbid")

    q: Searched = Field("", description="words that name or title must hold, 500 characters")
    after: Searched = Field("", description="the `next` of the page before")
    limit: int = Field(50, ge=1, le=MOST, description=f"a whole number from 1 to {MOST}")


class RunSearch(BaseModel):
    """Which runs."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(20, ge=1, le=MOST, description=f"a whole number from 1 to {MOST}")


class UploadForm(BaseModel):
    """A form with a document: Markdown, text, HTML, PDF or Word (.docx), told by its content."""

    model_config = ConfigDict(
        json_schema_extra={
            "properties": {
                "file": {
                    "type": "string",
                    "format": "binary",
                    "description": "The document; its file name is its id. At most MAX_UPLOAD_MB.",
                },
                "readers": {
                    "type": "string",
                    "default": "everyone",
                    "description": "everyone, or group:NAME,user:ID of whom one must match.",
                },
            },
            "required": ["file"],
            "additionalProperties": False,
        }
    )


class Uploaded(BaseModel):
    """What became of an upload: it is kept, and `run_id` is the run that indexes it."""

    space: str
    id: str
    replaced: bool
    run_id: str


class StartReindex(Sent):
    """What to bring up to date."""

    space: SpaceName | None = Field(None, description="the name of a space, or null for all")
    page: PageAddress | None = Field(
        None, description="the address or id of a page that alone is read, or null"
    )
    changes: bool = Field(
        default=False, description="true to look only at what changed since the last run, or false"
    )
    dry_run: bool = Field(default=False, description="true to be told only, or false")
    allow_mass_delete: bool = Field(
        default=False, description="true to remove even a large share of a space, or false"
    )


class Reindex(BaseModel):
    """A run as far as it is."""

    id: str
    space: str | None = Field(description="null: all spaces.")
    extent: Literal["all", "changes", "page"] = Field(description="How much is looked at.")
    page: str = Field(description="The one page's address or id; empty for none.")
    dry_run: bool
    by: str
    state: RunState
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    at_space: str = Field(description="The space that is worked on now.")
    pages: int = Field(description="Done, of `total` that are to be written.")
    total: int
    chunks: int
    chunks_per_second: float
    remaining_seconds: float | None
    added: int
    changed: int
    removed: int
    readers_changed: int
    unchanged: int
    skipped: int
    failed: int
    failures: list[Failure] = Field(description="The first hundred.")


class Reindexes(BaseModel):
    """The last runs, newest first."""

    runs: list[Reindex]
