"""Whose request it is, and within what limits: what every participant's page begins with."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from vivant.web.security import same_secret
from vivant_study.server.context import StudyContext
from vivant_study.server.errors import PageRefusedError
from vivant_study.store.participant_state import ParticipantState, load_state


class SessionPages:
    """Pages that belong to somebody."""

    def __init__(self, context: StudyContext) -> None:
        self._context, self._store, self._study = context, context.store, context.study
        self._database = context.store.database

    def _redirect(self) -> Response:
        """To the page where the participant is."""
        return Response(status_code=303, headers={"location": f"{self._context.settings.root}/study"})

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
            lambda connection: load_state(connection, self._study, participant)
        )
        if state is None:
            raise PageRefusedError(401, "no_session")
        return state
