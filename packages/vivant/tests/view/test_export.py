"""The viewer as a folder of files: complete, relative, within its limits, and harmless."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.support.runs_kit import call
from tests.support.view_kit import choice_samples, make_records, write_run
from vivant.core.errors import UsageError
from vivant.core.types import Reply
from vivant.engine.evaluation import evaluate
from vivant.view.export import export_site

LOOKER = """
from vivant.models.base import Capabilities
from vivant.core.types import Reply

class M:
    capabilities = Capabilities(images=True)

    async def generate(self, request):
        return Reply(text=request.answer_form.format(request.options[0].name))
"""


class _Addresses(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, _tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attributes if name in ("href", "src") and value]


def _check_links(site: Path) -> int:
    """Every address on every page leads to a file of the export."""
    count = 0
    for page in site.rglob("*.html"):
        parser = _Addresses()
        parser.feed(page.read_text())
        for address in parser.found:
            path = address.partition("#")[0].partition("?")[0]
            assert not re.match(r"/|\w+:", path), f"{page.name}: {address} leaves the folder"
            if path:
                assert (page.parent / path).is_file(), f"{page.name}: {address} leads nowhere"
                count += 1
    return count


def test_every_link_of_an_export_leads_to_a_file(tmp_path: Path) -> None:
    samples = choice_samples(9)
    for name in ("runs/a", "runs/deep/b c", "runs/d"):
        write_run(tmp_path / name, samples, make_records(samples, [Reply(text="B")] * 7), model=name)
    result = export_site(tmp_path / "runs", tmp_path / "site", samples=5)
    assert (result.runs, result.samples, result.pictures) == (3, 15, 0)
    assert _check_links(tmp_path / "site") > 50
    home = (tmp_path / "site" / "index.html").read_text()
    assert str(tmp_path) not in home, "who shares a site does not tell where the runs were"
    assert "<b>100.0</b>" in home and "at most 5 samples of each run, 40 comparisons" in home
    assert "without pictures and videos" in home
    page = (tmp_path / "site" / "run" / "a" / "index.html").read_text()
    assert "the first 5 exported" in page and 'id="total">9<' in page


def test_each_task_of_a_run_has_its_breakdown_in_an_export(tmp_path: Path) -> None:
    evaluate("mimic", "random", data=("mini",), limit=6, out=str(tmp_path / "runs" / "run")).scores()
    export_site(tmp_path / "runs", tmp_path / "site", samples=2)
    folder = tmp_path / "site" / "run" / "run"
    tasks = json.loads((tmp_path / "runs" / "run" / "manifest.json").read_text())["tasks"]
    titles = {
        re.findall(r'<h1>.*?muted">(.*?)<', page.read_text())[0] for page in folder.glob("breakdown*.html")
    }
    assert titles == set(tasks) and len(tasks) > 5
    first = (folder / "breakdown.html").read_text()
    assert all(f">{task}</a>" in first for task in tasks)
    _check_links(tmp_path / "site")


def test_pictures_are_thinned_and_stay_within_the_limit(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(LOOKER)
    evaluate("mmrv", f"{tmp_path / 'm.py'}:M", data=("mini",), limit=4, out=str(tmp_path / "runs" / "eyes"))
    whole = export_site(tmp_path / "runs", tmp_path / "whole", media=20)
    assert whole.pictures == 16, "four of eight frames of each sample"
    _check_links(tmp_path / "whole")
    assert "within 20 MB" in (tmp_path / "whole" / "index.html").read_text()
    limit = whole.megabytes / 2
    half = export_site(tmp_path / "runs", tmp_path / "half", media=limit)
    size = sum(file.stat().st_size for file in (tmp_path / "half" / "media").iterdir())
    assert 0 < size <= limit * 1e6 and 0 < half.pictures + half.videos < whole.pictures + whole.videos
    page = (tmp_path / "whole" / "run" / "eyes" / "1.html").read_text()
    assert page.count("<img") == 4 and "8 pictures, of which 4 are exported" in page
    assert page.count("<video") == 1 and whole.videos == len(list((tmp_path / "whole").rglob("*.mp4")))
    none = export_site(tmp_path / "runs", tmp_path / "none")
    assert (none.pictures, none.videos) == (0, 0) and not (tmp_path / "none" / "media").exists()
    assert "video, not exported" in (tmp_path / "none" / "run" / "eyes" / "1.html").read_text()


def test_media_that_runs_share_are_copied_once(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(LOOKER)
    for name in ("a", "b"):
        out = str(tmp_path / "runs" / name)
        evaluate("mmrv", f"{tmp_path / 'm.py'}:M", data=("mini",), limit=2, out=out)
    site = tmp_path / "site"
    result = export_site(tmp_path / "runs", site, media=20)
    pages = [(site / "run" / name / "1.html").read_text() for name in ("a", "b")]
    videos = [re.findall(r'<video src="([^"#]+)', page) for page in pages]
    assert videos[0] == videos[1] and len(videos[0]) == 1
    assert result.videos == len({path.name for path in site.rglob("*.mp4")}) <= 2
    assert result.pictures == 16 and len(list(site.rglob("*.jpg"))) == 8


def test_a_copy_of_a_video_is_small_and_keeps_its_time(tmp_path: Path) -> None:
    import av

    from vivant.mini import root
    from vivant.view.export_media import RATE, SIDE

    (tmp_path / "m.py").write_text(LOOKER)
    evaluate("mmrv", f"{tmp_path / 'm.py'}:M", data=("mini",), limit=1, out=str(tmp_path / "runs" / "a"))
    export_site(tmp_path / "runs", tmp_path / "site", media=20)
    (copy,) = (tmp_path / "site").rglob("*.mp4")
    sample = json.loads((tmp_path / "runs" / "a" / "samples.jsonl").read_text().splitlines()[0])
    name = next(part for part in sample["question"] if part.get("kind") == "video")
    folder = root("mmrv")
    assert folder is not None
    (source,) = folder.rglob(Path(name["path"]).name)
    with av.open(str(copy)) as small, av.open(str(source)) as large:
        stream, whole = small.streams.video[0], large.streams.video[0]
        assert max(stream.width, stream.height) <= SIDE and not small.streams.audio
        seconds = (large.duration or 0) / 1e6
        assert abs((small.duration or 0) / 1e6 - seconds) < 0.5
        assert stream.frames <= seconds * RATE + 1 < whole.frames


def test_comparisons_are_exported_with_samples_side_by_side(tmp_path: Path) -> None:
    samples = choice_samples(6)
    for name, letters in (("a", "BBBBBB"), ("b", "BCBCBC"), ("c", "CCCCCC")):
        records = make_records(samples, [Reply(text=letter) for letter in letters])
        write_run(tmp_path / "runs" / name, samples, records, model=name)
    site = tmp_path / "site"
    result = export_site(tmp_path / "runs", site)
    assert result.comparisons == 4, "three pairs, and all three"
    _check_links(site)
    both = next(page for page in site.glob("compare/*/differ.html") if set(_list_runs(page)) == {"a", "b"})
    text = both.read_text()
    assert "answered differently" in text and 'id="total">3<' in text
    assert len(re.findall(r'href="(?:\.\./)+compare/\d+/\d+\.html"', text)) == 3
    side = both.parent / "1.html"
    assert side.read_text().count("<h2>Answer") == 2
    assert "Compare with" in (site / "run" / "a" / "index.html").read_text()
    assert "The same sample in other runs" in (site / "run" / "a" / "2.html").read_text()


def _list_runs(page: Path) -> list[str]:
    return re.findall(r"<li><b>[A-H]</b> <a [^>]*><bdi>([^<]+)</bdi>", page.read_text())


def test_hostile_names_stay_inside_the_folder_and_are_text(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    samples = choice_samples(2)
    run = write_run(
        tmp_path / "runs" / "x..<b>&y", samples, make_records(samples, [Reply(text=evil)] * 2), model=evil
    )
    assert run.path.exists()
    export_site(tmp_path / "runs", tmp_path / "site")
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) == 6 and all(page.is_relative_to(tmp_path / "site") for page in pages)
    assert all(evil not in page.read_text() for page in pages)
    assert "default-src 'none'" in pages[0].read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "site"}


def test_an_export_replaces_its_like_and_nothing_else(tmp_path: Path) -> None:
    samples = choice_samples(2)
    write_run(tmp_path / "runs" / "a", samples, make_records(samples, [Reply(text="B")] * 2))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="not empty and no earlier export"):
        export_site(tmp_path / "runs", tmp_path / "site")
    assert (tmp_path / "site" / "thesis.tex").read_text() == "years of work"
    export_site(tmp_path / "runs", tmp_path / "other")
    (tmp_path / "other" / "run" / "a" / "stale.html").write_text("old")
    export_site(tmp_path / "runs", tmp_path / "other")
    assert not (tmp_path / "other" / "run" / "a" / "stale.html").exists()
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"Cannot write .*; name another folder"):
        export_site(tmp_path / "runs", tmp_path / "file" / "site")
    with pytest.raises(UsageError, match="no run"):
        (tmp_path / "nothing").mkdir()
        export_site(tmp_path / "nothing", tmp_path / "third")


def test_an_export_that_fails_leaves_the_earlier_one(tmp_path: Path) -> None:
    samples = choice_samples(2)
    write_run(tmp_path / "runs" / "a", samples, make_records(samples, [Reply(text="B")] * 2))
    (tmp_path / "empty").mkdir()
    site = tmp_path / "site"

    def stop(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_site(tmp_path / "runs", site, report=stop)
    export_site(tmp_path / "runs", site)  # what was stopped is not in the way
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="no run"):
        export_site(tmp_path / "empty", site)
    with pytest.raises(KeyboardInterrupt):
        export_site(tmp_path / "runs", site, report=stop)
    assert before == {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "empty", "site"}


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = choice_samples(2)
    write_run(tmp_path / "runs" / "a", samples, make_records(samples, [Reply(text="B")] * 2))
    write_run(tmp_path / "runs" / "lost", samples, [])
    (tmp_path / "runs" / "lost" / "manifest.json").write_text("{")
    assert call("view", tmp_path / "runs", "--export", tmp_path / "site") == 0
    text = capsys.readouterr().err
    assert "Wrote 1 runs, 2 samples" in text and "Left out: " in text and "manifest.json" in text
    assert json.loads((tmp_path / "site" / "vivant-export.json").read_text())["runs"] == 1


def test_people_stand_beside_judges(tmp_path: Path) -> None:
    from vivant.judging.human_scores import read_human_scores

    samples = choice_samples(1)
    write_run(tmp_path / "runs" / "a", samples, make_records(samples, [Reply(text="B")]), model="m")
    (tmp_path / "people.csv").write_text("id,score,model,annotator\nq0,4,m,anna\nq0,2,m,ben\n")
    people = read_human_scores(tmp_path / "people.csv")
    export_site(tmp_path / "runs", tmp_path / "site", people=people)
    page = (tmp_path / "site" / "run" / "a" / "1.html").read_text()
    assert "<summary>People" in page and "4 (anna); 2 (ben)" in page
