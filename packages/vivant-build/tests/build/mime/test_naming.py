"""`vivant build mime try` refuses misspelled names. In tests/workspace/test_naming.py people and models name clips."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.helpers import vivant
from vivant import mini
from vivant.core.errors import DataError, UsageError
from vivant_build.mime.naming import Naming, build_naming_table, choose_variant, count_names

CLIPS = mini.root("mime") or Path("missing")
VARIANT = "base+blank@0"


def test_a_misspelt_model_leaves_nothing_behind(tmp_path: Path) -> None:
    said = vivant("build", "mime", "try", str(CLIPS), "--out", "naming", "--model", "randm", cwd=tmp_path)
    assert said.returncode != 0 and "random" in said.stderr and said.stderr.count("\n") == 1
    assert not (tmp_path / "naming").exists()


def test_misspelt_variants_and_shares_are_refused(tmp_path: Path) -> None:
    assert choose_variant(CLIPS, None) == VARIANT
    with pytest.raises(UsageError, match=r"did you mean 'base\+blank@90'"):
        choose_variant(CLIPS, "base+blank@9")
    with pytest.raises(UsageError, match="a share from 0 to 1, not 50"):
        count_names(CLIPS, tmp_path, least=50)
    with pytest.raises(DataError, match="no answers yet"):
        build_naming_table(Naming(actions=(), least=0.5))
