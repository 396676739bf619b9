"""The researcher's page: who gets in, and what it does."""

from __future__ import annotations

import hmac
from typing import Any

import pytest

from tests.support.study_web import TOKEN, Clock, Walker, build_app, invite_walker, open_served_store
from vivant.core.errors import UsageError
from vivant_study.loading import LoadedStudy
from vivant_study.server import tokens as marks
from vivant_study.store import StudyStore

pytest_plugins = ("tests.support.study_fixtures",)


def test_the_admin_page_wants_its_token(app: Any, store: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    true = hmac.compare_digest

    def watched(first: bytes, second: bytes) -> bool:
        compared.append((first, second))
        return true(first, second)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    walker = Walker(app)
    assert "Admin token" in walker.get("/admin").text
    assert walker.client.post("/admin/login", data={"token": "wrong"}).status_code == 403
    assert (b"wrong", TOKEN.encode()) in compared, "compared in constant time"
    annotator = "x"
    paths = ("/admin/progress", "/admin/item/0", f"/admin/person/{annotator}", "/admin/download/people.jsonl")
    for path in paths:
        assert walker.client.get(path).status_code == 401
    for action in ("pause", "places", "exclude", "reinstate"):
        assert walker.client.post(f"/admin/{action}", data={"form": "x"}).status_code == 401
    walker.client.cookies.set(marks.ADMIN_COOKIE, f"9999999999.{'0' * 40}")
    assert walker.client.get("/admin/progress").status_code == 401
    assert store.progress().paused is False


def test_the_admins_session(study: LoadedStudy) -> None:
    clock = Clock()
    with open_served_store(study, clock=clock) as store:
        app = build_app(study, store)
        walker = Walker(app)
        answer = walker.client.post("/admin/login", data={"token": TOKEN}, follow_redirects=False)
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/admin" in cookie
        assert TOKEN not in cookie + answer.headers["location"]
        walker.get("/admin")
        assert walker.client.post("/admin/pause", data={"form": "0" * 32}).status_code == 403
        assert store.progress().paused is False
        walker.send("/admin/pause", {})
        assert store.progress().paused is True
        clock.now += 13 * 3600
        assert walker.client.get("/admin/progress").status_code == 401


def test_logging_out_ends_the_session(app: Any) -> None:
    walker = Walker(app)
    walker.client.post("/admin/login", data={"token": TOKEN})
    walker.get("/admin")
    stolen = walker.client.cookies[marks.ADMIN_COOKIE]
    walker.send("/admin/logout", {})
    walker.client.cookies.set(marks.ADMIN_COOKIE, stolen)
    assert walker.client.get("/admin/progress").status_code == 401


def test_an_items_page_shows_what_participants_see(app: Any, study: LoadedStudy) -> None:
    walker = Walker(app)
    assert walker.client.get("/admin/media/0/0").status_code == 401
    walker.client.post("/admin/login", data={"token": TOKEN})
    page = walker.get("/admin/item/0").text
    assert 'src="/admin/media/0/0"' in page and study.items[0].question in page
    assert walker.client.get("/admin/media/0/0").headers["content-type"] == "video/mp4"
    assert walker.client.get("/admin/media/0/7").status_code == 404
    assert walker.client.get("/admin/media/0/x").status_code == 400


def test_links_lead_to_where_the_study_is_served(store: StudyStore) -> None:
    from vivant_study.server.serve import ADDRESS, read_address

    with pytest.raises(UsageError, match="--url"):
        read_address(store)
    store.write_setting(ADDRESS, "http://127.0.0.1:9000")
    assert read_address(store) == "http://127.0.0.1:9000"


def test_the_admin_steers(app: Any, study: LoadedStudy, store: StudyStore) -> None:
    invite_walker(app, store).walk()
    walker = Walker(app)
    walker.client.post("/admin/login", data={"token": TOKEN})
    walker.get("/admin")
    (person,) = store.people()
    assert walker.client.get("/admin/progress").json()["finished"] == 3
    assert walker.send("/admin/places", {"target": "00100099"}).status_code == 422
    assert walker.send("/admin/places", {"target": "1001"}).status_code == 422
    assert store.progress().target == 6
    assert walker.send("/admin/places", {"target": "9"}).status_code == 200
    assert 'name="target" type="number" min="1"' in walker.text, "the form too lets one take it back"
    assert walker.send("/admin/places", {"target": "0"}).status_code == 422
    assert walker.send("/admin/places", {"target": "8"}).status_code == 200, "a slip can be taken back"
    assert store.progress().target == 8
    assert walker.send("/admin/exclude", {"annotator": person.annotator, "reason": " "}).status_code == 422
    assert walker.send("/admin/exclude", {"annotator": "nobody", "reason": "x"}).status_code == 422
    walker.send("/admin/exclude", {"annotator": person.annotator, "reason": "answers at <random>"})
    assert walker.client.get("/admin/progress").json() | {"people": 0} == {
        "finished": 0, "held": 0, "open": 48, "places": 48, "target": 8, "people": 0, "excluded": 1, "paused": False,
    }  # fmt: skip
    page = walker.get(f"/admin/person/{person.annotator}")
    assert "answers at &lt;random&gt;" in page.text
    assert len(walker.client.get("/admin/download/judgements.jsonl").text.splitlines()) == 3
    table = walker.client.get("/admin/download/judgements.csv")
    assert len(table.text.splitlines()) == 4
    assert table.headers["content-disposition"] == 'attachment; filename="judgements.csv"'
    assert walker.client.get("/admin/download/people.parquet").content.startswith(b"PAR1")
    for name in ("key.jsonl", "people.exe", "people", "..%2fkey.jsonl"):
        assert walker.client.get(f"/admin/download/{name}").status_code == 404
    walker.send("/admin/reinstate", {"annotator": person.annotator})
    assert store.progress().finished == 3
    number = next(n for n, item in enumerate(study.items) if item.id == next(store.judgements()).item)
    assert person.annotator in walker.get(f"/admin/item/{number}").text
    walker.send("/admin/logout", {})
    assert walker.client.get("/admin/progress").status_code == 401


def test_the_analysis_shows_what_there_is(study: LoadedStudy, store: StudyStore, app: Any) -> None:
    admin = Walker(app)
    admin.client.post("/admin/login", data={"token": TOKEN})
    assert "There are no judgements yet." in admin.get("/admin/analysis").text
    invite_walker(app, store).walk()
    page = admin.get("/admin/analysis").text
    assert "without the key: key.jsonl says" in page
    assert str(study.path) not in page, "where things lie on the server is nobody's business"
    assert "Agreement" in page and "<tbody></tbody>" not in page


def test_the_admin_reads_answers_as_words(study: LoadedStudy, store: StudyStore, app: Any) -> None:
    walker = invite_walker(app, store)
    walker.next()
    (judgement,) = store.judgements()
    walker.client.post("/admin/login", data={"token": TOKEN})
    page = walker.get(f"/admin/person/{judgement.annotator}").text
    option = next(item for item in study.items if item.id == judgement.item).options[judgement.answer]
    assert f"<td>{judgement.answer} {option}</td>" in page
    assert "40 or older" in page
