"""Labels by people: which takes are kept, what counts as one label, and who decides."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from tests.support.helpers import vivant
from vivant.core.errors import DataError, UsageError
from vivant.core.yaml_files import read_yaml
from vivant_build.mime.consolidate import (
    ACTIONS_FILE,
    MERGES,
    Merges,
    check_overwrite,
    consolidate,
    decide,
    report,
    settle_merges,
    write_consolidation,
)
from vivant_build.mime.labels import JudgedLabel, LabelFile, Merge, label_key, propose_merges, read_labels
from vivant_build.mime.plan_file import OwnAction

ROWS = [
    *(
        ("Bow1", "a", "shooting an arrow"),
        ("Bow1", "b", "Shooting arrow!"),
        ("Bow1", "c", "throwing a spear"),
    ),
    *(
        ("Guitar1", "a", "playing guitar"),
        ("Guitar1", "b", "strumming guitar"),
        ("Guitar1", "c", "rock music"),
    ),
    *(("Mop1", "a", "mopping"), ("Mop1", "b", "rowing boat"), ("Mop1", "c", "ice hockey")),
]


class Words:
    """An encoder for tests: texts that share words are near."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        known = sorted({word for text in texts for word in text.split()})
        array = np.array([[word in text.split() for word in known] for text in texts], np.float32)
        return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True), np.float32)


def reading(rows: Sequence[tuple[str, str, str]] = ROWS) -> LabelFile:
    return LabelFile(judged=tuple(JudgedLabel(*row) for row in rows), notes=())


def _write(path: Path, rows: Sequence[tuple[str, str, str]], head: str = "take,annotator,label") -> Path:
    path.write_text("\n".join([head, *(",".join(row) for row in rows)]) + "\n")
    return path


def test_two_of_three_keep_a_take_and_one_does_not() -> None:
    found = consolidate(reading(), [])
    assert {one.item: one.kept for one in found.decisions} == {"Bow1": True, "Guitar1": False, "Mop1": False}
    bow = found.decisions[0]
    assert bow.labels == ("shooting an arrow",) and (bow.votes, bow.annotators) == (2, 3)
    assert found.decisions[1].reason == "no 2 agree"
    # One of three pairs agrees on one take of three.
    assert found.agreement[0] == pytest.approx(1 / 9)


def test_near_labels_count_as_one_only_when_a_person_says_so() -> None:
    (merge,) = propose_merges(reading().judged, Words(), near=0.5)
    assert (merge.into, merge.labels, merge.items) == ("playing guitar", ("strumming guitar",), ("Guitar1",))
    assert merge.confirm is None and merge.similarity == pytest.approx(0.5)

    def kept(confirm: bool | None) -> set[str]:
        decided = Merge(into=merge.into, labels=merge.labels, confirm=confirm)
        return {one.item for one in consolidate(reading(), [decided]).kept}

    assert kept(None) == kept(False) == {"Bow1"}
    assert kept(True) == {"Bow1", "Guitar1"}
    after = consolidate(reading(), [Merge(into=merge.into, labels=merge.labels, confirm=True)])
    assert after.decisions[1].labels == ("playing guitar", "strumming guitar")
    assert after.agreement[1] > after.agreement[0] and after.alpha[1] > after.alpha[0]


def test_labels_of_different_takes_need_to_be_nearer() -> None:
    rows = [("A", "x", "red fox runs"), ("B", "x", "red fox sits")]
    assert propose_merges(reading(rows).judged, Words(), near=0.5) == []
    assert len(propose_merges(reading(rows).judged, Words(), near=0.5, same=0.6)) == 1


def test_case_punctuation_and_articles_are_no_difference() -> None:
    assert label_key("Playing the Guitar.") == label_key("playing guitar")
    assert label_key("The") == label_key("the"), "a label of articles alone keeps them"
    assert propose_merges(reading([("A", "x", "The fox"), ("A", "y", "fox")]).judged, Words()) == []


@pytest.mark.parametrize(
    "labels,kept,reason",
    [
        (["a", "a", "b"], True, ""),
        (["a", "a"], True, ""),
        (["a"], False, "only 1 of 3 annotators"),
        (["a", "a", "b", "b"], False, "tied with 'b'"),
        (["a", "a", "b", "c", "d", "e"], False, "2 of 6 are fewer than 2 of 3"),
        (["a", "a", "a", "a", "b", "c"], True, ""),
    ],
)
def test_the_rule_for_other_numbers_of_annotators(labels: list[str], kept: bool, reason: str) -> None:
    judged = [JudgedLabel("T", str(n), f"{label}ing") for n, label in enumerate(labels)]
    (found,) = decide(judged, {one.key: one.key for one in judged})
    assert (found.kept, found.reason.replace("ing'", "'")) == (kept, reason)
    with pytest.raises(UsageError, match="4 of 3"):
        decide(judged, {}, agree=4)


