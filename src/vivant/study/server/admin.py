"""The researcher's pages: progress, items, annotators; pause, more places, exclude, download. No key is read here."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from vivant.core.errors import UsageError
from vivant.study.export.tables import JUDGEMENTS, PEOPLE, WRITERS
from vivant.study.judgement import Judgement, Person
from vivant.study.server.context import Desk
from vivant.study.server.errors import RefusedError, form_fields
from vivant.study.server.tokens import ADMIN_COOKIE, ADMIN_HOURS, same
from vivant.study.store import Progress

_REASON = 500
_MOST = 1000
"""Judgements per item; more is a slip of the finger."""


def router(desk: Desk) -> APIRouter:
    """The researcher's addresses."""
    routes = APIRouter(prefix="/admin")
    office = Office(desk)

    @routes.get("")
    def overview(request: Request) -> Response:
        return office.overview(request)

    @routes.get("/progress")
    def progress(request: Request) -> Response:
        office.enter(request)
        return JSONResponse(office.numbers())

    @routes.get("/item/{number}")
    def item(request: Request, number: int) -> Response:
        return office.item(request, number)

    @routes.get("/person/{annotator}")
    def person(request: Request, annotator: str) -> Response:
        return office.person(request, annotator)

    @routes.get("/download/{name}")
    def download(request: Request, name: str) -> Response:
        return office.download(request, name)

    @routes.post("/login")
    async def login(request: Request) -> Response:
        return office.login(await form_fields(request))

    @routes.post("/{action}")
    async def act(request: Request, action: str) -> Response:
        return await run_in_threadpool(office.act, request, action, await form_fields(request))

    return routes


