"""Studies made from benchmarks, runs and packs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support import mimic_kit, mmie_kit
from tests.support.helpers import questions
from tests.support.media_kit import make_video
from tests.support.runs_kit import call
from vivant.core.errors import UsageError, VivantError
from vivant.runs.importing import import_answers
from vivant.runs.run import Run
from vivant_study.attention import get_expected_answers
from vivant_study.check import check_study
from vivant_study.default_texts import LANGUAGES, format_check, load_texts
from vivant_study.design import Kind, StudyItem, StudyMedia, StudyText
from vivant_study.key import load_fitting_key
from vivant_study.loading import load_study
from vivant_study.make import StudySpec, make_study


def make(folder: Path, kind: Kind, *origin: str | Path, **more: Any) -> tuple[Any, Any, Any]:
    made = make_study(folder, StudySpec(kind=kind, origin=tuple(map(str, origin)), **more))
    loaded = load_study(folder)
    return made, loaded, load_fitting_key(loaded)


def mmie_run(folder: Path, name: str, texts: dict[str, Any], model: str) -> Run:
    items = [mmie_kit.make_entry(item, text, model=model) for item, text in texts.items()]
    mmie_kit.write_answers(folder / f"{name}-answers", items)
    return import_answers(["mmie"], folder / f"{name}-answers", out=str(folder / name))[0]


def texts_in(item: StudyItem) -> str:
    pieces = [*item.content, *(piece for part in item.parts for piece in part.content)]
    return "\n".join(piece.text for piece in pieces if isinstance(piece, StudyText))


# ── choices ──


def test_mime_becomes_free_text_and_choices_that_tell_nothing(tmp_path: Path) -> None:
    made, loaded, key = make(
        tmp_path / "s", "free-then-mcq", "mime", data=("mini",), balance=("angle",), checks=2, limit=30
    )
    asked = [item for item in loaded.items if not item.check]
    assert len(asked) == made.items == 30
    assert made.study.balance == ("angle",)
    places = Counter(key[item.id].option for item in asked)
    assert len(places) == 4  # in the data the right option is always the first
    written = (tmp_path / "s" / "items.jsonl").read_text()
    for item in asked:
        sample = key[item.id].extra["sample"]
        right = sample["options"][sample["key"]]["text"]
        assert item.options[key[item.id].option] == right
        assert set(key[item.id].accepted) == set(sample["answers"])
        # The action is what is asked, so neither it nor the file's name is in the items.
        assert "action" not in item.facets
        assert sample["facets"]["action"] not in written
        assert sample["extra"]["file_name"] not in written
        assert isinstance(item.content[0], StudyMedia)
        real = loaded.media_file(item.content[0].file)
        assert (
            real.read_bytes()
            == (Path(key[item.id].extra["root"]) / sample["question"][0]["path"]).read_bytes()
        )
    groups = {item.group: key[item.id].extra["sample"]["cluster"] for item in asked}
    assert len(set(groups.values())) == len(groups)
    assert check_study(tmp_path / "s", media=False).faults == ()


def test_the_same_wish_gives_the_same_study_and_another_seed_another(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        make(tmp_path / name, "mcq", "mmrv", data=("mini",), seed=seed, limit=10)
    first, second, third = ((tmp_path / name / "items.jsonl").read_bytes() for name in "abc")
    assert first == second != third


def test_questions_keep_their_words_and_places(tmp_path: Path) -> None:
    _, loaded, key = make(tmp_path / "s", "mcq", "mimic", data=("mini",), limit=40)
    by_task: dict[str, set[str]] = {}
    for item in loaded.items:
        by_task.setdefault(key[item.id].extra["sample"]["task"], set()).add(item.question)
    assert len(by_task) == 7
    assert all(len(words) == 1 and next(iter(words)).endswith("?") for words in by_task.values())
    assert {item.id.partition("/")[0] for item in loaded.items} == {task[6:] for task in by_task}


def test_own_questions_and_own_words(tmp_path: Path) -> None:
    file = questions(tmp_path, 6)
    made, loaded, key = make(tmp_path / "s", "mcq", file, where=("half=first",), question="Which tree?")
    assert [item.question for item in loaded.items] == ["Which tree?"] * 3
    assert loaded.items[0].facets == {"half": "first"}
    assert [item.options[key[item.id].option] for item in loaded.items] == ["right"] * 3
    assert made.study.items_per_participant == 3


@pytest.mark.parametrize(
    ("parts", "shown", "asked"),
    [
        (["Look:", {"image": "0.png"}, "Then:", {"image": "1.png"}, "Which?"], "Look:|*|Then:|*", "Which?"),
        (["Which?", {"image": "0.png"}, {"image": "1.png"}], "*|*", "Which?"),
        (["First:", {"image": "0.png"}, "Second:", {"image": "1.png"}], "First:|*|Second:|*", ""),
        (["Say: ", "Which?"], "Say:", "Which?"),
        (["Which?"], "Which?", ""),
    ],
)
def test_what_comes_last_is_what_is_asked(tmp_path: Path, parts: Any, shown: str, asked: str) -> None:
    file = questions(tmp_path, 2)
    line = {"id": "q", "question": parts, "choices": ["a", "b"], "answer": "a"}
    file.write_text(json.dumps(line))
    _, loaded, _ = make(tmp_path / "s", "mcq", file)
    content = loaded.items[0].content
    assert "|".join(piece.text if isinstance(piece, StudyText) else "*" for piece in content) == shown
    assert loaded.items[0].question == asked


def test_samples_that_cannot_be_asked_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    make_video(tmp_path / "videos" / "here.mp4", 5)
    line = {
        "video": "here.mp4",
        "videoType": "Film",
        "question": "Why?",
        "options": ["(A) one", "(B) two", "(C) three"],
        "correctAnswer": "(B)",
        "abilityType_L2": "Theme Understanding",
        "abilityType_L3": "Other",
    }
    odd = [
        line,
        line | {"correctAnswer": "(Q)"},
        line | {"options": ["(A) one", "(B) two", "(C) one"]},
        line | {"video": "gone.mp4"},
    ]
    (tmp_path / "MMR-V.json").write_text(json.dumps(odd))
    made, loaded, key = make(tmp_path / "s", "mcq", "mmrv", data=(str(tmp_path / "MMR-V.json"),))
    (item,) = loaded.items
    assert item.options[key[item.id].option] == "two"
    assert item.question == "Why?"
    text = "\n".join(made.notes)
    assert "1 left out: no option is marked as right (the first is 1)" in text
    assert "1 left out: an option is empty or repeated; --keep-odd-options keeps it (the first is 2)" in text
    assert "1 left out: a file cannot be used (the first is '3': videos/gone.mp4 is missing" in text


def test_questions_with_empty_or_repeated_options_can_be_kept(tmp_path: Path) -> None:
    line = {
        "video": "v.mp4", "videoType": "TV", "question": "Why?", "correctAnswer": "(B)",
        "abilityType_L2": "Theme Understanding", "abilityType_L3": "Other",
    }  # fmt: skip
    (tmp_path / "videos").mkdir()
    make_video(tmp_path / "videos" / "v.mp4", 5)
    odd = [
        line | {"options": ["(A) one", "(B) two", "(C) one"]},
        line | {"options": ["(A) ", "(B) two", "(C) three"]},
        line | {"options": ["(A) two", "(B) two", "(C) three"]},  # nobody could tell which is right
    ]
    (tmp_path / "MMR-V.json").write_text(json.dumps(odd))
    made, loaded, key = make(
        tmp_path / "s", "mcq", "mmrv", data=(str(tmp_path / "MMR-V.json"),), odd_options=True
    )
    assert [sorted(item.options) for item in loaded.items] == [["one", "one", "two"], ["", "three", "two"]]
    assert all(item.options[key[item.id].option] == "two" for item in loaded.items)
    assert made.notes == ("1 left out: the right option is empty or repeated (the first is 2)",)


def test_media_are_linked_or_copied_under_names_that_say_nothing(tmp_path: Path) -> None:
    file = questions(tmp_path, 2)
    make(tmp_path / "linked", "mcq", file)
    make(tmp_path / "copied", "mcq", file, copy=True)
    original = (tmp_path / "0.png").stat().st_ino
    linked = [path.stat().st_ino for path in (tmp_path / "linked" / "media").iterdir()]
    copied = [path.stat().st_ino for path in (tmp_path / "copied" / "media").iterdir()]
    assert original in linked
    assert original not in copied
    assert len(linked) == len(copied) == 2
    names = {path.name for path in (tmp_path / "linked" / "media").iterdir()}
    assert not names & {"0.png", "1.png"}


# ── runs ──


def test_ratings_hide_whose_answers_they_are(tmp_path: Path) -> None:
    story = [mmie_kit.make_part("Then", "images/1.png"), mmie_kit.make_part("At last", None)]
    one = mmie_run(tmp_path, "one", {"SA-1": story, "SA-2": "short"}, "writer-one")
    two = mmie_run(tmp_path, "two", {"SA-1": "other", "SA-2": None}, "writer-two")
    made, loaded, key = make(tmp_path / "s", "rating", one.dir.path, two.dir.path, judgements_per_item=1)
    assert len(loaded.items) == 3
    assert any("two: 1 of 2 samples have no answer to show" in note for note in made.notes)
    assert "writer" not in (tmp_path / "s" / "items.jsonl").read_text()
    assert {name for line in key.values() for name in line.sources.values()} == {"writer-one", "writer-two"}
    assert {item.facets["source"] for item in loaded.items} == {"1", "2"}
    first = next(item for item in loaded.items if "Then" in texts_in(item))
    assert [type(piece) for piece in first.parts[0].content] == [StudyText, StudyMedia, StudyText]
    # Both answers to one question are one group: nobody compares them by memory.
    assert len({item.group for item in loaded.items}) == 2
    names = [criterion.name for criterion in loaded.study.criteria]
    assert names == ["text", "pictures", "coherence", "context", "invention", "style", "feeling"]
    assert sum(criterion.high for criterion in loaded.study.criteria) == 6


def test_runs_of_one_model_are_told_apart_or_refused(tmp_path: Path) -> None:
    answers = {"SA-1": "one", "SA-2": "two"}
    folders = [
        mmie_run(
            tmp_path / name, "run", {key: f"{name} {text}" for key, text in answers.items()}, "m"
        ).dir.path
        for name in ("x", "y")
    ]
    with pytest.raises(UsageError, match=r"both are by m, .*make a study of each, .*--kind pairwise"):
        make(tmp_path / "s", "rating", *folders, judgements_per_item=1)
    assert not (tmp_path / "s").exists()
    _, _, key = make(tmp_path / "s", "pairwise", *folders, judgements_per_item=1)
    sources = {
        (source, line.extra["run"][part]) for line in key.values() for part, source in line.sources.items()
    }
    assert sources == {(f"m ({folder.parent.name}/run)", str(folder.resolve())) for folder in folders}


def test_mixed_categories_get_one_score_and_a_guide(tmp_path: Path) -> None:
    run = mmie_run(tmp_path, "one", {"SA-1": "a", "MSR-1": "b"}, "writer")
    _, loaded, _ = make(tmp_path / "s", "rating", run.dir.path, reference=True, judgements_per_item=1)
    (score,) = loaded.study.criteria
    assert (score.name, score.low, score.high) == ("score", 0, 6)
    for language in LANGUAGES:
        assert "{criteria}" not in loaded.texts[language].instructions
    assert "**Stories that go on**" in loaded.texts["en"].instructions
    assert "**解答问题**" in loaded.texts["zh"].instructions
    assert "reference of SA-1" in texts_in(loaded.items[0])
    # Each language has its own label, and nothing else differs.
    english = [part.text for part in loaded.items[0].content if isinstance(part, StudyText)]
    place = english.index("Reference")
    chinese = list(loaded.items[0].translations["zh"].content)
    assert chinese == [*english[:place], "参考答案", *english[place + 1 :]]


def test_pairs_come_in_drawn_sides(tmp_path: Path) -> None:
    names = [f"SA-{n}" for n in range(12)]
    one = mmie_run(tmp_path, "one", {name: f"one on {name}" for name in names} | {"SA-same": "equal"}, "same")
    two = mmie_run(tmp_path, "two", {name: f"two on {name}" for name in names} | {"SA-same": "equal"}, "same")
    made, loaded, key = make(tmp_path / "s", "pairwise", one.dir.path, two.dir.path)
    assert len(loaded.items) == 12
    assert any("1 left out: both answers are the same (the first is SA-same)" in note for note in made.notes)
    sides: Counter[tuple[int, str]] = Counter()
    for item in loaded.items:
        for place, part in enumerate(item.parts):
            source = key[item.id].sources[part.id]
            assert source in ("same (one)", "same (two)")
            assert texts_in(StudyItem(id="x", parts=(part,))).startswith(source[6:9])
            sides[place, source] += 1
    assert sides[0, "same (one)"] not in (0, 12)
    part_ids = {part.id for item in loaded.items for part in item.parts}
    assert len(part_ids) == 24


# ── packs ──


@pytest.fixture
def pack(tmp_path: Path) -> Any:
    root = mimic_kit.write_folder(tmp_path / "data")
    (root / "videos").mkdir()
    for number in range(4):
        make_video(root / "videos" / f"v{number}.mp4", 5)
    return mimic_kit.build_small_pack(tmp_path)


def test_a_pack_becomes_a_blind_study_with_and_without_its_key(tmp_path: Path, pack: Any) -> None:
    opened, sealed, packed = pack
    _, loaded, key = make(tmp_path / "s", "blind-comments", opened.path, key=packed.key_file, checks=1)
    asked = [item for item in loaded.items if not item.check]
    parts = {part.id for item in asked for part in item.parts}
    assert parts == set(sealed.entries)
    for item in asked:
        assert isinstance(item.content[-1], StudyMedia)
        assert texts_in(item).startswith("Title of number")
        for part, source in key[item.id].sources.items():
            assert source == sealed.header.sources[sealed.entries[part].source].name
    assert "model0" not in (tmp_path / "s" / "items.jsonl").read_text()
    (realism,) = loaded.study.criteria
    assert (realism.name, realism.low, realism.high) == ("realism", 0, 5)
    made, blind, unknown = make(tmp_path / "t", "blind-comments", opened.path)
    assert blind.items == tuple(asked)
    assert not any(line.sources for line in unknown.values())
    assert {line.extra["pack"] for line in unknown.values()} == {opened.header.pack}
    assert any("without --key" in note for note in made.notes)
    other = mimic_kit.build_small_pack(tmp_path, seed=1)[2]
    with pytest.raises(VivantError, match="is the key of another pack"):
        make(tmp_path / "u", "blind-comments", opened.path, key=other.key_file)
    assert not (tmp_path / "u").exists()


# ── attention checks, texts, mistakes ──


@pytest.mark.parametrize("kind", ["mcq", "free-then-mcq"])
def test_checks_say_what_to_answer(tmp_path: Path, kind: Kind) -> None:
    _, loaded, key = make(tmp_path / "s", kind, questions(tmp_path, 3), checks=3)
    checks = [item for item in loaded.items if item.check]
    assert loaded.study.checks_per_participant == len(checks) == 3
    for item in checks:
        wanted = get_expected_answers(item, key[item.id])
        word = item.options[wanted["choose"]]
        for text in (texts_in(item), item.translations["zh"].content[0]):
            assert text.count(f"“{word}”") == (1 if kind == "mcq" else 2)
        assert wanted.get("free", word) == word


@pytest.mark.parametrize("kind", ["mcq", "free-then-mcq", "blind-comments", "rating", "pairwise"])
def test_every_kind_has_its_words_in_both_languages(kind: Kind) -> None:
    english, chinese = (load_texts(kind, language) for language in LANGUAGES)
    assert english.instructions.startswith("# What you will do")
    assert chinese.instructions.startswith("# 您要做什么")
    assert "{" not in english.instructions + chinese.instructions + english.consent + chinese.consent
    assert all("\n\n" in text for text in format_check(kind, LANGUAGES, "x"))


@pytest.mark.parametrize(
    ("wish", "part"),
    [
        ({"kind": "mcq", "origin": ("nothing",)}, "Unknown benchmark 'nothing'"),
        ({"kind": "mcq", "origin": ("mmie",), "data": ("mini",)}, "no question there has options"),
        ({"kind": "rating", "origin": ("mime",)}, "--from mime is no run"),
        ({"kind": "pairwise", "origin": ()}, "Say with --from"),
        ({"kind": "blind-comments", "origin": ("mime",)}, "is made from one pack"),
        ({"kind": "mcq", "origin": ("mime",), "data": ("mini",), "balance": ("x",)}, "no such facet"),
        ({"kind": "mcq", "origin": ("mime",), "data": ("mini",), "where": ("angle=1",)}, "Unknown angle '1'"),
        ({"kind": "mcq", "origin": ("mime",), "data": ("mini",), "languages": ("fr",)}, "Unknown language"),
        ({"kind": "mcq", "origin": ("mime",), "key": Path("k")}, "--key is the key of a pack"),
        (
            {"kind": "mcq", "origin": ("mmrv",), "data": ("mini",), "items_per_participant": 111},
            "46 of 720 judgements would be short, because there are 240 items from 110 videos",
        ),
    ],
)
def test_what_cannot_be_made_leaves_nothing_behind(tmp_path: Path, wish: Any, part: str) -> None:
    with pytest.raises(UsageError if "short" in part else VivantError) as caught:
        make_study(tmp_path / "s", msgspec.convert(wish, StudySpec))
    assert part in str(caught.value)
    assert not (tmp_path / "s").exists()


def test_the_command_says_what_to_do_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = questions(tmp_path, 6)
    arguments = ("study", "new", tmp_path / "s", "--kind", "mcq", "--from", file, "--language", "en")
    assert call(*arguments) == 0
    text = capsys.readouterr().err
    assert "6 items, 3 judgements each, 6 per participant: 3 participants" in text
    assert f"vivant study check {tmp_path / 's'}; vivant study serve {tmp_path / 's'}" in text
    assert call(*arguments) == 1
    assert "exists already" in capsys.readouterr().err
    assert call("study", "check", tmp_path / "s") == 0
    text = capsys.readouterr().err
    assert "consent.en.md is as it came" in text
    assert "can be served: 6 items, 6 media files, en, 3 participants" in text
    (tmp_path / "s" / "consent.en.md").unlink()
    (tmp_path / "s" / "instructions.en.md").unlink()
    assert call("study", "check", tmp_path / "s") == 1
    text = capsys.readouterr().err
    assert text.count("is missing; write it") == 2
    assert text.splitlines()[-1].endswith("2 faults; mend and check again")


@pytest.mark.parametrize("command", ["new", "check", "export", "import", "exclude", "report"])
def test_every_command_teaches_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("study", command, "--help") == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert f"vivant study {command}" in shown
    assert "DIR" in shown
    assert ("default: 20, or what" in shown) == (command == "new")
