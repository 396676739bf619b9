"""Studies on disk: read whole, or refused with every fault there is."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.study_kit import tiny_study
from vivant.core.errors import VivantError
from vivant_study.attention import get_expected_answers
from vivant_study.balance import count_shortage, find_largest_share, list_place_sizes
from vivant_study.check import check_study
from vivant_study.design import PAGES, Kind, Study
from vivant_study.key import load_fitting_key, load_key
from vivant_study.loading import StudyError, load_study
from vivant_study.writing import format_study_yaml


def faults(folder: Path) -> str:
    with pytest.raises(StudyError) as caught:
        load_study(folder)
    return "\n".join(caught.value.faults)


def edit(folder: Path, **changes: Any) -> None:
    file = folder / "study.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8")) | changes
    file.write_text(yaml.safe_dump(content), encoding="utf-8")


def edit_items(folder: Path, change: Any) -> None:
    file = folder / "items.jsonl"
    items = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    file.write_text("".join(json.dumps(item) + "\n" for item in change(items)), encoding="utf-8")


@pytest.mark.parametrize("kind", list(PAGES))
def test_a_study_of_every_kind_is_written_read_and_fits_its_key(tmp_path: Path, kind: Kind) -> None:
    loaded = tiny_study(tmp_path / "s", kind, checks=1)
    key = load_fitting_key(loaded)
    assert len(loaded.items) == 7
    assert list(loaded.texts) == ["en", "zh"]
    check = next(item for item in loaded.items if item.check)
    assert get_expected_answers(check, key[check.id])
    assert check_study(tmp_path / "s").faults == ()
    first = loaded.items[0].content[0]
    assert loaded.media_file(first.file).is_file()  # type: ignore[union-attr]


def test_a_study_is_written_with_a_word_on_every_field_and_read_back_the_same(tmp_path: Path) -> None:
    study = tiny_study(tmp_path / "s", "rating").study
    text = format_study_yaml(study)
    assert msgspec.convert(yaml.safe_load(text), Study) == study
    assert text.count("\n# ") >= len(Study.__struct_fields__) - 1


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    tiny_study(folder, count=4)
    (folder / "media" / "m1.mp4").unlink()
    (folder / "consent.zh.md").unlink()
    (folder / "instructions.en.md").write_text(" \n")

    def spoil(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        items[0]["options"] = ["alone"]
        items[2]["options"] = ["same", "same"]
        items[3]["content"] = [{"type": "media", "file": "../outside.mp4", "kind": "video"}]
        return [*items, items[2]]

    edit_items(folder, spoil)
    edit(folder, title={"en": "only English"}, criteria=[], judgement_per_item=4)
    (tmp_path / "outside.mp4").write_bytes(b"x")
    text = faults(folder)
    for part in (
        "item 'item-1': m1.mp4 is missing",
        "consent.zh.md is missing; write it, or take 'zh' out of `languages`",
        "instructions.en.md is empty",
        "item 'item-0': it has 1 options",
        "item 'item-2': the option 'same' stands 2 times",
        "the item 'item-2' stands 2 times",
        "item 'item-3': ../outside.mp4 leads out of the data folder",
        "the title has no text for the language 'zh'",
        "Unknown field 'judgement_per_item'; did you mean 'judgements_per_item'?",
    ):
        assert part in text
    result = check_study(folder)
    assert set(result.faults) == set(text.split("\n"))


@pytest.mark.parametrize(
    ("kind", "change", "part"),
    [
        ("pairwise", lambda items: [items[0] | {"parts": items[0]["parts"][:1]}, *items[1:]], "needs two"),
        ("rating", lambda items: [items[0] | {"parts": []}, *items[1:]], "needs one or more"),
        ("blind-comments", lambda items: [items[0] | {"options": ["a", "b"]}, *items[1:]], "does not show"),
        ("mcq", lambda items: [items[0] | {"content": []}, *items[1:]], "nothing to look at"),
        ("mcq", lambda items: [items[0] | {"answer": 1}, *items[1:]], "line 1: Object contains unknown"),
        ("mcq", lambda _: [], "holds no items"),
        ("mcq", lambda items: [item | {"check": True} for item in items], "attention checks alone"),
    ],
)
def test_items_that_do_not_fit_their_kind_are_named(
    tmp_path: Path, kind: Kind, change: Any, part: str
) -> None:
    tiny_study(tmp_path / "s", kind)
    edit_items(tmp_path / "s", change)
    assert part in faults(tmp_path / "s")


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"checks_per_participant": 2}, "holds 0 attention checks; add 2 items"),
        ({"balance": ["weather"]}, "it has no facet 'weather'"),
        ({"items_per_participant": 0}, "Expected `int` >= 1"),
        ({"kind": "quiz"}, "Invalid enum value 'quiz'"),
        ({"criteria": [{"name": "x", "text": {"en": "a", "zh": "b"}}]}, "has no use for `criteria`"),
        ({"completion_url": "javascript:alert(1)"}, "completion_url is no address"),
        ({"languages": ["en", "en"]}, "the language 'en' stands 2 times"),
    ],
)
def test_settings_that_cannot_hold_are_named(tmp_path: Path, changes: dict[str, Any], part: str) -> None:
    tiny_study(tmp_path / "s")
    edit(tmp_path / "s", **changes)
    assert part in faults(tmp_path / "s")


def test_an_impossible_balance_says_how_many_judgements_are_short(tmp_path: Path) -> None:
    tiny_study(tmp_path / "s")
    edit(tmp_path / "s", items_per_participant=8)
    # Twelve judgements in places of eight and four: six items, so the first place stays two short.
    text = faults(tmp_path / "s")
    assert "2 of 12 judgements are short, because there are only 6 items" in text
    assert "set items_per_participant to 6" in text
    tiny_study(tmp_path / "t", groups=2, items_per_participant=2)
    edit(tmp_path / "t", items_per_participant=3)
    assert "4 of 12 judgements are short, because nobody may meet one of the 2 groups twice" in faults(
        tmp_path / "t"
    )


def most_by_search(groups: list[int], judgements: int, share: int) -> int:
    """The largest number of judgements that places can give, by trying what each place takes."""
    needs = [size * judgements for size in groups]
    best = {tuple(needs): 0}
    for size in list_place_sizes(sum(needs), share):
        after: dict[tuple[int, ...], int] = {}
        for left, done in best.items():
            open_groups = [place for place, need in enumerate(left) if need]
            take = min(size, len(open_groups))
            for chosen in itertools.combinations(open_groups, take):
                state = tuple(need - (place in chosen) for place, need in enumerate(left))
                after[state] = max(after.get(state, 0), done + take)
        best = after
    return max(best.values())


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_what_is_short_is_what_no_way_of_giving_places_can_reach(
    groups: list[int], judgements: int, share: int
) -> None:
    total = sum(groups) * judgements
    assert count_shortage(groups, judgements, share) == total - most_by_search(groups, judgements, share)
    fits = find_largest_share(groups, judgements, share)
    assert 1 <= fits <= share
    assert count_shortage(groups, judgements, fits) == 0


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"kind: [", "is not YAML"),
        (b"\xff\xfea", "is not YAML"),
        (b"- a\n", "should be a mapping"),
        (b"format: 9\nkind: mcq\ntitle: {en: x}\n", "format 9; this version reads format 1"),
    ],
)
def test_a_file_that_is_no_study_is_one_line(tmp_path: Path, content: bytes, part: str) -> None:
    tiny_study(tmp_path / "s")
    (tmp_path / "s" / "study.yaml").write_bytes(content)
    with pytest.raises(VivantError) as caught:
        load_study(tmp_path / "s")
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_study_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(VivantError, match="no such folder; make one with `vivant study new"):
        load_study(tmp_path / "none")
    with pytest.raises(VivantError, match=r"has no study\.yaml"):
        load_study(tmp_path)


@given(st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_no_bytes_in_items_end_in_anything_but_faults(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("fuzz") / "s"
    folder.mkdir()
    study = Study(kind="mcq", title={"en": "x"})
    (folder / "study.yaml").write_text(format_study_yaml(study))
    (folder / "items.jsonl").write_bytes(content)
    (folder / "key.jsonl").write_bytes(content)
    with pytest.raises(StudyError):
        load_study(folder)
    if content.removeprefix(b"\xef\xbb\xbf").strip():
        with pytest.raises(StudyError):
            load_key(folder)


# ── the key ──


@pytest.mark.parametrize(
    ("kind", "line", "part"),
    [
        ("mcq", {"item": "item-0", "option": 4}, "option 4 is no place among its 4 options"),
        ("mcq", {"item": "stranger", "option": 0}, "the item 'stranger' is not in the study"),
        ("mcq", {"item": "item-1", "option": 0}, "the item 'item-1' is repeated"),
        ("mcq", {"item": "item-0", "expected": {"choose": 0}}, "has an expected answer but is no check"),
        ("mcq", {"item": "item-6", "expected": {"choose": True}}, "expected True is no place"),
        (
            "mcq",
            {"item": "item-6", "expected": {"rate": {}}},
            "neither a page of this kind of study nor a part",
        ),
        ("mcq", {"item": "item-6"}, "the check 'item-6' has no expected answer"),
        ("pairwise", {"item": "item-0", "sources": {"x": "a"}}, "a part 'x' that the item does not have"),
        ("pairwise", {"item": "item-0", "sources": {"part-0-0": "a"}}, "1 of its 2 parts have no source"),
        (
            "pairwise",
            {"item": "item-6", "expected": {"pair": "left"}},
            "should be 'first', 'second' or 'tie'",
        ),
        ("rating", {"item": "item-6", "expected": {"part-6-0": 3}}, "should be a mapping"),
    ],
)
def test_a_key_that_does_not_fit_is_refused(tmp_path: Path, kind: Kind, line: Any, part: str) -> None:
    folder = tmp_path / "s"
    loaded = tiny_study(folder, kind, checks=1)
    file = folder / "key.jsonl"
    lines = [json.loads(text) for text in file.read_text().splitlines()]
    kept = [old for old in lines if old["item"] != line["item"] or line["item"] == "item-1"]
    file.write_text("".join(json.dumps(one) + "\n" for one in [*kept, line]))
    with pytest.raises(StudyError) as caught:
        load_fitting_key(loaded)
    assert part in "\n".join(caught.value.faults)
    assert any(part in fault for fault in check_study(folder).faults)


def test_a_video_that_cannot_be_opened_is_found_by_the_check(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    tiny_study(folder)
    (folder / "media" / "m1.mp4").write_bytes(b"<html>not found</html>")
    assert load_study(folder)
    result = check_study(folder)
    assert len(result.faults) == 1
    assert "m1.mp4" in result.faults[0]
    assert "HTML page" in result.faults[0]
    assert check_study(folder, media=False).faults == ()


def test_another_language_needs_all_of_its_texts(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    tiny_study(folder, questions=())
    edit(folder, languages=["en", "fr"], title={"en": "A study", "fr": "Une étude"})
    for name in ("instructions", "consent"):
        (folder / f"{name}.fr.md").write_text("Bonjour.")
    (fault,) = check_study(folder, media=False).faults
    assert "interface.fr.yaml is missing" in fault
    (folder / "interface.fr.yaml").write_text("continue: Continuer\n")
    (fault,) = check_study(folder, media=False).faults
    assert "interface.fr.yaml lacks" in fault
    # A bundled language needs only what differs.
    edit(folder, languages=["en"])
    (folder / "interface.en.yaml").write_text("continue: Onwards\n")
    assert check_study(folder, media=False).faults == ()


def test_what_serves_pages_never_imports_the_key() -> None:
    import vivant_study

    package = Path(vivant_study.__file__).parent
    served = sorted(
        "vivant_study." + ".".join(file.relative_to(package).with_suffix("").parts)
        for folder in ("server", "store")
        for file in (package / folder).glob("*.py")
        if file.name != "__init__.py"
    )
    assert len(served) > 10
    lines = [*(f"import {name}" for name in served), "import sys", "print(*sys.modules)"]
    code = "\n".join(lines)
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "vivant_study.loading" in loaded
    knowing = ("vivant_study.key", "vivant_study.results", "vivant_study.report", "vivant_study.make")
    assert not [name for name in loaded if name.startswith(knowing)]
    for folder in ("server", "store"):
        for file in (package / folder).rglob("*.py"):
            assert "KEY_FILE" not in file.read_text(encoding="utf-8")
