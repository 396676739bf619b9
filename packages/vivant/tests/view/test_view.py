"""The viewer without a browser: what it serves, what it refuses, and how it reads damaged runs."""

from __future__ import annotations

import json
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.support.browser_kit import run_viewer
from tests.support.helpers import picture, vivant
from tests.support.view_kit import choice_samples, make_records, write_run
from vivant.analysis.reasoning.label_files import Label, LabelledReply, write_labels
from vivant.core.errors import UsageError
from vivant.core.records import MediaUse, Record
from vivant.core.types import Image, Message, Reply, Sample, Text
from vivant.engine.evaluation import evaluate
from vivant.runs.directory import RunDir
from vivant.runs.log import LogWriter
from vivant.view.query import SampleFilter
from vivant.web.server import bind, is_loopback


def get(address: str, **headers: str) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers of a page."""
    request = urllib.request.Request(
        address, headers={name.replace("_", "-"): v for name, v in headers.items()}
    )
    try:
        while True:
            with urllib.request.urlopen(request, timeout=600) as answer:
                page = answer.read().decode("utf-8", "replace")
                if answer.status != 202:  # the run is being read
                    return answer.status, page, dict(answer.headers)
            time.sleep(0.1)
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace"), dict(error.headers)


def key(value: str) -> str:
    return urllib.parse.urlencode({"key": value})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two made-up runs of ten questions."""
    root = tmp_path_factory.mktemp("runs")
    samples = choice_samples(10)
    for name, right in (("a", 6), ("b", 4)):
        replies = [Reply(text="B" if number < right else "C") for number in range(9)]
        replies.append(Reply(status="error", error="HTTP 500"))
        write_run(root / name, samples, make_records(samples, replies), model=name).scores()
    return root


@pytest.fixture(scope="module")
def viewer(runs: Path) -> Iterator[str]:
    with run_viewer(runs) as address:
        yield address


def test_filters_by_outcome_status_facet_and_words(viewer: str) -> None:
    def total(query: str) -> str:
        page = get(f"{viewer}/run/a?{query}")[1]
        return page.split('id="total">')[1].split("<")[0]

    assert total("") == "10"
    assert total("outcome=right") == "6"
    assert total("outcome=wrong") == "3"
    assert total("outcome=error") == "1"
    assert total("f.half=even") == "5"
    assert total("f.third=0") == "4"
    assert total("f.half=even&f.third=0") == "2"
    assert total("q=number+7") == "1"
    assert total("q=nowhere") == "0"
    assert total("outcome=right&f.half=odd") == "3"
    assert total("q=%22%29+OR+1") in ("0", "1")
    assert total("page=99&sort=-score") == "10"
    assert total("f.unknown=x") == "0"


def test_a_shared_link_opens_the_same_sample_with_its_neighbours(viewer: str) -> None:
    status, page, _ = get(f"{viewer}/run/a/sample?outcome=right&{key('jsonl/made/q2')}")
    assert status == 200
    assert "jsonl%2Fmade%2Fq1" in page and "jsonl%2Fmade%2Fq3" in page
    assert "choice B of 2" in page and "Question number 2" in page


def test_a_sample_says_what_other_runs_made_of_it(viewer: str) -> None:
    get(f"{viewer}/run/b")  # so that its index is there
    page = get(f"{viewer}/run/a/sample?{key('jsonl/made/q5')}")[1]
    beside = page.split("The same sample in other runs")[1].split("</ul>")[0]
    assert '<span class="mark wrong">wrong</span>' in beside and ">b</bdi>" in beside
    assert "choice C of 5" in beside and "/compare/sample?run=a&amp;run=b&amp;key=" in beside
    assert "HTTP 500" in get(f"{viewer}/run/a/sample?{key('jsonl/made/q9')}")[1].split("in other runs")[1]


def test_runs_side_by_side(viewer: str) -> None:
    def total(query: str) -> str:
        return get(f"{viewer}/compare?{query}")[1].split('id="total">')[1].split("<")[0]

    assert total("run=a&run=b&kind=only-0") == "2"
    assert total("run=a&run=b&kind=only-1") == "0"
    assert total("run=a&run=b&kind=differ") == "2"
    assert total("run=a&run=b&kind=all-wrong") == "3"
    assert total("run=a&run=b&kind=all-right") == "4"
    assert total("run=a&run=b&kind=all") == "10"
    assert total("cell=a|jsonl/made&cell=b|jsonl/made&kind=lost") == "1"
    page = get(f"{viewer}/compare?run=a&run=b&kind=only-0")[1]
    assert "Question number 4:" in page and "Question number 5:" in page and "Question number 1:" not in page
    assert "choice B of 4" in page and "choice C of 4" in page, "key and answers in words"
    page = get(f"{viewer}/compare/sample?run=a&run=b&{key('jsonl/made/q4')}")[1]
    assert page.count("<b>B</b> <bdi>choice B of 4") == 2
    assert page.count("<h2>Prompt</h2>") == 2, "what was asked, where the sample alone does not say it"
    assert get(f"{viewer}/compare?run=a&run=nothing")[0] == 404
    assert get(f"{viewer}/compare?run=a")[0] == 404


