"""A package that outgrows its budget fails the check, and the file to look at is named."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

import budget

SOURCES = {
    "calm.py": "import os\n\n\ndef double(x: int) -> int:\n    return 2 * x\n",
    "loose.py": "from typing import Any\n\n\ndef load(x: Any) -> Any:\n    # Any text\n    return x\n",
    "hasty.py": "try:\n    pass\nexcept (OSError, Exception):\n    pass\ntry:\n    pass\nexcept OSError:\n    pass\n",
    "long.py": "def count() -> None:\n" + "".join(f"    print({number})\n" for number in range(60)),
    "copy.py": "def sum_up() -> None:\n" + "".join(f"    print({number})\n" for number in range(7)),
}
FIGURES = {
    "lines": 88,
    "files": 5,
    "long_functions": 1,
    "any": 2,
    "broad_excepts": 1,
    "duplicate_blocks": 1,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    source = tmp_path / "packages" / "small" / "src" / "small"
    source.mkdir(parents=True)
    for name, text in SOURCES.items():
        (source / name).write_text(text)
    set_budget(tmp_path)
    return tmp_path


def set_budget(root: Path, **changes: int) -> None:
    (root / "tools").mkdir(exist_ok=True)
    lines = [f"{kind} = {limit}" for kind, limit in {**FIGURES, **changes}.items()]
    (root / budget.BUDGET).write_text("\n".join(["[small]", *lines]))


def git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", "-C", str(root), *identity, *words], check=True, capture_output=True)


def test_a_package_within_its_budget_passes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert budget.main([], root) == 0
    output = capsys.readouterr()
    assert not output.err
    rows = [line.split() for line in output.out.splitlines()]
    assert all([kind, str(figure), "/", str(figure)] in rows for kind, figure in FIGURES.items())
    set_budget(root, lines=1000)
    assert budget.main([], root) == 0


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("lines", "long.py has most (61)"),
        ("long_functions", "long.py has most (1)"),
        ("any", "loose.py has most (2)"),
        ("broad_excepts", "hasty.py has most (1)"),
        ("duplicate_blocks", "long.py has most (1)"),
    ],
)
def test_an_exceeded_budget_fails_and_names_the_file(
    root: Path, capsys: pytest.CaptureFixture[str], kind: str, file: str
) -> None:
    set_budget(root, **{kind: FIGURES[kind] - 1})
    assert budget.main([], root) == 1
    (failure,) = capsys.readouterr().err.splitlines()
    assert failure == (
        f"small: {budget.KINDS[kind]}: {FIGURES[kind]}, the budget is {FIGURES[kind] - 1}: "
        f"packages/small/src/small/{file}. {budget.REMEDY}"
    )


def test_the_file_that_grew_is_named_rather_than_the_largest(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_budget(root, lines=0)
    calm = root / "packages" / "small" / "src" / "small" / "calm.py"
    git(root, "init")
    git(root, "add", ".")
    git(root, "commit", "-m", "Start")
    calm.write_text(f"{SOURCES['calm.py']}X = 1\nY = 2\n")
    budget.main([], root)
    assert "calm.py grew most (+2)" in capsys.readouterr().err
    git(root, "commit", "--all", "-m", "Grow")
    budget.main([], root)
    assert "calm.py grew most (+2)" in capsys.readouterr().err
    calm.with_name("new.py").write_text("Z = 3\n" * 5)
    budget.main([], root)
    assert "new.py grew most (+5)" in capsys.readouterr().err


def test_what_grew_is_counted_in_the_kind_that_is_exceeded(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(root, "init")
    git(root, "add", ".")
    git(root, "commit", "-m", "Start")
    source = root / "packages" / "small" / "src" / "small"
    (source / "calm.py").write_text(SOURCES["calm.py"].replace("x: int", "x: Any"))
    (source / "long.py").write_text(SOURCES["long.py"] + "X = 1\n")
    assert budget.main([], root) == 1
    uses = next(line for line in capsys.readouterr().err.splitlines() if budget.KINDS["any"] in line)
    assert "calm.py grew most (+1)" in uses


def test_write_sets_the_budget_to_what_is_measured(root: Path) -> None:
    set_budget(root, **dict.fromkeys(FIGURES, 0))
    assert budget.main(["--write"], root) == 0
    assert tomllib.loads((root / budget.BUDGET).read_text()) == {"small": FIGURES}
    assert budget.main([], root) == 0


def test_a_long_duplicate_counts_once_and_imports_not_at_all() -> None:
    same = "".join(f"call({number})\n" for number in range(20))
    imports = "".join(f"import module_{number}\n" for number in range(10))
    twice = {"a.py": f"{imports}first()\n{same}", "b.py": f"{imports}second()\n{same}"}
    assert budget.count_duplicates(twice) == {"b.py": 1}
    assert budget.count_duplicates({**twice, "c.py": same}).total() == 3
    assert not budget.count_duplicates({"a.py": imports, "b.py": imports, "c.py": "x = 1\n" * 6})


def test_every_package_has_a_budget_of_every_kind() -> None:
    stated = tomllib.loads((budget.ROOT / budget.BUDGET).read_text())
    assert set(stated) == {path.name for path in (budget.ROOT / "packages").iterdir() if path.is_dir()}
    for package, own in stated.items():
        assert set(own) == set(budget.KINDS) - (set() if package == "vivant" else set(budget.TRACED)), package
