"""Figures for papers: the tables' rows, levels in their order, nothing missing drawn as zero, text that stays text."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from tests.support.view_kit import choice_samples, make_records, write_run
from vivant import api
from vivant.benchmarks import registry
from vivant.benchmarks.base import ScoredRun
from vivant.benchmarks.summary import order_levels, summarise
from vivant.core.errors import UsageError
from vivant.core.records import Score
from vivant.core.types import Reply, Sample
from vivant.engine.evaluation import evaluate
from vivant.reporting.figure_context import make_context
from vivant.reporting.figure_style import FigureStyle, load_pyplot, save_figure
from vivant.reporting.figures import draw_bars, draw_heatmap
from vivant.runs.run import Run

pytest.importorskip("matplotlib")


def read_texts(file: Path) -> list[str]:
    """The texts of an SVG figure, which are text and no outlines."""
    lines = re.findall(r"<text[^>]*>(.*?)</text>", file.read_text(encoding="utf-8"), re.DOTALL)
    return [unescape(re.sub(r"<[^>]+>", "", line)).strip() for line in lines]


def make_part(levels: dict[str, list[float]], run: str = "r", task: str = "milebench/ALFRED") -> ScoredRun:
    rows = tuple(
        (
            Sample(
                id=f"{level}{i}", task=task, facets={"level": level, "depth": level, "length": str(i % 2)}
            ),
            None,
            Score(key=f"{task}/{level}{i}", task=task, id=f"{level}{i}", value=value),
        )
        for level, values in levels.items()
        for i, value in enumerate(values)
    )
    return ScoredRun(run=run, model=run, style="zero-shot", task=task, protocol="paper", rows=rows)


def write_named(folder: Path, model: str) -> Run:
    samples = choice_samples(4)
    return write_run(folder, samples, make_records(samples, [Reply(text="B")] * 4), model=model)


def test_an_interval_of_shares_stays_on_the_scale() -> None:
    part = make_part({"Few": [0.9, 1.0, 0.4], "Many": [0.0, 0.02, 0.3]})
    for row in summarise(part, registry.get("milebench"), ["level"]):
        assert row.interval is not None and 0.0 <= row.interval[0] <= row.interval[1] <= 100.0


def test_levels_have_their_own_order() -> None:
    milebench = registry.get("milebench")
    assert order_levels(milebench, "level", {"Many", "Few", "Medium"}) == ["Few", "Medium", "Many"]
    rows = summarise(make_part({"Many": [1.0], "Medium": [1.0], "Few": [0.0]}), milebench, ["level"])
    assert [row.group["level"] for row in rows] == ["Few", "Medium", "Many"]
    mimic = registry.get("mimic")
    assert order_levels(mimic, "length", {"over-20min", "15-60s", "under-15s", "1-5min"}) == [
        "under-15s", "15-60s", "1-5min", "over-20min",
    ]  # fmt: skip


def test_bars_name_models_settings_and_n_and_mark_what_is_missing(tmp_path: Path) -> None:
    runs = [write_named(tmp_path / "one", "m$1_x"), write_named(tmp_path / "two", "random")]
    context = make_context(runs, "paper", FigureStyle())
    milebench = registry.get("milebench")
    parts = [
        make_part({"Few": [0.0, 0.0, 0.0], "Many": [0.5, 1.0]}, "one"),
        make_part({"Few": [1.0, 1.0, 0.0]}, "two"),
    ]
    rows = [row for part in parts for row in summarise(part, milebench, ["level"])]
    draw_bars(context, milebench, rows, tmp_path / "bars.svg", facet="level", title="Levels")
    texts = read_texts(tmp_path / "bars.svg")
    assert texts.count("not asked") == 1  # the second run on Many
    assert "0.0" in texts  # a zero is a figure
    assert {"m$1_x", "random", "Few", "Many", "n = 3", "n = 2"} <= set(texts)
    assert texts.index("Few") < texts.index("Many")
    caption = " ".join(texts)
    assert "m$1_x: zero-shot, 8 frames, n = 5. random: zero-shot, 8 frames, n = 3. Protocol paper." in caption


def test_a_map_has_n_in_each_cell_and_hatches_what_was_not_asked(tmp_path: Path) -> None:
    run = write_named(tmp_path / "one", "model")
    context = make_context([run], "paper", FigureStyle())
    milebench = registry.get("milebench")
    rows = summarise(make_part({"0": [1.0], "5": [0.0, 1.0, 1.0]}, "one"), milebench, ["depth", "length"])
    file = tmp_path / "map.svg"
    draw_heatmap(context, milebench, rows, file, facets=("depth", "length"), title="Needles")
    texts = read_texts(file)
    assert sorted(text for text in texts if text.startswith("n ")) == ["n 1", "n 1", "n 2"]
    assert "pattern" in file.read_text()  # the cell of depth 0 and length 1
    assert any("Hatched: not asked" in text for text in texts)
    assert any("model" in text for text in texts)


def test_figures_have_the_width_of_a_column(tmp_path: Path) -> None:
    run = write_named(tmp_path / "one", "model")
    milebench = registry.get("milebench")
    rows = summarise(make_part({"Few": [0.0, 1.0], "Many": [1.0]}, "one"), milebench, ["level"])
    for width, points in (("column", 241.2), ("page", 504.0)):
        context = make_context([run], "paper", msgspec.convert({"width": width}, FigureStyle))
        file = tmp_path / f"{width}.svg"
        draw_bars(context, milebench, rows, file, facet="level", title="Levels")
        match = re.search(r'width="([\d.]+)pt"', file.read_text())
        assert match and float(match[1]) == pytest.approx(points)


def test_accuracy_stands_against_tokens_where_no_price_is_known(tmp_path: Path) -> None:
    samples = choice_samples(40)
    for name, tokens, right in (("small", 10, 20), ("large", 900, 36)):
        replies = [
            Reply(text="B" if i < right else "C", tokens_in=tokens, tokens_out=5) for i in range(len(samples))
        ]
        write_run(tmp_path / name, samples, make_records(samples, replies), model=name)
    replies = [Reply(text="A")] * 40
    write_run(tmp_path / "random", samples, make_records(samples, replies), model="random")
    files = api.figures([tmp_path], tmp_path / "out")
    file = next(file for file in files if file.stem == "jsonl-cost")
    assert {"small", "large", "random", "guessing", "tokens per question"} <= set(read_texts(file))
    drawing = file.read_text()
    assert re.search(r"text-anchor: end[^>]*>large<", drawing), "inside the figure: to the left of its point"
    assert not re.search(r"text-anchor: end[^>]*>small<", drawing)


def test_realism_stands_against_the_share_judged_human(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = evaluate("mimic/comment", "echo", data=("mini",), limit=3, out=str(tmp_path / "run"))
    assert not [file for file in api.figures([run], tmp_path / "mini") if "mimicking" in file.stem]
    # Beside a full edition, the published sources are drawn, hollow.
    monkeypatch.setattr("vivant.runs.published_rows.uses_mini", lambda *_: False)
    files = {file.stem: file for file in api.figures([run], tmp_path / "full")}
    texts = read_texts(files["mimic-mimicking"])
    assert {"Human %", "Realism"} <= set(texts)
    assert any(text.endswith("†") for text in texts)


def test_latex_is_asked_for_before_anything_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_named(tmp_path / "one", "model")
    monkeypatch.setattr("vivant.reporting.figure_style.shutil.which", lambda _: None)
    with pytest.raises(UsageError, match="needs the programs latex and dvipng"):
        api.figures([tmp_path / "one"], tmp_path / "out", latex=True)
    assert FigureStyle(latex=True).label("50 % of $x_1") == r"50 \% of \$x\_1"


def test_nothing_in_a_label_is_a_command_of_latex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`%` would begin a comment: the rest of the label was gone."""
    run = write_named(tmp_path / "one", "a_model & 50 %")
    drawn: list[str] = []

    def keep(pyplot: Any, figure: Any, path: Path, **_: object) -> None:  # noqa: ARG001
        drawn.extend(text.get_text() for text in figure.findobj(match=lambda item: hasattr(item, "get_text")))
        pyplot.close(figure)

    monkeypatch.setattr("vivant.reporting.figure_style.shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("vivant.reporting.figures.save_figure", keep)
    context = make_context([run], "paper", FigureStyle(latex=True))
    milebench = registry.get("milebench")
    rows = summarise(make_part({"Few_1": [0.0, 1.0], "50 %": [0.5]}, "one"), milebench, ["level"])
    try:
        draw_bars(context, milebench, rows, tmp_path / "f.pdf", facet="level", title="A & B")
    finally:
        load_pyplot(FigureStyle())
    assert any(r"with 95 \% interval" in text for text in drawn)
    assert [text for text in drawn if re.search(r"(?<!\\)[%&#_]", text)] == []


def test_what_latex_cannot_set_is_said_in_a_line(tmp_path: Path) -> None:
    class Broken:
        rcParams: ClassVar[dict[str, bool]] = {"text.usetex": True}  # noqa: N815 (matplotlib's name)

        def savefig(self, *_: object, **__: object) -> None:
            raise RuntimeError(
                "latex was not able to process\nlots of text\n! Undefined control sequence.\nmore"
            )

        def close(self, figure: object) -> None:
            assert figure is self

    broken = Broken()
    with pytest.raises(
        UsageError, match=r"f\.pdf \(! Undefined control sequence\.\); draw it without --latex"
    ):
        save_figure(broken, broken, tmp_path / "f.pdf")


def test_the_same_data_give_the_same_file(tmp_path: Path) -> None:
    run = write_named(tmp_path / "one", "model")
    context = make_context([run], "paper", FigureStyle())
    milebench = registry.get("milebench")
    rows = summarise(make_part({"Few": [0.0, 1.0], "Many": [1.0]}, "one"), milebench, ["level"])
    for name in ("a.svg", "b.svg"):
        draw_bars(context, milebench, rows, tmp_path / name, facet="level", title="Levels")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