def test_every_page_forbids_scripts_of_others(viewer: str) -> None:
    for path in ("/", "/runs", "/run/a", "/run/none", "/static/view.js"):
        headers = get(viewer + path)[2]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_other_hosts_are_refused_without_a_token(viewer: str) -> None:
    for host in ("evil.example", "testserver", "127.0.0.1.evil.example", "localhost.evil.example:80"):
        assert get(viewer, Host=host)[0] == 403, host
    for host in ("localhost:99", "127.0.0.1", "[::1]:8765"):
        assert get(viewer, Host=host)[0] == 200, host


def test_with_a_token_nothing_is_shown_without_it(runs: Path) -> None:
    with run_viewer(runs, token="s3cret") as address:
        for path in ("/", "/run/a", "/static/view.css", "/?token=wrong"):
            assert get(address + path)[0] == 403
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(f"{address}/run/a?token=s3cret&q=number") as answer:
            assert "token" not in answer.url and answer.url.endswith("q=number")
            assert b"Question number" in answer.read()


@pytest.fixture
def pictured(tmp_path: Path) -> tuple[Path, Path]:
    """A run that names a good picture and several files that must not be sent."""
    data, root = tmp_path / "data", tmp_path / "runs"
    data.mkdir()
    picture(data / "good.png")
    (tmp_path / "secret.png").write_bytes((data / "good.png").read_bytes())
    (data / "page.png").write_text("<html><script>alert(1)</script>")
    (data / "notes.png").write_text("password: hunter2")
    (data / "link.png").symlink_to(tmp_path / "secret.png")
    paths = ["good.png", "../secret.png", "/etc/passwd", "page.png", "notes.png", "link.png", "gone.png"]
    sample = Sample(id="s", task="jsonl/made", question=tuple(Image(path) for path in paths))
    record = Record(key="jsonl/made/s", task="jsonl/made", id="s", reply=Reply(text="x"),
                    messages=(Message("user", sample.question),))  # fmt: skip
    write_run(root / "run", [sample], [record])
    manifest = json.loads((root / "run" / "manifest.json").read_text())
    manifest["roots"] = {"jsonl/made": str(data)}
    (root / "run" / "manifest.json").write_text(json.dumps(manifest))
    return root, data


def test_only_media_inside_the_data_folder_are_sent(pictured: tuple[Path, Path]) -> None:
    root, _ = pictured
    with run_viewer(root) as address:
        status, _, headers = get(f"{address}/media/run/0?{key('jsonl/made/s')}")
        assert (status, headers["content-type"]) == (200, "image/png")
        for place in range(1, 8):
            status, page, _ = get(f"{address}/media/run/{place}?{key('jsonl/made/s')}")
            assert status == 404 and "hunter2" not in page and "root:" not in page
        assert get(f"{address}/media/run/-1?{key('jsonl/made/s')}")[0] == 404
        assert get(f"{address}/media/..%2F..%2Fetc/0?{key('x')}")[0] == 404
        assert get(f"{address}/static/..%2Fapp.py")[0] == 404


def test_elsewhere_only_folders_that_were_named(pictured: tuple[Path, Path], tmp_path: Path) -> None:
    root, data = pictured
    with run_viewer(root, data=[tmp_path / "other"]) as address:
        status, page, _ = get(f"{address}/media/run/0?{key('jsonl/made/s')}")
        assert status == 404 and f"--data {data}" in page
    with run_viewer(root, data=[data]) as address:
        assert get(f"{address}/media/run/0?{key('jsonl/made/s')}")[0] == 200


def test_a_run_cannot_name_the_whole_disk(pictured: tuple[Path, Path]) -> None:
    root, data = pictured
    manifest = json.loads((root / "run" / "manifest.json").read_text())
    manifest["roots"] = {"jsonl/made": "/"}
    (root / "run" / "manifest.json").write_text(json.dumps(manifest))
    line = (root / "run" / "samples.jsonl").read_text().replace("good.png", f"{data}/good.png".lstrip("/"))
    (root / "run" / "samples.jsonl").write_text(line)
    with run_viewer(root) as address:
        status, page, _ = get(f"{address}/media/run/0?{key('jsonl/made/s')}")
        assert status == 404 and "whole disk" in page


