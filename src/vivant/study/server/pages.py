"""Where a participant is, as a page: consent, questions, instructions, the current item, the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from vivant.study.design import PAGES, StudyItem, StudyMedia, StudyText
from vivant.study.server import forms, media
from vivant.study.server.context import StudyContext, translate
from vivant.study.server.errors import PageRefusedError
from vivant.study.server.interface import InterfaceTexts
from vivant.study.store import answers, assign, people
from vivant.study.store.answers import GRACE, CurrentPage, ParticipantState, StalePageError
from vivant.study.store.store import get_setting


class CurrentItem(Struct, frozen=True):
    """A participant at an item."""

    state: ParticipantState
    page: CurrentPage
    item: StudyItem


class PageContent(Struct, frozen=True, kw_only=True):
    """One thing to look at."""

    kind: str
    text: str = ""
    url: str = ""
    name: str = ""
    played: bool = True
    """Whether it has been played to its end, or need not be."""


class ScaleField(Struct, frozen=True, kw_only=True):
    """A scale as a page shows it."""

    field: str
    text: str
    values: range


class ShownPart(Struct, frozen=True, kw_only=True):
    """One option, comment, answer or side, where this participant sees it."""

    index: int
    contents: Sequence[PageContent] = ()
    text: str = ""
    scales: Sequence[ScaleField] = ()


async def show_current(
    context: StudyContext,
    request: Request,
    participant: int,
    *,
    problem: str = "",
    status: int = 200,
    typed: Mapping[str, str] | None = None,
) -> Response:
    """The page that a participant is at; with a problem, the same page once more with what was typed."""

    def read(connection: Connection) -> tuple[ParticipantState | None, bool]:
        return answers.load_state(connection, context.study, participant), get_setting(
            connection, "paused"
        ) == "yes"

    expired = False
    for _ in range(5):
        state, paused = await context.store.database.read_async(read)
        if state is None:
            raise PageRefusedError(401, "no_session")
        if state.participant.state == "withdrawn":
            return context.notice(request, "withdrawn")
        values: dict[str, Any] = {
            "language": state.participant.language,
            "form": context.tokens.form(participant),
            "can_withdraw": True,
            "status": status,
        }
        t = context.texts[context.language(request, state.participant.language)]
        values["problem"] = t(problem, limit=context.study.free_text_limit) if problem else ""
        if paused and state.participant.state != "finished":
            return context.notice(request, "paused", language=state.participant.language, form=values["form"])
        if state.participant.state == "invited":
            text = context.markdown(context.loaded.texts[t.language].consent)
            return context.page(request, "consent.html", text=text, **{**values, "can_withdraw": False})
        if context.store.clock() - state.participant.seen > people.SIGN_OF_LIFE:
            await context.store.database.write_async(
                people.update_participant(context.store, participant), note=True
            )
        if state.participant.state == "finished":
            return _show_done(context, request, state)
        if state.participant.step == "about" and context.study.questions:
            return context.page(
                request, "about.html", questions=context.study.questions, typed=typed or {}, **values
            )
        if state.participant.step != "items":
            text = context.markdown(context.loaded.texts[t.language].instructions)
            return context.page(request, "instructions.html", text=text, **values)
        if state.lost or state.current is None:
            if not await _assign_again(context, participant):
                return (
                    _show_done(context, request, state)
                    if state.finished
                    else context.notice(request, "full", language=t.language)
                )
            if state.current is None:
                continue
        current = state.current
        item = context.items[current.item]
        now = context.store.clock()
        remaining = answers.remaining_time(context.study, current, now)
        try:
            if remaining is not None and remaining < -GRACE:
                await context.store.database.write_async(
                    answers.close_expired(context.store, context.study, item, participant, current.assignment)
                )
                expired = True
                continue
            if current.since is None:
                job = answers.open_page(
                    context.store, context.study, participant, current.assignment, current.page
                )
                await context.store.database.write_async(job, note=True)
                remaining = context.study.time_limit if current.item_since is None else remaining
        except StalePageError:
            # Another tab was faster.
            continue
        if expired and not values["problem"]:
            values["problem"] = t("time_over")
        return context.page(
            request, "item.html", done=state.finished, total=state.total,
            **_build_item(context, t, CurrentItem(state, current, item), typed, remaining), **values,
        )  # fmt: skip
    raise PageRefusedError(503, "trouble")


async def _assign_again(context: StudyContext, participant: int) -> int:
    def job(connection: Connection) -> int:
        people.keep_alive(connection, participant, context.store.clock())
        count = assign.assign_items(
            connection, context.store.clock(), participant, context.study, context.loaded.items
        )
        if not count:
            answers.finish_study(connection, participant, context.store.clock())
        return count

    return await context.store.database.write_async(job)


def _show_done(context: StudyContext, request: Request, state: ParticipantState) -> Response:
    t = context.texts[context.language(request, state.participant.language)]
    url = context.study.completion_url
    return context.notice(
        request, "done", language=t.language, form=context.tokens.form(state.participant.id), can_withdraw=True,
        done=state.finished, total=state.total, link=url, link_text=t("done_link") if url else "",
    )  # fmt: skip


def _build_item(
    context: StudyContext,
    t: InterfaceTexts,
    current: CurrentItem,
    typed: Mapping[str, str] | None,
    remaining: float | None,
) -> dict[str, Any]:
    """What the page of an item shows. Everything is at its place for this participant; no id is among it."""
    study, item, shown_page = context.study, current.item, current.page
    page = shown_page.page
    participant = current.state.participant.id
    missing = set(media.find_unwatched(context.loaded, item, shown_page, context.store.clock()))
    number, root = 0, context.settings.root

    def build_contents(content: Sequence[StudyText | StudyMedia]) -> list[PageContent]:
        nonlocal number
        contents = []
        for part in content:
            if isinstance(part, StudyText):
                contents.append(PageContent(kind="text", text=part.text))
                continue
            name = context.tokens.media(participant, shown_page.assignment, number)
            contents.append(
                PageContent(kind=part.kind, url=f"{root}/m/{name}", name=name, played=number not in missing)
            )
            number += 1
        return contents

    content = build_contents(item.content)
    parts = [build_contents(part.content) for part in item.parts]
    if page == "choose":
        parts_shown = [
            ShownPart(index=index, text=item.options[n] or "—") for index, n in enumerate(shown_page.shown)
        ]
    elif page == "free":
        parts_shown = []
    else:
        parts_shown = [
            ShownPart(index=index, contents=parts[n], scales=_build_scales(context, t, index))
            for index, n in enumerate(shown_page.shown)
        ]
    values = forms.fill_fields(item, page, shown_page.shown, shown_page.answers) if typed is None else typed
    pages = PAGES[study.kind]
    return {
        "page": page,
        "name": context.tokens.page(participant, shown_page.assignment, page),
        "content": content,
        "question": (item.question if page == "choose" else "") or t(f"question_{page}"),
        "shown": parts_shown,
        "values": values,
        "limit": study.free_text_limit,
        "left": None if remaining is None else max(0, round(remaining)),
        "step": pages.index(page) + 1,
        "steps": len(pages),
        "wait": len(missing),
        "sound": all(part.kind != "video" for part in content),
    }


def _build_scales(context: StudyContext, t: InterfaceTexts, index: int) -> list[ScaleField]:
    return [
        ScaleField(
            field=f"scale.{scale.name}.{index}",
            text=translate(scale.text, t) or t("realism"),
            values=range(scale.low, scale.high + 1),
        )
        for scale in (forms.list_scales(context.study) if context.study.kind != "pairwise" else ())
    ]
