"""YAML files that people edit: read into structs, with errors of one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import Struct

from vivant.core.errors import DataError
from vivant.core.yaml_files import read_yaml, write_yaml


class Inner(Struct, forbid_unknown_fields=True):
    learning_rate: float


class Outer(Struct, forbid_unknown_fields=True):
    name: str
    parts: list[Inner]


def test_structs_come_back_under_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.yaml"
    value = Outer("né", [Inner(0.5)])
    write_yaml(path, value, "What this is.\nEdit it.")
    assert path.read_text(encoding="utf-8").startswith("# What this is.\n# Edit it.\nname: né\n")
    assert read_yaml(path, Outer) == value
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "is not YAML"),
        (
            "name: a\nparts: [{learning_rat: 1}]",
            r"at parts\[0\]: Unknown field 'learning_rat'; did you mean",
        ),
        ("name: 1\nparts: []", "Expected `str`, got `int`"),
        ("", "Expected `object`, got `null`"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as error:
        read_yaml(path, Outer)
    assert "\n" not in str(error.value) and "a.yaml" in str(error.value)


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.yaml cannot be read: No such file"):
        read_yaml(tmp_path / "gone.yaml", Outer)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"a\.yaml cannot be written"):
        write_yaml(tmp_path / "file" / "a.yaml", {}, "x")
