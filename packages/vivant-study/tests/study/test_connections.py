"""Requests that never arrive whole, too many connections, and a real nginx before the server."""

from __future__ import annotations

import http.client
import itertools
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.study_kit import tiny_study
from tests.support.study_process import StudyProcess
from tests.support.study_web import Walker, build_app, invite_walker, open_served_store
from vivant_study.server.connections import ConnectionLimits
from vivant_study.server.limits import RateLimits
from vivant_study.store import open_store
from vivant_study.store.people import invite

PATIENCE = 600
"""Seconds after which something hangs."""
HALF = b"POST /study/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
DOCS = Path(__file__).parents[4] / "docs" / "study-deployment.md"


def connect(port: int, *sent: bytes) -> socket.socket:
    """A connection on which something was sent."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    for data in sent:
        connection.sendall(data)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side has ended the connection, waiting for it as long as the socket does."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def walk_through(address: str, token: str, root: str = "") -> str:
    """A whole session over HTTP; the last page."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def ask(path: str, fields: dict[str, str] | None = None) -> str:
        data = None if fields is None else urllib.parse.urlencode(fields).encode()
        with opener.open(f"{address}{root}{path}", data, timeout=PATIENCE) as answer:
            return str(answer.read().decode())

    page = ask(f"/join/{token}")
    for step, more in (("consent", {"agree": "yes"}), ("about", {"about.age": "1"}), ("begin", {})):
        form = re.findall(r'name="form" value="([^"]+)"', page)[0]
        page = ask(f"/study/{step}", {"form": form, **more})
    while name := re.findall(r'name="page" value="([^"]+)"', page):
        media = re.findall(r'src="([^"]*/m/[^"]*)"', page)[0]
        request = urllib.request.Request(f"{address}{media}", headers={"Range": "bytes=2-5"})
        with opener.open(request, timeout=PATIENCE) as answer:
            assert (answer.status, len(answer.read())) == (206, 4)
        page = ask("/study/answer", {"form": form, "page": name[0], "choice": "1"})
    return page


def test_half_sent_requests_do_not_keep_people_out(tmp_path: Path) -> None:
    """More connections than the process may open files: those who send whole requests still get through."""
    study = tiny_study(tmp_path / "study", watch_whole=False)
    with open_store(study.path) as store:
        tokens = invite(store, 2)
    with ExitStack() as stack:
        server = stack.enter_context(StudyProcess(study.path, open_files=320))
        crowd = [stack.enter_context(connect(server.port, HALF)) for _ in range(600)]
        assert "Thank you" in walk_through(server.address, tokens[0])
        assert sum(is_closed(connection) for connection in crowd[:400]) == 400, "the oldest made room"
        assert "Thank you" in walk_through(server.address, tokens[1])
    with open_store(study.path) as store:
        assert [person.state for person in store.people()] == ["finished", "finished"]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudyProcess]:
    """A server that waits one second for headers and for a body."""
    study = tiny_study(tmp_path_factory.mktemp("quick") / "study", watch_whole=False)
    limits = ConnectionLimits(header_seconds=1, body_seconds=1)
    with StudyProcess(study.path, connections=limits) as server:
        yield server


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param((), id="nothing"),
        pytest.param((HALF,), id="half the headers"),
        pytest.param((HALF, b"\r\n", b"ab"), id="half the body"),
        # It takes as long as a connection may rest between two requests.
        pytest.param(
            (b"GET /static/icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n", HALF),
            id="half a second request",
            marks=pytest.mark.full,
        ),
    ],
)
def test_requests_arrive_in_time_or_not_at_all(quick: StudyProcess, sent: tuple[bytes, ...]) -> None:
    with connect(quick.port, *sent) as connection:
        while not is_closed(connection):
            pass


def test_bytes_that_trickle_in_do_not_prolong_the_wait(quick: StudyProcess) -> None:
    with connect(quick.port, b"GET /static/icon.svg HTTP/1.1\r\nHost: localhost\r\n") as connection:
        connection.settimeout(0.2)
        for number in range(5 * PATIENCE):
            try:
                connection.sendall(b"X-Slow-%d: 1\r\n" % number)
            except ConnectionError:
                return
            if is_closed(connection):
                return
        raise AssertionError("ten minutes of single headers were waited for")


def test_a_connection_between_two_requests_stays(quick: StudyProcess) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", quick.port, timeout=PATIENCE)
    for pause in (2.5, 0):
        connection.request("GET", "/static/icon.svg")
        answer = connection.getresponse()
        assert (answer.status, answer.read()[:4]) == (200, b"<svg")
        local = connection.sock.getsockname()
        time.sleep(pause)
    assert connection.sock.getsockname() == local, "it was the same connection"
    connection.close()


