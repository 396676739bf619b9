"""The command line as a user meets it: names suggested, one line per mistake, light to start."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.helpers import questions, vivant
from tests.support.standin import openai
from vivant.cli.main import main
from vivant.core.option_specs import list_declared_options
from vivant.engine.options import RunOptions


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rnu"], "Unknown command 'rnu'; did you mean 'run'?"),
        (["run", "mime", "--data", "mini"], "Name a model with --model"),
        (
            ["run", "mime", "--recipe", "paper/gpt-4o-mni", "--data", "mini"],
            "did you mean 'paper/gpt-4o-mini'?",
        ),
        (["run", "mimee", "--model", "random"], "Unknown benchmark 'mimee'; did you mean 'mime'?"),
        (["run", "mime/mqc", "--model", "random", "--data", "mini"], "did you mean 'mcq'?"),
        (
            ["run", "mime", "--model", "randm", "--data", "mini"],
            "Unknown model 'randm'; did you mean 'random'?",
        ),
        (["run", "mime", "--model", "random", "--data", "mini", "--style", "cott"], "did you mean 'cot'?"),
        (
            ["run", "mime", "--model", "random", "--data", "mini", "--where", "varient=base+blank@0"],
            "did you mean 'variant'?",
        ),
        (
            ["run", "mime", "--model", "random", "--data", "mini", "--where", "variant=base+blnk@0"],
            "did you mean 'base+blank@0'?",
        ),
        (["run", "mime", "--model", "random", "--data", "nowhere"], "nowhere does not exist"),
        (["run", "mime", "--model", "random"], "No data for mime"),
        (["run", "./none.jsonl", "--model", "random"], "No such file"),
        (["run", "mime", "--model", "openai/x", "--data", "mini"], "set OPENAI_API_KEY"),
        (
            ["run", "mime", "--model", "random", "--data", "mini", "--control", "blnd"],
            "did you mean 'blind'?",
        ),
        (
            ["run", "mime", "--model", "random", "--data", "mini", "--frames", "4", "--fps", "1"],
            "Choose one of --frames",
        ),
        (
            ["run", "mime", "--data", "mini", "--model", "openai/x", "--model-option", "detial=low"],
            "did you mean 'detail'?",
        ),
        (["table", "nothing-here"], "No run at nothing-here"),
        (["score", "nothing-here"], "No run at nothing-here"),
        (["benchmarks", "show", "milebnch"], "did you mean 'milebench'?"),
        (
            ["run", "mime", "--model", "random", "--data", "mini", "--prompts", "no.yaml"],
            "no.yaml cannot be read",
        ),
    ],
)
def test_a_mistake_is_one_clear_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = vivant(*arguments, cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    assert message in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["run", "mime", "--contol", "blind"],
            "No such option: --contol; did you mean --control? (see `vivant run --help`)",
        ),
        (["compare"], "Missing argument 'RUN…' (see `vivant compare --help`)"),
        (["items", "runs", "--study", "s", "--format", "markdwn"], "Unknown format 'markdwn'; did you mean"),
    ],
)
def test_a_misspelt_option_is_one_line_of_the_same_form(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["vivant", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (1, 2)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"vivant: {message}")


def test_a_refused_question_is_not_promised_another_try(tmp_path: Path) -> None:
    words = {"error": {"message": "Your input was flagged", "code": "content_filter"}}
    path = questions(tmp_path, 1, pictures=False)
    with openai(lambda _: {"status": 400, "body": words}) as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        result = vivant("run", path, "--model", "openai/m", "--base-url", url, cwd=tmp_path)
    assert result.returncode == 1
    first, second = result.stderr.splitlines()[-2:]
    assert first.startswith("1 sample failed; the first: ") and "Your input was flagged" in first
    assert second == "Questions that were refused or are too long are not asked again."


REJECTED = {"status": 400, "body": {"error": {"message": "Unsupported parameter: seed"}}}
FLAGGED = {"status": 400, "body": {"error": {"message": "flagged", "code": "content_filter"}}}
LONG = {
    "status": 400,
    "body": {"message": "This model's maximum context length is 4096 tokens.", "code": 400},
}
TOOL = {"choices": [{"message": {"content": None}, "finish_reason": "tool_calls"}]}


@pytest.mark.parametrize(
    ("replies", "told"),
    [
        (
            [REJECTED, REJECTED, REJECTED],
            "The server rejected them as sent, and will again: mend what it names, then run the same command.",
        ),
        (
            [LONG, LONG, LONG],
            "Questions that were refused or are too long are not asked again. Fewer --frames and a smaller "
            "--longest-side take less room.",
        ),
        ([TOOL, TOOL, TOOL], "Run the same command to try them again."),
        (
            [FLAGGED, REJECTED, TOOL],
            "Questions that were refused or are too long are not asked again. The server rejected 1 of them as "
            "sent, and will again: mend what it names, then run the same command. "
            "Run the same command to try the others again.",
        ),
    ],
)
def test_the_closing_line_fits_the_errors(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    replies: list[dict[str, Any]],
    told: str,
) -> None:
    from typer.testing import CliRunner

    from vivant.cli.run import app

    monkeypatch.chdir(tmp_path)
    path = questions(tmp_path, 3, pictures=False)
    turn = iter(replies)
    with openai(lambda _: next(turn)) as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        arguments = [str(path), "--model", "openai/m", "--base-url", url, "--concurrency", "1"]
        result = CliRunner().invoke(app, [*arguments, "--cache", "off", "--out", "run"])
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == told


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['vivant', '--help']\n"
        "from vivant.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'av', 'numpy', 'polars', 'aiohttp', 'onnxruntime', 'PIL', 'msgspec'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert "vivant demo" in result.stdout


def test_import_of_the_package_is_light() -> None:
    code = "import vivant, sys; assert not {'av', 'numpy', 'polars', 'aiohttp', 'msgspec'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    path = questions(folder, 40, pictures=False)
    for model in ("random", "first"):
        assert vivant("run", path, "--model", model, "--out", model, cwd=folder).returncode == 0
    return folder


def test_a_json_row_has_every_promised_field(run: Path) -> None:
    result = vivant("table", "random", "first", "--by", "half", "--format", "json", cwd=run)
    rows = json.loads(result.stdout)
    assert len(rows) == 4
    for row in rows:
        assert {
            "run",
            "benchmark",
            "task",
            "group",
            "metric",
            "value",
            "n",
            "errors",
            "unparsed",
            "interval",
        } <= set(row)
        assert row["n"] == 20
        assert row["interval"][0] <= row["value"] <= row["interval"][1]
    assert {row["group"]["half"] for row in rows} == {"first", "second"}
    assert {row["run"] for row in rows} == {"random", "first"}


def test_the_other_formats_hold_the_same_figures(run: Path) -> None:
    rows = json.loads(vivant("table", "first", "--format", "json", cwd=run).stdout)
    figure = f"{rows[0]['value']:.1f}"
    read = list(csv.DictReader(io.StringIO(vivant("table", "first", "--format", "csv", cwd=run).stdout)))
    assert read[0]["score"] == figure
    for form in ("text", "markdown", "latex"):
        assert figure in vivant("table", "first", "--format", form, cwd=run).stdout
    assert r"\toprule" in vivant("table", "first", "--format", "latex", cwd=run).stdout
    assert r"95 \% interval" in vivant("table", "first", "--format", "latex", cwd=run).stdout


def test_where_narrows_a_table(run: Path) -> None:
    rows = json.loads(vivant("table", "first", "--where", "half=first", "--format", "json", cwd=run).stdout)
    assert rows[0]["n"] == 20


def test_a_plan_sends_and_writes_nothing(tmp_path: Path) -> None:
    path = questions(tmp_path, 7)
    before = sorted(tmp_path.iterdir())
    result = vivant("plan", path, "--model", "openai/x", "--base-url", "http://127.0.0.1:9/v1", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "jsonl/mine" in result.stdout
    assert sorted(tmp_path.iterdir()) == before


def test_a_plan_can_be_written_for_other_tools(tmp_path: Path) -> None:
    path = questions(tmp_path, 3)
    vivant("plan", path, "--model", "random", "--write", "requests.jsonl", cwd=tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["q000", "q001", "q002"]
    assert lines[0]["options"][0]["name"] == "A"
    assert lines[0]["messages"][0]["parts"][0] == {"kind": "image", "path": "0.png"}


def test_a_directory_that_is_not_a_run_is_left_alone(tmp_path: Path) -> None:
    path = questions(tmp_path, 3, pictures=False)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("precious")
    result = vivant("run", path, "--model", "random", "--out", "thesis", cwd=tmp_path)
    assert result.returncode == 1
    assert "is not empty and not a run" in result.stderr
    assert [p.name for p in (tmp_path / "thesis").iterdir()] == ["chapter.txt"]


def test_the_library_s_front_door_stays_a_function(tmp_path: Path) -> None:
    import vivant as library

    path = questions(tmp_path, 2, pictures=False)
    for name in ("one", "two"):
        run = library.evaluate(str(path), "first", out=str(tmp_path / name))
        assert len(library.load_run(run.dir.path).records()) == 2


@pytest.mark.parametrize("command", ["run", "plan", "sweep"])
def test_help_fits_two_screens_and_help_all_shows_everything(command: str, tmp_path: Path) -> None:
    narrow = {"COLUMNS": "80"}
    short = vivant(command, "--help", cwd=tmp_path, env=narrow).stdout.splitlines()
    assert len(short) <= 48
    assert max(map(len, short)) <= 80
    flags = [line.split()[0].rstrip(",") for line in short if line.startswith("  --")]
    assert flags[0] == "--model"
    everything = vivant(command, "--help-all", cwd=tmp_path, env=narrow).stdout
    options = {option.flag for option in list_declared_options(RunOptions).values() if option.flag}
    if command == "sweep":
        options -= {"--recipe", "--fps", "--every", "--every-start", "--max-frames"}
    shown = {line.split()[0].rstrip(",") for line in everything.splitlines() if line.startswith("  --")}
    assert options <= shown
    assert set(flags) < shown
    assert max(map(len, everything.splitlines())) <= 80


def test_quiet_prints_results_alone_and_the_library_prints_nothing(run: Path) -> None:
    arguments = ("plan", run / "mine.jsonl", "--model", "random")
    assert "Run directory" in vivant(*arguments, cwd=run).stderr
    quiet = vivant("--quiet", *arguments, cwd=run)
    assert "jsonl/mine" in quiet.stdout
    assert quiet.stderr == ""


def test_the_package_lists_what_it_offers() -> None:
    import vivant as library
    from vivant import api

    assert set(api.__all__) | {"__version__"} == set(library.__all__) <= set(dir(library))
    assert all(getattr(library, name) is getattr(api, name) for name in api.__all__)


def test_recipes_are_listed_shown_and_read_from_a_clone(tmp_path: Path) -> None:
    from tests.support.original_repos import COMMIT, make_clone

    narrow = {"COLUMNS": "80"}
    listed = vivant("recipes", "mime", cwd=tmp_path, env=narrow).stdout
    assert "gpt-4o-mini-few-shot" in listed and "partly known" in listed
    shown = vivant("recipes", "show", "mime", "paper/phi-3.5-vision", cwd=tmp_path, env=narrow).stdout
    assert "--fps 1.0 --max-frames 1 --spread middles" in shown and "phi35.py" in shown
    assert "picture size:   not stated" in shown
    assert max(map(len, (listed + shown).splitlines())) <= 80
    make_clone(tmp_path / "clone", "mime")
    arguments = ("recipes", "wording", "mime", "--repo", "clone", "--out", "w.yaml")
    read = vivant(*arguments, cwd=tmp_path)
    assert (
        read.returncode == 0 and COMMIT[:7] in read.stderr and "differ from those at be9e4a4" in read.stderr
    )
    run = ("run", "mime/ff", "--recipe", "paper/gpt-4o-mini-cot", "--model", "random", "--data", "mini")
    result = vivant(*run, "--limit", "2", "--prompts", "w.yaml", "--out", "run", cwd=tmp_path)
    assert (
        result.returncode == 0
        and "wording: a text of the user's; the recipe: the original's" in result.stderr
    )
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["recipe"] == "paper/gpt-4o-mini-cot"
    assert manifest["settings"]["wording"]["source"].endswith(COMMIT)
    first = json.loads((tmp_path / "run" / "log.jsonl").read_text().splitlines()[0])
    assert first["messages"][0]["parts"][0] == {"kind": "text", "text": "Think and say."}
