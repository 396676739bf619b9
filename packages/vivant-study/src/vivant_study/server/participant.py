"""What participants ask for: their link, each step, saving, media, withdrawing. One address shows where they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vivant.web.security import same_secret
from vivant_study.platforms import PlatformIds, read_ids
from vivant_study.server import forms
from vivant_study.server.context import StudyContext
from vivant_study.server.errors import PageRefusedError, read_form, split_fields
from vivant_study.server.item_pages import ItemPages
from vivant_study.server.pages import show_current, show_ending
from vivant_study.server.sessions import SessionPages
from vivant_study.store import assign, people
from vivant_study.store.database import StoreUnavailableError
from vivant_study.store.removal import purge

_ID = 200
"""Signs of a platform's identifier."""
Step = Callable[[Request, dict[str, str]], Awaitable[Response]]


def routes(context: StudyContext) -> list[Route]:
    """The participant's addresses."""
    pages, items = ParticipantPages(context), ItemPages(context)
    steps: dict[str, Step] = {
        "consent": pages.consent,
        "decline": pages.decline,
        "about": pages.about,
        "begin": pages.begin,
        "answer": items.answer,
        "language": pages.language,
        "withdraw": pages.withdraw,
    }

    async def post(request: Request) -> Response:
        step = steps.get(request.path_params["step"])
        if step is None:
            raise PageRefusedError(404, "not_found")
        return await step(request, await read_form(request))

    # Looked through in this order: what is asked for most comes first.
    return [
        Route("/study/save", items.save, methods=["POST"]),
        Route("/study", items.study),
        Route("/m/{name}", items.media),
        Route("/study/watch", items.watch, methods=["POST"]),
        Route("/", pages.home),
        Route("/join/{token}", pages.join),
        Route("/start/{door}", pages.start),
        Route("/study/withdraw", pages.ask_withdraw, methods=["GET"]),
        Route("/study/warning", items.warning),
        Route("/study/feedback/{name}", items.feedback),
        Route("/study/{step}", post, methods=["POST"]),
    ]


class ParticipantPages(SessionPages):
    """Carries out what participants ask for before and after the items."""

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

    async def join(self, request: Request) -> Response:
        """A personal link."""
        self._check_load()
        token, secret, participant = request.path_params["token"], self._store.secret, None
        if len(token) < 100:
            participant = await self._database.read_async(
                lambda connection: people.find_by_token(connection, secret, token)
            )
        if participant is None and same_secret(token, people.first_link_token(secret)):
            participant = await run_in_threadpool(people.add_first_link, self._store)
        if participant is None:
            raise self._refuse_link()
        return self._enter(request, participant)

    async def start(self, request: Request) -> Response:
        """The study's open link, with the identifiers that a recruiting platform adds."""
        self._check_load()
        if not same_secret(request.path_params["door"], self._context.tokens.door()):
            raise self._refuse_link()
        ids = read_ids(self._study.platform, request.query_params)
        values = (ids.participant, ids.study, ids.session)
        if any(len(value) > _ID or not value.isprintable() for value in values):
            raise PageRefusedError(400, "bad_link")
        if not ids.participant:
            if self._context.participant(request) is not None:
                return self._redirect()
            if not self._context.settings.anonymous:
                raise PageRefusedError(400, "bad_link", "no_ids")
        response = self._enter(request, await run_in_threadpool(self._admit, ids))
        if ids.participant:
            self._context.set_platform_ids(response, ids)
        return response

    def _admit(self, ids: PlatformIds) -> int:
        values = (ids.participant, ids.study, ids.session)
        try:
            participant = people.find_by_platform(self._store, *values) if ids.participant else None
            if participant is None:
                if not self._context.limits.arrivals.take():
                    raise PageRefusedError(429, "slow")
                participant = people.add_participant(self._store, *values)
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
            return await show_ending(self._context, request, state.participant, "full")
        return self._redirect()

    async def decline(self, request: Request, fields: dict[str, str]) -> Response:
        """Not agree. Nothing is recorded, and the link still works."""
        hidden, _ = split_fields(fields, "form", "agree")
        state = await self._load_state(self._check_form(request, hidden["form"]))
        if state.participant.state != "invited":
            return self._redirect()
        return await show_ending(self._context, request, state.participant, "no_consent")

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
        keep = people.update_participant(self._store, participant, answers=about, step="read")
        end = people.end_session(self._store, participant, "screened_out")
        screened_out = any(
            about.get(question.name) in question.screen_out for question in self._study.questions
        )

        def job(connection: Connection) -> None:
            keep(connection)
            if screened_out:
                end(connection)

        await self._database.write_async(job)
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

    # ── leaving ──

    async def ask_withdraw(self, request: Request) -> Response:
        """Whether they really want to."""
        state = await self._load_state(self._find_participant(request))
        if state.participant.state == "withdrawn":
            return await show_ending(self._context, request, state.participant, "withdrawn")
        form = self._context.tokens.form(state.participant.id)
        return self._context.page(request, "withdraw.html", language=state.participant.language, form=form)

    async def withdraw(self, request: Request, fields: dict[str, str]) -> Response:
        """Delete everything."""
        hidden, others = split_fields(fields, "form")
        participant = self._check_form(request, hidden["form"])
        if others:
            raise PageRefusedError(400)
        person = (await self._load_state(participant)).participant
        await self._database.write_async(people.withdraw(self._store, participant))
        await run_in_threadpool(self._purge, participant)
        return await show_ending(self._context, request, person, "withdrawn")

    def _purge(self, participant: int) -> None:
        """Remove what was deleted from the journal and the backups. The withdrawal itself is done by now."""
        with self._database.read() as connection:
            row = people.load_row(connection, participant)
        assert row is not None
        try:
            problems = purge(self._store, [row.annotator])
        except StoreUnavailableError as error:
            self._context.warn(str(error))
            return
        for problem in problems:
            self._context.warn(
                f"Somebody withdrew and is still in the backup {problem.path}: {problem.problem}"
            )
