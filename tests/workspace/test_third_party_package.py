"""A package that uses every hook, installed with pip and used as a user would. docs/hooks.md shows its files."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import vivant
from vivant import VivantError
from vivant.benchmarks import registry
from vivant.benchmarks.declarative.answer_scorers import check_scorer
from vivant.cli.main import app
from vivant.core.errors import UsageError
from vivant.core.table import to_json
from vivant.hooks import TABLES, list_hooks, load_hook, load_people_hook
from vivant.models.registry import create

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tests" / "workspace" / "third_party"
PAGE = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
BROKEN = """
from pathlib import Path

from vivant.hooks import Command, ReportSection
from vivant.models.base import Model

APP = Command("no_such_module:app", "Its module is missing.")
NOT_A_COMMAND = 3


def fail(*arguments):
    raise ValueError("two\\nlines")


def nothing(*arguments):
    return None


def uneven_table(runs, protocol):
    from vivant import Table

    return Table(title="Uneven", columns=("a", "b"), body=((1, 2), (3,)))


def table_of_lists(runs, protocol):
    from vivant import Table

    return Table(title="Lists", columns=("a",), body=(([],),))


def section_with_text(runs, protocol):
    return ReportSection(title="Text", tables="not a table")


def silent_section(runs, protocol):
    return None


def missing_file(run, folder, protocol, values):
    return [folder / "missing.txt"]


def too_good(reply, accepted):
    return 7
