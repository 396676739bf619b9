"""A participant at an item: looking, answering, saving, media."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from vivant.web.security import same_secret
from vivant_study.attention import passes_check
from vivant_study.design import PAGES, Page, StudyItem, StudyMedia
from vivant_study.loading import list_media
from vivant_study.server import forms, media
from vivant_study.server.context import translate
from vivant_study.server.errors import PageRefusedError, read_script, split_fields
from vivant_study.server.pages import CurrentItem, show_current, translate_item
from vivant_study.server.sessions import SessionPages
from vivant_study.store import answers, attendance, people
from vivant_study.store.answers import FinishedPage
from vivant_study.store.expiry import LatePage, save_late_answers
from vivant_study.store.finished import load_finished
from vivant_study.store.participant_state import ParticipantState, PlaybackTimes, StalePageError

_REPORTS = ("ready", "started", "playing", "ended", "away", "alive")
"""What a page's script says of a video, or of the page."""
_LONGEST = 7 * 24 * 3600.0
_NUMBER = 40
"""Signs of a report's number."""


def _saved() -> Response:
    return Response(b'{"saved":true}', media_type="application/json")


class ItemPages(SessionPages):
    """Carries out what participants ask for at an item."""

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
            if not await self._save_late(participant, message.page, message.fields):
                return JSONResponse({"saved": False, "why": "gone"}, 409)
        except forms.IncompleteError as error:
            return JSONResponse({"saved": False, "why": error.reason}, 422)
        return _saved()

    async def _save_late(self, participant: int, name: str, fields: dict[str, str]) -> bool:
        """Keep answers to a page whose time was up before they came; whether there was such a page."""

        def find(state: ParticipantState) -> tuple[int, Page]:
            match = self._context.tokens.find_page(participant, name, state.ids, PAGES[self._study.kind])
            if match is None:
                raise StalePageError
            return match

        def read(late: LatePage) -> dict[str, Any]:
            return forms.read_answers(
                self._study, self._item(late.item), late.page, late.order, fields, complete=False
            )

        job = save_late_answers(self._store, self._study, participant, find, read)
        try:
            await self._database.write_async(job)
        except (StalePageError, forms.ForgedError, forms.IncompleteError):
            return False
        return True

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

        finish = answers.finish_page(self._store, self._study, participant, read, self._context.items)
        attention = self._study.attention

        def job(connection: Connection) -> tuple[FinishedPage, bool]:
            done = finish(connection)
            ends = attention.rule == "end" and done.failures >= attention.failures
            if ends:
                reason = f"failed {done.failures} attention checks"
                people.end_session(self._store, participant, "failed_attention", reason)(connection)
            return done, ends

        try:
            done, ended = await self._database.write_async(job)
        except StalePageError:
            await self._save_late(participant, hidden["page"], others)
            return self._redirect()
        except forms.IncompleteError as error:
            return await show_current(
                self._context, request, participant, problem=error.reason, status=422, typed=others
            )
        if done.closes_item and self._context.items[done.item].training:
            return RedirectResponse(f"{self._context.settings.root}/study/feedback/{hidden['page']}", 303)
        if ended or not done.failures or attention.rule == "mark":
            return self._redirect()
        return RedirectResponse(f"{self._context.settings.root}/study/warning", 303)

    async def feedback(self, request: Request) -> Response:
        """After an item of the training: whether the answer was right, and why."""
        participant = self._find_participant(request)
        state = await self._load_state(participant)
        name = request.path_params["name"]
        match = self._context.tokens.find_page(participant, name, state.ids, PAGES[self._study.kind])
        if match is None:
            raise PageRefusedError(404, "not_found")
        finished = await self._database.read_async(lambda c: load_finished(c, match[0]))
        if finished is None or not self._item(finished.item).training:
            return self._redirect()
        t = self._context.texts[self._context.language(request, state.participant.language)]
        item = self._item(finished.item)
        right = passes_check(finished.answers, item.expected)
        words = translate_item(item, t.language)
        solution = item.expected.get("choose")
        return self._context.page(
            request, "feedback.html", language=t.language, form=self._context.tokens.form(participant),
            can_withdraw=True, done=state.finished, total=state.total, right=right,
            solution=words.options[solution] if isinstance(solution, int) and words.options else "",
            explanation=translate(item.explanation, t),
        )  # fmt: skip

    async def warning(self, request: Request) -> Response:
        """After a failed attention check: please read."""
        state = await self._load_state(self._find_participant(request))
        t = self._context.texts[self._context.language(request, state.participant.language)]
        return self._context.notice(
            request, "attention", language=t.language, form=self._context.tokens.form(state.participant.id),
            can_withdraw=True, link=f"{self._context.settings.root}/study", link_text=t("go_on"),
        )  # fmt: skip

    def _read_answers(
        self, current: CurrentItem, fields: dict[str, str], *, complete: bool
    ) -> dict[str, Any]:
        page = current.page
        try:
            return forms.read_answers(
                self._study, current.item, page.page, page.order, fields, complete=complete
            )
        except forms.ForgedError:
            raise PageRefusedError(400) from None

    async def watch(self, request: Request) -> Response:
        """What the page's script says of a video, or of leaving the page. An end that comes too soon does not count."""
        message = await read_script(request)
        participant = self._check_form(request, message.form)
        if (
            message.what not in _REPORTS
            or not 0 <= message.seconds < _LONGEST
            or len(message.report) > _NUMBER
        ):
            raise PageRefusedError(400)
        state = await self._load_state(participant)
        if message.what == "alive":
            if self._store.clock() - state.participant.seen > people.SIGN_OF_LIFE:
                job = people.update_participant(self._store, participant)
                await self._database.write_async(job, note=True)
            return _saved()
        try:
            if message.what == "away":
                current = self._find_current(state, message.page).page
                job = attendance.record_absence(
                    self._store, self._study, participant, current.assignment, current.page,
                    message.seconds, message.report,
                )  # fmt: skip
                await self._database.write_async(job, note=True)
                return _saved()
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
                message.report,
            )
            if whole:
                if times.started is None or not media.is_whole(
                    self._context.loaded, file, times.played or 0.0
                ):
                    return JSONResponse({"saved": False, "why": "watch_first"}, 409)
                await self._note(participant, state.current.assignment, number, "ended")
        except StalePageError:
            return JSONResponse({"saved": False, "why": "gone"}, 409)
        return _saved()

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
        self,
        participant: int,
        assignment: int,
        number: int,
        event: str,
        seconds: float = 0.0,
        report: str = "",
    ) -> PlaybackTimes:
        job = attendance.record_playback(
            self._store, self._study, participant, assignment, number, event, seconds, report
        )
        return await self._database.write_async(job)

    async def media(self, request: Request) -> Response:
        """A file of the current item."""
        name = request.path_params["name"]
        self._check_load()
        participant = self._context.participant(request)
        if participant is None:
            raise PageRefusedError(401, "no_session")
        if not self._context.limits.media(participant):
            raise PageRefusedError(429, "slow")
        state = await self._load_state(participant)
        match = self._find_media(state, name)
        if state.current is None or match is None:
            raise PageRefusedError(404, "not_found")
        number, file = match
        times = state.current.watches.get(number)
        if file.kind != "image" and (times is None or times.fetched is None):
            job = attendance.record_fetch(self._store, state.current.assignment, number)
            # What the page's script tells is acknowledged; this is not.
            await self._database.write_async(job, note=True)
        sending = self._context.limits.downloading(participant)
        return media.respond_with_media(self._context.loaded, file, name, sending)