class Office:
    """Carries out what the researcher asks for. Blocking: run in threads."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._store = desk, desk.store
        self._names = [item.id for item in desk.loaded.items if not item.check]

    # ── the door ──

    def enter(self, request: Request) -> str:
        """The researcher's session. Raises for anybody else."""
        held = request.cookies.get(ADMIN_COOKIE, "")
        if not self._desk.marks.is_admin(held, self._desk.serving.admin_token, self._store.clock()):
            raise RefusedError(401, "not_found")
        return held

    def login(self, fields: dict[str, str]) -> Response:
        """Trade the token for a session."""
        if not same(fields.get("token", ""), self._desk.serving.admin_token):
            status = 403 if self._desk.limits.wrong.take() else 429
            return HTMLResponse(self._desk.render("admin_login.html", wrong=True), status)
        until = int(self._store.clock()) + ADMIN_HOURS * 3600
        answer = RedirectResponse(f"{self._desk.serving.root}/admin", 303)
        answer.set_cookie(
            ADMIN_COOKIE, self._desk.marks.admin(self._desk.serving.admin_token, until),
            max_age=ADMIN_HOURS * 3600, path=f"{self._desk.serving.root}/admin", httponly=True,
            samesite="strict", secure=self._desk.serving.secure,
        )  # fmt: skip
        return answer

    def _page(self, request: Request, template: str, status: int = 200, **given: Any) -> Response:
        form = self._desk.marks.admin_form(request.cookies.get(ADMIN_COOKIE, ""))
        title = next(iter(self._desk.study.title.values()))
        return HTMLResponse(self._desk.render(template, form=form, title=title, **given), status)

    # ── looking ──

    def _progress(self) -> Progress:
        return self._store.progress(self._names)

    def numbers(self) -> dict[str, Any]:
        """What the overview shows live."""
        now = self._progress()
        return {
            "finished": now.finished,
            "held": now.held,
            "open": now.open,
            "places": now.places,
            "target": now.target,
            "people": now.people,
            "excluded": now.excluded,
            "paused": now.paused,
        }

    def overview(self, request: Request, problem: str = "", status: int = 200) -> Response:
        """Everything at a glance; the login for whoever has no session."""
        try:
            self.enter(request)
        except RefusedError:
            return HTMLResponse(self._desk.render("admin_login.html", wrong=False))
        progress = self._progress()
        counts = {line.item: line for line in progress.items}
        items = [
            {"number": number, "item": item, "count": counts[item.id]}
            for number, item in enumerate(self._desk.loaded.items)
            if not item.check
        ]
        return self._page(
            request, "admin.html", status, now=self.numbers(), items=items, people=list(self._people()),
            problem=problem, facets=self._facets(progress), events=list(self._store.events())[-30:][::-1],
        )  # fmt: skip

    def _facets(self, progress: Progress) -> list[tuple[str, str, int, int]]:
        """Judgements by value of the facets that are balanced: facet, value, finished, places."""
        done = {line.item: line.finished for line in progress.items}
        lines: dict[tuple[str, str], list[int]] = {}
        for item in self._desk.loaded.items:
            for facet in self._desk.study.balance if not item.check else ():
                line = lines.setdefault((facet, item.facets.get(facet, "")), [0, 0])
                line[0] += done[item.id]
                line[1] += progress.target
        return [(facet, value, *line) for (facet, value), line in sorted(lines.items())]  # type: ignore[misc]

    def _people(self) -> Iterator[dict[str, Any]]:
        """Everybody with what they have done, in one pass over the judgements."""
        done: dict[str, set[str]] = {}
        times: dict[str, list[float]] = {}
        for judgement in self._store.judgements():
            if judgement.complete and not judgement.check:
                done.setdefault(judgement.annotator, set()).add(judgement.item)
            if judgement.seconds is not None:
                times.setdefault(judgement.annotator, []).append(judgement.seconds)
        for person in self._store.people():
            mine = times.get(person.annotator)
            yield {
                "person": person,
                "judged": len(done.get(person.annotator, ())),
                "seconds": statistics.median(mine) if mine else None,
            }

    def item(self, request: Request, number: int) -> Response:
        """One item and all judgements of it."""
        self.enter(request)
        if not 0 <= number < len(self._desk.loaded.items):
            raise RefusedError(404, "not_found")
        item = self._desk.loaded.items[number]
        lines = [line for line in self._store.judgements() if line.item == item.id]
        return self._page(request, "admin_item.html", item=item, lines=lines)

    def person(self, request: Request, annotator: str) -> Response:
        """One annotator and all judgements of theirs."""
        self.enter(request)
        found = next((person for person in self._store.people() if person.annotator == annotator), None)
        if found is None:
            raise RefusedError(404, "not_found")
        return self._page(
            request, "admin_person.html", person=found, lines=list(self._store.judgements(annotator))
        )

    # ── acting ──

    def act(self, request: Request, action: str, fields: dict[str, str]) -> Response:
        """Pause, resume, more places, exclude, reinstate, leave."""
        held = self.enter(request)
        if not same(fields.pop("form", ""), self._desk.marks.admin_form(held)):
            raise RefusedError(403, "bad_request", "cross_site")
        back = f"{self._desk.serving.root}/admin"
        try:
            if action in ("pause", "resume"):
                self._store.pause(action == "pause")
            elif action == "places":
                self._store.set_target(_whole(fields.get("target", "")))
            elif action in ("exclude", "reinstate"):
                reason = fields.get("reason", "").strip() if action == "exclude" else ""
                if action == "exclude" and not 0 < len(reason) <= _REASON:
                    raise UsageError(f"An exclusion needs a reason of at most {_REASON} characters")
                self._store.exclude(fields.get("annotator", ""), reason)
            elif action == "logout":
                answer = RedirectResponse(back, 303)
                answer.delete_cookie(ADMIN_COOKIE, path=back)
                return answer
            else:
                raise RefusedError(404, "not_found")
        except UsageError as error:
            return self.overview(request, str(error), 422)
        return RedirectResponse(back, 303)

    def download(self, request: Request, name: str) -> Response:
        """All judgements or all people, as JSON lines, CSV or Parquet. What needs the key is exported elsewhere."""
        self.enter(request)
        what, _, form = name.partition(".")
        streams: dict[str, Iterable[Judgement] | Iterable[Person]] = {
            JUDGEMENTS: self._store.judgements(),
            PEOPLE: self._store.people(),
        }
        if what not in streams or form not in WRITERS:
            raise RefusedError(404, "not_found")
        folder = Path(tempfile.mkdtemp(prefix="vivant-study-"))
        gone = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        try:
            WRITERS[form](folder / name, streams[what], self._desk.study)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        kind = "text/csv; charset=utf-8" if form == "csv" else "application/octet-stream"
        return FileResponse(folder / name, media_type=kind, filename=name, background=gone)


def _whole(value: str) -> int:
    if not (value.isascii() and value.isdecimal()) or not 0 < int(value[:6]) <= _MOST:
        raise UsageError(f"Judgements per item: a whole number from 1 to {_MOST}")
    return int(value)