def test_videos_are_sent_in_pieces(tmp_path: Path) -> None:
    evaluate("mmrv", "random", data=("mini",), limit=2, out=str(tmp_path / "run"))
    first = msgspec.json.decode((tmp_path / "run" / "log.jsonl").read_bytes().splitlines()[0])
    with run_viewer(tmp_path) as address:
        status, body, headers = get(f"{address}/media/run/0?{key(first['key'])}", Range="bytes=0-99")
        assert status == 206 and headers["content-range"].startswith("bytes 0-99/")
        assert headers["content-type"] == "video/mp4" and "ftyp" in body


def test_a_growing_log_is_followed_and_a_rewritten_one_read_anew(tmp_path: Path) -> None:
    samples = choice_samples(6)
    records = make_records(samples, [Reply(text=f"reply {number}") for number in range(6)])
    write_run(tmp_path / "run", samples, records[:2])
    folder = RunDir(tmp_path / "run")

    def count(address: str) -> int:
        waiting = get(f"{address}/run/run?outcome=waiting")[1].split('id="total">')[1].split("<")[0]
        return 6 - int(waiting)

    with run_viewer(tmp_path) as address:
        assert count(address) == 2
        with LogWriter(folder.log_file) as log:
            log.append(records[2])
        with folder.log_file.open("ab") as torn:
            torn.write(b'{"key": "jsonl/made/q3", "ta')
        assert count(address) == 3
        assert "running" in get(f"{address}/runs")[1]
        with LogWriter(folder.log_file) as log:
            log.drop(lambda record: record.id == "q0")
            log.append(records[3])
        assert count(address) == 3
        assert "not answered yet" in get(f"{address}/run/run/sample?{key('jsonl/made/q0')}")[1]
        assert "reply 3" in get(f"{address}/run/run/sample?{key('jsonl/made/q3')}")[1]


def test_broken_lines_and_manifests_are_shown_as_such(tmp_path: Path) -> None:
    samples = choice_samples(3)
    for name in ("lines", "manifest", "older", "lost"):
        write_run(tmp_path / name, samples, make_records(samples, [Reply(text="B")] * 3))
    log = tmp_path / "lines" / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(lines[0] + b"{not json}\n" + b'{"key": 7}\n' + lines[2])
    (tmp_path / "manifest" / "manifest.json").write_text('{"format": 1, "run"')
    old = json.loads((tmp_path / "older" / "manifest.json").read_text())
    for name in ("versions", "machine", "server", "command", "notes"):
        del old[name]
    old["settings"] = {name: old["settings"][name] for name in ("tasks", "model", "style", "data")}
    (tmp_path / "older" / "manifest.json").write_text(json.dumps(old))
    (tmp_path / "lost" / "manifest.json").unlink()
    with run_viewer(tmp_path) as address:
        page = get(address)[1]
        assert "manifest.json cannot be read" in page and "it has no manifest.json" in page
        page = get(f"{address}/run/lines")[1]
        assert "these lines are not records and are left out: 2, 3" in page
        assert page.split('id="total">')[1].startswith("3<")
        assert get(f"{address}/run/older")[0] == 200
        assert get(f"{address}/run/lost")[0] == 200
        assert "Question number 1" in get(f"{address}/run/lost/sample?{key('jsonl/made/q1')}")[1]
        assert get(f"{address}/runs")[0] == 200


def test_a_damaged_index_is_made_again(runs: Path) -> None:
    from vivant.view.index import RunIndex

    with run_viewer(runs) as address:
        assert get(f"{address}/run/a")[0] == 200
        RunIndex(runs / "a", "paper").file.write_bytes(b"no database" * 100)
        status, page, _ = get(f"{address}/run/a")
        assert status == 200 and page.split('id="total">')[1].startswith("10<")


def test_no_runs_yet(tmp_path: Path) -> None:
    with run_viewer(tmp_path) as address:
        assert "There are no runs here yet" in get(address)[1]
        assert get(f"{address}/runs")[0] == 200
        assert get(f"{address}/run/none")[0] == 404


def test_long_texts_are_cut_with_a_way_to_all_of_them(tmp_path: Path) -> None:
    samples = choice_samples(1)
    long = "<b>word</b> " * 100_000
    write_run(tmp_path / "run", samples, make_records(samples, [Reply(text=long, thinking="why " * 9)]))
    with run_viewer(tmp_path) as address:
        page = get(f"{address}/run/run/sample?{key('jsonl/made/q0')}")[1]
        assert len(page) < 200_000 and "<b>word" not in page and "more characters" in page
        _, whole, headers = get(f"{address}/run/run/text?part=reply&{key('jsonl/made/q0')}")
        assert whole == long and headers["content-type"].startswith("text/plain")


