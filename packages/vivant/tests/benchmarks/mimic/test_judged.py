"""Judgements of packs: reading, refusing, and the figures, against sums done by hand."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.support.helpers import vivant
from tests.support.mimic_kit import build_small_pack, make_ref, write_comment_run, write_folder, write_lines
from vivant.benchmarks.mimic.judgements import (
    CommentJudgement,
    Judges,
    count_reasons,
    import_judgements,
    read_judgements,
    read_rows,
    write_judgements,
)
from vivant.benchmarks.mimic.packs import Key, Pack
from vivant.benchmarks.mimic.panel_tables import build_panel_tables
from vivant.benchmarks.mimic.panels import PackOutcome, compute_outcome
from vivant.core.errors import DataError, UsageError
from vivant.core.table import to_text
from vivant.metrics.intervals import mean_interval
from vivant.metrics.two_way import two_way_interval


def write_csv(
    path: Path, rows: Iterable[Iterable[Any]], head: str = "annotator,item,verdict,realism"
) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(head + "\n")
        csv.writer(file).writerows(rows)
    return path


def write_human_judgements(
    path: Path, pack: Pack, judge: Callable[[str, str], tuple[str, float | None]], annotators: str = "abc"
) -> Path:
    """Judgements of everyone on everything."""
    judgements = [
        CommentJudgement(annotator=a, item=i.item, verdict=verdict, realism=realism)  # type: ignore[arg-type]
        for a in annotators
        for i in pack.items()
        for verdict, realism in [judge(a, i.text)]
    ]
    write_judgements(path, Judges(pack=pack.header.pack, kind="people", name="people"), judgements)
    return path


# ── reading ──


def test_rows_that_cannot_be_used_go_into_a_file_beside_with_their_reasons(tmp_path: Path) -> None:
    pack, _, _ = build_small_pack(tmp_path)
    items = [i.item for i in pack.items()]
    rows = [
        ["ann", items[0], "Human", "5"],
        ["ann", items[1], "AI", ""],
        ["ann", "nowhere", "human", "3"],
        ["ann", items[2], "perhaps", "3"],
        ["ann", items[3], "ai", "7"],
        ["ann", items[4], "ai", "nan"],
        ["ann", items[5], "ai", "high"],
        ["", items[6], "ai", "1"],
        ["ann", items[1], "AI", ""],
        ["ann", items[0], "ai", "1"],
        ["bob", items[0], "human", "4.5"],
    ]
    out = tmp_path / "j.jsonl"
    result, beside = import_judgements([write_csv(tmp_path / "j.csv", rows)], pack, out)
    assert result.repeated == 1 and beside == tmp_path / "j.jsonl.rejected.jsonl"
    judges, kept = read_judgements(out, pack)
    assert judges.kind == "people"
    assert [(j.annotator, j.item, j.verdict, j.realism) for j in kept] == [
        ("ann", items[0], "ai", 1.0),
        ("ann", items[1], "ai", None),
        ("bob", items[0], "human", 4.5),
    ]
    rejected = [msgspec.json.decode(line) for line in beside.read_bytes().splitlines()]
    assert len(rejected) + len(kept) + result.repeated == len(rows), "no row is lost"
    assert sorted(r["line"] for r in rejected) == [2, 4, 5, 6, 7, 8, 9]
    reasons = "\n".join(count_reasons(result.rejected))
    for words in (
        "no such item in the pack",
        "neither human nor ai",
        "2 × realism is not between 0 and 5",
        "realism is not a number",
        "no annotator",
        "replaced by a later row",
    ):
        assert words in reasons


def test_json_lines_and_semicolons_are_read_too(tmp_path: Path) -> None:
    pack, _, _ = build_small_pack(tmp_path)
    item = next(pack.items()).item
    rows = [{"annotator": 7, "item": item, "verdict": "ai", "realism": 0}, b"{", [1]]
    result = read_rows([write_lines(tmp_path / "j.jsonl", rows)], pack)
    assert (result.judgements[0].annotator, result.judgements[0].realism) == ("7", 0.0)
    assert [r.reason.partition(":")[0] for r in result.rejected] == ["not JSON", "not an object with fields"]
    semicolons = tmp_path / "s.csv"
    semicolons.write_text(f"item;annotator;verdict;realism\n{item};z;human;2\n", "utf-8-sig")
    assert read_rows([semicolons], pack).judgements[0].annotator == "z"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("annotator,item,score\na,b,c\n", "no column verdict, but annotator, item, score"),
        ("annotator,item,verdict,realism\n", "no judgements"),
        ("", "no column annotator"),
        ("annotator,item,verdict\nann,x,human\nann,y,ai\n", "2 of 2 judgements name items that are not in"),
    ],
)
def test_a_file_that_is_no_use_is_refused_as_a_whole(tmp_path: Path, content: str, message: str) -> None:
    pack, _, _ = build_small_pack(tmp_path)
    file = tmp_path / "j.csv"
    file.write_text(content, "utf-8")
    with pytest.raises(DataError, match=message):
        import_judgements([file], pack, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    pack, _, _ = build_small_pack(tmp_path)
    file = tmp_path / "j.csv"
    file.write_bytes(b"annotator,item,verdict\n\xff\xfe\x00,\x81,x\n")
    with pytest.raises(DataError, match="not a CSV file in UTF-8"):
        read_rows([file], pack)


def test_judgements_of_another_pack_are_refused(tmp_path: Path) -> None:
    pack, key, _ = build_small_pack(tmp_path)
    other, _, _ = build_small_pack(tmp_path, seed=3)
    file = write_human_judgements(tmp_path / "j.jsonl", other, lambda _a, _t: ("human", 3))
    with pytest.raises(DataError, match="judges another pack"):
        compute_outcome(pack, key, [file])
    with pytest.raises(DataError, match="vivant mimic import"):
        compute_outcome(pack, key, [write_lines(tmp_path / "x.jsonl", [{"annotator": "a"}])])


# ── figures ──


def score_by_source(pack: Pack, key: Key, file: Path) -> dict[str, Any]:
    panel = compute_outcome(pack, key, [file]).panels[0]
    return {judged.source: judged for judged in panel.sources}


def test_shares_and_means_per_source_with_people_as_their_own_row(tmp_path: Path) -> None:
    pack, key, _ = build_small_pack(tmp_path)

    def judge(annotator: str, text: str) -> tuple[str, float | None]:
        if text.startswith("comment"):
            return ("human", 5) if annotator != "c" else ("ai", 2)
        return ("ai", 1) if text.startswith("model 0") else ("human", None)

    result = score_by_source(pack, key, write_human_judgements(tmp_path / "j.jsonl", pack, judge))
    assert result["human comments"].human == pytest.approx(100 * 2 / 3)
    assert result["human comments"].realism == pytest.approx(4.0)
    assert result["human comments"].judgements == 60 and result["human comments"].comments == 20
    assert (result["model0"].human, result["model0"].realism) == (0.0, 1.0)
    assert (result["model1"].human, result["model1"].realism, result["model1"].rated) == (100.0, None, 0)
    assert result["model1"].human_interval.high == 100.0


def test_comments_that_nobody_judged_are_counted(tmp_path: Path) -> None:
    pack, key, _ = build_small_pack(tmp_path)
    first = next(i.item for i in pack.items() if key.entries[i.item].source == 0)
    rows = write_csv(tmp_path / "j.csv", [["a", first, "human", "3"]])
    import_judgements([rows], pack, tmp_path / "j.jsonl")
    result = score_by_source(pack, key, tmp_path / "j.jsonl")
    assert (result["model0"].comments, result["model0"].unjudged) == (1, 3)
    assert (result["model1"].human, result["model1"].unjudged) == (None, 4)
    assert result["human comments"].unjudged == 20


def test_people_and_judge_models_never_share_a_figure(tmp_path: Path) -> None:
    pack, key, _ = build_small_pack(tmp_path)
    human = write_human_judgements(tmp_path / "people.jsonl", pack, lambda _a, _t: ("human", 5))
    every = [CommentJudgement(annotator="gpt", item=i.item, verdict="ai", realism=0) for i in pack.items()]
    files = [human]
    for name in ("gpt", "other"):
        head = Judges(pack=pack.header.pack, kind="model", name=name, unparsed=2)
        write_judgements(tmp_path / f"{name}.jsonl", head, every)
        files.append(tmp_path / f"{name}.jsonl")
    outcome = compute_outcome(pack, key, files)
    assert [(p.kind, p.name) for p in outcome.panels] == [
        ("people", "people"),
        ("model", "gpt"),
        ("model", "other"),
    ]
    assert [p.sources[0].human for p in outcome.panels] == [100.0, 0.0, 0.0]
    tables = build_panel_tables(outcome)
    assert "†" in to_text(tables[0]) and "†" not in to_text(tables[1])
    assert "2 verdicts that could not be read" in to_text(tables[1])
    assert {row.group["judges"] for row in tables[1].rows} == {"gpt"}


def test_published_rows_stand_beside_a_mini_edition_only_when_asked(tmp_path: Path) -> None:
    pack, key, _ = build_small_pack(tmp_path)
    human = write_human_judgements(tmp_path / "people.jsonl", pack, lambda _a, _t: ("human", 5))
    # As another installation has recorded it.
    pack.header = msgspec.structs.replace(pack.header, root="/elsewhere/vivant/mini/mimic")
    outcome = compute_outcome(pack, key, [human])
    (table,) = build_panel_tables(outcome)
    assert "†" not in to_text(table) and {row.source for row in table.rows} == {"measured"}
    assert any("--published shows them" in note for note in table.notes)
    (asked,) = build_panel_tables(outcome, published_rows=True)
    assert "†" in to_text(asked) and any(note.startswith("Edition:") for note in asked.notes)


def test_one_judge_model_with_two_settings_is_two_judges(tmp_path: Path) -> None:
    pack, key, _ = build_small_pack(tmp_path)
    files = []
    for n in range(2):
        head = Judges(pack=pack.header.pack, kind="model", name="gpt", settings={"temperature": n})
        write_judgements(tmp_path / f"{n}.jsonl", head, [])
        files.append(tmp_path / f"{n}.jsonl")
    with pytest.raises(UsageError, match="other settings"):
        compute_outcome(pack, key, files)


def test_agreement_is_that_of_pairs_and_beyond_chance(tmp_path: Path) -> None:
    pack, key, _ = build_small_pack(tmp_path)
    texts = [i.text for i in pack.items()]

    def judge(annotator: str, text: str) -> tuple[str, float | None]:
        even = texts.index(text) % 2 == 0
        if annotator == "c" and texts.index(text) < 7:
            even = not even
        return ("human", 4.0) if even else ("ai", 1.0)

    panel = compute_outcome(pack, key, [write_human_judgements(tmp_path / "j.jsonl", pack, judge)]).panels[0]
    # 28 comments: 21 with three equal verdicts (3 of 3 pairs), 7 with one dissenting (1 of 3 pairs).
    pairs = (21 * 3 + 7 * 1) / (28 * 3)
    assert panel.agreement.percent == pytest.approx(100 * pairs)
    votes = np.array([[judge(a, t)[0] == "human" for t in texts] for a in "abc"], float)
    share = votes.mean()
    expected = share**2 + (1 - share) ** 2
    assert panel.agreement.kappa == pytest.approx((pairs - expected) / (1 - expected))
    n = votes.size
    beyond = 1 - (n * share * (n - n * share) * 2) / (n * (n - 1))
    assert panel.agreement.alpha == pytest.approx((pairs - beyond) / (1 - beyond))
    assert panel.agreement.realism_alpha == pytest.approx(panel.agreement.alpha)
    assert panel.agreement.items == panel.agreement.kappa_items == 28


def test_kappa_takes_the_comments_with_the_usual_number_of_judgements(tmp_path: Path) -> None:
    pack, key, _ = build_small_pack(tmp_path)
    file = write_human_judgements(
        tmp_path / "j.jsonl", pack, lambda a, t: ("human" if len(t) % 2 or a == "a" else "ai", 1)
    )
    first = next(pack.items()).item
    with file.open("ab") as more:
        more.write(msgspec.json.encode(CommentJudgement(annotator="d", item=first, verdict="ai")) + b"\n")
    result = compute_outcome(pack, key, [file]).panels[0].agreement
    assert (result.items, result.kappa_items) == (28, 27) and result.kappa is not None


def test_with_one_annotator_there_is_no_agreement_and_intervals_go_by_video(tmp_path: Path) -> None:
    pack, key, _ = build_small_pack(tmp_path)
    file = write_human_judgements(
        tmp_path / "j.jsonl", pack, lambda _a, t: ("human" if "1" in t else "ai", 2), "a"
    )
    outcome = compute_outcome(pack, key, [file])
    assert outcome.panels[0].agreement.percent is None
    interval = outcome.panels[0].sources[-1].human_interval
    assert interval is not None and interval.method == "one-way clustered Wilson"
    assert "cannot be told" in to_text(build_panel_tables(outcome)[0])


# ── two-way intervals ──


def test_one_grouping_that_matters_gives_the_one_way_interval() -> None:
    rng = np.random.default_rng(0)
    videos = np.repeat(np.arange(40), 5)
    values = (rng.random(200) < np.repeat(rng.random(40), 5)).astype(float)
    one_way = mean_interval(values.tolist(), videos.tolist())
    alone = two_way_interval(values, videos, np.zeros(200), binary=True)
    assert one_way is not None and alone is not None
    assert (alone.low, alone.high) == pytest.approx((one_way.low, one_way.high))
    assert two_way_interval(values, np.zeros(200), np.zeros(200), binary=True) is None
    assert two_way_interval([], [], [], binary=True) is None


def test_both_groupings_widen_the_interval_and_it_covers_the_truth() -> None:
    rng = np.random.default_rng(1)
    hit = narrow = 0
    rounds, videos, annotators = 400, 30, 20
    grid_v, grid_a = np.repeat(np.arange(videos), annotators), np.tile(np.arange(annotators), videos)
    for _ in range(rounds):
        level = rng.normal(size=videos)[grid_v] + rng.normal(size=annotators)[grid_a]
        values = level + rng.normal(size=grid_v.size)
        both = two_way_interval(values, grid_v, grid_a, binary=False)
        interval = mean_interval(values.tolist(), grid_v.tolist(), binary=False)
        assert both is not None and interval is not None
        hit += both.low <= 0 <= both.high
        narrow += interval.low <= 0 <= interval.high
    assert 0.92 <= hit / rounds <= 0.99
    assert narrow / rounds < 0.88, "videos alone promise too much"


def test_the_variance_is_that_of_the_three_groupings() -> None:
    values = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.5])
    first, second = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 0, 1, 0, 1, 0, 1])
    residual = values - values.mean()

    def part(labels: np.ndarray[Any, Any]) -> float:
        groups = [residual[labels == g].sum() for g in np.unique(labels)]
        return float(len(groups) / (len(groups) - 1) * np.square(groups).sum() / values.size**2)

    variance = max(part(first) + part(second) - part(np.arange(8)), part(first), part(second))
    result = two_way_interval(values, first, second, binary=False)
    assert result is not None
    half = 12.706204736432095 * math.sqrt(variance)  # Student's t, one degree of freedom
    assert (result.high - result.low) / 2 == pytest.approx(half)


# ── the commands ──


def test_from_runs_to_the_table_by_the_commands(tmp_path: Path) -> None:
    write_folder(tmp_path / "data")
    write_comment_run(tmp_path / "run", "tiny", {make_ref(v): f"tiny says {v}" for v in range(4)})
    built = vivant("mimic", "pack", "run", "--data", "data", "--out", "p", "--key", "k.jsonl", cwd=tmp_path)
    assert built.returncode == 0 and "24 comments of 2 sources under 4 videos" in built.stderr
    again = vivant("mimic", "pack", "run", "--data", "data", "--out", "q", "--seed", "1", cwd=tmp_path)
    assert again.returncode == 0
    pack = Pack(tmp_path / "p")
    rows = [[a, i.item, "human" if "comment" in i.text else "ai", 4] for a in "ab" for i in pack.items()]
    write_csv(tmp_path / "j.csv", [*rows, ["a", "zzz", "human", 1]])
    imported = vivant("mimic", "import", "p", "j.csv", "--out", "j.jsonl", cwd=tmp_path)
    assert imported.returncode == 0 and "48 judgements" in imported.stderr
    assert "1 × no such item in the pack" in imported.stderr
    refused = vivant("mimic", "score", "p", "j.jsonl", "--key", "q.key.jsonl", cwd=tmp_path)
    assert refused.returncode == 1 and refused.stderr.startswith(
        "vivant: q.key.jsonl is the key of another pack"
    )
    assert "Traceback" not in refused.stderr
    scored = vivant(
        "mimic",
        "score",
        "p",
        "j.jsonl",
        "--key",
        "k.jsonl",
        "--format",
        "json",
        "--out",
        "o.json",
        cwd=tmp_path,
    )
    assert scored.returncode == 0, scored.stderr
    table = {(r["run"], r["model"], r["metric"]): r for r in msgspec.json.decode(scored.stdout)}
    name = pack.header.pack[:12]
    assert table[name, "tiny", "judged human"]["value"] == 0.0
    assert table[name, "human comments", "judged human"]["interval"][1] == 100.0
    assert table["published", "MIMIC-Chat", "judged human"]["value"] == 64.24
    assert msgspec.json.decode((tmp_path / "o.json").read_bytes(), type=PackOutcome).panels[0].annotators == 2
    checked = vivant("mimic", "check", "p", "--key", "k.jsonl", cwd=tmp_path)
    assert checked.returncode == 0 and "opens it, 2 sources" in checked.stderr
