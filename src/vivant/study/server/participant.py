"""What participants ask for: their link, each step, saving, media, withdrawing. One address shows where they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from vivant.study.design import PAGES, Page, StudyItem
from vivant.study.loading import media_of
from vivant.study.server import forms, media
from vivant.study.server.context import Desk
from vivant.study.server.errors import RefusedError, form_fields, script_fields, split_fields
from vivant.study.server.pages import Place, show_place
from vivant.study.server.tokens import same
from vivant.study.store import answers, assign, people
from vivant.study.store.answers import GoneError, Way

_ID = 200
"""Signs of a platform's identifier."""
Step = Callable[[Request, dict[str, str]], Awaitable[Response]]


def routes(desk: Desk) -> list[Route]:
    """The participant's addresses. Plain routes: FastAPI's own look for parameters and dependencies in each request,
    of which these have none."""
    part = Participant(desk)
    steps: dict[str, Step] = {
        "consent": part.consent,
        "about": part.about,
        "begin": part.begin,
        "answer": part.answer,
        "language": part.language,
        "withdraw": part.withdraw,
    }

    async def post(request: Request) -> Response:
        step = steps.get(request.path_params["step"])
        if step is None:
            raise RefusedError(404, "not_found")
        return await step(request, await form_fields(request))

    return [
        Route("/", part.home),
        Route("/join/{token}", part.join),
        Route("/start/{door}", part.start),
        Route("/study", part.study),
        Route("/study/withdraw", part.ask_withdraw, methods=["GET"]),
        Route("/m/{name}", part.media),
        Route("/study/save", part.save, methods=["POST"]),
        Route("/study/watch", part.watch, methods=["POST"]),
        Route("/study/{step}", post, methods=["POST"]),
    ]


