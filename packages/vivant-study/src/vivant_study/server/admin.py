"""The researcher's pages: progress, items, annotators; pause, more places, exclude, download. No key is read here."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from vivant.core.errors import UsageError
from vivant.web.security import same_secret
from vivant_study.balance import list_judged
from vivant_study.export.tables import JUDGEMENTS, PEOPLE, WRITERS
from vivant_study.judgement import StudyJudgement, StudyPerson
from vivant_study.loading import list_media
from vivant_study.server.context import StudyContext
from vivant_study.server.errors import PageRefusedError, read_form
from vivant_study.server.media import respond_with_media
from vivant_study.server.tokens import ADMIN_COOKIE, ADMIN_HOURS
from vivant_study.store import StudyProgress, people

_REASON = 500
_LOGOUTS = "logouts"
_MOST = 1000
"""Judgements per item; more is a slip of the finger."""


def routes(context: StudyContext) -> list[Route]:
    """The researcher's addresses."""
    pages = AdminPages(context)
    return [
        Route("/admin", pages.show_overview),
        Route("/admin/progress", pages.report_progress),
        Route("/admin/analysis", pages.show_analysis),
        Route("/admin/item/{number}", pages.show_item),
        Route("/admin/media/{number}/{file}", pages.show_media),
        Route("/admin/person/{annotator}", pages.show_person),
        Route("/admin/download/{name}", pages.download),
        Route("/admin/login", pages.log_in, methods=["POST"]),
        Route("/admin/{action}", pages.act, methods=["POST"]),
    ]


