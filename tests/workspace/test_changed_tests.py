"""A change selects the tests that can see it: through imports, strings, support code, commands and data files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import changed_tests

FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["packages/pond/tests", "tests"]\n',
    "conftest.py": "from tests.support.everywhere import clean\n\nclean()\n",
    "README.md": "Pond\n",
    "tools/draw.py": "from pond.reeds import grow\n\ngrow()\n",
    "packages/pond/pyproject.toml": '[project.scripts]\npond = "pond.cli.main:main"\n',
    "packages/pond/src/pond/__init__.py": "",
    "packages/pond/src/pond/water.py": "",
    "packages/pond/src/pond/fish.py": "from pond.water import swim\n",
    "packages/pond/src/pond/reeds.py": "def grow():\n    from pond.soil.mud import hold\n",
    "packages/pond/src/pond/registry.py": 'KINDS = {"frog": "pond.frog:Frog"}\n',
    "packages/pond/src/pond/frog.py": "",
    "packages/pond/src/pond/templates/page.html": "",
    "packages/pond/src/pond/soil/__init__.py": "",
    "packages/pond/src/pond/soil/mud.py": "",
    "packages/pond/src/pond/cli/__init__.py": "",
    "packages/pond/src/pond/cli/main.py": 'COMMANDS = {"look": Command("pond.cli.look:app", "Look.")}\n',
    "packages/pond/src/pond/cli/look.py": "def look():\n    from pond.reeds import grow\n",
    "packages/pond/tests/support/everywhere.py": "def clean():\n    pass\n",
    "packages/pond/tests/support/kit.py": (
        "from pond.water import fill\n\n\ndef dig():\n    return 1\n\n\ndef wet():\n    return fill()\n\n\n"
        'def run(*words):\n    start("from pond.cli.main import main; main()")\n'
    ),
    "packages/pond/tests/test_dry.py": "from tests.support.kit import dig\n\n\ndef test():\n    dig()\n",
    "packages/pond/tests/test_wet.py": "from tests.support.kit import wet\n\n\ndef test():\n    wet()\n",
    "packages/pond/tests/test_fish.py": "def test():\n    from pond import fish\n",
    "packages/pond/tests/test_look.py": (
        'from tests.support.kit import run\n\n\ndef test():\n    run("look", "--all")\n'
    ),
    "packages/pond/tests/test_argv.py": 'def test(monkeypatch):\n    monkeypatch.setattr(sys, "argv", ["pond"])\n',
    "packages/pond/tests/test_named.py": 'def test():\n    patch("pond.registry.KINDS")\n    get("frog/green")\n',
    "packages/pond/tests/test_other.py": "from pond.registry import KINDS\n\nKINDS\n",
    "packages/pond/tests/soil/test_soil.py": "from pond.reeds import grow\n\ngrow()\n",
    "packages/pond/tests/soil/test_dust.py": "def test():\n    pass\n",
    "packages/pond/tests/deep/data/seen.json": "{}",
    "packages/pond/tests/deep/conftest.py": "from pond.soil.mud import hold\n\nhold()\n",
    "packages/pond/tests/deep/test_deep.py": "def test():\n    pass\n",
    "tests/docs/test_pages.py": "def test():\n    pass\n",
    "tests/workspace/test_draw.py": 'def test():\n    start("tools/draw.py")\n',
}
COMMANDS = {"look", "argv"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for words in (("init",), ("add", "."), ("commit", "-m", "Start")):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", "-C", str(root), *identity, *words], check=True, capture_output=True)
    return root


@pytest.fixture
def workspace(root: Path, monkeypatch: pytest.MonkeyPatch) -> changed_tests.Workspace:
    monkeypatch.setattr(changed_tests, "COMMAND", "pond.cli.main")
    monkeypatch.syspath_prepend(str(root / "packages" / "pond" / "src"))
    return changed_tests.Workspace(root)


def select(workspace: changed_tests.Workspace, path: str, *, near: bool = False) -> set[str]:
    """Return the selected tests by their short names."""
    selected = workspace.select([path], near=near)
    return {Path(test).stem.removeprefix("test_") for test in selected}


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("water.py", {"fish", "wet"}),  # through fish.py; in the support function that uses it
        ("fish.py", {"fish"}),
        ("frog.py", {"named", "other"}),  # through a string in the registry
        ("reeds.py", {"draw", "soil", *COMMANDS}),
        ("soil/mud.py", {"deep", "draw", "soil", *COMMANDS}),  # in a function; in a conftest
        ("cli/look.py", COMMANDS),
        ("deleted.py", {"fish", "wet", "named", "other", "draw", "soil", *COMMANDS}),
        ("templates/page.html", {"fish", "wet", "named", "other", "draw", "soil", *COMMANDS}),
    ],
)
def test_sources_select_the_tests_that_use_them(
    workspace: changed_tests.Workspace, path: str, tests: set[str]
) -> None:
    assert select(workspace, f"packages/pond/src/pond/{path}") == tests


def test_near_follows_no_registry_unless_the_test_names_an_entry(workspace: changed_tests.Workspace) -> None:
    source = "packages/pond/src/pond"
    assert select(workspace, f"{source}/frog.py", near=True) == {"named"}
    assert select(workspace, f"{source}/cli/look.py", near=True) == {"look"}
    assert select(workspace, f"{source}/reeds.py", near=True) == {"look", "draw", "soil"}
    assert select(workspace, f"{source}/soil/mud.py", near=True) == {"deep", "soil"}
    assert select(workspace, f"{source}/water.py", near=True) == {"fish", "wet"}


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("packages/pond/tests/test_dry.py", {"dry"}),
        ("packages/pond/tests/support/kit.py", {"dry", "wet", "look"}),
        ("packages/pond/tests/deep/conftest.py", {"deep"}),
        ("packages/pond/tests/deep/data/seen.json", {"deep"}),
        ("tools/draw.py", {"draw"}),
        ("docs/page.md", {"pages"}),
        ("README.md", {"pages"}),
        ("scripts/other", set()),
    ],
)
def test_other_files_select_what_depends_on_them(
    workspace: changed_tests.Workspace, path: str, tests: set[str]
) -> None:
    assert select(workspace, path) == tests


def test_the_support_of_the_root_conftest_is_seen_by_all(workspace: changed_tests.Workspace) -> None:
    everywhere = workspace.select(["packages/pond/tests/support/everywhere.py"])
    assert everywhere == set(workspace.tests)


def test_changes_are_committed_uncommitted_and_untracked(
    workspace: changed_tests.Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    root = workspace.root
    changed_tests.main([], root)
    assert not capsys.readouterr().out
    (root / "packages/pond/src/pond/fish.py").write_text("")
    (root / "packages/pond/tests/test_new.py").write_text("")
    changed_tests.main([], root)
    assert capsys.readouterr().out.split() == [
        "packages/pond/tests/test_fish.py",
        "packages/pond/tests/test_new.py",
    ]
    (root / "Makefile").write_text("")
    changed_tests.main(["HEAD"], root)
    assert capsys.readouterr().out.split() == ["packages/pond/tests", "tests"]
    with pytest.raises(SystemExit, match="nothing"):
        changed_tests.main(["nothing"], root)
