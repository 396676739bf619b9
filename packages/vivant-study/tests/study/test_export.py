"""What a study collected, written for other programs, and MIME's own judgements there and back."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.benchmarks.mime.test_people import make_judgement
from tests.study.test_new import mmie_run
from tests.support import mimic_kit
from tests.support import parity as published
from tests.support.helpers import questions
from tests.support.media_kit import make_video
from tests.support.mime_kit import MIME, make_edition, write_lines
from tests.support.runs_kit import call
from tests.support.study_kit import OPTIONS, SOURCES, judged, tiny_study
from vivant.analysis.correction.people_files import load_people
from vivant.benchmarks.mimic.judgements import import_judgements
from vivant.benchmarks.mimic.panels import compute_outcome
from vivant.benchmarks.registry import select
from vivant.core.errors import DataError, UsageError, VivantError
from vivant.judging.human_scores import read_human_scores
from vivant.runs.importing import import_human
from vivant.runs.overview import build_overview
from vivant.runs.run import load_run
from vivant_study.design import KEY_FILE, Kind, StudyItem
from vivant_study.export import export_study
from vivant_study.judgement import StudyJudgement
from vivant_study.loading import load_study
from vivant_study.make import StudySpec, make_study
from vivant_study.mime_import import import_mime
from vivant_study.results import load_results
from vivant_study.store import open_store

PARITY = published.PARITY / "mime"
PUBLISHED = [PARITY / "results" / name / "human_eval.jsonl" for name in ("mime-cropped", "mime-real-resized")]


def right(name: str, item: StudyItem, page: str, part: str) -> Any:
    """The right answer of the kit's studies; the second person writes and chooses something else."""
    number = int(item.id.rpartition("-")[2]) % 4
    if page == "free":
        return OPTIONS[number] if name == "ann" else '=HYPERLINK("x")'
    if page == "choose":
        return number if name == "ann" else 0
    if page == "pair":
        return "first" if name == "ann" else "tie"
    if page == "comments":
        return {"verdict": "human" if part.endswith("0") else "ai", "realism": 3}
    return {"coherence": 4, "help": 2}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("kind", ["mcq", "free-then-mcq", "blind-comments", "rating", "pairwise"])
