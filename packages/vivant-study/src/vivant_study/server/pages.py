"""Where a participant is, as a page: consent, questions, instructions, the current item, the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from vivant_study.design import PAGES, ItemTexts, StudyItem, StudyMedia, StudyText
from vivant_study.platforms import Outcome, PlatformReturn, fill_return
from vivant_study.server import forms, media
from vivant_study.server.context import StudyContext, translate
from vivant_study.server.errors import PageRefusedError
from vivant_study.server.interface import InterfaceTexts
from vivant_study.store import answers, assign, people
from vivant_study.store.answers import GRACE
from vivant_study.store.expiry import close_expired
from vivant_study.store.participant_state import CurrentPage, ParticipantState, StalePageError, load_state
from vivant_study.store.study_settings import get_setting


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
    ended: bool = False
    """Whether it has been played to its end."""


class ScaleField(Struct, frozen=True, kw_only=True):
    """A scale as a page shows it."""

    field: str
    text: str
    values: range
    low_text: str = ""
    high_text: str = ""
    slides: bool = False
    """Whether it is too long for a button each."""


class ShownPart(Struct, frozen=True, kw_only=True):
    """One option, comment, answer or side, where this participant sees it."""

    index: int
    contents: Sequence[PageContent] = ()
    text: str = ""
    scales: Sequence[ScaleField] = ()
    picked: bool = False
    """Whether this option is the answer so far."""
    judged: bool = True
    """Whether everything about it is answered."""


_WITHOUT_SCALES = ("pairwise", "best-worst")


def translate_item(item: StudyItem, language: str) -> ItemTexts:
    """An item's own words in a language, as far as it has them."""
    there = item.translations.get(language) or ItemTexts()
    return ItemTexts(
        question=there.question or item.question,
        follow_up=there.follow_up or item.follow_up,
        options=there.options or item.options,
        content=there.content,
        parts=there.parts,
    )


def translate_content(
    content: Sequence[StudyText | StudyMedia], words: Sequence[str]
) -> Sequence[StudyText | StudyMedia]:
    """What is looked at, with its texts in another language where there are any."""
    if not words:
        return content
    texts = iter(words)
    return [StudyText(next(texts)) if isinstance(part, StudyText) else part for part in content]


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
        return load_state(connection, context.study, participant), get_setting(connection, "paused") == "yes"

    expired = False
    for _ in range(5):
        state, paused = await context.store.database.read_async(read)
        if state is None:
            raise PageRefusedError(401, "no_session")
        if state.participant.state in ("withdrawn", "ended"):
            return await show_ending(context, request, state.participant, state.participant.outcome)
        if _is_over(context, state):
            ending = people.end_session(context.store, participant, "timed_out")
            await context.store.database.write_async(ending)
            continue
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
            return await _show_done(context, request, state)
        if state.participant.step != "items":
            return _show_introduction(context, request, state.participant.step, t, typed, values)
        if state.lost or state.current is None:
            if not await _assign_again(context, participant, state.finished):
                if state.finished:
                    return await _show_done(context, request, state)
                # They may come back: their places went to others, who may lose them again.
                return await show_ending(
                    context, request, state.participant, "timed_out" if state.ids else "full"
                )
            if state.current is None:
                continue
        current = state.current
        item = context.items[current.item]
        now = context.store.clock()
        remaining = answers.compute_remaining_time(context.store, context.study, current, now)
        try:
            if remaining is not None and remaining < -GRACE:
                await context.store.database.write_async(
                    close_expired(context.store, context.study, item, participant, current.assignment)
                )
                expired = True
                continue
            if current.since is None:
                job = answers.open_page(context.store, current.assignment, current.page)
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


def _show_introduction(
    context: StudyContext,
    request: Request,
    step: str,
    t: InterfaceTexts,
    typed: Mapping[str, str] | None,
    values: Mapping[str, Any],
) -> Response:
    """The pages between consent and the first item: questions about the participant, instructions."""
    if step == "about" and context.study.questions:
        return context.page(
            request, "about.html", questions=context.study.questions, typed=typed or {}, **values
        )
    text = context.markdown(context.loaded.texts[t.language].instructions)
    limit = context.study.time_limit
    time = "" if limit is None else f"{int(limit) // 60}:{int(limit) % 60:02}"
    return context.page(request, "instructions.html", text=text, time=time, **values)


