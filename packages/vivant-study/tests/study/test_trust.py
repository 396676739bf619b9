"""docs/study-threats.md, threat by threat."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.support.study_kit import SOURCES, tiny_study
from tests.support.study_web import Clock, Walker, build_app, invite_walker, open_served_store
from vivant_study.design import KEY_FILE, Kind
from vivant_study.loading import LoadedStudy
from vivant_study.server import tokens as marks
from vivant_study.server.limits import RateLimits
from vivant_study.store import StudyStore
from vivant_study.store.people import invite

KINDS: tuple[Kind, ...] = get_args(Kind)

pytest_plugins = ("tests.support.study_fixtures",)


def kept(store: StudyStore) -> list[tuple[Any, ...]]:
    """All answers there are."""
    return [(j.annotator, j.item, j.page, j.part, str(j.answer)) for j in store.judgements()]


# ── the key stays home ──


@pytest.mark.parametrize("kind", KINDS)
def test_no_response_of_a_session_tells_the_key(tmp_path: Path, kind: Kind) -> None:
    loaded = tiny_study(tmp_path / "study", kind, checks=1, watch_whole=True, origin="sealed-origin")
    # Served with a key that nobody could read: whatever is told below does not come from it.
    (loaded.path / KEY_FILE).write_bytes(b"\xff not a key")
    clock = Clock()
    store = open_served_store(loaded, clock=clock)
    seen: list[Any] = []
    walker = Walker(build_app(loaded, store), seen=seen)
    walker.begin(invite(store, 1)[0])
    while walker.page:
        for name in walker.media:
            seen.append(walker.client.get(name))
            seen.append(walker.client.get(name, headers={"range": "bytes=0-99"}))
            walker.script("/study/watch", media=name.rpartition("/")[2], what="started")
            clock.now += 5
            walker.script("/study/watch", media=name.rpartition("/")[2], what="ended")
        walker.script("/study/save", fields=walker.some_answer())
        walker.next()
    for path in (
        "/",
        "/study",
        "/study/withdraw",
        "/nothing",
        "/m/x",
        "/static/study.js",
        "/static/study.css",
    ):
        walker.get(path)
    assert len(seen) > 20
    secrets = [*SOURCES, KEY_FILE, "sealed-origin", "actor", "angle", str(tmp_path)]
    for item in loaded.items:
        secrets += [item.id, *(part.id for part in item.parts)]
    secrets += [file.name for file in loaded.media_root.iterdir()]
    for answer in seen:
        body = answer.text if "/m/" not in str(answer.url) else ""
        lines = f"{answer.url} {list(answer.headers.items())} {body}"
        assert [secret for secret in secrets if secret in lines] == [], answer.url
    dates = {answer.headers.get("last-modified") for answer in seen if "/m/" in str(answer.url)} - {None}
    assert len(dates) == 1, "all files have the same date"
    store.close()


def test_the_server_does_not_know_the_module_that_reads_keys() -> None:
    modules = "vivant_study.server.app, vivant_study.server.serve"
    code = f"import sys; import {modules}; print('vivant_study.key' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_orders_tell_nothing_and_are_each_persons_own(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "study", count=8, items_per_participant=8, judgements_per_item=60)
    from vivant_study.store.assign import draw_order

    places: Counter[int] = Counter()
    for person in range(60):
        for number, item in enumerate(loaded.items):
            places[draw_order(item, 0, f"person {person}").index(number % 4)] += 1
    assert all(80 < places[place] < 160 for place in range(4)), "the right option is anywhere"


# ── links and sessions ──


def test_links_cannot_be_guessed(study: LoadedStudy, store: StudyStore) -> None:
    app = build_app(study, store, limits=RateLimits(wrong=(0.001, 3)))
    token = invite(store, 1)[0]
    assert len(token) >= 43
    walker = Walker(app)
    near = token[:-1] + ("A" if token[-1] != "A" else "B")
    assert [walker.get(f"/join/{near}").status_code for _ in range(5)] == [404, 404, 404, 429, 429]
    assert walker.get(f"/join/{token}").status_code == 200, (
        "who has a link is not kept out by others' guesses"
    )
    assert Walker(app).get("/study").status_code == 401


def test_only_hashes_are_kept(study: LoadedStudy, store: StudyStore) -> None:
    app = build_app(study, store)
    token = invite(store, 1)[0]
    Walker(app).begin(token).next()
    door = marks.Tokens(store.secret).door()
    walker = Walker(app)
    walker.get(f"/start/{door}", params={"PROLIFIC_PID": "pid-31337", "STUDY_ID": "s", "SESSION_ID": "ses-1"})
    walker.agree()
    store.close()
    for file in study.path.glob("study.db*"):
        data = file.read_bytes()
        for secret in (token, "pid-31337", "ses-1", "testclient", "127.0.0.1"):
            assert secret.encode() not in data, f"{secret} stands in {file.name}"


def test_sessions_cannot_be_made_up(app: Any, store: StudyStore) -> None:
    walker = invite_walker(app, store)
    name = marks.Tokens(store.secret).session_cookie
    good = walker.client.cookies[name]
    number, _, signature = good.partition(".")
    assert len(signature) == 40
    for forged in (
        f"{int(number) + 1}.{signature}",
        f"{number}.{'0' * 40}",
        number,
        "",
        "١.x",
        "9" * 30 + ".x",
    ):
        stranger = Walker(app)
        raw = {"cookie": f"{name}={forged}".encode()}
        assert stranger.get("/study", headers=raw).status_code == 401


def test_nobody_reads_or_writes_for_another(app: Any, store: StudyStore) -> None:
    anna, ben = invite_walker(app, store), invite_walker(app, store)
    page, media = anna.page, anna.media[0]
    before = kept(store)
    assert ben.client.get(media).status_code == 404
    assert ben.send("/study/answer", {"page": page, "choice": "1"}).status_code == 400
    ben.get("/study")
    assert ben.script("/study/save", page=page, fields={"choice": "1"}).status_code == 400
    # The other link opened in the same browser: the old tab's form must not count for the new person.
    anna.client.cookies = ben.client.cookies
    assert anna.send("/study/answer", {"page": page, "choice": "1"}).status_code == 403
    assert "Another link was opened" in anna.text
    assert kept(store) == before


# ── posts from elsewhere ──


def test_posts_from_other_sites_change_nothing(app: Any, store: StudyStore) -> None:
    walker = invite_walker(app, store)
    good = {"page": walker.page, "choice": "1"}
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        walker.get("/study")
        assert walker.send("/study/answer", good, headers=headers).status_code == 403, headers
    walker.get("/study")
    assert walker.client.post("/study/answer", data={**good, "form": ""}).status_code == 403
    assert walker.client.post("/study/withdraw", data={"form": "0" * 32}).status_code == 403
    assert kept(store) == []
    answer = Walker(app).client.get(f"/join/{invite(store, 1)[0]}", follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie
    assert walker.send("/study/answer", good, headers={"origin": "http://testserver"}).status_code == 200
    assert len(kept(store)) == 1


# ── forged fields ──


@pytest.mark.parametrize(
    "fields",
    [
        {"choice": "4"},
        {"choice": "-1"},
        {"choice": "1.5"},
        {"choice": "²"},
        {"choice": "1", "verdict.0": "ai"},
        {"choice": "1", "item": "item-1"},
        {"choice": "9" * 5000},
        {"text": "hello"},
    ],
)
def test_forged_fields(app: Any, store: StudyStore, fields: dict[str, str]) -> None:
    walker = invite_walker(app, store)
    page = walker.page
    assert walker.script("/study/save", fields=fields).status_code == 400
    assert walker.send("/study/answer", {"page": page, **fields}).status_code == 400
    assert kept(store) == []
    walker.get("/study")
    assert walker.page == page


def test_pages_that_were_never_given(app: Any, store: StudyStore) -> None:
    walker = invite_walker(app, store)
    for page in ("0" * 24, "", "item-1"):
        assert walker.script("/study/save", page=page, fields={"choice": "1"}).status_code == 400
    for body in (
        b"{",
        b"[]",
        b'{"form": 1}',
        b"\xff",
        b'{"form":"a","page":"b","fields":{"a":1}}',
        b"[" * 5000,
    ):
        headers = {"content-type": "application/json"}
        assert walker.client.post("/study/save", content=body, headers=headers).status_code == 400
    assert kept(store) == []


def test_texts_that_are_no_texts(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "study", "free-then-mcq", watch_whole=False, free_text_limit=20)
    with open_served_store(loaded) as store:
        walker = invite_walker(build_app(loaded, store), store)
        page = walker.page
        assert walker.script("/study/save", fields={"text": "a\0b"}).status_code == 400
        raw = {"content-type": "application/x-www-form-urlencoded"}
        for body in (
            f"form={walker.form}&page={page}&text=%FF",
            f"form={walker.form}&page={page}&text=a&text=b",
        ):
            assert walker.client.post("/study/answer", content=body, headers=raw).status_code == 400
        assert walker.script("/study/save", fields={"text": "x" * 21}).status_code == 422
        assert kept(store) == []
        assert walker.send("/study/answer", {"page": page, "text": "x" * 21}).status_code == 422
        assert "at most 20 characters" in walker.text
        assert kept(store) == []
        # What counts is what is read: twenty signs of two bytes, and line ends of one.
        assert walker.script("/study/save", fields={"text": "说\r\n" * 10}).status_code == 200


def test_a_megabyte_of_text_and_uploads(app: Any, store: StudyStore) -> None:
    walker = invite_walker(app, store)
    form, page = walker.form, walker.page
    large = walker.client.post("/study/answer", data={"form": form, "page": page, "text": "x" * 1_000_000})
    assert large.status_code == 413
    assert "far too long" in large.text
    assert walker.client.post("/study/save", content=b"x" * 1_000_000).status_code == 413
    files = {"file": ("a.txt", b"hello")}
    assert walker.client.post("/study/answer", data={"form": form}, files=files).status_code == 415
    assert walker.client.put("/study", content=b"hello").status_code == 405
    assert kept(store) == []


# ── rates ──


def test_one_session_cannot_drown_the_others(study: LoadedStudy, store: StudyStore) -> None:
    app = build_app(study, store, limits=RateLimits(session=(0.001, 12)))
    loud, calm = invite_walker(app, store), invite_walker(app, store)
    answers = [loud.get("/study").status_code for _ in range(20)]
    assert answers[0] == 200 and answers[-1] == 429
    assert loud.answer.headers["retry-after"] == "10"
    assert calm.get("/study").status_code == 200


def test_everybody_together_has_a_limit(study: LoadedStudy, store: StudyStore) -> None:
    app = build_app(study, store, limits=RateLimits(together=(0.001, 5)))
    assert [Walker(app).get("/study").status_code for _ in range(7)] == [401] * 5 + [429] * 2


# ── what every answer carries ──


def test_headers_and_paths(app: Any, store: StudyStore) -> None:
    walker = invite_walker(app, store)
    media = walker.media[0]
    paths = ("/study", media, "/static/study.js", "/nothing", "/admin", "/m/nothing")
    for path in paths:
        headers = walker.client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"
    assert walker.client.get("/study").headers["cache-control"] == "no-store"
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/m/..%2f..%2fkey.jsonl",
        "/docs",
        "/openapi.json",
    ):
        assert walker.client.get(path).status_code == 404, path


def test_a_studys_texts_are_shown_not_obeyed(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "study", watch_whole=False)
    evil = "# Hi\n<script>alert(1)</script> [x](javascript:alert(1)) [ok](https://a.example)"
    (loaded.path / "consent.en.md").write_text(evil)
    from vivant_study.loading import load_study

    with open_served_store(loaded) as store:
        walker = Walker(build_app(load_study(loaded.path), store))
        walker.get(f"/join/{invite(store, 1)[0]}")
        assert "<script>alert" not in walker.answer.text
        assert "&lt;script&gt;" in walker.answer.text
        assert 'href="javascript' not in walker.answer.text
        assert 'href="https://a.example"' in walker.answer.text