def test_every_judgement_is_a_line_in_every_form(tmp_path: Path, kind: Kind) -> None:
    import polars

    loaded = tiny_study(tmp_path / "s", kind, count=4, checks=1)
    judged(loaded, ["ann", "bob"], right)
    collected = load_results(tmp_path / "s")
    done = export_study(collected, tmp_path / "out", ["jsonl", "csv", "parquet"])
    assert done.people == 2
    given = lines(tmp_path / "out" / "judgements.jsonl")
    assert len(given) == done.judgements == len(collected.judgements)
    assert set(given[0]) <= set(StudyJudgement.__struct_fields__)
    frame = polars.read_parquet(tmp_path / "out" / "judgements.parquet")
    assert frame.height == len(given)
    with (tmp_path / "out" / "judgements.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == frame.columns
    for line, row, typed in zip(given, rows, frame.to_dicts(), strict=True):
        assert row["annotator"] == typed["annotator"] == line["annotator"]
        assert typed["shown"] == list(line["shown"])
        assert typed["check"] == line.get("check", False)
        assert bool(row["check"]) == typed["check"]
        answer = line["answer"]
        if line["page"] == "choose":
            assert typed["choice"] == answer == int(row["choice"])
        elif line["page"] == "free":
            assert typed["text"] == answer
            # A spreadsheet would obey it.
            assert row["text"] == (answer if line["annotator"] == "ann" else f"'{answer}")
        elif line["page"] == "pair":
            assert typed["preference"] == answer
        else:
            assert {c.name: typed[f"score_{c.name}"] for c in loaded.study.criteria} == {
                name: value for name, value in answer.items() if name != "verdict"
            }
    assert {person["annotator"] for person in lines(tmp_path / "out" / "people.jsonl")} == {"ann", "bob"}
    with pytest.raises(UsageError, match="exists already"):
        export_study(collected, tmp_path / "out")


def test_what_does_not_count_is_exported_but_enters_no_native_file(tmp_path: Path) -> None:
    loaded = tiny_study(tmp_path / "s", "rating", count=3, checks=1)
    judged(loaded, ["ann", "bob"], right)
    with open_store(tmp_path / "s") as store:
        store.exclude("bob", "asked to be")
    done = export_study(load_results(tmp_path / "s"), tmp_path / "all")
    assert done.judgements == 8
    scores = read_human_scores(tmp_path / "all" / "human_scores.csv", 0, 12)
    assert scores.scores == {(f"item-{n}", SOURCES[0]): [6.0] for n in range(3)}
    assert set(map(tuple, scores.annotators.values())) == {("ann",)}
    some = export_study(load_results(tmp_path / "s"), tmp_path / "some", only_counted=True)
    assert some.judgements == 3
    person = next(p for p in lines(tmp_path / "some" / "people.jsonl") if p["annotator"] == "bob")
    assert person["excluded"] == "asked to be"


def test_choices_become_a_run_that_tables_show_as_human(tmp_path: Path) -> None:
    file = questions(tmp_path, 6)
    make_study(tmp_path / "s", StudySpec(kind="mcq", origin=(str(file),)))
    loaded = load_study(tmp_path / "s")

    def choose(name: str, item: StudyItem, *_: str) -> int:
        good = item.options.index("right")
        return good if name != "cat" or item.id in ("q000", "q001") else (good + 1) % 4

    judged(loaded, ["ann", "bob", "cat"], choose)
    done = export_study(load_results(tmp_path / "s"), tmp_path / "out")
    run = load_run(tmp_path / "out" / "run")
    assert run.model == "human"
    for protocol in ("paper", "strict"):
        (row,) = build_overview([run], protocol).rows
        assert (row.model, row.n) == ("human", 18)
        assert row.value == pytest.approx(100 * 14 / 18)
    record = next(iter(run.records().values()))
    assert [record.options[k].text for k in range(4)] == [
        run.dir.samples()[0].options[k].text for k in record.order
    ]
    assert any(str(tmp_path / "out" / "run") in hint for hint in done.hints)


@pytest.mark.parametrize("name", ["mmrv", "mimic", "milebench"])
def test_people_on_a_mini_are_scored_by_the_benchmark_itself(tmp_path: Path, name: str) -> None:
    make_study(tmp_path / "s", StudySpec(kind="mcq", origin=(name,), data=("mini",), limit=12))
    loaded = load_study(tmp_path / "s")
    key = {line["item"]: line["option"] for line in lines(tmp_path / "s" / "key.jsonl")}

    def choose(who: str, item: StudyItem, *_: str) -> int:
        return int(key[item.id] if who == "ann" else (key[item.id] + 1) % len(item.options))

    judged(loaded, ["ann", "bob"], choose)
    export_study(load_results(tmp_path / "s"), tmp_path / "out")
    run = load_run(tmp_path / "out" / "run")
    for protocol in ("paper", "strict"):
        for part in run.scores(protocol):
            for _, record, score in part.rows:
                assert record is not None
                assert score.value == (1.0 if record.source == "ann" else 0.0)


def test_a_blind_study_gives_the_pack_its_judgements(tmp_path: Path) -> None:
    root = mimic_kit.write_folder(tmp_path / "data")
    (root / "videos").mkdir()
    for number in range(4):
        make_video(root / "videos" / f"v{number}.mp4", 5)
    pack, key, _ = mimic_kit.build_small_pack(tmp_path)
    make_study(tmp_path / "s", StudySpec(kind="blind-comments", origin=(str(pack.path),)))

    def verdict(name: str, _item: StudyItem, _page: str, part: str) -> dict[str, Any]:
        human = key.header.sources[key.entries[part].source].kind == "human"
        return {"verdict": "human" if human or name == "bob" else "ai", "realism": 5 if human else 1}

    judged(load_study(tmp_path / "s"), ["ann", "bob"], verdict)
    export_study(load_results(tmp_path / "s"), tmp_path / "out")
    (panel,) = compute_outcome(pack, key, [tmp_path / "out" / "pack" / "judgements.jsonl"]).panels
    assert {row.source: row.human for row in panel.sources} == {
        "model0": 50.0,
        "model1": 50.0,
        "human comments": 100.0,
    }
    assert panel.annotators == 2
    read, rejected = import_judgements(
        [tmp_path / "out" / "pack" / "rows.csv"], pack, tmp_path / "again.jsonl"
    )
    assert (len(read.judgements), rejected) == (panel.judgements, None)


def test_ratings_become_scores_for_judge_checks(tmp_path: Path) -> None:
    one = mmie_run(tmp_path, "one", {"SA-1": "a", "SA-2": "b"}, "writer-one")
    two = mmie_run(tmp_path, "two", {"SA-1": "c", "SA-2": "d"}, "writer-two")
    origin = (str(one.dir.path), str(two.dir.path))
    make_study(tmp_path / "s", StudySpec(kind="rating", origin=origin, judgements_per_item=1))
    loaded = load_study(tmp_path / "s")

    def rate(name: str, *_: object) -> dict[str, int]:
        good = name == "ann"
        return {c.name: (c.high if good else c.low) for c in loaded.study.criteria}

    judged(loaded, ["ann", "bob"], rate)
    export_study(load_results(tmp_path / "s"), tmp_path / "out")
    scores = read_human_scores(tmp_path / "out" / "human_scores.csv", 0, 6)
    assert scores.names_models
    assert scores.scores["SA-1", "writer-two"] == [6.0, 0.0]  # a point off leaves nobody below the scale
    assert scores.find("SA-2", "writer-one") == 3.0


def test_a_study_that_mixes_two_runs_of_a_model_gives_no_scores(tmp_path: Path) -> None:
    """Such a study is refused now; those made before hold the ratings of both under one name."""
    runs = [mmie_run(tmp_path, name, {"SA-1": name, "SA-2": name}, name) for name in ("one", "two")]
    origin = tuple(str(run.dir.path) for run in runs)
    make_study(tmp_path / "s", StudySpec(kind="rating", origin=origin, judgements_per_item=1))
    key = tmp_path / "s" / KEY_FILE
    key.write_text(key.read_text().replace('"two"', '"one"'))
    loaded = load_study(tmp_path / "s")
    judged(loaded, ["ann"], lambda *_: {c.name: c.high for c in loaded.study.criteria})
    with pytest.raises(
        DataError, match="are both by one, and scores by model do not tell their answers apart"
    ):
        load_people([tmp_path / "s"])
    done = export_study(load_results(tmp_path / "s"), tmp_path / "out")
    assert [hint for hint in done.hints if hint.startswith("no human_scores.csv")]
    assert "judgements.jsonl" in {path.name for path in done.files}
    assert not (tmp_path / "out" / "human_scores.csv").exists()


# ── MIME's own file ──


def plain(line: dict[str, Any]) -> tuple[Any, ...]:
    """What a line says, of all that a study keeps."""
    question = line["question"]
    shown = (tuple(question["options"]), question["label_idx"], tuple(question["label"]))
    fields = ("question_i", "sample_id", "user_answer", "user_mcq_selection", "user_is_correct")
    return (*(line[name] for name in fields), question["s3_url"], *shown)


def mime_lines(folder: Path) -> list[dict[str, Any]]:
    """Two people on all videos of an edition, with options in orders of their own."""
    write_lines(folder / "metadata.jsonl", make_edition())
    result: list[dict[str, Any]] = []
    for place, sample in enumerate(MIME.load(folder, "mcq")):
        for person, selection in (("ann", 2), ("bob", 1 + place % 2)):
            line = make_judgement(sample, person, f"{person} on {place}", selection)
            line["sample_id"] = line["question"]["sample_id"] = sample.id
            line["question_i"] = place
            line["count_exited_page"] = place % 3
            line["url_data"] |= {
                "set": str(1 + place % 2),
                "queue_id": f"q-set{1 + place % 2}",
                "prolific_id": "p-1",
            }
            line["question"]["options"] = ["bowling", sample.answers[0], "x", "y"]
            result.append(line)
    return result


def test_mimes_judgements_go_into_a_store_and_come_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    given = mime_lines(data)
    file = write_lines(tmp_path / "human_eval.jsonl", [*given, given[0]])
    done = import_mime(tmp_path / "s", [file], str(data))
    assert (done.people, done.judgements) == (2, 2 * len(given))
    assert any("dropped: 1" in note for note in done.notes)
    assert any("cannot be served" in note for note in done.notes)
    assert b"secret-person" not in b"".join(file.read_bytes() for file in (tmp_path / "s").glob("study.db*"))
    export_study(load_results(tmp_path / "s"), tmp_path / "out")
    written = [
        line
        for folder in ("mime-cropped", "mime-real-resized")
        for line in lines(tmp_path / "out" / folder / "human_eval.jsonl")
    ]
    assert sorted(map(plain, written)) == sorted(map(plain, given))
    wanted, got = (
        sorted(
            (x["sample_id"], x["count_exited_page"], x["url_data"]["set"], x["url_data"]["queue_id"])
            for x in y
        )
        for y in (given, written)
    )
    assert got == wanted
    assert {line["url_data"]["prolific_id"] for line in written} == {""}
    assert b"p-1" not in b"".join(file.read_bytes() for file in (tmp_path / "s").iterdir() if file.is_file())
    with pytest.raises(DataError, match="is in the study already"):
        import_mime(tmp_path / "s", [file], str(data))


def test_judgements_must_be_of_the_study_they_are_imported_into(tmp_path: Path) -> None:
    data = tmp_path / "data"
    given = mime_lines(data)
    import_mime(tmp_path / "s", [write_lines(tmp_path / "a.jsonl", given)], str(data))
    other = dict(given[0], url_data={"annotator": "eve"})
    changed = json.loads(json.dumps(other))
    changed["question"]["options"] = ["bowling", changed["question"]["label"][0], "x", "new"]
    with pytest.raises(DataError, match="line 1: its options are not those of the item"):
        import_mime(tmp_path / "s", [write_lines(tmp_path / "b.jsonl", [changed])])
    changed["question"]["s3_url"] = "https://example.org/elsewhere.mp4"
    changed["sample_id"] = "elsewhere"
    with pytest.raises(DataError, match="the video 'elsewhere' is not in the study"):
        import_mime(tmp_path / "s", [write_lines(tmp_path / "c.jsonl", [changed])])
    with pytest.raises(DataError, match=r"line 1: this is no line of human_eval\.jsonl"):
        import_mime(tmp_path / "t", [write_lines(tmp_path / "d.jsonl", [{"a": 1}])])
    assert len(load_results(tmp_path / "s").people) == 2


FIELDS = [
    *(("question", name) for name in ("label", "options", "label_idx", "s3_url", "action", "angle", "split")),
    ("url_data", "annotator"),
    *(
        (name,)
        for name in ("sample_id", "user_answer", "user_mcq_selection", "question_i", "question", "url_data")
    ),
]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 6),
    st.text(max_size=8),
    st.lists(st.text(max_size=3), max_size=5),
)


