"""MMR-V's tables: figures, losses beside them, published rows, and what a prompt holds."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.support.mmrv_kit import TASK, make_record, make_sample, score_pairs
from vivant.benchmarks.base import Prompt, PromptContext
from vivant.benchmarks.mmrv import MMRV, names, published
from vivant.benchmarks.mmrv.tables import build_frame_points_table
from vivant.core.errors import UsageError
from vivant.core.records import Score
from vivant.core.table import Cell, Table, to_json, to_latex, to_markdown, to_text
from vivant.core.types import Sample, Text, Video

ABILITIES = [
    ("Metaphor Understanding", "Creative Metaphor", "Art"),
    ("causal reasoning", "Forward Reasoning", "life"),
    ("Implicit Symbol", "Art Symbols", "movie"),
    ("Video Type and Intent", "Video Type", "TV"),
]


def make_samples() -> list[Sample]:
    return [
        make_sample(n, abilityType_L2=l2, abilityType_L3=l3, videoType=kind)
        for n, (l2, l3, kind) in enumerate(ABILITIES * 2)
    ]


REPLIES = ["[[C]]", "[[A]]", "\\boxed{C}", "it is C", "[[L]]", "[[A]] [[C]]", "none", ""]


def get_column(table: Table, name: str) -> list[Cell]:
    index = table.columns.index(name)
    return [line[index] for line in table.body]


def get_line(table: Table, number: int = 0) -> dict[str, Cell]:
    return dict(zip(table.columns, table.body[number], strict=True))


PAIRS = [(one, make_record(one, text)) for one, text in zip(make_samples(), REPLIES, strict=True)]


def test_the_main_table_has_the_runs_on_top_of_the_published_rows() -> None:
    table = MMRV().tables.build(MMRV(), "main", [score_pairs(PAIRS)], "paper")
    cells = get_line(table)
    assert (cells["overall"], cells["implicit"], cells["explicit"]) == (25.0 + 12.5, 50.0, 25.0)
    assert (cells["art"], cells["life"], cells["film"], cells["TV"]) == (50.0, 0.0, 50.0, 50.0)
    assert (cells["animation"], cells["philosophy"]) == (None, None)
    assert (cells["n"], cells["errors"], cells["unparsed"]) == (8, 0, 2)
    by_name = {(row[0], row[1]): row for row in table.body}
    assert len(table.body) == 1 + 20 + 20 + 1
    direct = (52.5, "published", 54.6, 47.1, 48.2, 40.1, 54.0, 51.7, 65.3, 27.9)
    assert by_name["o4-mini", "zero-shot"][2:12] == direct
    assert by_name["o4-mini", "cot"][2:7] == (52.1, "published", 54.5, 46.0, None)
    assert by_name["Human", "people"][2] == 86.0
    assert any("not comparable" in note for note in table.notes)
    assert any("count as wrong" in note for note in table.notes)
    sources = {row["source"] for row in msgspec.json.decode(to_json([table]))}
    assert "measured" in sources
    assert len(sources) == 3


def test_errors_stay_out_of_n() -> None:
    lost = Score(key=f"{TASK}/99", task=TASK, id="99", status="missing", rule="error")
    base = score_pairs(PAIRS)
    cells = get_line(
        MMRV().tables.build(
            MMRV(),
            "main",
            [msgspec.structs.replace(base, rows=(*base.rows, (make_sample(99), None, lost)))],
            "paper",
        )
    )
    assert (cells["overall"], cells["n"], cells["errors"]) == (37.5, 8, 1)


def test_abilities_stand_in_the_order_of_the_paper() -> None:
    table = MMRV().tables.build(
        MMRV(), "abilities", [score_pairs(PAIRS), score_pairs(PAIRS, "paper", model="m2")], "paper"
    )
    assert get_column(table, "code") == ["MU", "IS", "CAR", "VTI"] * 2
    assert get_column(table, "score") == [50.0, 50.0, 0.0, 50.0] * 2
    assert get_column(table, "n") == [2] * 8
    assert table.rules == (4,)
    unknown = [(make_sample(5, abilityType_L2="Smell"), make_record(make_sample(5), "[[C]]"))]
    assert (
        get_line(MMRV().tables.build(MMRV(), "abilities", [score_pairs(unknown)], "paper"))["ability"]
        == "Smell"
    )


def test_level_3_stands_below_its_level_2() -> None:
    table = MMRV().tables.build(MMRV(), "l3", [score_pairs(PAIRS)], "paper")
    assert get_column(table, "level 3") == [
        "Creative Metaphor",
        "Art Symbols",
        "Forward Reasoning",
        "Video Type",
    ]
    assert sum(value for value in get_column(table, "n") if isinstance(value, int)) == 8


def test_every_step_of_the_extraction_is_counted() -> None:
    cells = get_line(MMRV().tables.build(MMRV(), "extraction", [score_pairs(PAIRS)], "paper"))
    counts = {
        name: cells[name] for name in ("[[X]]", "\\boxed{X}", "last letter", "stored", "none", "empty reply")
    }
    assert counts == {"[[X]]": 4, "\\boxed{X}": 1, "last letter": 1, "stored": 0, "none": 1, "empty reply": 1}
    assert (cells["n"], cells["no option"], cells["several"]) == (8, 1, 1)
    cut = Score(key=f"{TASK}/99", task=TASK, id="99", status="unparsed", rule="truncated")
    base = score_pairs(PAIRS, "strict")
    more = msgspec.structs.replace(base, rows=(*base.rows, (make_sample(99), None, cut)))
    counted = get_line(MMRV().tables.build(MMRV(), "extraction", [more], "strict"))
    assert (counted["truncated"], counted["n"]) == (1, 9)
    strict = get_line(MMRV().tables.build(MMRV(), "extraction", [score_pairs(PAIRS, "strict")], "strict"))
    assert (strict["[[X]]"], strict["last letter"], strict["none"]) == (3, 0, 3)


def test_a_question_without_a_key_is_named_in_strict() -> None:
    odd = make_sample(268, correctAnswer="(K)")
    pairs = [*PAIRS, (odd, make_record(odd, "[[C]]"))]
    table = MMRV().tables.build(MMRV(), "main", [score_pairs(pairs, "strict")], "strict")
    assert (get_line(table)["n"], get_line(table)["errors"]) == (8, 0)
    assert any("268" in note and "no option" in note for note in table.notes)
    assert get_line(MMRV().tables.build(MMRV(), "main", [score_pairs(pairs)], "paper"))["n"] == 9


def test_frames_come_from_the_log_or_are_given() -> None:
    runs = [
        score_pairs(
            [(sample, make_record(sample, "[[C]]", frames=count)) for sample in make_samples()[:size]],
            run=f"f{count}",
        )
        for count, size in ((16, 4), (8, 8))
    ]
    table = MMRV().tables.build(MMRV(), "frames", runs, "paper")
    assert get_column(table, "frames") == [8, 16, *published.FRAMES]
    assert get_line(table, 8)["overall"] == 48.0
    assert get_line(table, 2)["overall"] == 42.6
    assert {row.group["frames"] for row in table.rows} == {"8", "16"}
    assert build_frame_points_table([(16, runs[0]), (8, runs[1])], "paper", MMRV()) == table
    with pytest.raises(UsageError, match="how many frames"):
        MMRV().tables.build(MMRV(), "frames", [score_pairs(PAIRS)], "paper")


def test_an_unknown_table_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="abilities"):
        MMRV().tables.build(MMRV(), "ability", [score_pairs(PAIRS)], "paper")


@pytest.mark.parametrize("name", ["main", "abilities", "l3", "extraction"])
def test_tables_have_all_forms(name: str) -> None:
    table = MMRV().tables.build(MMRV(), name, [score_pairs(PAIRS)], "paper")
    assert "m" in to_text(table)
    assert to_markdown(table).count("\n|") >= len(table.body)
    assert "\\toprule" in to_latex(table)


def test_published_figures_agree_with_the_text_of_the_paper() -> None:
    figures = {(f.model, f.style, tuple(f.group.values())): f.value for f in MMRV().published.rows()}
    models = [model for model, style, group in figures if style == "cot" and not group]
    assert len(models) == 20
    gain = sum(figures[m, "cot", ()] - figures[m, "zero-shot", ()] for m in models) / 20
    assert gain == pytest.approx(0.57, abs=0.005)
    gap = sum(figures[m, "zero-shot", ("implicit",)] - figures[m, "zero-shot", ("explicit",)] for m in models)
    assert gap / 20 == pytest.approx(7.9, abs=0.06)
    sizes = dict(zip(names.VIDEO_TYPES, (139, 177, 189, 288, 378, 86), strict=True))
    for model in ("o4-mini", "Gemini-2.0-512f", "Gemini-2.5-Flash"):
        mean = sum(figures[model, "zero-shot", (kind,)] * size for kind, size in sizes.items()) / 1257
        assert mean == pytest.approx(figures[model, "zero-shot", ()], abs=0.06)


# ── Prompts ──────────────────────────────────────────────────────────────────────────────────────


def build_prompt(style: str = "zero-shot", sample: Sample | None = None, **wording: str) -> Prompt:
    cells = {name.replace("_", "."): text for name, text in wording.items()}
    return MMRV().prompt(sample or make_sample(), PromptContext(style=style, wording=cells, root=Path()))


def get_text(prompt: Prompt) -> str:
    (message,) = prompt.messages
    first = message.parts[0]
    assert isinstance(first, Text)
    return first.text


def test_the_text_comes_first_then_the_video_and_options_keep_their_letters() -> None:
    sample = make_sample(options=["(A) x", "(B) y", "(D) z"], correctAnswer="(D)")
    for style in ("zero-shot", "cot"):
        prompt = build_prompt(style, sample)
        assert [type(part) for part in prompt.messages[0].parts] == [Text, Video]
        assert "\n(A) x\n(B) y\n(D) z\n" in get_text(prompt)
        assert sample.question[0].text in get_text(prompt)  # type: ignore[union-attr]
        assert (prompt.options, prompt.order) == (sample.options, (0, 1, 2))
        assert prompt.answer_form.format("D") == "[[D]]"
    assert get_text(build_prompt("cot")) != get_text(build_prompt())
    assert (build_prompt("cot").max_tokens or 0) > (build_prompt().max_tokens or 0)


def test_no_bracketed_option_of_the_prompt_could_be_echoed_as_an_answer() -> None:
    from vivant.benchmarks.mmrv.score import extract_letter

    sample = make_sample(options=["(A) x", "(B) y"])
    for style in ("zero-shot", "cot"):
        assert extract_letter(get_text(build_prompt(style, sample)), bare=False).letter is None


def test_a_users_own_wording_wins_and_braces_in_questions_are_safe() -> None:
    sample = make_sample(question="What is {options}?", options=["(A) {question}", "(B) y"])
    cells = MMRV().prompt(
        sample,
        PromptContext(
            style="zero-shot", wording={"mcq.zero-shot": "Q {question} O {options_list} {letters} { x }"}
        ),
    )
    assert get_text(cells) == "Q What is {options}? O ['(A) {question}', '(B) y'] A, B { x }"
    with pytest.raises(UsageError, match="must hold"):
        MMRV().prompt(sample, PromptContext(style="cot", wording={"mcq.cot": "Q {question}"}))
    with pytest.raises(UsageError, match=r"unknown placeholder \{x\}"):
        MMRV().prompt(sample, PromptContext(style="cot", wording={"mcq.cot": "{question} {options} {x}"}))
    with pytest.raises(UsageError, match="few-shot"):
        build_prompt("few-shot")


def test_a_printed_list_holds_the_options_as_the_data_write_them() -> None:
    sample = make_sample(question=" What? ", options=["(A) it's x ", "(B) y"])
    template = "{question}|{options_list}"
    context = PromptContext(style="zero-shot", wording={"mcq.zero-shot": template})
    assert get_text(MMRV().prompt(sample, context)) == " What? |" + str(["(A) it's x ", "(B) y"])
