"""What participants ask for: their link, each step, saving, media, withdrawing. One address shows where they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from vivant.study.design import PAGES, StudyItem, StudyMedia
from vivant.study.loading import list_media
from vivant.study.server import forms, media
from vivant.study.server.context import StudyContext
from vivant.study.server.errors import PageRefusedError, read_form, read_script, split_fields
from vivant.study.server.pages import CurrentItem, show_current
from vivant.study.store import answers, assign, people
from vivant.study.store.answers import ParticipantState, PlaybackTimes, StalePageError
from vivant.web.security import same_secret

_ID = 200
"""Signs of a platform's identifier."""
_REPORTS = ("ready", "started", "playing", "ended", "away")
"""What a page's script says of a video, or of the page."""
_LONGEST = 7 * 24 * 3600.0
Step = Callable[[Request, dict[str, str]], Awaitable[Response]]


def routes(context: StudyContext) -> list[Route]:
    """The participant's addresses."""
    pages = ParticipantPages(context)
    steps: dict[str, Step] = {
        "consent": pages.consent,
        "about": pages.about,
        "begin": pages.begin,
        "answer": pages.answer,
        "language": pages.language,
        "withdraw": pages.withdraw,
    }

    async def post(request: Request) -> Response:
        step = steps.get(request.path_params["step"])
        if step is None:
            raise PageRefusedError(404, "not_found")
        return await step(request, await read_form(request))

    return [
        Route("/", pages.home),
        Route("/join/{token}", pages.join),
        Route("/start/{door}", pages.start),
        Route("/study", pages.study),
        Route("/study/withdraw", pages.ask_withdraw, methods=["GET"]),
        Route("/m/{name}", pages.media),
        Route("/study/save", pages.save, methods=["POST"]),
        Route("/study/watch", pages.watch, methods=["POST"]),
        Route("/study/{step}", post, methods=["POST"]),
    ]


