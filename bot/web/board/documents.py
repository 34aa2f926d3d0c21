"""Board pages of the index: spaces, documents, uploads and index runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote, urlencode

from aiohttp import web

from bot.chat.documents import Documents, NextRuns, Reindex, SeenBy
from bot.domain.errors import StoreUnavailable
from bot.domain.messages import Person
from bot.domain.ports import Audits
from bot.domain.texts import tr
from bot.domain.texts.ingestion_texts import ingestion_text
from bot.web.auth.identity import principals_of, require_role, role_of
from bot.web.board import labels
from bot.web.board.layout import audit_name, render_page, utc_now
from bot.web.forms import UploadLimits, receive_form
from bot.web.problems import allow_larger_body, problem
from ingestion.errors import DocumentRefused
from ingestion.library import LibraryDocument, Space
from ingestion.records.types import Run
from rag.types import EVERYONE

PATH = "/board/documents"
PAGE_SIZE = 50
_SHOWN_RUNS = 5
_MAX_SEARCH = 200
_MAX_PAGE_ADDRESS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPages:
    """Handlers of the documents pages; experts see what they may read, admins see and change all.

    ``data_dir`` holds uploads temporarily, within ``bounds``. ``next_runs`` returns the
    scheduled runs, None without a schedule.
    """

    tenant: str
    documents: Documents
    reindexing: Reindex
    audits: Audits
    data_dir: Path
    bounds: UploadLimits
    next_runs: NextRuns | None = None
    now: Callable[[], datetime] = utc_now

    def mount(self, app: web.Application) -> None:
        """Add the routes. No space name begins with a dash, so ``-`` can prefix the other paths."""
        app.router.add_get(PATH, self.spaces)
        app.router.add_post(PATH, self.upload)
        allow_larger_body(app, PATH, self.bounds.body)
        app.router.add_get(f"{PATH}/-/runs", self.runs)
        app.router.add_post(f"{PATH}/-/reindex", self.reindex)
        app.router.add_post(f"{PATH}/-/cancel", self.cancel)
        app.router.add_get(f"{PATH}/{{space}}", self.space)
        app.router.add_get(f"{PATH}/{{space}}/{{id}}", self.one)
        app.router.add_post(f"{PATH}/{{space}}/{{id}}/delete", self.delete)

    async def spaces(self, request: web.Request) -> web.Response:
        """Show all spaces and the index runs."""
        return await self._spaces(request, {}, request.query.getall("kept", []))

    async def space(self, request: web.Request) -> web.Response:
        """Show the documents of a space, searched by words, page by page."""
        runs = await self._runs()
        seen_by = await _principals(request, self.tenant)
        name = request.match_info["space"]
        space = next(
            (one for one in await self.documents.spaces(seen_by) if one.name == name), None
        )
        if space is None:
            raise problem(404, tr("This space does not exist, or you can't read anything in it."))
        searched = request.query.get("words", "")[:_MAX_SEARCH]
        found = await self.documents.documents(
            name, seen_by, words=searched, after=request.query.get("after", ""), limit=PAGE_SIZE + 1
        )
        more = (
            {"words": searched, "after": found[PAGE_SIZE - 1].id}
            if len(found) > PAGE_SIZE
            else None
        )
        context: dict[str, object] = {
            "space": space,
            "found": found[:PAGE_SIZE],
            "searched": searched,
            "more": f"{_address(name)}?{urlencode(more)}" if more else "",
            "first": _address(name) if request.query.get("after") else "",
            **runs,
        }
        uploaded = await self._uploaded(request, name, request.query.getall("kept", []))
        return await self._show(request, "board/space.html", [space], context, uploaded)

    async def one(self, request: web.Request) -> web.Response:
        """Show one document."""
        space, document_id = request.match_info["space"], request.match_info["id"]
        seen_by = await _principals(request, self.tenant)
        document = await self.documents.document(space, document_id, seen_by)
        context = {"document": document, "place": _address(space, document_id)}
        return await self._show(request, "board/document.html", [], context)

    async def runs(self, request: web.Request) -> web.Response:
        """Show the progress of runs; trigger a page reload (HX-Trigger) once all have ended."""
        response = render_page(
            request, "board/runs.html", {**_shared_context(request), **await self._runs()}
        )
        if not any(run.active for run in await self.reindexing.newest(_SHOWN_RUNS)):
            response.headers["HX-Trigger"] = "runs-ended"
        return response

    async def upload(self, request: web.Request) -> web.Response:
        """Store uploaded documents; rejected ones are listed with the reason, others are kept."""
        person = require_role(request, "admin")
        kept, troubles = list[str](), list[str]()
        async with receive_form(request, self.data_dir, self.bounds) as form:
            space = form.texts.get("space", "").strip()
            if not form.files:
                troubles.append(tr("Choose a file first."))
            for file in form.files:
                try:
                    added = await self.documents.add(
                        space,
                        file.path,
                        name=file.name,
                        readers=form.texts.get("readers", "").strip() or EVERYONE,
                        by=audit_name(person),
                    )
                except DocumentRefused as error:
                    troubles.append(ingestion_text(str(error)))
                    continue
                kept.append(added.id)
                await self._audit(person, "upload", f"{space}/{added.id}")
        if troubles:
            return await self._spaces(request, form.texts, kept, troubles)
        raise web.HTTPSeeOther(f"{_address(space)}?{urlencode({'kept': kept}, doseq=True)}")

    async def delete(self, request: web.Request) -> web.Response:
        """Delete a document."""
        person = require_role(request, "admin")
        space, document_id = request.match_info["space"], request.match_info["id"]
        await self.documents.remove(space, document_id, by=audit_name(person))
        await self._audit(person, "delete document", f"{space}/{document_id}")
        left = {one.name for one in await self.documents.spaces(None)}
        raise web.HTTPSeeOther(_address(space) if space in left else PATH)

    async def reindex(self, request: web.Request) -> web.Response:
        """Start a run over a space, its changes, one page, or everything."""
        person = require_role(request, "admin")
        form = await request.post()
        space, dry_run = str(form.get("space", "")) or None, "dry_run" in form
        page = str(form.get("page", "")).strip()[:_MAX_PAGE_ADDRESS]
        if "one_page" in form and not page:
            raise problem(422, tr("Enter the address of the page as your browser shows it."))
        await self.reindexing.start(
            space,
            by=audit_name(person),
            dry_run=dry_run,
            allow_mass_delete="allow_mass_delete" in form,
            extent="changes" if "changes" in form else "all",
            page=page,
        )
        detail = [f"page {page}"] * bool(page) + ["dry run"] * dry_run
        await self._audit(person, "reindex", space or "all", ", ".join(detail))
        raise web.HTTPSeeOther(_address(space) if space else PATH)

    async def cancel(self, request: web.Request) -> web.Response:
        """Stop a run."""
        person = require_role(request, "admin")
        run_id = str((await request.post()).get("run", ""))
        await self.reindexing.cancel(run_id)
        await self._audit(person, "cancel reindex", run_id)
        raise web.HTTPSeeOther(PATH)

    async def _spaces(
        self,
        request: web.Request,
        filled: Mapping[str, str],
        kept: Sequence[str],
        troubles: Sequence[str] = (),
    ) -> web.Response:
        runs = await self._runs()
        spaces = await self.documents.spaces(await _principals(request, self.tenant))
        context = {"spaces": spaces, "troubles": troubles, "filled": filled, **runs}
        uploaded = await self._uploaded(request, filled.get("space", "").strip(), kept)
        response = await self._show(request, "board/documents.html", spaces, context, uploaded)
        if troubles:
            response.set_status(422)
        return response

    async def _show(
        self,
        request: web.Request,
        template: str,
        spaces: Sequence[Space],
        context: Mapping[str, object],
        uploaded: Sequence[LibraryDocument] = (),
    ) -> web.Response:
        shared = {
            **_shared_context(request),
            "upcoming": await self._upcoming(),
            "targets": [one.name for one in spaces if one.takes_uploads],
            "most_mb": self.bounds.bytes // 1024**2,
            "most_files": self.bounds.files,
            "filled": {},
            "kept": uploaded,
            "waiting": any(each.state == "waiting" for each in uploaded),
        }
        return render_page(request, template, {**shared, **context})

    async def _uploaded(
        self, request: web.Request, space: str, names: Sequence[str]
    ) -> Sequence[LibraryDocument]:
        """Return the documents that were just uploaded, if they still exist."""
        seen_by = await _principals(request, self.tenant)
        found: list[LibraryDocument] = []
        for name in names[:PAGE_SIZE]:
            with suppress(DocumentRefused):
                found.append(await self.documents.document(space, name, seen_by))
        return found

    async def _runs(self) -> dict[str, object]:
        """Return the runs to show; call it before reading documents.

        A run that ends in between is then shown as active, and the page is loaded again. The other
        way round the page would stay without the documents of that run.
        """
        newest = await self.reindexing.newest(_SHOWN_RUNS)
        return {"runs": _recent_runs(newest), "active": any(run.active for run in newest)}

    async def _upcoming(self) -> Mapping[str, str]:
        """Return the next scheduled run of each space; empty if it is unavailable."""
        if self.next_runs is None:
            return {}
        try:
            passes = await self.next_runs()
        except (DocumentRefused, StoreUnavailable):
            return {}
        return {space: labels.upcoming(each, self.now()) for space, each in passes.items()}

    async def _audit(self, person: Person, act: str, subject: str, detail: str = "") -> None:
        actor = f"board:{audit_name(person)}"
        await self.audits.append(self.tenant, actor, act, subject, detail=detail)


def _shared_context(request: web.Request) -> dict[str, object]:
    return {"words": labels, "tell": labels, "may_change": role_of(request) == "admin"}


async def _principals(request: web.Request, tenant: str) -> SeenBy:
    """Return the principals whose documents are shown; None (all) for admins."""
    require_role(request, "expert")
    return None if role_of(request) == "admin" else await principals_of(request, tenant)


def _recent_runs(newest: Sequence[Run]) -> Sequence[Run]:
    """Return the active runs and the last ended ones."""
    active = [run for run in newest if run.active]
    return active + [run for run in newest if not run.active][: max(1, 3 - len(active))]


def _address(space: str, document_id: str = "") -> str:
    place = f"{PATH}/{quote(space, safe='')}"
    return f"{place}/{quote(document_id, safe='')}" if document_id else place
