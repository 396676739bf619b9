"""Where a participant is, as a page: consent, questions, instructions, the current item, the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request, Response
from msgspec import Struct
from sqlalchemy import Connection

from vivant.study.design import PAGES, StudyItem, StudyMedia, StudyText
from vivant.study.server import forms, media
from vivant.study.server.context import Desk, said
from vivant.study.server.errors import RefusedError
from vivant.study.server.interface import Interface
from vivant.study.store import answers, assign, people
from vivant.study.store.answers import GRACE, Current, GoneError, Way
from vivant.study.store.store import setting


class Place(Struct, frozen=True):
    """A participant at an item."""

    way: Way
    current: Current
    item: StudyItem


class Piece(Struct, frozen=True, kw_only=True):
    """One thing to look at."""

    kind: str
    text: str = ""
    url: str = ""
    name: str = ""
    whole: bool = True
    """Whether it has been played to its end, or need not be."""


class Scale(Struct, frozen=True, kw_only=True):
    """A scale as a page shows it."""

    field: str
    text: str
    values: range


class Shown(Struct, frozen=True, kw_only=True):
    """One option, comment, answer or side, at its place for this participant."""

    place: int
    pieces: Sequence[Piece] = ()
    text: str = ""
    scales: Sequence[Scale] = ()


async def show_place(
    desk: Desk,
    request: Request,
    participant: int,
    *,
    problem: str = "",
    status: int = 200,
    typed: Mapping[str, str] | None = None,
) -> Response:
    """The page that a participant is at; with a problem, the same page once more with what was typed."""

    def look(connection: Connection) -> tuple[Way | None, bool]:
        return answers.way(connection, desk.study, participant), setting(connection, "paused") == "yes"

    late = False
    for _ in range(5):
        way, paused = await desk.store.database.see(look)
        if way is None:
            raise RefusedError(401, "no_session")
        if way.person.state == "withdrawn":
            return desk.notice(request, "withdrawn")
        given: dict[str, Any] = {
            "language": way.person.language,
            "form": desk.marks.form(participant),
            "can_withdraw": True,
            "status": status,
        }
        t = desk.texts[desk.language(request, way.person.language)]
        given["problem"] = t(problem, limit=desk.study.free_text_limit) if problem else ""
        if paused and way.person.state != "finished":
            return desk.notice(request, "paused", language=way.person.language, form=given["form"])
        if way.person.state == "invited":
            text = desk.markdown(desk.loaded.texts[t.language].consent)
            return desk.page(request, "consent.html", text=text, **{**given, "can_withdraw": False})
        if desk.store.clock() - way.person.seen > people.SIGN_OF_LIFE:
            await desk.store.database.do(people.change(desk.store, participant), note=True)
        if way.person.state == "finished":
            return _done(desk, request, way)
        if way.person.step == "about" and desk.study.questions:
            return desk.page(
                request, "about.html", questions=desk.study.questions, typed=typed or {}, **given
            )
        if way.person.step != "items":
            text = desk.markdown(desk.loaded.texts[t.language].instructions)
            return desk.page(request, "instructions.html", text=text, **given)
        if way.lost or way.current is None:
            if not await _give_again(desk, participant):
                return (
                    _done(desk, request, way)
                    if way.finished
                    else desk.notice(request, "full", language=t.language)
                )
            if way.current is None:
                continue
        current = way.current
        item = desk.items[current.item]
        now = desk.store.clock()
        rest = answers.left(desk.study, current, now)
        try:
            if rest is not None and rest < -GRACE:
                await desk.store.database.do(
                    answers.time_up(desk.store, desk.study, item, participant, current.assignment)
                )
                late = True
                continue
            if current.since is None:
                job = answers.show(desk.store, desk.study, participant, current.assignment, current.page)
                await desk.store.database.do(job, note=True)
                rest = desk.study.time_limit if current.item_since is None else rest
        except GoneError:
            # Another tab was faster.
            continue
        if late and not given["problem"]:
            given["problem"] = t("time_over")
        return desk.page(
            request, "item.html", done=way.finished, total=way.total,
            **_item(desk, t, Place(way, current, item), typed, rest), **given,
        )  # fmt: skip
    raise RefusedError(503, "trouble")


async def _give_again(desk: Desk, participant: int) -> int:
    def job(connection: Connection) -> int:
        people.keep_alive(connection, participant, desk.store.clock())
        held = assign.give(connection, desk.store.clock(), participant, desk.study, desk.loaded.items)
        if not held:
            answers.finish_all(connection, participant, desk.store.clock())
        return held

    return await desk.store.database.do(job)


def _done(desk: Desk, request: Request, way: Way) -> Response:
    t = desk.texts[desk.language(request, way.person.language)]
    url = desk.study.completion_url
    return desk.notice(
        request, "done", language=t.language, form=desk.marks.form(way.person.id), can_withdraw=True,
        done=way.finished, total=way.total, link=url, link_text=t("done_link") if url else "",
    )  # fmt: skip


def _item(
    desk: Desk, t: Interface, place: Place, typed: Mapping[str, str] | None, rest: float | None
) -> dict[str, Any]:
    """What the page of an item shows. Everything is at its place for this participant; no id is among it."""
    study, item, current = desk.study, place.item, place.current
    page = current.page
    participant = place.way.person.id
    missing = set(media.unwatched(desk.loaded, item, current, desk.store.clock()))
    number = 0

    def pieces(content: Sequence[StudyText | StudyMedia]) -> list[Piece]:
        nonlocal number
        made = []
        for piece in content:
            if isinstance(piece, StudyText):
                made.append(Piece(kind="text", text=piece.text))
                continue
            name = desk.marks.media(participant, current.assignment, number)
            whole = number not in missing
            made.append(Piece(kind=piece.kind, url=f"{desk.serving.root}/m/{name}", name=name, whole=whole))
            number += 1
        return made

    content = pieces(item.content)
    own = [pieces(part.content) for part in item.parts]
    if page == "choose":
        shown = [Shown(place=at, text=item.options[n]) for at, n in enumerate(current.shown)]
    elif page == "free":
        shown = []
    else:
        shown = [
            Shown(place=at, pieces=own[n], scales=_scales(desk, t, at)) for at, n in enumerate(current.shown)
        ]
    values = forms.shown_fields(item, page, current.shown, current.answers) if typed is None else typed
    pages = PAGES[study.kind]
    return {
        "page": page,
        "name": desk.marks.page(participant, current.assignment, page),
        "content": content,
        "question": (item.question if page == "choose" else "") or t(f"question_{page}"),
        "shown": shown,
        "values": values,
        "limit": study.free_text_limit,
        "left": None if rest is None else max(0, round(rest)),
        "step": pages.index(page) + 1,
        "steps": len(pages),
        "wait": len(missing),
        "sound": all(piece.kind != "video" for piece in content),
    }


def _scales(desk: Desk, t: Interface, at: int) -> list[Scale]:
    return [
        Scale(
            field=f"scale.{scale.name}.{at}",
            text=said(scale.text, t) or t("realism"),
            values=range(scale.low, scale.high + 1),
        )
        for scale in (forms.scales(desk.study) if desk.study.kind != "pairwise" else ())
    ]