def test_csv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    table = _write(tmp_path / "l.csv", [*ROWS, ("Bow1", "a", "second thought"), ("Mop1", "d", "")])
    lines = tmp_path / "l.jsonl"
    lines.write_text(
        "".join(json.dumps({"action": i, "annotator": a, "label": t}) + "\n" for i, a, t in ROWS)
    )
    assert read_labels(table).judged == read_labels(lines).judged == reading().judged
    assert len(read_labels(table).notes) == 2


@pytest.mark.parametrize(
    "head,reason",
    [
        ("take,person,label", "no column 'annotator'"),
        ("thing,annotator,label", "no column 'item or take or action"),
        ("take,annotator,name", "no column 'label or answer'"),
    ],
)
def test_missing_columns_are_named(head: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=reason):
        read_labels(_write(tmp_path / "l.csv", ROWS, head))


def test_rows_without_a_take_and_empty_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 1: there is no 'take'"):
        read_labels(_write(tmp_path / "l.csv", [("", "a", "x")]))
    with pytest.raises(DataError, match="holds no labels"):
        read_labels(_write(tmp_path / "m.csv", []))
    with pytest.raises(DataError, match="no labels that count"):
        read_labels(_write(tmp_path / "n.csv", [("A", "a", "...")]))
    with pytest.raises(DataError, match="no column 'page'"):
        read_labels(_write(tmp_path / "o.csv", ROWS), page="what")


def test_a_file_of_decisions_is_checked() -> None:
    guitar = Merge(into="playing guitar", labels=("strumming guitar",), confirm=True)
    with pytest.raises(DataError, match="did you mean 'mopping'"):
        consolidate(reading(), [Merge(into="mopping", labels=("moping",))])
    with pytest.raises(DataError, match="'strumming guitar' is merged into two"):
        consolidate(reading(), [guitar, Merge(into="mopping", labels=("strumming guitar",), confirm=True)])
    with pytest.raises(DataError, match="'playing guitar' takes labels and is itself merged"):
        consolidate(reading(), [guitar, Merge(into="mopping", labels=("playing guitar",), confirm=True)])


def test_decisions_are_asked_for_or_left_open(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(merge: Merge) -> bool | None:
        asked.append(merge.into)
        return True

    merges = settle_merges(reading(), Words(), near=0.5, ask=ask)
    assert asked == ["playing guitar"] and merges[0].confirm is True
    found = consolidate(reading(), merges)
    files = write_consolidation(found, tmp_path / "out")
    assert [file.name for file in files] == [MERGES, ACTIONS_FILE, "labels.csv"]
    assert read_yaml(tmp_path / "out" / MERGES, Merges).merges == tuple(merges)
    # What comes out is what a plan takes.
    actions = yaml.safe_load((tmp_path / "out" / ACTIONS_FILE).read_text())["actions"]
    taken = msgspec.convert(actions, tuple[OwnAction, ...])
    assert [one.labels for one in taken] == [one.labels for one in found.kept]
    with pytest.raises(DataError, match="holds decisions; use them with --confirm"):
        check_overwrite(tmp_path / "out")
    assert "2 of 3 takes kept; 1 merges confirmed, 0 undecided" in report(found).notes
    with pytest.raises(UsageError, match="not between 0 and 1"):
        settle_merges(reading(), Words(), near=7)


def test_the_command_proposes_then_confirms(tmp_path: Path) -> None:
    _write(tmp_path / "labels.csv", ROWS)
    command = ("build", "mime", "consolidate", "labels.csv", "--out", "kept")
    first = vivant(*command, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "1 of 3 takes kept" in first.stdout and "await a person" in first.stderr
    merges = tmp_path / "kept" / MERGES
    assert "confirm: null" in merges.read_text()
    merges.write_text(merges.read_text().replace("confirm: null", "confirm: true"))
    second = vivant(*command, "--confirm", "kept/merges.yaml", cwd=tmp_path)
    assert second.returncode == 0 and "2 of 3 takes kept" in second.stdout
    kept = yaml.safe_load((tmp_path / "kept" / ACTIONS_FILE).read_text())["actions"]
    assert [entry["name"] for entry in kept] == ["Bow1", "Guitar1"]
    asked = vivant(*command, "--confirm", "kept/merges.yaml", "--ask", cwd=tmp_path)
    assert asked.returncode == 1 and "--ask needs a terminal" in asked.stderr
    merges.write_text("merges:\n- into: x\n  lables: [y]\n")
    broken = vivant(*command, "--confirm", "kept/merges.yaml", cwd=tmp_path)
    assert broken.returncode == 1 and "did you mean 'labels'?" in broken.stderr
    assert broken.stderr.count("\n") == 1