"""
POINTS = """
[vivant.commands]
no-module = vivant_broken:APP
not-a-command = vivant_broken:NOT_A_COMMAND
raises = vivant_raises:APP
run = vivant_broken:NOT_A_COMMAND
[vivant.models]
bad-import = vivant_raises:create
bad-call = vivant_broken:fail
bad-model = vivant_broken:nothing
[vivant.benchmarks]
bad-benchmark = vivant_raises:Benchmark
[vivant.scorers]
bad-scorer = vivant_raises:score
too-good = vivant_broken:too_good
[vivant.tables]
bad-import = vivant_raises:table
bad-call = vivant_broken:fail
bad-type = vivant_broken:nothing
uneven = vivant_broken:uneven_table
lists = vivant_broken:table_of_lists
[vivant.report_sections]
bad-call = vivant_broken:fail
bad-import = vivant_raises:section
bad-tables = vivant_broken:section_with_text
silent = vivant_broken:silent_section
[vivant.exporters]
bad-call = vivant_broken:fail
bad-type = vivant_broken:nothing
missing = vivant_broken:missing_file
inspect = vivant_broken:fail
[vivant.people]
empty = vivant_broken
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip installed the package into."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-compile"]
    options = ["--no-deps", "--no-build-isolation", "--target", str(folder), str(PACKAGE)]
    subprocess.run([*pip, *options], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installed package whose hooks are all broken."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "vivant_broken.py").write_text(BROKEN)
    (folder / "vivant_raises.py").write_text('raise RuntimeError("no GPU\\nfound")\n')
    make_metadata(folder, "vivant-broken", POINTS)
    return folder


def make_metadata(folder: Path, package: str, points: str = "") -> None:
    """Make a folder on Python's path look as if a package was installed in it."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder with the files that the page's commands read."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "capitals.yaml").write_text(*list_blocks("yaml"))
    (folder / "capitals.csv").write_text("question,answer\nCapital of France?,Paris\nCapital of Peru?,Lima\n")
    return folder


@pytest.fixture(scope="module")
def outputs(installed: Path, broken: Path, workspace: Path) -> dict[str, str]:
    """What the commands of the page print, in order, by command name. A broken package is installed too."""
    printed: dict[str, str] = {}
    for block in list_blocks("console"):
        words = shlex.split(block.removeprefix("$ vivant "))
        done = run_vivant(*words, cwd=workspace, path=(installed, broken))
        assert done.returncode == 0, (words, done.stderr)
        printed[f"{words[0]} {words[1]}"] = done.stdout + done.stderr
    return printed


def list_blocks(language: str) -> list[str]:
    """Return the page's code blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def run_vivant(*words: str, cwd: Path, path: tuple[Path, ...]) -> subprocess.CompletedProcess[str]:
    """Run the installed `vivant` with more folders on Python's path."""
    paths = [*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run(
        [str(Path(sys.executable).with_name("vivant")), *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "VIVANT_CACHE": str(cwd / "cache")},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def test_the_page_shows_the_files_of_the_package() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    assert sorted(list_blocks("python")) == sorted(file.read_text(encoding="utf-8") for file in files)
    declared = (PACKAGE / "pyproject.toml").read_text(encoding="utf-8").partition("\n[tool.")[0]
    assert "\n".join(list_blocks("toml")) == declared


def test_the_page_is_short() -> None:
    assert len(PAGE.split()) <= 1250


def test_the_model_runs_on_the_benchmark(outputs: dict[str, str]) -> None:
    assert re.search(r"shortest +colors/mix +accuracy +33\.3 .* 3 +0 +0", outputs["run colors"])


def test_the_scorer_scores_a_yaml_benchmark(outputs: dict[str, str]) -> None:
    assert re.search(r"capitals/all +first-word +50\.0", outputs["run ./capitals.yaml"])


def test_the_command_prints(outputs: dict[str, str]) -> None:
    assert re.fullmatch(r"\w+: [ABC]\n", outputs["longest runs/colors"])


def test_the_table_is_printed(outputs: dict[str, str]) -> None:
    assert re.search(r"colors +colors/mix +3 +1\.0", outputs["table runs/colors"])


def test_the_report_has_the_sections_of_all_packages(outputs: dict[str, str], workspace: Path) -> None:
    page = (workspace / "report.html").read_text(encoding="utf-8")
    headings = re.findall(r"<h2>(.*?)</h2><span>(.*?)</span>", page)
    ours = [("Reply length", "from the package vivant-example")]
    failed = [(name, "could not be made") for name in ("bad-call", "bad-import", "bad-tables")]
    assert headings[0][0] == "Colors"
    assert headings[1:5] == failed + ours
    assert "Long replies cost more." in page
    reason = "from the package vivant-broken failed: ValueError: two lines"
    assert reason in page
    assert reason in outputs["report runs/colors"], "whoever doesn't read the page to the end is warned"


def test_the_exporter_writes_its_file(outputs: dict[str, str], workspace: Path) -> None:
    assert outputs["export runs/colors"] == "Written: files/replies.csv\n"
    lines = (workspace / "files" / "replies.csv").read_text().splitlines()
    assert lines[0] == "id,reply,score"
    assert [line.rpartition(",")[2] for line in lines[1:]] == ["1.0", "0.0", "0.0"]


def test_help_lists_the_command_and_survives_broken_packages(
    installed: Path, broken: Path, tmp_path: Path
) -> None:
    shown = run_vivant("--help", cwd=tmp_path, path=(installed, broken))
    assert shown.returncode == 0, shown.stderr
    assert "Print the longest replies of a run." in shown.stdout
    assert "Evaluate a model on benchmarks" in shown.stdout, "a hook replaces no command of ours"
    assert re.search(r"raises +The command hook 'raises' .* cannot be loaded: .*no GPU found\n", shown.stdout)
    assert "is int, not a vivant.hooks.Command" in shown.stdout


def test_people_come_from_the_one_package_that_provides_them(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "study.yaml").touch()
    (tmp_path / "study" / "ratings.csv").write_text("id,score\nq1,3\nq2,5\n")
    # A package that lies first on the path hides another of its name: as if vivant-study were not installed.
    make_metadata(tmp_path / "first", "vivant-study")
    code = "from vivant.analysis.correction.people_files import load_people; print(load_people(['study']).scores)"
    path = os.pathsep.join(map(str, (tmp_path / "first", installed)))
    alone = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert alone.stdout == "{('q1', ''): [3.0], ('q2', ''): [5.0]}\n", alone.stderr


@pytest.fixture
def _with_broken(broken: Path, installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both packages are installed in this process."""
    monkeypatch.syspath_prepend(installed)
    monkeypatch.syspath_prepend(broken)
    yield
    for name in [name for name in sys.modules if name.startswith(("vivant_broken", "vivant_example"))]:
        del sys.modules[name]


RUNTIME = "RuntimeError: no GPU found"
VALUE = "ValueError: two lines"


@pytest.mark.usefixtures("_with_broken", "outputs")
@pytest.mark.parametrize(
    ("layout", "problem"),
    [
        ("bad-import", f"cannot be loaded: {RUNTIME}"),
        ("bad-call", f"failed: {VALUE}"),
        ("bad-type", "returned NoneType, not a Table"),
        ("uneven", "returned a Table with a mistake: row 2 is 1 cells, and there are 2 columns"),
        ("lists", "mistake: row 1, column 'a' is list; use str, int, float or None"),
    ],
)
def test_a_broken_table_is_one_line(workspace: Path, layout: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        vivant.table(workspace / "runs" / "colors", layout=layout)
    message = str(caught.value)
    assert message.startswith(f"The table hook '{layout}' (vivant_")
    assert message.endswith(problem)
    assert "from the package vivant-broken " in message
    assert "\n" not in message


@pytest.mark.usefixtures("_with_broken", "outputs")
@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("bad-call", f"from the package vivant-broken failed: {VALUE}"),
        ("bad-type", "did not return a list of Path"),
        ("missing", "missing.txt, which does not exist"),
    ],
)
def test_a_broken_exporter_is_one_line(workspace: Path, tmp_path: Path, kind: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        vivant.export(workspace / "runs" / "colors", kind, tmp_path)
    assert str(caught.value).startswith(f"The exporter hook '{kind}' (vivant_broken:")
    assert str(caught.value).endswith(problem)


@pytest.mark.usefixtures("_with_broken", "outputs")
def test_our_own_exporters_stay_and_unknown_names_list_all(workspace: Path, tmp_path: Path) -> None:
    run = workspace / "runs" / "colors"
    (log,) = vivant.export(run, "inspect", tmp_path / "logs")
    assert log.suffix == ".eval"
    with pytest.raises(UsageError, match="known: bad-call, bad-type, inspect, missing, plain-csv"):
        vivant.export(run, "xyz", tmp_path)
    with pytest.raises(UsageError, match="Unknown scoring setting of colors 'threshold'"):
        vivant.export(run, "plain-csv", tmp_path, values={"threshold": 1})
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file is a file; name a folder"):
        vivant.export(run, "plain-csv", tmp_path / "file")


@pytest.mark.usefixtures("_with_broken", "outputs")
def test_a_table_of_a_package_is_chosen_by_name(workspace: Path) -> None:
    run = workspace / "runs" / "colors"
    table = vivant.table(run, layout="reply-length")
    assert table.body == (("colors", "colors/mix", 3, 1.0),)
    cells = {"run": "colors", "task": "colors/mix", "replies": 3, "words": 1.0}
    assert json.loads(to_json([table])) == [cells], "a table without `rows` is not lost as JSON"
    with pytest.raises(UsageError, match="Unknown table 'reply-lenght'; did you mean 'reply-length'"):
        vivant.table(run, layout="reply-lenght")
    with pytest.raises(
        UsageError, match=r"mime is a benchmark; its tables: mime:1, .*packages: bad-call, .*reply"
    ):
        vivant.table(run, layout="mime")
    with pytest.raises(UsageError, match="takes only the protocol"):
        vivant.table(run, layout="reply-length", published=True)


@pytest.mark.usefixtures("_with_broken")
def test_broken_models_benchmarks_scorers_and_people_are_one_line() -> None:
    for load, message in (
        (
            lambda: create("bad-import/x"),
            rf"The model hook 'bad-import' .*vivant-broken cannot .*: {RUNTIME}",
        ),
        (lambda: create("bad-call/x"), f"The model hook 'bad-call' .* failed: {VALUE}"),
        (lambda: create("bad-model/x"), "The model hook 'bad-model' .* returned NoneType, not a Model"),
        (lambda: registry.get("bad-benchmark"), f"The benchmark hook 'bad-benchmark' .*: {RUNTIME}"),
        (lambda: check_scorer("bad-scorer"), f"The scorer hook 'bad-scorer' .*: {RUNTIME}"),
        (lambda: check_scorer("too-good"), "The scorer hook 'too-good' .* return a number from 0 to 1"),
        (
            load_people_hook,
            "Several packages provide studies with people: vivant-broken, vivant-example, vivant-study",
        ),
    ):
        with pytest.raises(VivantError, match=f"^{message}[^\n]*$"):
            load()


@pytest.mark.usefixtures("_with_broken")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (
            "no-module",
            "cannot load no_such_module:app: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("not-a-command", "is int, not a vivant.hooks.Command"),
        ("raises", f"cannot be loaded: {RUNTIME}"),
    ],
)
def test_a_broken_command_is_one_line(name: str, problem: str) -> None:
    error = CliRunner().invoke(app, [name]).exception
    assert isinstance(error, UsageError)
    assert re.fullmatch(rf"The command hook '{name}' \(\S+\) from the package vivant-broken (.*)", str(error))
    assert str(error).endswith(problem)


def test_an_editable_install_beside_its_egg_info_is_one_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = (
        "[vivant.tables]\n# ours\n  reply-length = other.tables:build [extra]\n\n[console_scripts]\nx = y:z\n"
    )
    make_metadata(tmp_path / "site", "vivant-other", points)
    (tmp_path / "src" / "vivant_other.egg-info").mkdir(parents=True)
    (tmp_path / "src" / "vivant_other.egg-info" / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path / "src")
    monkeypatch.syspath_prepend(tmp_path / "site")
    hook = list_hooks(TABLES)["reply-length"]
    assert (hook.value, hook.dist.name, hook.dist.version) == ("other.tables:build", "vivant-other", "1.0")
    with pytest.raises(UsageError, match=r"vivant-other cannot be loaded: ModuleNotFoundError: .*'other'"):
        load_hook(TABLES, "reply-length")


@pytest.mark.usefixtures("_with_broken")
def test_two_packages_with_one_name_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_metadata(tmp_path, "vivant-other", "[vivant.tables]\nreply-length = other:table\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        UsageError, match=r"Several packages provide 'reply-length' .*: vivant-example, vivant-other"
    ):
        load_hook(TABLES, "reply-length")