@given(st.sampled_from(FIELDS), VALUES)
@settings(max_examples=60, deadline=None)
def test_no_line_of_judgements_ends_in_anything_but_a_study_or_one_clear_line(
    tmp_path_factory: pytest.TempPathFactory, field: tuple[str, ...], value: Any
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    question = {
        "sample_id": "a",
        "label": ["rowing"],
        "options": ["rowing", "b", "c"],
        "label_idx": 0,
        "s3_url": "man_j_Rowing001_angle0_blank.mp4",
    }
    line: dict[str, Any] = {
        "question_i": 0,
        "sample_id": "a",
        "user_answer": "boat",
        "user_mcq_selection": 1,
        "question": question,
        "url_data": {"annotator": "ann"},
    }
    holder = line if len(field) == 1 else line[field[0]]
    holder[field[-1]] = value
    file = write_lines(folder / "human_eval.jsonl", [line])
    try:
        done = import_mime(folder / "s", [file])
    except VivantError as error:
        assert "\n" not in str(error)
        return
    assert done.people == 1
    assert export_study(load_results(folder / "s"), folder / "out").judgements == done.judgements


@pytest.mark.full
@pytest.mark.skipif(not PARITY.is_dir(), reason="the published judgements are not here")
def test_the_published_human_rows_survive_the_way_through_a_study(tmp_path: Path) -> None:
    done = import_mime(tmp_path / "s", PUBLISHED, str(PARITY))
    assert (done.people, done.items, done.judgements) == (61, 906, 2 * 2723)
    export_study(load_results(tmp_path / "s"), tmp_path / "out")
    ours = load_run(tmp_path / "out" / "run").scores("paper")
    original = import_human(select(["mime"], [str(PARITY)]), tmp_path / "original", "zero-shot")
    theirs = original.scores("paper")
    for name in "123456":
        assert (
            MIME.tables.build(MIME, name, ours, "paper").body
            == MIME.tables.build(MIME, name, theirs, "paper").body
        )
    people = [MIME.tables.build(MIME, "annotators", parts, "paper").body for parts in (ours, theirs)]
    assert sorted(people[0]) == sorted(people[1])
    (human,) = MIME.tables.build(MIME, "1", ours, "paper").body
    assert human[1:] == pytest.approx((99.6, 89.5, 100.0, 77.2), abs=0.05)


# ── the commands ──


def test_the_commands_name_what_they_write_and_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = tiny_study(tmp_path / "s", count=3)
    assert call("study", "export", tmp_path / "s") == 1
    assert "has no answers yet" in capsys.readouterr().err
    judged(loaded, ["ann", "bob"], right)
    assert call("study", "export", tmp_path / "s", "--format", "xml") == 1
    assert "Unknown format 'xml'" in capsys.readouterr().err
    assert call("study", "export", tmp_path / "s", "--out", tmp_path / "o", "--format", "csv") == 0
    assert "6 judgements of 2 people" in capsys.readouterr().err
    assert (tmp_path / "o" / "judgements.csv").is_file()
    assert call("study", "exclude", tmp_path / "s", "bob") == 1
    assert "--reason" in capsys.readouterr().err
    assert call("study", "exclude", tmp_path / "s", "bo", "--reason", "too fast") == 0
    assert load_results(tmp_path / "s").people["bob"].excluded == "too fast"
    assert call("study", "exclude", tmp_path / "s", "bob", "--undo") == 0
    assert load_results(tmp_path / "s").people["bob"].excluded == ""
    assert call("study", "exclude", tmp_path / "s", "eve", "--reason", "x") == 1
    assert "Unknown annotator 'eve'" in capsys.readouterr().err