def test_media_have_limits_too(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "study", watch_whole=False)
    with open_served_store(loaded) as store:
        app = build_app(loaded, store, limits=RateLimits(media=(0.001, 3)))
        walker = invite_walker(app, store)
        address = walker.media[0]
        statuses = [walker.client.get(address).status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        assert walker.get("/study").status_code == 200, "pages have a limit of their own"
        other = invite_walker(app, store)
        assert other.client.get(other.media[0]).status_code == 200, "and so has everybody else"
        few = Walker(build_app(loaded, store, limits=RateLimits(together=(0.001, 1))))
        assert [few.client.get(address).status_code for _ in range(2)] == [401, 429]


def test_only_so_many_files_are_sent_to_one_person_at_once() -> None:
    limits = RateLimits(downloads=2)
    with limits.downloading(1), limits.downloading(1):
        assert not limits.media(1)
        assert limits.media(2)
    assert limits.media(1)


@contextmanager
def run_nginx(folder: Path, upstream: int) -> Iterator[int]:
    """A real nginx with the configuration that the documentation gives; its port."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("no nginx here; scripts/ensure-programs installs one where it may")
    blocks = re.findall(r"```nginx\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1, "the documentation has one configuration"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    text = re.sub(r"listen 443 ssl;", f"listen 127.0.0.1:{port};", blocks[0])
    text = re.sub(r"^\s*ssl_certificate.*$", "", text, flags=re.MULTILINE)
    text = text.replace("127.0.0.1:8770", f"127.0.0.1:{upstream}")
    text = re.sub(r"(client_(?:header|body)_timeout) \d+s", r"\1 1s", text)
    temp = "\n".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"events {{ worker_connections 512; }}\nhttp {{ access_log {folder}/access.log; {temp}\n{text}\n}}\n"
    )
    process = subprocess.Popen([program, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(file)])
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                connect(port).close()
                break
            except OSError:
                errors = folder / "error.log"
                assert process.poll() is None, errors.read_text() if errors.exists() else "nginx ended"
                assert time.monotonic() < until
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.mark.full
def test_the_documented_nginx(tmp_path: Path) -> None:
    """Half-sent requests end at nginx; people, ranges, large bodies and the origin check work through it."""
    study = tiny_study(tmp_path / "study", watch_whole=False)
    with open_store(study.path) as store:
        tokens = invite(store, 1)
    options: dict[str, Any] = {"public": "http://lab.example/study"}
    (tmp_path / "nginx").mkdir()
    with ExitStack() as stack:
        server = stack.enter_context(StudyProcess(study.path, **options))
        port = stack.enter_context(run_nginx(tmp_path / "nginx", server.port))
        crowd = [stack.enter_context(connect(port, HALF)) for _ in range(40)]
        assert "Thank you" in walk_through(f"http://127.0.0.1:{port}", tokens[0], "/study")
        assert all(is_closed(connection) for connection in crowd)
        for path, data, origin, status in (
            ("/study/study/consent", b"x" * 2_000_000, "", 413),
            ("/study/study/consent", b"form=x", "http://elsewhere.example", 403),
            ("/elsewhere", None, "", 404),
        ):
            headers = {"Origin": origin} if origin else {}
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
            with pytest.raises(urllib.error.HTTPError) as refusal:
                urllib.request.urlopen(request, timeout=PATIENCE)
            assert refusal.value.code == status
            refusal.value.close()
        assert "/join/" not in (tmp_path / "nginx" / "access.log").read_text(), "links are not logged"
    with open_store(study.path) as store:
        assert next(store.people()).state == "finished"


def test_two_servers_on_one_database(tmp_path: Path, url: str | None) -> None:
    """Everybody's requests go to one server and the other in turn; one of them is killed on the way and comes back."""
    study = tiny_study(tmp_path / "study", watch_whole=False)
    with open_store(study.path, url) as store:
        tokens = invite(store, 4)
    with StudyProcess(study.path, url) as one, StudyProcess(study.path, url) as two:
        servers = [one.address, two.address]
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(walk_alternately, servers, token) for token in tokens]
            time.sleep(0.3)
            two.kill()
            two.start()
            pages = [job.result() for job in jobs]
    assert all("Thank you" in page for page in pages)
    with open_store(study.path, url) as store:
        result = list(store.judgements())
        assert {line.finished for line in store.progress().items} == {2}
        assert len({(j.annotator, j.item) for j in result}) == len(result) == 12


def walk_alternately(servers: list[str], token: str) -> str:
    """A whole session, each request to the next server; one that does not answer is asked again at another."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    turn = itertools.cycle(servers)

    def ask(path: str, fields: dict[str, str] | None = None) -> str:
        data = None if fields is None else urllib.parse.urlencode(fields).encode()
        for _ in range(10 * PATIENCE):
            try:
                with opener.open(f"{next(turn)}{path}", data, timeout=PATIENCE) as answer:
                    return str(answer.read().decode())
            except urllib.error.HTTPError as error:
                error.close()
                if error.code != 503:
                    raise
                # The database was locked by the other server for too long; pages try again then too.
                time.sleep(0.1)
            except (urllib.error.URLError, ConnectionError, http.client.HTTPException):
                time.sleep(0.1)
        raise AssertionError("no server answers")

    page = ask(f"/join/{token}")
    for _ in range(100):
        form = re.findall(r'name="form" value="([^"]+)"', page)
        name = re.findall(r'name="page" value="([^"]+)"', page)
        if name:
            page = ask("/study/answer", {"form": form[0], "page": name[0], "choice": "1"})
        elif "Thank you" in page:
            break
        else:
            step = next(step for step in ("consent", "about", "begin") if f"/study/{step}" in page)
            more = {"consent": {"agree": "yes"}, "about": {"about.age": "1"}, "begin": {}}[step]
            page = ask(f"/study/{step}", {"form": form[0], **more})
    return page


def test_only_this_machines_names_are_answered_without_a_public_address(tmp_path: Path) -> None:
    study = tiny_study(tmp_path)
    with StudyProcess(study.path) as server:
        for host, status in (
            ("evil.example", 403),
            ("127.0.0.1.evil.example", 403),
            (f"localhost:{server.port}", 200),
            (f"127.0.0.1:{server.port}", 200),
        ):
            request = urllib.request.Request(f"{server.address}/static/icon.svg", headers={"Host": host})
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                    assert answer.status == status, host
            except urllib.error.HTTPError as error:
                assert error.code == status, host
    with StudyProcess(study.path, public="https://lab.example/study") as server:
        address = f"{server.address}/study/static/icon.svg"
        request = urllib.request.Request(address, headers={"Host": "lab.example"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            assert answer.status == 200