class ParticipantPages:
    """Carries out what participants ask for."""

    def __init__(self, context: StudyContext) -> None:
        self._context, self._store, self._study = context, context.store, context.study
        self._database = context.store.database

    # ── arriving ──

    async def home(self, request: Request) -> Response:
        """The address without anything."""
        if self._context.participant(request) is not None:
            return self._redirect()
        if self._context.settings.preview:
            return self._enter(request, await run_in_threadpool(people.add_participant, self._store))
        return self._context.notice(request, "no_session")

    def _enter(self, request: Request, participant: int) -> Response:
        """Let a browser be this participant's, and show where they are."""
        response = self._redirect()
        if self._context.participant(request) != participant:
            self._context.set_session(response, participant)
        return response

    def _redirect(self) -> Response:
        """To the page where the participant is."""
        return RedirectResponse(f"{self._context.settings.root}/study", 303)

    async def join(self, request: Request) -> Response:
        """A personal link."""
        self._check_load()
        token, secret, participant = request.path_params["token"], self._store.secret, None
        if len(token) < 100:
            participant = await self._database.read_async(
                lambda connection: people.find_by_token(connection, secret, token)
            )
        if participant is None:
            raise self._refuse_link()
        return self._enter(request, participant)

    async def start(self, request: Request) -> Response:
        """The study's open link, with the identifiers that a recruiting platform adds."""
        self._check_load()
        if not same_secret(request.path_params["door"], self._context.tokens.door()):
            raise self._refuse_link()
        ids = [request.query_params.get(name, "") for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")]
        if any(len(value) > _ID or not value.isprintable() for value in ids):
            raise PageRefusedError(400, "bad_link")
        if not ids[0]:
            if self._context.participant(request) is not None:
                return self._redirect()
            if not self._context.settings.anonymous:
                raise PageRefusedError(400, "bad_link", "no_ids")
        return self._enter(request, await run_in_threadpool(self._admit, ids))

    def _admit(self, ids: list[str]) -> int:
        try:
            participant = people.find_by_platform(self._store, *ids) if ids[0] else None
            if participant is None:
                if not self._context.limits.arrivals.take():
                    raise PageRefusedError(429, "slow")
                participant = people.add_participant(self._store, *ids)
        except people.OtherSessionError:
            raise PageRefusedError(403, "other_session") from None
        return participant

    def _refuse_link(self) -> PageRefusedError:
        """Whoever tries out links is slowed down; those who have one are not."""
        return (
            PageRefusedError(404, "bad_link")
            if self._context.limits.wrong.take()
            else PageRefusedError(429, "slow")
        )

    def _check_load(self) -> None:
        if not self._context.limits.together.take():
            raise PageRefusedError(429, "slow")

    # ── whose request it is ──

    def _find_participant(self, request: Request) -> int:
        """The participant of a request, within the limits."""
        self._check_load()
        participant = self._context.participant(request)
        if participant is None:
            raise PageRefusedError(401, "no_session")
        if not self._context.limits.session(participant):
            raise PageRefusedError(429, "slow")
        return participant

    def _check_form(self, request: Request, form: str) -> int:
        """The same for what changes something: the form must be this person's own."""
        participant = self._find_participant(request)
        if not same_secret(form, self._context.tokens.form(participant)):
            raise PageRefusedError(403, "bad_request", "other_person")
        return participant

    async def _load_state(self, participant: int) -> ParticipantState:
        state = await self._database.read_async(
            lambda connection: answers.load_state(connection, self._study, participant)
        )
        if state is None:
            raise PageRefusedError(401, "no_session")
        return state

    # ── steps before the items ──

    async def consent(self, request: Request, fields: dict[str, str]) -> Response:
        """Agree, and be assigned places; without places nothing is recorded."""
        hidden, others = split_fields(fields, "form", "agree")
        participant = self._check_form(request, hidden["form"])
        if others or hidden["agree"] not in ("", "yes"):
            raise PageRefusedError(400)
        state = await self._load_state(participant)
        if state.participant.state != "invited":
            return self._redirect()
        if not hidden["agree"]:
            return await show_current(
                self._context, request, participant, problem="consent_missing", status=422
            )

        def job(connection: Connection) -> int:
            now = self._store.clock()
            people.keep_alive(connection, participant, now)
            count = assign.assign_items(connection, now, participant, self._study, self._context.loaded.items)
            if count:
                people.record_consent(connection, participant, now)
            return count

        if not await self._database.write_async(job):
            return self._context.notice(request, "full", language=state.participant.language)
        return self._redirect()

    async def about(self, request: Request, fields: dict[str, str]) -> Response:
        """Questions about the participant."""
        hidden, others = split_fields(fields, "form")
        participant = self._check_form(request, hidden["form"])
        if (await self._load_state(participant)).participant.step != "about":
            return self._redirect()
        try:
            about = forms.read_about(self._study, others)
        except forms.ForgedError:
            raise PageRefusedError(400) from None
        except forms.IncompleteError as error:
            return await show_current(
                self._context, request, participant, problem=error.reason, status=422, typed=others
            )
        await self._database.write_async(
            people.update_participant(self._store, participant, answers=about, step="read")
        )
        return self._redirect()

    async def begin(self, request: Request, fields: dict[str, str]) -> Response:
        """The instructions have been read."""
        hidden, others = split_fields(fields, "form")
        participant = self._check_form(request, hidden["form"])
        if others:
            raise PageRefusedError(400)
        person = (await self._load_state(participant)).participant
        if person.step in ("read", "about"):
            if person.step == "about" and self._study.questions:
                return self._redirect()
            # The language that the instructions were read in stays, whatever another browser asks for.
            language = self._context.language(request, person.language)
            await self._database.write_async(
                people.update_participant(self._store, participant, step="items", language=language)
            )
        return self._redirect()

    async def language(self, request: Request, fields: dict[str, str]) -> Response:
        """Another language."""
        hidden, others = split_fields(fields, "form", "language")
        participant = self._check_form(request, hidden["form"])
        if others or hidden["language"] not in self._context.texts:
            raise PageRefusedError(400)
        await self._database.write_async(
            people.update_participant(self._store, participant, language=hidden["language"])
        )
        return self._redirect()

    # ── items ──

    async def study(self, request: Request) -> Response:
        """Where the participant is."""
        return await show_current(self._context, request, self._find_participant(request))

    def _find_current(self, state: ParticipantState, page: str) -> CurrentItem:
        """The page that a form speaks of, if it is the current one."""
        participant, current = state.participant.id, state.current
        if current is None or not same_secret(
            page, self._context.tokens.page(participant, current.assignment, current.page)
        ):
            if self._context.tokens.find_page(participant, page, state.ids, PAGES[self._study.kind]) is None:
                raise PageRefusedError(400)
            raise StalePageError
        return CurrentItem(state, current, self._item(current.item))

    def _item(self, name: str) -> StudyItem:
        return self._context.items[name]

    async def save(self, request: Request) -> Response:
        """Keep answers as they are given."""
        message = await read_script(request)
        participant = self._check_form(request, message.form)

        def read(state: ParticipantState) -> dict[str, Any]:
            return self._read_answers(self._find_current(state, message.page), message.fields, complete=False)

        try:
            await self._database.write_async(
                answers.save_answers(self._store, self._study, participant, read)
            )
        except StalePageError:
            return JSONResponse({"saved": False, "why": "gone"}, 409)
        except forms.IncompleteError as error:
            return JSONResponse({"saved": False, "why": error.reason}, 422)
        return JSONResponse({"saved": True})

    async def answer(self, request: Request, fields: dict[str, str]) -> Response:
        """The page is answered; a second click changes nothing."""
        hidden, others = split_fields(fields, "form", "page")
        participant = self._check_form(request, hidden["form"])

        def read(state: ParticipantState) -> dict[str, Any]:
            current = self._find_current(state, hidden["page"])
            page_answers = self._read_answers(current, others, complete=True)
            if media.find_unwatched(self._context.loaded, current.item, current.page, self._store.clock()):
                raise forms.IncompleteError("watch_first")
            return page_answers

        try:
            await self._database.write_async(answers.finish_page(self._store, self._study, participant, read))
        except StalePageError:
            return self._redirect()
        except forms.IncompleteError as error:
            return await show_current(
                self._context, request, participant, problem=error.reason, status=422, typed=others
            )
        return self._redirect()

    def _read_answers(
        self, current: CurrentItem, fields: dict[str, str], *, complete: bool
    ) -> dict[str, Any]:
        page = current.page
        try:
            return forms.read_answers(
                self._study, current.item, page.page, page.shown, fields, complete=complete
            )
        except forms.ForgedError:
            raise PageRefusedError(400) from None

    async def watch(self, request: Request) -> Response:
        """What the page's script says of a video, or of leaving the page. An end that comes too soon does not count."""
        message = await read_script(request)
        participant = self._check_form(request, message.form)
        if message.what not in _REPORTS or not 0 <= message.seconds < _LONGEST:
            raise PageRefusedError(400)
        state = await self._load_state(participant)
        try:
            if message.what == "away":
                current = self._find_current(state, message.page).page
                job = answers.record_absence(
                    self._store, self._study, participant, current.assignment, current.page, message.seconds
                )
                await self._database.write_async(job, note=True)
                return JSONResponse({"saved": True})
            match = self._find_media(state, message.media)
            if state.current is None or match is None or match[1].kind == "image":
                raise StalePageError
            number, file = match
            whole = message.what == "ended"
            # An end is first counted as playing: whether the file can have been played whole, the sum tells.
            times = await self._note(
                participant,
                state.current.assignment,
                number,
                "playing" if whole else message.what,
                message.seconds,
            )
            if whole:
                if times.started is None or not media.is_whole(
                    self._context.loaded, file, times.played or 0.0
                ):
                    return JSONResponse({"saved": False, "why": "watch_first"}, 409)
                await self._note(participant, state.current.assignment, number, "ended")
        except StalePageError:
            return JSONResponse({"saved": False, "why": "gone"}, 409)
        return JSONResponse({"saved": True})

    def _find_media(self, state: ParticipantState, name: str) -> tuple[int, StudyMedia] | None:
        """The file of the current item that a name stands for, with its number; None for none."""
        if state.current is None:
            return None
        participant, assignment = state.participant.id, state.current.assignment
        for number, file in enumerate(list_media(self._item(state.current.item))):
            if same_secret(name, self._context.tokens.media(participant, assignment, number)):
                return number, file
        return None

    async def _note(
        self, participant: int, assignment: int, number: int, what: str, seconds: float = 0.0
    ) -> PlaybackTimes:
        job = answers.record_playback(
            self._store, self._study, participant, assignment, number, what, seconds
        )
        # What the page's script tells is acknowledged; that a file was fetched is not.
        return await self._database.write_async(job, note=what == "fetched")

    async def media(self, request: Request) -> Response:
        """A file of the current item."""
        name = request.path_params["name"]
        participant = self._context.participant(request)
        if participant is None:
            raise PageRefusedError(401, "no_session")
        state = await self._load_state(participant)
        match = self._find_media(state, name)
        if state.current is None or match is None:
            raise PageRefusedError(404, "not_found")
        number, file = match
        times = state.current.watches.get(number)
        if file.kind != "image" and (times is None or times.fetched is None):
            try:
                await self._note(participant, state.current.assignment, number, "fetched")
            except StalePageError:
                raise PageRefusedError(404, "not_found") from None
        return media.respond_with_media(self._context.loaded, file, name)

    # ── leaving ──

    async def ask_withdraw(self, request: Request) -> Response:
        """Whether they really want to."""
        state = await self._load_state(self._find_participant(request))
        if state.participant.state == "withdrawn":
            return self._context.notice(request, "withdrawn")
        form = self._context.tokens.form(state.participant.id)
        return self._context.page(request, "withdraw.html", language=state.participant.language, form=form)

    async def withdraw(self, request: Request, fields: dict[str, str]) -> Response:
        """Delete everything."""
        hidden, others = split_fields(fields, "form")
        participant = self._check_form(request, hidden["form"])
        if others:
            raise PageRefusedError(400)
        language = (await self._load_state(participant)).participant.language
        await self._database.write_async(people.withdraw(self._store, participant))
        return self._context.notice(request, "withdrawn", language=language)