class AdminPages:
    """Carries out what the researcher asks for. Methods that are no coroutines run in threads."""

    def __init__(self, context: StudyContext) -> None:
        self._context, self._store, self._settings = context, context.store, context.settings
        self._home = f"{context.settings.root}/admin"
        self._item_ids = [item.id for item in list_judged(context.loaded.items)]

    # ── the session ──

    def _check_session(self, request: Request) -> str:
        """The cookie of the researcher's session. Raises for anybody else."""
        cookie = request.cookies.get(ADMIN_COOKIE, "")
        if not self._context.tokens.is_admin(cookie, self._session_secret(), self._store.clock()):
            raise PageRefusedError(401, "not_found")
        return cookie

    def _session_secret(self) -> str:
        """What a session is signed with: logging out changes it, which ends every session."""
        return f"{self._settings.admin_token}\x1f{self._store.read_setting(_LOGOUTS) or '0'}"

    async def log_in(self, request: Request) -> Response:
        """Trade the token for a session."""
        fields = await read_form(request)
        if not same_secret(fields.get("token", ""), self._settings.admin_token):
            status = 403 if self._context.limits.wrong.take() else 429
            return HTMLResponse(self._context.render(request, "admin_login.html", wrong=True), status)
        until = int(self._store.clock()) + ADMIN_HOURS * 3600
        response = RedirectResponse(self._home, 303)
        response.set_cookie(
            ADMIN_COOKIE, self._context.tokens.admin(self._session_secret(), until),
            max_age=ADMIN_HOURS * 3600, path=self._home, httponly=True, samesite="strict",
            secure=self._settings.secure,
        )  # fmt: skip
        return response

    def _render(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        form = self._context.tokens.admin_form(request.cookies.get(ADMIN_COOKIE, ""))
        title = next(iter(self._context.study.title.values()))
        return HTMLResponse(self._context.render(request, template, form=form, title=title, **values), status)

    # ── looking ──

    def report_progress(self, request: Request) -> Response:
        """What the overview shows live."""
        self._check_session(request)
        return JSONResponse(_count(self._store.progress(self._item_ids)))

    def show_overview(self, request: Request, problem: str = "", status: int = 200) -> Response:
        """Everything at a glance; the login for whoever has no session."""
        try:
            self._check_session(request)
        except PageRefusedError:
            return HTMLResponse(self._context.render(request, "admin_login.html", wrong=False))
        progress = self._store.progress(self._item_ids)
        counts = {line.item: line for line in progress.items}
        items = [
            {"number": number, "item": item, "count": counts[item.id]}
            for number, item in enumerate(self._context.loaded.items)
            if item.id in counts
        ]
        return self._render(
            request, "admin.html", status, now=_count(progress), items=items, people=list(self._list_people()),
            problem=problem, facets=self._count_facets(progress),
            events=list(self._store.events())[-30:][::-1],
        )  # fmt: skip

    def _count_facets(self, progress: StudyProgress) -> list[tuple[str, str, int, int]]:
        """Judgements by value of the facets that are balanced: facet, value, finished, places."""
        done = {line.item: line.finished for line in progress.items}
        lines: dict[tuple[str, str], list[int]] = {}
        for item in self._context.loaded.items:
            for facet in self._context.study.balance if item.id in done else ():
                line = lines.setdefault((facet, item.facets.get(facet, "")), [0, 0])
                line[0] += done[item.id]
                line[1] += progress.target
        return [(facet, value, *line) for (facet, value), line in sorted(lines.items())]  # type: ignore[misc]

    def _list_people(self) -> Iterator[dict[str, Any]]:
        """Everybody with what they have done, in one pass over the judgements."""
        done: dict[str, set[str]] = {}
        times: dict[str, list[float]] = {}
        for judgement in self._store.judgements():
            if judgement.complete and not judgement.check:
                done.setdefault(judgement.annotator, set()).add(judgement.item)
            if judgement.seconds is not None:
                times.setdefault(judgement.annotator, []).append(judgement.seconds)
        for person in self._store.people():
            seconds = times.get(person.annotator)
            yield {
                "person": person,
                "judged": len(done.get(person.annotator, ())),
                "seconds": statistics.median(seconds) if seconds else None,
            }

    def show_analysis(self, request: Request) -> Response:
        """Agreement, power, times and people to be looked at, as far as they need no key."""
        self._check_session(request)
        # Late: what computes figures is not needed to serve participants.
        from vivant.core.table import format_cell
        from vivant_study.report.page import list_tables
        from vivant_study.report.study import build_study_report
        from vivant_study.results import StudyResults

        people = {person.annotator: person for person in self._store.people()}
        collected = StudyResults(self._context.loaded, {}, people, tuple(self._store.judgements()))
        report = build_study_report(collected)
        tables = [
            {
                "title": table.title,
                "columns": table.columns,
                "rows": [[format_cell(cell, table.decimals) for cell in row] for row in table.body],
                "notes": table.notes,
            }
            for table in list_tables(report)
            if table.body
        ]
        return self._render(request, "admin_analysis.html", tables=tables, findings=report.findings)

    def show_item(self, request: Request) -> Response:
        """One item and all judgements of it."""
        self._check_session(request)
        number = request.path_params["number"]
        items = self._context.loaded.items
        if not (number.isascii() and number.isdecimal()):
            raise PageRefusedError(400)
        if len(number) > 9 or int(number) >= len(items):
            raise PageRefusedError(404, "not_found")
        item = items[int(number)]
        lines = [line for line in self._store.judgements() if line.item == item.id]
        files = {media.file: index for index, media in reversed(list(enumerate(list_media(item))))}
        return self._render(
            request,
            "admin_item.html",
            item=item,
            number=number,
            files=files,
            lines=lines,
            describe=self._describe_answer,
        )

    def show_media(self, request: Request) -> Response:
        """A file of an item."""
        self._check_session(request)
        number, file = request.path_params["number"], request.path_params["file"]
        items = self._context.loaded.items
        if not all(value.isascii() and value.isdecimal() and len(value) < 9 for value in (number, file)):
            raise PageRefusedError(400)
        files = list(list_media(items[int(number)])) if int(number) < len(items) else []
        if int(file) >= len(files):
            raise PageRefusedError(404, "not_found")
        return respond_with_media(self._context.loaded, files[int(file)], f"{number}-{file}")

    def show_person(self, request: Request) -> Response:
        """One annotator and all judgements of theirs."""
        self._check_session(request)
        name = request.path_params["annotator"]
        person = next((person for person in self._store.people() if person.annotator == name), None)
        if person is None:
            raise PageRefusedError(404, "not_found")
        lines = list(self._store.judgements(name))
        about = {}
        for question in self._context.study.questions:
            answer = person.answers.get(question.name)
            chosen = question.choices[answer] if question.choices and isinstance(answer, int) else None
            if answer is not None:
                about[question.name] = next(iter(chosen.values())) if chosen else answer
        return self._render(
            request,
            "admin_person.html",
            person=person,
            about=about,
            lines=lines,
            describe=self._describe_answer,
        )

    def _describe_answer(self, line: StudyJudgement) -> str:
        """An answer as it is read: the option's text, names with their values, spans of seconds."""
        answer, item = line.answer, self._context.items.get(line.item)
        if line.page == "choose" and isinstance(answer, int) and item is not None:
            return f"{answer} {item.options[answer]}" if answer < len(item.options) else str(answer)
        if isinstance(answer, dict):
            return ", ".join(f"{name}: {value}" for name, value in answer.items())
        if isinstance(answer, list):
            return ", ".join(f"{start}–{end} s" for start, end in answer)
        return "" if answer is None else str(answer)

    # ── acting ──

    async def act(self, request: Request) -> Response:
        """Pause, resume, more places, exclude, reinstate, release places, leave."""
        fields = await read_form(request)
        return await run_in_threadpool(self._act, request, request.path_params["action"], fields)

    def _act(self, request: Request, action: str, fields: dict[str, str]) -> Response:
        cookie = self._check_session(request)
        if not same_secret(fields.pop("form", ""), self._context.tokens.admin_form(cookie)):
            raise PageRefusedError(403, "bad_request", "cross_site")
        response = RedirectResponse(self._home, 303)
        try:
            if action in ("pause", "resume"):
                self._store.pause(action == "pause")
            elif action == "places":
                self._store.set_target(_read_target(fields.get("target", "")))
            elif action in ("exclude", "reinstate"):
                reason = fields.get("reason", "").strip() if action == "exclude" else ""
                if action == "exclude" and not 0 < len(reason) <= _REASON:
                    raise UsageError(f"An exclusion needs a reason of at most {_REASON} characters")
                self._store.exclude(fields.get("annotator", ""), reason)
            elif action == "release":
                people.release(self._store, fields.get("annotator", ""), "said by the organiser")
            elif action == "logout":
                self._store.count_up(_LOGOUTS)
                response.delete_cookie(ADMIN_COOKIE, path=self._home)
            else:
                raise PageRefusedError(404, "not_found")
        except UsageError as error:
            return self.show_overview(request, str(error), 422)
        return response

    def download(self, request: Request) -> Response:
        """All judgements or all people, as JSON lines, CSV or Parquet. What needs the key is exported elsewhere."""
        self._check_session(request)
        name = request.path_params["name"]
        what, _, form = name.partition(".")
        streams: dict[str, Iterable[StudyJudgement] | Iterable[StudyPerson]] = {
            JUDGEMENTS: self._store.judgements(),
            PEOPLE: self._store.people(),
        }
        if what not in streams or form not in WRITERS:
            raise PageRefusedError(404, "not_found")
        folder = Path(tempfile.mkdtemp(prefix="vivant-study-"))
        try:
            WRITERS[form](folder / name, streams[what], self._context.study)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        kind = "text/csv; charset=utf-8" if form == "csv" else "application/octet-stream"
        clean_up = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(folder / name, media_type=kind, filename=name, background=clean_up)


def _count(progress: StudyProgress) -> dict[str, Any]:
    names = ("finished", "held", "open", "places", "target", "people", "excluded", "paused")
    return {name: getattr(progress, name) for name in names}


def _read_target(value: str) -> int:
    if not (
        value.isascii() and value.isdecimal() and len(value) <= len(str(_MOST)) and 0 < int(value) <= _MOST
    ):
        raise UsageError(f"Judgements per item: a whole number from 1 to {_MOST}")
    return int(value)
