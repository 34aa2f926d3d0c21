"""What the API offers about documents, in one table."""

from __future__ import annotations

from bot.adapters.rest import wire_documents as wire
from bot.adapters.rest.operations import (
    ALWAYS,
    V2,
    WITH_BODY,
    Operation,
    Parameter,
    parameters_of,
)

SPACES = f"{V2}/documents"
SPACE = f"{SPACES}/{{space}}"
DOCUMENT = f"{SPACE}/{{id}}"
REINDEX = f"{V2}/reindex"
OF_SPACE = Parameter("space", "path", "The space's name.", {"type": "string"})
OF_DOCUMENT = Parameter(
    "id", "path", "The document's id; a slash in it is written %2F.", {"type": "string"}
)
OF_RUN = Parameter("run", "path", "The run's id.", {"type": "string"})

OPERATIONS = (
    Operation(
        "spaces",
        "GET",
        SPACES,
        "List the spaces that are indexed; for admins.",
        {200: wire.IndexedSpaces},
        ALWAYS,
    ),
    Operation(
        "space",
        "GET",
        SPACE,
        "List the documents of a space; for admins.",
        {200: wire.IndexedDocuments},
        (*ALWAYS, 404, 422),
        None,
        (OF_SPACE, *parameters_of(wire.DocumentSearch)),
    ),
    Operation(
        "upload",
        "POST",
        SPACE,
        "Upload a document, which replaces one of the same name; for admins.",
        {202: wire.Uploaded},
        (*WITH_BODY, *ALWAYS, 409),
        wire.UploadForm,
        (OF_SPACE,),
        body_type="multipart/form-data",
    ),
    Operation(
        "indexed",
        "GET",
        DOCUMENT,
        "Show a document and whether it can be found yet; for admins.",
        {200: wire.IndexedDocument},
        (*ALWAYS, 404),
        None,
        (OF_SPACE, OF_DOCUMENT),
    ),
    Operation(
        "remove",
        "DELETE",
        DOCUMENT,
        "Delete an uploaded document; for admins.",
        {204: None},
        (*ALWAYS, 404, 409),
        None,
        (OF_SPACE, OF_DOCUMENT),
    ),
    Operation(
        "reindex",
        "POST",
        REINDEX,
        "Bring one space or all up to date with what fills them; for admins.",
        {202: wire.Reindex},
        (*WITH_BODY, *ALWAYS, 404, 409),
        wire.StartReindex,
    ),
    Operation(
        "runs",
        "GET",
        REINDEX,
        "List the last runs with their progress and failures; for admins.",
        {200: wire.Reindexes},
        (*ALWAYS, 422),
        None,
        parameters_of(wire.RunSearch),
    ),
    Operation(
        "cancel",
        "DELETE",
        f"{REINDEX}/{{run}}",
        "Stop a run; what it has written stays. For admins.",
        {204: None},
        (*ALWAYS, 404),
        None,
        (OF_RUN,),
    ),
)