def test_port_in_use_and_other_mistakes_are_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = vivant("view", tmp_path, "--port", str(port), cwd=tmp_path)
        assert done.returncode == 1 and f"Port {port} is in use; choose another" in done.stderr
        assert done.stderr.count("\n") == 1
    with pytest.raises(UsageError, match="Cannot listen"):
        bind("203.0.113.7", 0)
    with pytest.raises(UsageError, match="is no port"):
        bind("127.0.0.1", 99999)
    done = vivant("view", tmp_path / "nowhere", cwd=tmp_path)
    assert done.returncode == 1 and "is no folder" in done.stderr


def test_loopback_is_told_from_elsewhere() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.2", "example.org")] == [False] * 4


def test_filters_survive_their_own_address() -> None:
    wanted = SampleFilter(
        task="a/b", outcome="wrong", text='"x" & y', facets={"näme": "v=1&2"}, sort="-score"
    )
    assert SampleFilter.parse(dict(urllib.parse.parse_qsl(wanted.address()))) == wanted
    assert SampleFilter.parse({"outcome": "'; DROP TABLE row", "sort": "n; --"}) == SampleFilter()


def test_repeats_are_rows_of_their_own(tmp_path: Path) -> None:
    run = evaluate("mmrv", "random", data=("mini",), limit=3, repeat=2, out=str(tmp_path / "run"))
    run.scores()
    with run_viewer(tmp_path) as address:
        page = get(f"{address}/run/run")[1]
        assert page.split('id="total">')[1].startswith("6<") and "%231" in page


def test_text_of_a_sample_without_a_record_is_shown(tmp_path: Path) -> None:
    sample = Sample(id="s", task="gone/task", question=(Text("Who?"),))
    write_run(tmp_path / "run", [sample], [])
    with run_viewer(tmp_path) as address:
        assert "Who?" in get(f"{address}/run/run/sample?{key('gone/task/s')}")[1]
        assert get(f"{address}/runs")[0] == 200


def test_a_sample_says_how_its_video_was_given(tmp_path: Path) -> None:
    samples = choice_samples(3)
    uses = (
        MediaUse("video", "v.mp4", times=(0.0, 0.5), shown_as="video", fps=2.0, size=(160, 120)),
        MediaUse("video", "w.mp4", shown_as="file", note="the server chooses the frames"),
        MediaUse("video", "x.mp4"),
    )
    records = [
        msgspec.structs.replace(record, media=(use,), cached=use.path == "x.mp4")
        for record, use in zip(make_records(samples, [Reply(text="B")] * 3), uses, strict=True)
    ]
    write_run(tmp_path / "run", samples, records)
    with run_viewer(tmp_path) as address:
        pages = [get(f"{address}/run/run/sample?{key(f'jsonl/made/q{n}')}")[1] for n in range(3)]
    assert "<bdi>v.mp4</bdi>, as a video, 2 frames, 2 a second, 160 × 120</dd>" in pages[0]
    assert "<bdi>w.mp4</bdi>, as a file (the server chooses the frames)</dd>" in pages[1]
    assert "sent whole" in pages[1]
    assert "sent whole" not in pages[2]
    assert "came from the cache" in pages[2]


def test_labelled_reasoning_is_coloured_while_the_reply_is_the_same(tmp_path: Path) -> None:
    samples = choice_samples(2)
    text = "The hand turns a wheel. People do that in cars. B"
    run = write_run(tmp_path / "run", samples, make_records(samples, [Reply(text=text)] * 2))
    labels = (Label(start=0, end=23, rests_on="seen", frame=2), Label(start=24, end=47, rests_on="knowledge"))
    write_labels(
        run.dir.path,
        "people",
        [
            LabelledReply(
                key=f"jsonl/made/q{n}",
                task="jsonl/made",
                id=f"q{n}",
                by="people",
                segments=labels,
                length=length,
            )
            for n, length in ((0, len(text)), (1, 7))
        ],
    )
    with run_viewer(tmp_path) as address:
        page = get(f"{address}/run/run/sample?{key('jsonl/made/q0')}")[1]
        assert 'title="rests on seen, frame 2">The hand turns a wheel.</mark>' in page
        assert 'title="rests on knowledge">People do that in cars.</mark>' in page
        assert "rests on" not in get(f"{address}/run/run/sample?{key('jsonl/made/q1')}")[1]
        (run.dir.path / "reasoning" / "people.jsonl").write_text("{oops\n")
        status, page, _ = get(f"{address}/run/run/sample?{key('jsonl/made/q0')}")
        assert status == 200 and "people.jsonl, line 1" in page
