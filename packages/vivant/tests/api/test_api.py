"""What `import vivant` offers: under a running loop, lazily, typed, and short where it is shown."""

from __future__ import annotations

import asyncio
import inspect
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import msgspec
import pytest

import vivant
from tests.support.helpers import logged_messages, questions
from tests.support.runs_kit import answer, make_run, quiz
from vivant import api
from vivant.core.event_loop import run_coroutine

SLOW = """
import asyncio
class M:
    async def generate(self, request):
        await asyncio.sleep(0.3)
        return next(option.name for option in request.options if option.text == "right")
"""


@pytest.fixture
def run(tmp_path: Path) -> vivant.Run:
    samples = quiz(12, facets={"half": ("first", "second")})
    return make_run(tmp_path / "run", samples, [answer(s, 0 if n % 3 else 1) for n, s in enumerate(samples)])


def _slow_model(tmp_path: Path) -> str:
    (tmp_path / "slow.py").write_text(SLOW)
    return f"{tmp_path / 'slow.py'}:M"


# ── the module ───────────────────────────────────────────────────────────────────────────────────


def test_every_name_is_listed_and_there() -> None:
    assert set(vivant.__all__) - {"__version__"} == set(api.__all__)
    assert set(vivant.__all__) <= set(dir(vivant))
    for name in vivant.__all__:
        assert getattr(vivant, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        _ = vivant.evalute


def test_functions_are_documented_and_no_package_hides_them() -> None:
    import vivant.reporting.html  # a package of a function's name would replace it once it is imported

    assert vivant.reporting.html is not None
    for name in api.__all__:
        value = getattr(vivant, name)
        if inspect.isfunction(value):
            names = [n for n in inspect.signature(value).parameters if n != "self"]
            documented = inspect.getdoc(value) or ""
            assert [n for n in names if f"\n    {n}: " not in documented] == [], name
            assert value.__annotations__["return"], name


def test_importing_loads_no_heavy_library() -> None:
    code = (
        "import sys, vivant; dir(vivant); vivant.__all__\n"
        "heavy = {'torch', 'av', 'numpy', 'aiohttp', 'starlette', 'polars', 'pandas', 'IPython', 'rich', 'jinja2'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_types_are_what_a_checker_sees(run: vivant.Run) -> None:
    import polars

    assert_type(vivant.table(run), vivant.Table)
    assert_type(vivant.load_runs([run]), list[vivant.Run])
    assert_type(run.samples[0].reply, str)
    if TYPE_CHECKING:
        assert_type(vivant.evaluate("mime", "random", data="mini"), vivant.Run)
        assert_type(asyncio.run(vivant.evaluate_async("mime", "random", limit=3)), vivant.Run)  # type: ignore[arg-type,unused-ignore]
        assert_type(vivant.sweep("mime", "random", frames=[8], limit=3), vivant.Sweep)
        assert_type(vivant.compare([run]), vivant.Comparison)
        assert_type(run.to_polars(), polars.DataFrame)


# ── evaluation ───────────────────────────────────────────────────────────────────────────────────


def test_it_evaluates_under_a_running_loop(tmp_path: Path) -> None:
    path = questions(tmp_path, 4, pictures=False)

    async def cell() -> vivant.Run:
        return vivant.evaluate(str(path), "first", out=tmp_path / "run")

    run = asyncio.run(cell())
    assert len(run.records()) == 4


def test_several_evaluations_are_awaited_at_once(tmp_path: Path) -> None:
    path = questions(tmp_path, 2, pictures=False)
    model = _slow_model(tmp_path)
    beats = 0

    async def main() -> list[vivant.Run]:
        nonlocal beats
        tasks = [
            asyncio.ensure_future(vivant.evaluate_async(str(path), model, out=tmp_path / name, cache="off"))
            for name in "ab"
        ]
        while not all(task.done() for task in tasks):
            beats += 1
            await asyncio.sleep(0.01)
        return [task.result() for task in tasks]

    runs = asyncio.run(main())
    assert [len(run.records()) for run in runs] == [2, 2]
    assert beats > 5, "the caller's loop stood still"
    assert list(inspect.signature(vivant.evaluate_async).parameters) == list(
        inspect.signature(vivant.evaluate).parameters
    )
    assert "\n    limit: " in (inspect.getdoc(vivant.evaluate_async) or "")


def test_cancelling_keeps_the_log_and_the_same_call_resumes(tmp_path: Path) -> None:
    path = questions(tmp_path, 6, pictures=False)
    arguments: dict[str, Any] = {"out": tmp_path / "run", "concurrency": 1, "cache": "off"}

    async def main() -> None:
        task = asyncio.ensure_future(vivant.evaluate_async(str(path), _slow_model(tmp_path), **arguments))
        log = tmp_path / "run" / "log.jsonl"
        while not log.exists() or not log.stat().st_size:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    stopped = len(vivant.load_run(tmp_path / "run").records())
    assert 0 < stopped < 6
    assert not [thread for thread in threading.enumerate() if thread.name == "vivant"]
    with logged_messages() as messages:
        run = vivant.evaluate(str(path), _slow_model(tmp_path), **arguments)
    assert len(run.records()) == 6
    assert any(f"{stopped} of 6 samples are done" in message for message in messages)


SCRIPT = """
import asyncio, sys, vivant
async def main():
    vivant.evaluate("mine.jsonl", "slow.py:M", out="run", concurrency=1, cache="off")
asyncio.run(main())
"""


def test_one_interrupt_stops_a_script_whose_loop_is_waiting(tmp_path: Path) -> None:
    questions(tmp_path, 20, pictures=False)
    _slow_model(tmp_path)
    (tmp_path / "script.py").write_text(SCRIPT)
    log = tmp_path / "run" / "log.jsonl"
    process = subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (log.exists() and log.stat().st_size):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode not in (0, None)
    assert "KeyboardInterrupt: Stopped. The same call resumes the run: run" in errors
    assert 0 < len(vivant.load_run(tmp_path / "run").records()) < 20


def test_what_goes_wrong_reaches_the_caller_from_its_thread(tmp_path: Path) -> None:
    async def cell() -> None:
        vivant.evaluate(str(questions(tmp_path, 1, pictures=False)), "gpt-4o-mini")

    with pytest.raises(vivant.VivantError, match="did you mean 'openai/gpt-4o-mini'"):
        asyncio.run(cell())

    async def broken() -> None:
        raise ValueError("inside")

    async def outer() -> None:
        run_coroutine(broken())

    with pytest.raises(ValueError, match="inside"):
        asyncio.run(outer())


def test_the_mini_is_one_folder_and_people_are_a_model(tmp_path: Path) -> None:
    run = vivant.evaluate("mime/mcq", "random", data="mini", limit=2, out=tmp_path / "mini")
    assert len(run.samples) == 2
    with pytest.raises(vivant.VivantError, match="holds no human answers for mime/mcq"):
        vivant.evaluate("mime/mcq", "human", data="mini", out=tmp_path / "human")


# ── what is shown ────────────────────────────────────────────────────────────────────────────────


def test_nothing_prints_more_than_a_screen(run: vivant.Run) -> None:
    assert repr(run).startswith("<Run ")
    assert "12 of 12 replies" in repr(run)
    for value in (run, run.scores(), run.samples, run.samples[0], run.table()):
        assert len(repr(value)) < 1_000, type(value)


def test_a_run_shows_its_scores_in_a_notebook(run: vivant.Run) -> None:
    shown = run._repr_html_()
    assert "<table>" in shown
    assert "66.7" in shown
    assert "<script" not in shown
    sample = run.samples["q001"]._repr_html_()
    assert "Which tree, 1?" in sample
    assert "oak" in sample


def test_markup_in_data_is_shown_as_text(tmp_path: Path) -> None:
    samples = quiz(1)
    evil = "<script>alert(1)</script>"
    run = make_run(tmp_path / "run", samples, [answer(samples[0], None, text=evil)])
    assert evil not in run.samples[0]._repr_html_()
    assert "&lt;script&gt;" in run.samples[0]._repr_html_()
    table = vivant.Table(title=evil, columns=(evil,), body=((evil,),), notes=(evil,))
    assert "<script" not in table._repr_html_()


def test_a_run_that_cannot_be_scored_says_why(tmp_path: Path) -> None:
    run = vivant.evaluate("mmie", "first", data="mini", limit=1, out=tmp_path / "run")
    assert "scored by a judge" in run._repr_html_()
    assert "score" in run.samples[0]._repr_html_()


def test_samples_are_read_when_they_are_asked_for(run: vivant.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    directory = type(run.dir)
    read = directory.samples

    def count(self: Any) -> Any:
        reads.append("samples")
        return read(self)

    monkeypatch.setattr(directory, "samples", count)
    samples = run.samples
    assert len(samples) == 12
    assert not reads
    assert samples[3].id == "q003"
    assert [sample.id for sample in samples[-2:]] == ["q010", "q011"]
    assert reads == ["samples"]
    assert samples["q001"].score is not None
    assert samples["q001"].score.value == 1.0
    with pytest.raises(KeyError, match="no sample with the id 'q999'"):
        _ = samples["q999"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_have_a_row_for_each_reply(run: vivant.Run, library: str) -> None:
    pytest.importorskip(library)
    frame: Any = getattr(run, f"to_{library}")()
    assert frame.shape[0] == 12
    assert {"id", "score", "reply", "half", "tokens_out"} <= set(frame.columns)
    assert frame["score"].mean() == pytest.approx(8 / 12)
    cells: Any = getattr(run.table(by="half"), f"to_{library}")()
    assert list(cells["half"]) == ["first", "second"]


def test_a_library_that_is_not_there_is_named(run: vivant.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        run.to_pandas()
    with pytest.raises(ImportError, match=r"vivant\[parquet\]"):
        run.to_polars()


def test_scores_with_other_settings_leave_the_default_ones(tmp_path: Path) -> None:
    lines = [{"id": f"q{n}", "question": "Which tree?", "answers": ["oak"]} for n in range(2)]
    path = tmp_path / "free.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    run = vivant.evaluate(str(path), "first", out=tmp_path / "run")
    (default,) = run.scores()
    kept = run.score_file().read_bytes()
    (other,) = run.scores(values={"threshold": 0.9})
    assert other.settings != default.settings
    assert run.score_file().read_bytes() == kept
    assert run.score_file(values={"threshold": 0.9}) != run.score_file()
    assert vivant.load_run(run.path).scores()[0].settings == default.settings
    table = vivant.table(run, values={"threshold": 0.9})
    assert any("scored with threshold=0.9" in note for note in table.notes)
    with pytest.raises(vivant.VivantError, match="did you mean 'threshold'"):
        vivant.table(run, values={"treshold": 0.9})


# ── tables, comparisons, files ───────────────────────────────────────────────────────────────────


def test_runs_are_given_as_objects_paths_or_folders(run: vivant.Run, tmp_path: Path) -> None:
    nested = tmp_path / "more" / "deeper"
    samples = quiz(12, facets={"half": ("first", "second")})
    make_run(nested / "other", samples, [answer(s, 0) for s in samples], model="other")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "readme.txt").write_text("no run")
    with logged_messages() as messages:
        runs = vivant.load_runs([run, tmp_path / "more", tmp_path / "notes", tmp_path / "run"])
    assert [each.name for each in runs] == ["run", "other"]
    assert messages == [f"Skipped, no run: {tmp_path / 'notes'}"]
    assert "other" in repr(vivant.compare(runs))
    assert vivant.report(runs, tmp_path / "r.html").stat().st_size > 1_000
    with pytest.raises(vivant.VivantError, match="no such directory"):
        vivant.load_runs([run, tmp_path / "nowhere"])
    with pytest.raises(vivant.VivantError, match="is not a run"):
        vivant.load_runs(tmp_path / "notes")


def test_a_facet_is_shown_where_it_exists(run: vivant.Run, tmp_path: Path) -> None:
    samples = quiz(4)
    plain = make_run(tmp_path / "plain", samples, [answer(s, 0) for s in samples], model="plain")
    table = vivant.table([run, plain], by="half")
    halves = [(row[0], row[table.columns.index("half")]) for row in table.body]
    assert halves == [(run.model, "first"), (run.model, "second"), ("plain", "all")]
    assert any("Without the facet 'half'" in note for note in table.notes)
    with pytest.raises(vivant.VivantError, match="Unknown facet 'hlf'; did you mean 'half'"):
        vivant.table([run, plain], by="hlf")


def test_a_plan_is_a_table_and_sends_nothing(tmp_path: Path) -> None:
    path = questions(tmp_path, 3, pictures=False)
    table = vivant.plan(str(path), "openai/gpt-4o-mini", out=tmp_path / "run", limit=2)
    assert table.body[0][table.columns.index("requests")] == 2
    assert any("USD" in note for note in table.notes)
    assert not (tmp_path / "run").exists()


def test_a_sweep_gives_its_runs_and_its_table(tmp_path: Path) -> None:
    sweep = vivant.sweep("mime/mcq", "random", frames=[4, 2], data="mini", limit=2, out=tmp_path / "sweep")
    assert [point.frames for point in sweep.points] == [2, 4]
    assert [run.name for run in sweep.runs] == ["frames-2", "frames-4"]
    assert "frames" in repr(sweep)
    assert "<table>" in sweep._repr_html_()


def test_a_judge_is_named_by_its_model(tmp_path: Path) -> None:
    run = vivant.evaluate("mmie", "first", data="mini", limit=1, out=tmp_path / "run")
    judged = vivant.judge(run, "heuristic")
    assert judged.table().rows