async def _assign_again(context: StudyContext, participant: int, finished: int) -> int:
    def job(connection: Connection) -> int:
        people.keep_alive(connection, participant, context.store.clock())
        count = assign.assign_items(
            connection, context.store.clock(), participant, context.study, context.loaded.items
        )
        if not count and finished:
            answers.finish_study(connection, participant, context.store.clock())
        return count

    return await context.store.database.write_async(job)


def _is_over(context: StudyContext, state: ParticipantState) -> bool:
    """Whether the time for the whole session is up."""
    limit, since = context.study.session_limit, state.participant.consented
    if limit is None or since is None or state.participant.state != "consented":
        return False
    return context.store.clock() - since > limit + GRACE


async def _show_done(context: StudyContext, request: Request, state: ParticipantState) -> Response:
    return await show_ending(
        context, request, state.participant, "completed", done=state.finished, total=state.total,
        form=context.tokens.form(state.participant.id), can_withdraw=True,
    )  # fmt: skip


async def show_ending(
    context: StudyContext, request: Request, person: people.Participant, outcome: str, **values: Any
) -> Response:
    """How a visit ended, with the way back to the platform as link and as text."""
    t = context.texts[context.language(request, person.language)]
    platform = context.study.platform
    back = platform.returns.get(cast(Outcome, outcome)) if platform else None
    if back is None and outcome == "completed" and context.study.completion_url:
        back = PlatformReturn(url=context.study.completion_url)
    if back is not None:
        row = await context.store.database.read_async(
            lambda connection: people.load_row(connection, person.id)
        )
        ids = context.platform_ids(request)
        back = fill_return(back, ids, row.annotator if row is not None else "")
    link = back.url if back else ""
    # Whoever has nothing to hand in is told so: else the platform waits for them.
    handed_in = back is not None or platform is None or outcome == "completed"
    return context.notice(
        request, "done" if outcome == "completed" else outcome, language=t.language, link=link,
        link_text=t("done_link") if link else "", code=back.code if back else "",
        advice="" if handed_in else t("return_task"), **values,
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
            watch = shown_page.watches.get(number)
            contents.append(
                PageContent(
                    kind=part.kind,
                    url=f"{root}/m/{name}",
                    name=name,
                    played=number not in missing,
                    ended=watch is not None and watch.ended is not None,
                )
            )
            number += 1
        return contents

    values = forms.fill_fields(item, page, shown_page.order, shown_page.answers) if typed is None else typed
    words = translate_item(item, t.language)
    # In `free-then-mcq` the item's question belongs to its options; the free page asks in the interface's words.
    asks_own = page in ("choose", "spans") or (page == "free" and study.kind == "free-follow-up")
    own_question = words.follow_up if page == "follow" else words.question if asks_own else ""
    content = build_contents(translate_content(item.content, words.content))
    parts = [
        build_contents(translate_content(part.content, words.parts.get(part.id, ()))) for part in item.parts
    ]
    fields = forms.list_fields(study, item, page)
    if page == "choose":
        parts_shown = [
            ShownPart(index=index, text=words.options[n] or "—", picked=values.get("choice") == str(index))
            for index, n in enumerate(shown_page.order)
        ]
    elif page in ("free", "follow", "spans"):
        parts_shown = []
    else:
        parts_shown = [
            ShownPart(
                index=index,
                contents=parts[n],
                scales=_build_scales(context, t, index),
                judged=all(values.get(name) for name in fields if name.rpartition(".")[2] == str(index)),
            )
            for index, n in enumerate(shown_page.order)
        ]
    pages = PAGES[study.kind]
    return {
        "page": page,
        "name": context.tokens.page(participant, shown_page.assignment, page),
        "content": content,
        "question": own_question or t(f"question_{page}"),
        "scales": _build_scales(context, t, 0) if page == "follow" else (),
        "earlier": shown_page.earlier,
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
            slides=forms.is_slider(scale),
            low_text=translate(scale.low_text, t),
            high_text=translate(scale.high_text, t),
        )
        for scale in (forms.list_scales(context.study) if context.study.kind not in _WITHOUT_SCALES else ())
    ]
