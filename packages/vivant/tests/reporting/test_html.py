"""The report: what it says, what it refuses to say, and that nothing in a run can harm its reader."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path
from random import Random

import msgspec
import pytest

from tests.support.helpers import logged_messages, vivant
from tests.support.milebench_kit import make_item, write_dataset
from tests.support.pages import decode_downloads, parse_page, read_list, read_words
from tests.support.view_kit import choice_samples, make_records, write_run
from vivant import mini
from vivant.analysis.comparison import compare
from vivant.benchmarks.sample_units import SampleUnit, TaskOrder
from vivant.core.errors import VivantError
from vivant.core.types import Reply
from vivant.engine.evaluation import evaluate
from vivant.reporting.html import build_report, write_report
from vivant.reporting.html.markup import element
from vivant.reporting.html.report_data import gather_report_data
from vivant.reporting.html.svg import PlotPoint, draw_forest, draw_heatmap
from vivant.runs.run import Run, load_run
from vivant.runs.stopping import Stopping, write_stopping

EVIL = "<script>alert(1)</script>\u202e\x00\"'><img src=x onerror=alert(1)>"


def two_runs(folder: Path, good: int = 100, bad: int = 40, n: int = 120) -> tuple[Path, Path]:
    samples = choice_samples(n)
    paths = []
    for name, right in (("good", good), ("bad", bad)):
        replies = [
            Reply(text="B" if number < right else "C", tokens_in=10, tokens_out=2) for number in range(n)
        ]
        write_run(folder / name, samples, make_records(samples, replies), model=name)
        paths.append(folder / name)
    return paths[0], paths[1]


def test_says_who_is_best_and_that_it_is_no_chance(tmp_path: Path) -> None:
    page = build_report([load_run(path) for path in two_runs(tmp_path)])
    (sentence, *_) = read_list(page, "found")
    assert sentence.startswith("jsonl/made: good scores 83.3 (95 % interval")
    assert "on 120 samples, above guessing (25.0)" in sentence
    assert "better than bad by 50.0 points (p < 0.001)" in sentence
    assert "is better than bad is not shown" not in read_words(page)
    assert '<td class=" best">' in page


def test_noise_is_no_headline(tmp_path: Path) -> None:
    page = build_report([load_run(path) for path in two_runs(tmp_path, good=66, bad=64)])
    sentences = read_list(page, "found")
    assert "that it is better than bad is not shown" in sentences[0]
    assert any(line.startswith("To tell good from bad on jsonl/made, ask more samples") for line in sentences)
    assert not any("better than bad by" in line for line in sentences)
    assert '<td class=" best">' not in page


def test_a_lead_that_holds_comes_before_what_is_open(tmp_path: Path) -> None:
    """Also where the open one has more samples; and no advice that contradicts the lead that is seen."""
    mime = [msgspec.structs.replace(sample, cluster="") for sample in choice_samples(60, "mime/mcq")]
    for name, counts in (("one", (57, 66)), ("two", (20, 64))):
        for samples, right in ((mime, counts[0]), (choice_samples(120), counts[1])):
            replies = [Reply(text="B" if number < right else "C") for number in range(len(samples))]
            path = tmp_path / f"{name}-{len(samples)}"
            write_run(path, samples, make_records(samples, replies), model=name)
    runs = [load_run(path) for path in sorted(tmp_path.iterdir())]
    sentences = read_list(build_report(runs), "found")
    assert sentences[0].startswith("mime/mcq: one scores 95.0") and "better than two by" in sentences[0]
    assert "that it is better than two is not shown" in sentences[1]
    assert any(line.startswith("To tell one from two on jsonl/made, ask more") for line in sentences)


def test_a_control_differs_on_purpose(tmp_path: Path) -> None:
    samples = choice_samples(60)
    for name, control, seed in (("seen", "none", 0), ("blind", "blind", 0), ("other", "none", 1)):
        run = write_run(tmp_path / name, samples, make_records(samples, [Reply(text="B")] * 60), model="m")
        settings = msgspec.structs.replace(run.manifest.settings, control=control, seed=seed)
        changed = msgspec.structs.replace(run.manifest, settings=settings)
        run.dir.manifest_file.write_bytes(msgspec.json.encode(changed))
    paths = [tmp_path / name for name in ("seen", "blind", "other")]
    assert "differ in more" not in read_words(build_report([load_run(path) for path in paths[:2]]))
    assert "differ in more than the model (seed)" in read_words(build_report([load_run(p) for p in paths]))


def test_long_names_are_counted_in_the_title(tmp_path: Path) -> None:
    samples = choice_samples(12)
    for name in ("provider/a-model-with-a-long-name", "provider/another-model-with-a-long-name"):
        write_run(
            tmp_path / name.rpartition("/")[2],
            samples,
            make_records(samples, [Reply(text="B")] * 12),
            model=name,
        )
    page = build_report([load_run(path) for path in sorted(tmp_path.iterdir())])
    assert "<title>2 models on Your own questions</title>" in page
    assert page.count("provider/a-model-with-a-long-name") > 2, "the matrix names them"


def test_a_baseline_that_is_not_beaten_is_not_called_guessing(tmp_path: Path) -> None:
    rights = {("easy", "random"): 110, ("easy", "model"): 112, ("fair", "random"): 30, ("fair", "model"): 100}
    for (task, name), right in rights.items():
        samples = choice_samples(120, f"jsonl/{task}")
        replies = [Reply(text="B" if number < right else "C") for number in range(120)]
        write_run(tmp_path / f"{name}-{task}", samples, make_records(samples, replies), model=name)
    runs = [load_run(tmp_path / f"{name}-{task}") for task, name in rights]
    (sentence, *_) = read_list(build_report(runs), "found")
    assert sentence.endswith(". On easy the best model is not shown to beat every baseline.")
    assert "guessing" not in sentence


def test_nothing_is_called_beaten_that_was_not_run(tmp_path: Path) -> None:
    for name in ("easy", "fair"):
        samples = choice_samples(120, f"jsonl/{name}")
        replies = [Reply(text="B" if number < 100 else "C") for number in range(120)]
        write_run(tmp_path / name, samples, make_records(samples, replies), model="model")
    sentences = read_list(build_report([load_run(tmp_path / "easy"), load_run(tmp_path / "fair")]), "found")
    assert sentences[0].endswith("The best model beats guessing on all of them.")
    assert sentences[-1].startswith("No baseline was run.")


def test_what_an_import_lacks_stands_among_what_cannot_be_concluded(tmp_path: Path) -> None:
    for path in two_runs(tmp_path):
        manifest = load_run(path).manifest
        changed = msgspec.structs.replace(
            manifest, origin="import", notes=("901 of the 906 samples have no prediction here",)
        )
        load_run(path).dir.manifest_file.write_bytes(msgspec.json.encode(changed))
    limits = read_list(build_report([load_run(tmp_path / name) for name in ("good", "bad")]), "doubts")
    assert "2 imported runs: 901 of the 906 samples have no prediction here." in limits


def test_sentences_come_before_a_matrix_that_fills_the_screen(tmp_path: Path) -> None:
    samples = choice_samples(12)
    for number in range(9):
        replies = [Reply(text="B")] * 11 + [Reply(status="error", error="HTTP 500")]
        write_run(tmp_path / f"m{number}", samples, make_records(samples, replies), model=f"m{number}")
    runs = [load_run(path) for path in sorted(tmp_path.iterdir())]
    tall, short = build_report(runs), build_report(runs[:3])
    assert tall.index('class="found"') < tall.index('aria-label="Scores"')
    assert short.index('class="found"') > short.index('aria-label="Scores"')
    assert "1 error<" in short, "the same word as in tables and the viewer"


def test_baselines_are_references_and_never_lead(tmp_path: Path) -> None:
    samples = choice_samples(120)
    for name, right in (("random", 100), ("model", 60)):
        replies = [Reply(text="B" if number < right else "C") for number in range(120)]
        write_run(tmp_path / name, samples, make_records(samples, replies), model=name)
    page = build_report([load_run(tmp_path / "random"), load_run(tmp_path / "model")])
    sentences = read_list(page, "found")
    assert sentences[0].startswith("jsonl/made: model scores 50.0")
    assert "that it beats the baseline random is not shown" in sentences[0]
    assert any(
        "the baseline random scores 83.3, more than the best model (50.0)" in line for line in sentences
    )
    words = read_words(page)
    assert "model, beside random for reference, on 1 task" in words
    assert words.startswith(" model on Your own questions")


def test_only_baselines_are_no_finding(tmp_path: Path) -> None:
    runs = [
        evaluate("mimic/thinking", name, data=("mini",), out=str(tmp_path / name))
        for name in ("random", "first")
    ]
    page = build_report(runs)
    assert read_list(page, "found")[0] == (
        "MIMIC-Bench: only baselines were run, so there is no model to judge."
    )
    assert "leads on" not in read_words(page)


@pytest.mark.parametrize("count", [1, 2])
def test_the_first_screen_has_at_most_five_sentences(tmp_path: Path, count: int) -> None:
    paths = two_runs(tmp_path, good=70, bad=60)[:count]
    found = read_list(build_report([load_run(path) for path in paths]), "found")
    assert 2 <= len(found) <= 5
    if count == 1:
        assert "No baseline was run." in found[-1]


def test_details_are_folded_and_figures_come_before_tables(tmp_path: Path) -> None:
    run = evaluate("mime", "random", data=("mini",), limit=20, out=str(tmp_path / "run"))
    page = build_report([run])
    folded = re.findall(r'<details class="fold"><summary><h2>(.*?)</h2>', page)
    assert folded == [
        "MIME", "Errors and unparsed replies", "Tokens and time", "Settings", "How to repeat it", "How to read this",
    ]  # fmt: skip
    assert "<details open" not in page
    section = page[page.index('id="mime"') : page.index('id="failures"')]
    assert section.rindex("<svg") < section.index("<table")


def test_each_figure_can_be_downloaded(tmp_path: Path) -> None:
    page = build_report([load_run(path) for path in two_runs(tmp_path)])
    downloads = decode_downloads(page)
    assert page.count('class="figure"') == len(downloads) / 2 > 1
    assert {name.rpartition(".")[2] for name in downloads} == {"svg", "csv"}
    drawing = downloads["jsonl-made-scores.svg"]
    assert drawing.startswith("<svg") and "<style>" in drawing and "var(" not in drawing
    assert 'xmlns="http://www.w3.org/2000/svg"' in drawing
    table = downloads["jsonl-made-scores.csv"].splitlines()
    assert table[0] == "name,value,low,high,source,note"
    assert table[1].startswith("good,83.33") and table[2].startswith("bad,33.33")


def test_says_where_nothing_can_be_concluded(tmp_path: Path) -> None:
    page = build_report([load_run(path) for path in two_runs(tmp_path, good=11, bad=9, n=40)])
    said = read_words(page)
    assert "that good is better than bad is not shown" in said
    assert "cannot be told from guessing on jsonl/made" in said
    assert "Fewer than 50 samples were scored on jsonl/made" in said


def test_unfinished_runs_and_errors_are_named_and_not_wrong_answers(tmp_path: Path) -> None:
    samples = choice_samples(100)
    replies = [Reply(text="B")] * 60 + [Reply(status="error", error="HTTP 503 at 12:01")] * 10
    write_run(tmp_path / "half", samples, make_records(samples, replies))
    said = read_words(build_report([load_run(tmp_path / "half")]))
    assert "half is not finished: 30 of 100 samples were not answered yet" in said
    assert "40 of 100 samples (40%) have no reply; its scores say nothing about those" in said
    assert "scores 100.0" in said
    assert "HTTP … at …:…" in said


@pytest.mark.parametrize("evil", [EVIL, "x" * 1_000_000, "\u202eabc\u2066def"])
def test_hostile_text_harms_nobody(tmp_path: Path, evil: str) -> None:
    samples = choice_samples(4)
    replies = [Reply(text=evil), Reply(status="error", error=evil), Reply(text="B"), Reply(text="A")]
    write_run(tmp_path / "run", samples, make_records(samples, replies), model=evil)
    page = build_report([load_run(tmp_path / "run")], title=evil)
    assert parse_page(page).dangers == []
    for name, text in decode_downloads(page).items():
        assert re.fullmatch(r"[a-z0-9-]+\.(svg|csv)", name)
        assert not name.endswith(".svg") or parse_page(text).dangers == []
    assert "\x00" not in page
    assert len(page) < 20_000_000


def test_is_one_file_that_asks_the_network_for_nothing(tmp_path: Path) -> None:
    bundled = mini.root("mmrv")
    assert bundled is not None
    data = shutil.copytree(
        bundled, tmp_path / "data"
    )  # published rows stand beside other editions than the bundled
    run = evaluate("mmrv", "random", data=data, out=str(tmp_path / "run"))
    file = write_report([run.dir.path], tmp_path / "deep" / "report.html")
    page = file.read_text(encoding="utf-8")
    assert parse_page(page).dangers == []
    assert not re.search(r"(?:src|href)=.(?:https?:)?//", page)
    assert all(text.count("http") <= 1 for text in decode_downloads(page).values())  # the name of SVG
    assert "url(" not in page
    assert "default-src 'none'" in unescape(page)
    for section in ("summary", "mmrv", "failures", "effort", "settings", "repeat", "reading"):
        assert f'id="{section}"' in page and f'href="#{section}"' in page
    said = read_words(page)
    assert "People score" in said
    assert "Wording: here Vivant's own. Published rows: the original's" in said
    assert "fingerprint" in said and run.manifest.fingerprint in said


def test_every_bundled_benchmark_has_its_tables(tmp_path: Path) -> None:
    runs = [
        evaluate(name, "random", data=("mini",), out=str(tmp_path / name)) for name in ("mime", "milebench")
    ]
    page = build_report(runs)
    said = read_words(page)
    assert (
        "used the bundled mini-edition" in said and "People score" not in said and "GPT-4o-mini" not in said
    )
    assert "MIME 2: Zero-shot by avatar and background" in page
    assert "Text needles: depth against length" in page
    assert page.count("<svg") > 10


def test_a_figure_leaves_out_runs_that_lack_its_facets(tmp_path: Path) -> None:
    task = "milebench/TextNeedleInAHaystack"
    located = evaluate(task, "random", data=("mini",), out=str(tmp_path / "located"))
    entry = make_item(0, "No needle here. {image#1}", ["a.png"], "blue")
    data = write_dataset(tmp_path / "data", "TextNeedleInAHaystack", [entry]).parents[1]
    other = evaluate(task, "first", data=(str(data),), out=str(tmp_path / "other"))
    assert "depth" not in other.samples[0].facets
    assert "Text needles: depth against length" in build_report([located, other])


def test_a_run_whose_judge_is_missing_is_named_and_the_others_are_reported(tmp_path: Path) -> None:
    judged = evaluate("mmie", "random", data=("mini",), out=str(tmp_path / "judged"))
    other, _ = two_runs(tmp_path)
    said = read_words(build_report([judged, load_run(other)]))
    assert "is scored by a judge, and none has judged" in said
    assert "good scores" in said
    with pytest.raises(VivantError, match="scored by a judge"):
        build_report([judged])


def test_differences_between_runs_are_named(tmp_path: Path) -> None:
    first = evaluate("mmrv", "random", data=("mini",), out=str(tmp_path / "a"))
    second = evaluate("mmrv", "first", data=("mini",), seed=5, out=str(tmp_path / "b"))
    said = read_words(build_report([first, second]))
    assert "differ in more than the model (seed)" in said
    assert "seed: 0 → 5" in said


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    good, _ = two_runs(tmp_path)
    (tmp_path / "empty").mkdir()
    cases: list[tuple[list[str | Path], str]] = [
        (["report", tmp_path / "nowhere"], "No run at"),
        (["report", tmp_path / "empty"], "is not a run: it has no manifest.json"),
        (["report", good, "-o", good], "Cannot write"),
        (["report", good, "--protocol", "lenient"], "Unknown protocol"),
    ]
    for arguments, line in cases:
        done = vivant(*arguments, cwd=tmp_path)
        assert done.returncode == 1, arguments
        assert line in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_log_edited_by_hand_names_its_line(tmp_path: Path) -> None:
    good, _ = two_runs(tmp_path)
    with (good / "log.jsonl").open("ab") as log:
        log.write(b"{oops}\n")
    with logged_messages() as messages:
        write_report([good], tmp_path / "report.html")
    assert any("log.jsonl, line 121 is not a record" in message for message in messages)


def test_markup_escapes_whatever_it_did_not_make() -> None:
    made = element("p", "<b>", element("b", "&"), title='"<')
    assert made == '<p title="&quot;&lt;">&lt;b&gt;<b>&amp;</b></p>'


def test_figures_survive_what_has_no_value() -> None:
    drawn = draw_forest(
        [PlotPoint(label="a" * 500, value=None), PlotPoint(label="b", value=120.0, interval=(-5.0, 300.0))],
        "t",
    )
    assert "nan" not in drawn and drawn.count("<circle") == 1
    assert "no sample" in draw_heatmap(["1"], ["2", "3"], {("1", "2"): (50.0, 4)}, "t")
    assert "<svg" in draw_forest([], "nothing")


def test_cost_follows_from_tokens_and_the_prices_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.yaml").write_text("models: {good: {input: 100, output: 1000}}")
    monkeypatch.setenv("VIVANT_PRICES", str(tmp_path / "prices.yaml"))
    good, bad = two_runs(tmp_path)
    said = read_words(build_report([load_run(good), load_run(bad)]))
    assert "0.36 USD" in said and said.count("USD") == 1


def test_points_stand_where_their_figures_say_and_published_ones_are_hollow() -> None:
    from vivant.reporting.html.svg import draw_scatter

    drawn = str(draw_scatter([("ours", 80.0, 4.0), ("theirs †", 20.0, 1.0)], "label", "Human %", "Realism"))
    circles = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="4.5" class="(\w+)"', drawn)
    (x1, y1, ours), (x2, y2, theirs) = circles
    assert (ours, theirs) == ("f0", "hollow")
    assert float(x1) > float(x2) and float(y1) < float(y2)


def keep_answers(run: Run, ids: list[str]) -> None:
    lines = run.dir.log_file.read_bytes().splitlines(keepends=True)
    run.dir.log_file.write_bytes(b"".join(line for line in lines if json.loads(line)["id"] in ids))


def test_leads_of_runs_that_stopped_early_are_those_of_compare(tmp_path: Path) -> None:
    """Tested as if the sample were fixed beforehand, they would be too sure."""
    good, bad = (load_run(path) for path in two_runs(tmp_path, good=30, bad=26, n=60))
    ids = [sample.id for sample in good.dir.samples()]
    Random(1).shuffle(ids)
    order = TaskOrder(units=tuple(SampleUnit((name,), 1) for name in ids))
    keep_answers(good, ids[:40])
    size = good.dir.log_file.stat().st_size
    write_stopping(good.dir, Stopping(tasks={"jsonl/made": order}, enough=size))
    good = load_run(tmp_path / "good")
    (lead,) = gather_report_data([good, bad], None).comparisons
    (pair,) = compare([bad, good]).pairs
    assert pair.result.interval is not None and lead.interval is not None
    assert (lead.n, lead.p) == (40, pair.result.p) and lead.lead == pytest.approx(pair.result.value * 100)
    assert lead.interval == pytest.approx((pair.result.interval.low * 100, pair.result.interval.high * 100))
    assert pair.result.test.startswith("betting") and not lead.too_sure
    page = build_report([good, bad])
    assert "that it is better than bad is not shown" in read_list(page, "found")[0]
    assert "good is not finished" not in read_words(page), "it met its target"
    write_stopping(bad.dir, Stopping(tasks={"jsonl/made": TaskOrder(units=order.units[::-1])}))
    keep_answers(bad, ids[15:])
    words = read_words(build_report([good, load_run(tmp_path / "bad")]))
    assert "good and bad stopped early, each in its own order" in words