class Participant:
    """Carries out what participants ask for."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._store, self._study = desk, desk.store, desk.study
        self._database = desk.store.database

    # ── arriving ──

    async def home(self, request: Request) -> Response:
        """The address without anything."""
        if self._desk.participant(request) is not None:
            return self.onward()
        if self._desk.serving.preview:
            return self.enter(request, await run_in_threadpool(people.arrive, self._store))
        return self._desk.notice(request, "no_session")

    def enter(self, request: Request, participant: int) -> Response:
        """Let a browser be this participant's, and show where they are."""
        answer = self.onward()
        if self._desk.participant(request) != participant:
            self._desk.set_session(answer, participant)
        return answer

    def onward(self) -> Response:
        """To where the participant is."""
        return RedirectResponse(f"{self._desk.serving.root}/study", 303)

    async def join(self, request: Request) -> Response:
        """A personal link."""
        self._together()
        token, secret, found = request.path_params["token"], self._store.secret, None
        if len(token) < 100:
            found = await self._database.see(lambda connection: people.of_token(connection, secret, token))
        if found is None:
            raise self._wrong()
        return self.enter(request, found)

    async def start(self, request: Request) -> Response:
        """The study's open link, with the identifiers that a recruiting platform adds."""
        self._together()
        if not same(request.path_params["door"], self._desk.marks.door()):
            raise self._wrong()
        given = [request.query_params.get(name, "") for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")]
        if any(len(value) > _ID or not value.isprintable() for value in given):
            raise RefusedError(400, "bad_link")
        if not given[0]:
            known = self._desk.participant(request)
            if known is not None:
                return self.onward()
            if not self._desk.serving.anonymous:
                raise RefusedError(400, "bad_link", "no_ids")
        return self.enter(request, await run_in_threadpool(self._arrive, given))

    def _arrive(self, given: list[str]) -> int:
        try:
            found = people.of_platform(self._store, *given) if given[0] else None
            if found is None:
                if not self._desk.limits.arrivals.take():
                    raise RefusedError(429, "slow")
                found = people.arrive(self._store, *given)
        except people.OtherSessionError:
            raise RefusedError(403, "other_session") from None
        return found

    def _wrong(self) -> RefusedError:
        """Whoever tries out links is slowed down; those who have one are not."""
        return RefusedError(404, "bad_link") if self._desk.limits.wrong.take() else RefusedError(429, "slow")

    def _together(self) -> None:
        if not self._desk.limits.together.take():
            raise RefusedError(429, "slow")

    # ── whose request it is ──

    def who(self, request: Request) -> int:
        """The participant of a request, within the limits."""
        self._together()
        found = self._desk.participant(request)
        if found is None:
            raise RefusedError(401, "no_session")
        if not self._desk.limits.session(found):
            raise RefusedError(429, "slow")
        return found

    def _writer(self, request: Request, form: str) -> int:
        """The same for what changes something: the form must be this person's own."""
        found = self.who(request)
        if not same(form, self._desk.marks.form(found)):
            raise RefusedError(403, "bad_request", "other_person")
        return found

    async def _way(self, participant: int) -> Way:
        found = await self._database.see(lambda connection: answers.way(connection, self._study, participant))
        if found is None:
            raise RefusedError(401, "no_session")
        return found

    # ── steps before the items ──

    async def consent(self, request: Request, fields: dict[str, str]) -> Response:
        """Agree, and be given places; without places nothing is recorded."""
        own, rest = split_fields(fields, "form", "agree")
        participant = self._writer(request, own["form"])
        if rest or own["agree"] not in ("", "yes"):
            raise RefusedError(400)
        way = await self._way(participant)
        if way.person.state != "invited":
            return self.onward()
        if not own["agree"]:
            return await show_place(self._desk, request, participant, problem="consent_missing", status=422)

        def job(connection: Connection) -> int:
            now = self._store.clock()
            people.keep_alive(connection, participant, now)
            given = assign.give(connection, now, participant, self._study, self._desk.loaded.items)
            if given:
                people.consent(connection, participant, now)
            return given

        if not await self._database.do(job):
            return self._desk.notice(request, "full", language=way.person.language)
        return self.onward()

    async def about(self, request: Request, fields: dict[str, str]) -> Response:
        """Questions about the participant."""
        own, rest = split_fields(fields, "form")
        participant = self._writer(request, own["form"])
        if (await self._way(participant)).person.step != "about":
            return self.onward()
        try:
            given = forms.read_about(self._study, rest)
        except forms.ForgedError:
            raise RefusedError(400) from None
        except forms.IncompleteError as error:
            return await show_place(
                self._desk, request, participant, problem=error.reason, status=422, typed=rest
            )
        await self._database.do(people.change(self._store, participant, answers=given, step="read"))
        return self.onward()

    async def begin(self, request: Request, fields: dict[str, str]) -> Response:
        """The instructions have been read."""
        own, rest = split_fields(fields, "form")
        participant = self._writer(request, own["form"])
        if rest:
            raise RefusedError(400)
        person = (await self._way(participant)).person
        if person.step in ("read", "about"):
            if person.step == "about" and self._study.questions:
                return self.onward()
            # The language that the instructions were read in stays, whatever another browser asks for.
            language = self._desk.language(request, person.language)
            await self._database.do(people.change(self._store, participant, step="items", language=language))
        return self.onward()

    async def language(self, request: Request, fields: dict[str, str]) -> Response:
        """Another language."""
        own, rest = split_fields(fields, "form", "language")
        participant = self._writer(request, own["form"])
        if rest or own["language"] not in self._desk.texts:
            raise RefusedError(400)
        await self._database.do(people.change(self._store, participant, language=own["language"]))
        return self.onward()

    # ── items ──

    async def study(self, request: Request) -> Response:
        """Where the participant is."""
        return await show_place(self._desk, request, self.who(request))

    def _place(self, way: Way, page: str) -> Place:
        """The page that a form speaks of, if it is the current one."""
        participant, current = way.person.id, way.current
        if current is None or not same(
            page, self._desk.marks.page(participant, current.assignment, current.page)
        ):
            if self._desk.marks.find_page(participant, page, way.ids, PAGES[self._study.kind]) is None:
                raise RefusedError(400)
            raise GoneError
        return Place(way, current, self._item(current.item))

    def _item(self, name: str) -> StudyItem:
        return self._desk.items[name]

    async def save(self, request: Request) -> Response:
        """Keep answers as they are given."""
        sent = await script_fields(request)
        participant = self._writer(request, sent.form)

        def read(way: Way) -> dict[str, Any]:
            return self._read(self._place(way, sent.page), sent.fields, whole=False)

        try:
            await self._database.do(answers.save(self._store, self._study, participant, read))
        except GoneError:
            return JSONResponse({"saved": False, "why": "gone"}, 409)
        except forms.IncompleteError as error:
            return JSONResponse({"saved": False, "why": error.reason}, 422)
        return JSONResponse({"saved": True})

    async def answer(self, request: Request, fields: dict[str, str]) -> Response:
        """The page is answered; a second click changes nothing."""
        own, rest = split_fields(fields, "form", "page")
        participant = self._writer(request, own["form"])

        def read(way: Way) -> dict[str, Any]:
            place = self._place(way, own["page"])
            given = self._read(place, rest, whole=True)
            if media.unwatched(self._desk.loaded, place.item, place.current, self._store.clock()):
                raise forms.IncompleteError("watch_first")
            return given

        try:
            await self._database.do(answers.finish(self._store, self._study, participant, read))
        except GoneError:
            return self.onward()
        except forms.IncompleteError as error:
            return await show_place(
                self._desk, request, participant, problem=error.reason, status=422, typed=rest
            )
        return self.onward()

    def _read(self, place: Place, fields: dict[str, str], *, whole: bool) -> dict[str, Any]:
        page: Page = place.current.page
        try:
            return forms.read_answers(self._study, place.item, page, place.current.shown, fields, whole=whole)
        except forms.ForgedError:
            raise RefusedError(400) from None

    async def watch(self, request: Request) -> Response:
        """What the page says of a video: started, ended. An end that comes too soon does not count."""
        sent = await script_fields(request)
        name, what = sent.media, sent.what
        participant = self._writer(request, sent.form)
        if what not in ("started", "ended"):
            raise RefusedError(400)
        way = await self._way(participant)
        for number, file in media.playing(self._item(way.current.item)) if way.current else ():
            if way.current is None or not same(
                name, self._desk.marks.media(participant, way.current.assignment, number)
            ):
                continue
            watch = way.current.watches.get(number)
            start = watch.started if watch else None
            if what == "ended" and (
                start is None or not media.plausible(self._desk.loaded, file, start, self._store.clock())
            ):
                return JSONResponse({"saved": False, "why": "watch_first"}, 409)
            try:
                await self._note(participant, way.current.assignment, number, what)
            except GoneError:
                break
            return JSONResponse({"saved": True})
        return JSONResponse({"saved": False, "why": "gone"}, 409)

    async def _note(self, participant: int, assignment: int, number: int, what: str) -> None:
        job = answers.watched(self._store, self._study, participant, assignment, number, what)
        # What the page's script tells is acknowledged; that a file was fetched is not.
        await self._database.do(job, note=what == "fetched")

    async def media(self, request: Request) -> Response:
        """A file of the current item."""
        name = request.path_params["name"]
        participant = self._desk.participant(request)
        if participant is None:
            raise RefusedError(401, "no_session")
        way = await self._way(participant)
        current = way.current
        for number, file in enumerate(media_of(self._item(current.item))) if current else ():
            if current is None or not same(
                name, self._desk.marks.media(participant, current.assignment, number)
            ):
                continue
            watch = current.watches.get(number)
            if file.kind != "image" and (watch is None or watch.fetched is None):
                try:
                    await self._note(participant, current.assignment, number, "fetched")
                except GoneError:
                    break
            return media.media_response(self._desk.loaded, file, name)
        raise RefusedError(404, "not_found")

    # ── leaving ──

    async def ask_withdraw(self, request: Request) -> Response:
        """Whether they really want to."""
        way = await self._way(self.who(request))
        if way.person.state == "withdrawn":
            return self._desk.notice(request, "withdrawn")
        form = self._desk.marks.form(way.person.id)
        return self._desk.page(request, "withdraw.html", language=way.person.language, form=form)

    async def withdraw(self, request: Request, fields: dict[str, str]) -> Response:
        """Delete everything."""
        own, rest = split_fields(fields, "form")
        participant = self._writer(request, own["form"])
        if rest:
            raise RefusedError(400)
        language = (await self._way(participant)).person.language
        await self._database.do(people.withdraw(self._store, participant))
        return self._desk.notice(request, "withdrawn", language=language)
