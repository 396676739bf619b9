"""What the viewer shows beside a score to explain it: confusions, bins, marks in replies, the order of lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.support.browser_kit import run_viewer
from tests.support.view_kit import choice_samples, make_records, write_run
from tests.view.test_view import get, key
from vivant.core.files import write_jsonl
from vivant.core.records import MediaUse, Record
from vivant.core.types import Reply, Sample
from vivant.view.breakdown import find_confusion, list_breakdowns
from vivant.view.index import RunIndex
from vivant.view.query import SampleFilter, count_rows, find_neighbours, list_page, order_rows, select_rows
from vivant.view.sample_view import find_extraction, split_reply


@pytest.fixture
def explained(tmp_path: Path) -> Iterator[RunIndex]:
    """Twelve samples: the model says C where D is the key, and is right on short videos alone."""
    samples = [
        msgspec.structs.replace(sample, key=number % 4, cluster="")
        for number, sample in enumerate(choice_samples(12))
    ]
    records: list[Record] = []
    for number, record in enumerate(make_records(samples, [Reply(text="x")] * 12)):
        name = "C" if number % 4 == 3 else "ABCD"[number % 4]
        media = (MediaUse("video", "v.mp4", times=(0.0, 5.0 if number % 4 != 3 else 50.0)),)
        records.append(msgspec.structs.replace(record, reply=Reply(text=name), media=media))
    write_run(tmp_path / "run", samples, records)
    index = RunIndex(tmp_path / "run", "paper")
    index.update()
    yield index


def test_which_options_are_mixed_up(explained: RunIndex) -> None:
    db = explained.open()
    confusion = find_confusion(db, "jsonl/made")
    assert confusion is not None and confusion.names == ("A", "B", "C", "D")
    assert confusion.counts == ((3, 0, 0, 0, 0), (0, 3, 0, 0, 0), (0, 0, 3, 0, 0), (0, 0, 3, 0, 0))
    db.close()


def test_accuracy_against_length_and_place(explained: RunIndex) -> None:
    db = explained.open()
    found = {
        each.title: [(each_bin.label, each_bin.n, each_bin.value) for each_bin in each.bins]
        for each in list_breakdowns(db, "jsonl/made")
    }
    assert found["Length of the video, seconds"] == [("5", 9, 100.0), ("50", 3, 0.0)]
    assert found["Place of the key"] == [("A", 3, 100.0), ("B", 3, 100.0), ("C", 3, 100.0), ("D", 3, 0.0)]
    db.close()


def test_bins_are_named_after_what_is_in_them(tmp_path: Path) -> None:
    samples = choice_samples(30)
    replies = [Reply(text="B" + "." * (10 * number)) for number in range(30)]
    write_run(tmp_path / "run", samples, make_records(samples, replies))
    index = RunIndex(tmp_path / "run", "paper")
    index.update()
    db = index.open()
    (sizes,) = (each for each in list_breakdowns(db, "jsonl/made") if "reply" in each.title)
    db.close()
    assert [each.label for each in sizes.bins][:2] == ["1 – 41", "51 – 91"], "no length belongs to two bins"


def test_confused_options_lead_to_their_samples(explained: RunIndex) -> None:
    with run_viewer(explained.run.parent) as address:
        page = get(f"{address}/run/run/breakdown")[1]
        (link,) = re.findall(r'href="(/run/run\?[^"]*o\.key=3[^"]*o\.read=2[^"]*)"', page)
        listed = get(address + link.replace("&amp;", "&"))[1]
        assert listed.split('id="total">')[1].startswith("3<")


@pytest.mark.parametrize(
    ("reply", "answer", "marked"),
    [
        ("A is tempting, but the answer is B.", "B", "answer is B"),
        ("I think [[C]] since A is not.", "C", "[[C]]"),
        ("(A) no. (B) yes. So (B)", "B", "(B)"),
        ("B. kneeling", "B", "B."),
        ("It must be the oak tree.", "D", "oak tree"),
        ("Nothing here.", "Z", None),
        ("", "A", None),
    ],
)
def test_the_extraction_is_found_in_the_reply(reply: str, answer: str, marked: str | None) -> None:
    place = find_extraction(reply, answer, "oak tree" if answer == "D" else "")
    assert (None if place is None else reply[place[0] : place[1]]) == marked


def test_thoughts_whose_opening_tag_was_in_the_prompt_are_told_from_the_answer() -> None:
    record = Record(key="k", task="t", id="i", reply=Reply(text="Hands turn.</think>\n\nAnswer: B"))
    thinking, answer = split_reply(record)
    assert answer == "Answer: B" and "Hands turn." in thinking


def test_the_reply_shows_where_the_answer_was_read(tmp_path: Path) -> None:
    samples = choice_samples(1)
    write_run(tmp_path / "run", samples, make_records(samples, [Reply(text="Not A. The answer is B.")]))
    with run_viewer(tmp_path) as address:
        page = get(f"{address}/run/run/sample?{key('jsonl/made/q0')}")[1]
    assert re.search(r'<mark class="read"[^>]*>answer is B</mark>', page)


def test_samples_that_only_the_blind_control_gets_right(tmp_path: Path) -> None:
    samples = choice_samples(6)
    replies = {"eyes": "CCBBBB", "more": "CCCBBB", "blind": "BCBBCC"}
    for name, letters in replies.items():
        run = write_run(tmp_path / name, samples, make_records(samples, [Reply(text=x) for x in letters]))
        if name == "blind":
            manifest = run.manifest
            changed = msgspec.structs.replace(
                manifest, settings=msgspec.structs.replace(manifest.settings, control="blind")
            )
            (tmp_path / name / "manifest.json").write_bytes(msgspec.json.encode(changed))
    with run_viewer(tmp_path) as address:
        page = get(f"{address}/compare?run=eyes&run=more&run=blind&kind=blind")[1]
        assert page.split('id="total">')[1].startswith("1<") and "Question number 0:" in page
        page = get(f"{address}/compare?run=eyes&run=more&run=blind&kind=all-wrong")[1]
        assert page.split('id="total">')[1].startswith("1<") and "Question number 1:" in page


def test_answers_are_compared_as_options_not_as_letters(tmp_path: Path) -> None:
    """Two runs that show options in different orders and choose the same one do not differ."""
    samples: list[Sample] = choice_samples(1)
    (plain,) = make_records(samples, [Reply(text="C")])
    order = (3, 2, 1, 0)
    options = tuple(
        msgspec.structs.replace(option, text=samples[0].options[order[place]].text)
        for place, option in enumerate(samples[0].options)
    )
    turned = msgspec.structs.replace(plain, options=options, order=order, reply=Reply(text="B"))
    for name, record in (("a", plain), ("b", turned)):
        write_run(tmp_path / name, samples, [])
        write_jsonl(tmp_path / name / "log.jsonl", [record])
    with run_viewer(tmp_path) as address:
        page = get(f"{address}/compare?run=a&run=b&kind=differ")[1]
        assert page.split('id="total">')[1].startswith("0<")
        page = get(f"{address}/compare?run=a&run=b&kind=all-wrong")[1]
        assert page.split('id="total">')[1].startswith("1<")


@pytest.mark.parametrize("sort", ["", "time", "-time", "score", "-score", "length", "-length"])
def test_rows_that_are_kept_have_the_order_of_pages_that_are_looked_up(tmp_path: Path, sort: str) -> None:
    samples = choice_samples(120)
    replies = [Reply(text="BC"[number % 2] + " " * (number % 3)) for number in range(110)]
    write_run(tmp_path / "run", samples, make_records(samples, replies))
    index = RunIndex(tmp_path / "run", "paper")
    index.update()
    db = index.open()
    asked = select_rows(db, SampleFilter(sort=sort, facets={"third": "1"}))
    kept = order_rows(db, asked)
    assert count_rows(db, kept) == count_rows(db, asked) == 40
    for number in (1, 2, 3, 4):
        pages = [[row["key"] for row in list_page(db, each, number, 40, 12)] for each in (asked, kept)]
        # Rows without a value come last; among them, the order is that of the data or its reverse.
        assert pages[0] == pages[1]
    db.close()


@pytest.mark.parametrize("sort", ["", "time", "-time", "score", "-score", "length", "-length"])
def test_next_and_previous_follow_the_order_of_the_list(tmp_path: Path, sort: str) -> None:
    samples = choice_samples(120)
    replies = [Reply(text="BCBB"[number % 4] + " " * (number % 3)) for number in range(110)]
    records = [
        msgspec.structs.replace(record, seconds=float((number * 37) % 11))
        for number, record in enumerate(make_records(samples, replies))
    ]
    write_run(tmp_path / "run", samples, records)
    index = RunIndex(tmp_path / "run", "paper")
    index.update()
    db = index.open()
    for outcome in ("", "right"):
        selection = select_rows(db, SampleFilter(sort=sort, outcome=outcome))
        total = count_rows(db, selection)
        rows = [row for page in (1, 2, 3) for row in list_page(db, selection, page, total)]
        keys = [row["key"] for row in rows]
        assert len(set(keys)) == total
        waiting = [row["log_at"] is None for row in rows]
        assert waiting == sorted(waiting), "samples without a value come last"
        for place in (0, 1, 49, 50, total - 2, total - 1):
            before, after = find_neighbours(db, selection, rows[place]["n"])
            assert before == (keys[place - 1] if place else "")
            assert after == (keys[place + 1] if place + 1 < total else "")
    db.close()
