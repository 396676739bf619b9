"""A study's pages as participants meet them, in every kind, with everything that can come in between."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.support.study_kit import OPTIONS, SIZES, tiny_study
from tests.support.study_web import TOKEN, Walker, build_app, invite_walker, open_served_store
from vivant_study.design import PAGES, Kind
from vivant_study.loading import LoadedStudy
from vivant_study.store import StudyStore
from vivant_study.store.people import invite

KINDS: tuple[Kind, ...] = get_args(Kind)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., tuple[LoadedStudy, StudyStore, Any]]]:
    """Studies with their store and application; videos need not be watched unless a test says so."""
    stores: list[StudyStore] = []

    def make(kind: Kind = "mcq", **given: Any) -> tuple[LoadedStudy, StudyStore, Any]:
        own = {name: given.pop(name) for name in ("clock", "url") if name in given}
        serving = {
            name: given.pop(name)
            for name in ("root", "anonymous", "origin", "secure", "preview", "limits")
            if name in given
        }
        loaded = tiny_study(tmp_path / f"study{len(stores)}", kind, **{"watch_whole": False, **given})
        store = open_served_store(loaded, **own)
        stores.append(store)
        return loaded, store, build_app(loaded, store, **serving)

    yield make
    for store in stores:
        store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_session(made: Any, kind: Kind, url: str | None) -> None:
    loaded, store, app = made(kind, checks=2, url=url, completion_url="https://platform.example/done?cc=1")
    walker = Walker(app)
    walker.get(f"/join/{invite(store, 1)[0]}")
    assert "Agree?" in walker.text
    assert walker.post("/study/consent").status_code == 422, "without the tick nothing begins"
    walker.post("/study/consent", agree="yes")
    assert "How old are you?" in walker.text
    assert walker.send("/study/about", {"about.remark": "no"}).status_code == 422, "age is required"
    walker.send("/study/about", {"about.age": "1", "about.remark": "hello"})
    walker.post("/study/begin")
    assert walker.walk() == 4 * len(PAGES[kind])
    assert "Thank you" in walker.text
    assert 'href="https://platform.example/done?cc=1"' in walker.answer.text
    result = list(store.judgements())
    parts = SIZES[kind] if kind in ("blind-comments", "rating", "sliders") else 1
    assert len(result) == 4 * len(PAGES[kind]) * parts
    assert len({(j.item, j.page, j.part) for j in result}) == len(result)
    assert all(j.complete for j in result)
    assert sum(j.check for j in result) == len(PAGES[kind]) * parts
    (person,) = store.people()
    assert (person.state, person.answers) == ("finished", {"age": 1, "remark": "hello"})
    items = loaded.by_id
    for judgement in result:
        wanted: dict[str, Any] = {
            "choose": judgement.shown[1] if "mcq" in kind and judgement.shown else None,
            "free": "a made-up deed",
            "comments": {"verdict": "human", "realism": 1},
            "rate": {"quality": 1} if kind == "sliders" else {"coherence": 1, "help": 1},
            "best-worst": {"best": judgement.shown[1], "worst": judgement.shown[2]}
            if kind == "best-worst"
            else None,
            "spans": [[0.2, 0.6]],
            "follow": {"text": "a made-up deed", "sure": 1},
            "pair": ("first", "second")[judgement.shown[1]] if kind == "pairwise" else None,
        }
        assert judgement.answer == wanted[judgement.page]
        assert judgement.part in {"", *(part.id for part in items[judgement.item].parts)}


def test_the_option_chosen_is_the_option_stored(made: Any) -> None:
    _, store, app = made()
    walker = invite_walker(app, store)
    shown: list[str] = []
    while walker.page:
        shown.append(walker.options()[2])
        walker.next("2")
    result = list(store.judgements())
    assert [OPTIONS[j.answer] for j in result] == shown
    assert [OPTIONS[j.shown[2]] for j in result] == shown


def test_options_come_after_the_free_text(made: Any) -> None:
    _, store, app = made("free-then-mcq")
    walker = invite_walker(app, store)
    assert not any(option in walker.text for option in OPTIONS)
    early = walker.send("/study/answer", {"page": walker.page, "choice": "1"})
    assert early.status_code == 400, "a choice on the page of the free text is forged"
    walker.get("/study")
    assert walker.send("/study/answer", {"page": walker.page, "text": "  "}).status_code == 422
    free = walker.page
    walker.send("/study/answer", {"page": walker.page, "text": "rowing, I think"})
    assert sorted(walker.options()) == sorted(OPTIONS)
    walker.send("/study/answer", {"page": free, "text": "now I know better"})
    assert walker.options(), "the old page changes nothing any more"
    assert [j.answer for j in store.judgements()] == ["rowing, I think"]


def test_what_is_saved_is_there_after_a_reload(made: Any) -> None:
    _, store, app = made("blind-comments")
    token = invite(store, 1)[0]
    walker = Walker(app).begin(token)
    assert walker.script("/study/save", fields={"verdict.0": "ai"}).json() == {"saved": True}
    assert walker.script("/study/save", fields={"verdict.0": "ai", "scale.realism.0": "4"}).status_code == 200
    again = Walker(app)
    again.get(f"/join/{token}")
    assert again.page == walker.page
    assert 'name="verdict.0" value="ai" checked' in again.answer.text
    assert 'name="scale.realism.0" value="4" checked' in again.answer.text
    (judgement,) = store.judgements()
    assert (judgement.answer, judgement.complete, judgement.revised) == (
        {"verdict": "ai", "realism": 4},
        False,
        0,
    )
    assert again.script("/study/save", fields={"verdict.0": "human"}).status_code == 200
    (judgement,) = store.judgements()
    assert (judgement.answer, judgement.revised) == ({"verdict": "human", "realism": 4}, 1)


def test_double_clicks_and_two_tabs(made: Any) -> None:
    _, store, app = made()
    token = invite(store, 1)[0]
    one = Walker(app).begin(token)
    two = Walker(app)
    two.get(f"/join/{token}")
    assert one.page == two.page
    old = {"page": one.page, "choice": "0"}
    one.send("/study/answer", old)
    after = one.page
    assert one.send("/study/answer", old).status_code == 200
    assert one.page == after, "the second click finds the next page untouched"
    assert two.script("/study/save", fields={"choice": "3"}).status_code == 409
    two.next("3")
    assert two.page == after, "the other tab is brought to the same page"
    (judgement,) = store.judgements()
    assert judgement.answer == judgement.shown[0]


def test_nobody_gets_in_when_all_places_are_gone(made: Any) -> None:
    _, store, app = made(count=3, items_per_participant=3, judgements_per_item=1)
    invite_walker(app, store).walk()
    late = Walker(app)
    late.get(f"/join/{invite(store, 1)[0]}")
    late.post("/study/consent", agree="yes")
    assert "All places of this study are taken" in late.text
    assert [person.state for person in store.people()] == ["finished", "invited"]
    store.set_target(2)
    late.get("/study")
    late.agree()
    assert late.walk() == 3


def test_a_pause(made: Any) -> None:
    _, store, app = made()
    walker = invite_walker(app, store)
    page = walker.page
    store.pause(True)
    assert walker.script("/study/save", fields={"choice": "1"}).status_code == 200, "what is given is kept"
    walker.get("/study")
    assert "paused" in walker.text
    store.pause(False)
    walker.get("/study")
    assert walker.page == page


def test_languages(made: Any) -> None:
    _, store, app = made()
    walker = Walker(app).begin(invite(store, 1)[0], "zh-CN,zh;q=0.9,en;q=0.5")
    assert "第 1 题" in walker.text
    assert '<html lang="zh" dir="ltr">' in walker.answer.text
    # The language of the instructions stays, and is known afterwards.
    walker.get("/study", headers={"accept-language": "en"})
    assert "第 1 题" in walker.text
    assert [person.language for person in store.people()] == ["zh"]
    walker.post("/study/language", language="en")
    walker.get("/study", headers={"accept-language": "zh-CN"})
    assert "Task 1 of 3" in walker.text
    assert walker.post("/study/language", language="xx").status_code == 400
    assert [person.language for person in store.people()] == ["en"]


def test_withdrawing_takes_everything(made: Any) -> None:
    _, store, app = made()
    token = invite(store, 1)[0]
    walker = Walker(app).begin(token)
    walker.next()
    walker.get("/study/withdraw")
    assert list(store.judgements())
    walker.post("/study/withdraw")
    assert "deleted" in walker.text
    assert list(store.judgements()) == []
    (person,) = store.people()
    assert (person.state, person.answers, person.consented) == ("withdrawn", {}, "")
    assert store.progress().held == 0
    for path in (f"/join/{token}", "/study", "/study/withdraw"):
        assert "You have withdrawn" in Walker(app).get(f"/join/{token}").text, path


def test_a_platform_brings_people_and_gets_them_back(made: Any) -> None:
    from vivant_study.server.tokens import Tokens

    _, store, app = made(completion_url="https://platform.example/done")
    door = Tokens(store.secret).door()
    ids = {"PROLIFIC_PID": "5f0c1d", "STUDY_ID": "s1", "SESSION_ID": "x1"}
    walker = Walker(app)
    walker.get(f"/start/{door}", params=ids)
    walker.agree()
    page = walker.page
    again = Walker(app)
    again.get(f"/start/{door}", params=ids)
    assert again.page == page, "the same identifiers are the same participant"
    other = Walker(app)
    assert other.get(f"/start/{door}", params={**ids, "SESSION_ID": "x2"}).status_code == 403
    assert other.get(f"/start/{door}").status_code == 400
    assert other.get("/start/0123456789abcdef01234567", params=ids).status_code == 404
    (person,) = store.people()
    assert person.recruited and "5f0c1d" not in person.recruited + person.annotator
    again.walk()
    assert "https://platform.example/done" in again.answer.text


def test_an_open_link_without_a_platform(made: Any) -> None:
    from vivant_study.server.tokens import Tokens

    _, store, app = made(anonymous=True)
    door = Tokens(store.secret).door()
    walker = Walker(app)
    walker.get(f"/start/{door}")
    walker.agree()
    page = walker.page
    walker.get(f"/start/{door}")
    assert walker.page == page
    assert len(list(store.people())) == 1


def test_who_is_who(made: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from vivant.cli.main import main
    from vivant_study.server.tokens import Tokens

    loaded, store, app = made()
    token = invite(store, 1)[0]
    ids = {"PROLIFIC_PID": "5f0c1d", "STUDY_ID": "s1", "SESSION_ID": "x1"}
    Walker(app).get(f"/start/{Tokens(store.secret).door()}", params=ids)
    link = f"https://lab.example/study/join/{token}"
    monkeypatch.setattr(sys, "argv", ["vivant", "study", "who", str(loaded.path), link, "5f0c1d", "else"])
    with pytest.raises(SystemExit):
        main()
    names = [person.annotator for person in store.people()]
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines == [[link, names[0], "invited"], ["5f0c1d", names[1], "invited"], ["else", "", "unknown"]]


def test_every_language_says_everything() -> None:
    import string

    import yaml

    texts = {
        language: yaml.safe_load((files("vivant_study") / "texts" / f"{language}.yaml").read_text("utf-8"))
        for language in ("en", "zh")
    }
    assert list(texts["en"]) == list(texts["zh"])
    for name, text in texts["en"].items():
        fields = [{field for _, field, _, _ in string.Formatter().parse(said) if field} for said in
                  (text, texts["zh"][name])]  # fmt: skip
        assert fields[0] == fields[1], name


def test_a_language_of_ones_own(tmp_path: Path) -> None:
    from vivant.core.errors import DataError
    from vivant_study.server.interface import load_interfaces

    with pytest.raises(DataError, match=r"interface\.fr\.yaml is missing"):
        load_interfaces(tmp_path, ["en", "fr"])
    (tmp_path / "interface.fr.yaml").write_text("continue: Continuer\n")
    with pytest.raises(DataError, match="lacks"):
        load_interfaces(tmp_path, ["fr"])
    own = (
        (files("vivant_study") / "texts" / "en.yaml").read_text("utf-8").replace("Continue\n", "Continuer\n")
    )
    (tmp_path / "interface.fr.yaml").write_text(own)
    assert load_interfaces(tmp_path, ["fr"])["fr"]("continue") == "Continuer"


@pytest.mark.parametrize("stripped", [True, False])
def test_behind_a_proxy_with_a_prefix(made: Any, stripped: bool) -> None:
    _, store, app = made(root="/lab/study", origin="https://lab.example", secure=True)

    async def proxy(scope: Any, receive: Any, send: Any) -> None:
        if stripped and scope["type"] == "http":
            scope = {**scope, "path": scope["path"].removeprefix("/lab/study")}
        await app(scope, receive, send)

    walker = Walker(proxy, "/lab/study")
    walker.client.base_url = walker.client.base_url.copy_with(scheme="https", host="lab.example")
    walker.begin(invite(store, 1)[0])
    assert walker.client.get(walker.media[0]).status_code == 200
    cookie = next(iter(walker.client.cookies.jar))
    assert (cookie.path, cookie.secure) == ("/lab/study", True)
    for address in [*walker.media, "/lab/study/static/study.css", "/lab/study/static/study.js"]:
        assert address.startswith("/lab/study/")
        assert walker.client.get(address).status_code == 200
    foreign = {"origin": "http://lab.example"}
    assert walker.send("/study/answer", {"page": walker.page}, headers=foreign).status_code == 403
    walker.get("/study")
    assert walker.walk() == 3


def test_a_preview_records_nothing(tmp_path: Path) -> None:
    from vivant_study.store.store import open_memory_store

    loaded = tiny_study(tmp_path / "study", watch_whole=False)
    store = open_memory_store(loaded.path)
    store.raise_target(2)
    walker = Walker(build_app(loaded, store, preview=True))
    walker.get("/")
    assert "nothing is recorded" in walker.text
    walker.agree()
    assert walker.walk() == 3
    store.close()
    assert not (loaded.path / "study.db").exists()
    assert TOKEN not in walker.text


def test_small_answers_are_sent_at_once() -> None:
    import asyncio
    import socket

    from vivant.web.server import bind

    async def at_once() -> int:
        lines: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            lines.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        bound = bind("127.0.0.1", 0)
        async with await asyncio.start_server(serve, sock=bound):
            _, writer = await asyncio.open_connection(*bound.getsockname())
            answer = await lines
            writer.close()
            await writer.wait_closed()
            return answer

    assert asyncio.run(at_once()) == 1, "without it the second packet of each answer waits 40 ms"
