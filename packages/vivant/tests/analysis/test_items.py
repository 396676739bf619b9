"""Items seen through many runs: planted faults are found, sound items are left alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from tests.support.mmie_kit import run_vivant
from tests.support.runs_kit import answer, make_run, quiz
from vivant.analysis.items.findings import analyse_items
from vivant.analysis.items.responses import read_responses
from vivant.analysis.items.texts import find_cues, find_duplicates
from vivant.core.errors import UsageError
from vivant.core.types import Control, Option, Sample, Text, Video
from vivant.metrics.item_statistics import check_keys, difficulty, disagreement, discrimination
from vivant.metrics.label_noise import estimate_noise
from vivant.runs.run import Run


def test_difficulty_and_discrimination_equal_girth_and_numpy() -> None:
    import girth

    rng = np.random.default_rng(1)
    skill = rng.normal(size=60)
    values = (rng.random((25, 60)) < 1 / (1 + np.exp(-(skill - rng.normal(size=(25, 1)))))).astype(float)
    reference = girth.classical_test_statistics(values.astype(int))
    assert difficulty(values) == pytest.approx(values.mean(axis=1))
    expected = [np.corrcoef(row, values.sum(axis=0) - row)[0, 1] for row in values]
    assert discrimination(values) == pytest.approx(expected)
    names = [name for name in reference if "Correlation" in name and "Polyserial" not in name]
    assert any(np.allclose(reference[name], expected, atol=0.02) for name in names), list(reference)


def test_missing_answers_and_too_few_runs_are_not_told() -> None:
    values = np.array([[1.0, np.nan, 0.0], [np.nan, np.nan, np.nan], [1.0, 1.0, 1.0]])
    assert difficulty(values)[0] == 0.5
    assert np.isnan(difficulty(values)[1])
    assert np.isnan(discrimination(values)).all()
    codes = np.array([[0, 1, 1], [-1, 2, -1], [0, 0, 0]], np.int16)
    assert disagreement(codes)[[0, 2]] == pytest.approx([2 / 3, 0])
    assert np.isnan(disagreement(codes)[1])


def _simulate(
    wrong: float, runs: int = 20, items: int = 2000, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Answers of runs that share popular distractors, with a share of wrong keys."""
    rng = np.random.default_rng(seed)
    skill = rng.uniform(0.5, 0.92, runs)
    popular = rng.integers(1, 4, (items, 1))
    errors = np.where(rng.random((items, runs)) < 0.3, popular, rng.integers(1, 4, (items, runs)))
    codes = np.where(rng.random((items, runs)) < skill, 0, errors)
    bad = rng.random(items) < wrong
    true = rng.integers(1, 4, (items, 1))
    swapped = np.where(codes == 0, true, np.where(codes == true, 0, codes))
    return np.where(bad[:, None], swapped, codes).astype(np.int16), bad


def test_wrong_keys_are_found_and_right_ones_are_not() -> None:
    codes, bad = _simulate(0.03)
    shown, sizes = np.full(codes.shape, 15, np.uint64), np.full(codes.shape, 4, np.int16)
    check = check_keys(codes, shown, sizes)
    flagged = check.rival_posterior >= 0.5
    assert bad[flagged].mean() > 0.9
    assert flagged[bad].mean() > 0.7
    assert 0.05 < check.shared_errors < 0.4
    sound, _ = _simulate(0.0, seed=1)
    assert (check_keys(sound, shown, sizes).rival_posterior >= 0.5).mean() < 0.002


@pytest.mark.parametrize("wrong", [0.0, 0.05])
def test_the_share_of_wrong_keys_is_estimated_from_people(wrong: float) -> None:
    rng = np.random.default_rng(2)
    estimates = []
    for _ in range(5):
        skill = rng.beta(8, 1.5, 900)[:, None]
        true = np.where(rng.random(900) < wrong, rng.integers(1, 4, 900), 0)[:, None]
        chosen = np.where(rng.random((900, 3)) < skill, true, (true + rng.integers(1, 4, (900, 3))) % 4)
        counts = np.stack([(chosen == code).sum(axis=1) for code in range(4)], axis=1)
        result = estimate_noise(counts, np.full(900, 4.0), resamples=0)
        estimates.append(result.noise)
    assert np.mean(estimates) == pytest.approx(wrong, abs=0.012)
    assert result.interval is None
    with pytest.raises(ValueError, match="two people"):
        estimate_noise(np.eye(3), np.full(3, 3.0))


def _runs(
    tmp_path: Path, samples: list[Sample], choices: dict[str, list[int]], control: Control = "none"
) -> None:
    for model, picks in choices.items():
        records = [answer(sample, pick) for sample, pick in zip(samples, picks, strict=True)]
        make_run(tmp_path / "runs" / model, samples, records, model=model, control=control)


def _planted(tmp_path: Path) -> list[Sample]:
    """Forty items, eight runs; all but one run answer option 2 to item 7, whose key is option 0."""
    rng = np.random.default_rng(3)
    samples = quiz(40)
    choices = {}
    for run in range(8):
        picks = [0 if rng.random() < 0.8 else int(rng.integers(1, 4)) for _ in samples]
        picks[7] = 2 if run else 0
        choices[f"m{run}"] = picks
    _runs(tmp_path, samples, choices)
    return samples


def test_a_planted_wrong_key_comes_first_with_its_evidence(tmp_path: Path) -> None:
    _planted(tmp_path)
    result = run_vivant("items", "runs", "--kind", "suspect-key", "--jsonl", "items.jsonl", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "7 of 8 runs choose 'ash', 1 the key 'oak'" in result.stdout
    lines = [msgspec.json.decode(line) for line in (tmp_path / "items.jsonl").read_bytes().splitlines()]
    assert len(lines) == 40
    suspects = [line for line in lines if any(f["kind"] == "suspect key" for f in line["findings"])]
    assert [line["id"] for line in suspects] == ["q007"]
    assert suspects[0]["link"] == "/run/m0/sample?key=jsonl%2Fquiz%2Fq007"
    assert suspects[0]["answers"]["m3"] == "ash"


def test_answers_are_compared_by_text_whatever_the_order(tmp_path: Path) -> None:
    samples = quiz(12)
    for number in range(3):
        records = [answer(sample, 1 + (n % 2), permutation=number) for n, sample in enumerate(samples)]
        make_run(tmp_path / f"r{number}", samples, records, model=f"m{number}", permute=1)
    (matrix,) = read_responses([Run(tmp_path / f"r{number}") for number in range(3)])
    texts = {matrix.options[0][code] for code in matrix.codes[0]}
    assert texts == {"elm"}
    assert (matrix.codes == matrix.codes[:, :1]).all()


def test_controls_are_columns_and_what_is_solved_blind_is_told(tmp_path: Path) -> None:
    samples = _planted(tmp_path)
    blind = {f"b{run}": [0 if n == 3 else 1 + run for n, _ in enumerate(samples)] for run in range(3)}
    _runs(tmp_path, samples, blind, control="blind")
    runs = [Run(path) for path in sorted((tmp_path / "runs").iterdir())]
    (matrix,) = read_responses(runs)
    analysis = analyse_items(matrix)
    assert analysis.items[3].without_media == 1
    assert analysis.items[4].without_media == 0
    assert [item.id for item in analysis.select("solved blind")] == ["q003"]
    assert analysis.items[0].runs == 8


def test_few_runs_say_nothing_about_keys_and_it_is_told(tmp_path: Path) -> None:
    samples = quiz(10)
    _runs(tmp_path, samples, {"a": [1] * 10, "b": [1] * 10})
    (matrix,) = read_responses([Run(tmp_path / "runs" / name) for name in "ab"])
    analysis = analyse_items(matrix)
    assert not analysis.select("suspect key")
    assert any("from 3 on" in note for note in analysis.notes)


def test_runs_on_another_edition_are_refused(tmp_path: Path) -> None:
    samples = quiz(6)
    moved = [msgspec.structs.replace(sample, key=1) for sample in samples]
    _runs(tmp_path, samples, {"a": [0] * 6})
    _runs(tmp_path, moved, {"b": [0] * 6})
    with pytest.raises(UsageError, match="b is on another edition: the key of jsonl/quiz/q000 is 'elm'"):
        read_responses([Run(tmp_path / "runs" / name) for name in "ab"])


def test_a_run_without_an_item_of_the_others_is_named(tmp_path: Path) -> None:
    samples = quiz(12)
    _runs(tmp_path, samples[:6], {"a": [0] * 6, "b": [1] * 6})
    _runs(tmp_path, samples[6:], {"c": [0] * 6})
    a, b, c = (Run(tmp_path / "runs" / name) for name in "abc")
    (matrix,) = read_responses([a, b, c])
    assert any(note.startswith("jsonl/quiz: c: no item in common") for note in matrix.notes)
    (matrix,) = read_responses([a, b])
    assert not matrix.notes


def _question(number: int, text: str, media: str, options: tuple[str, ...], key: int = 0) -> Sample:
    return Sample(
        id=str(number),
        task="jsonl/quiz",
        question=(Video(media), Text(text)),
        options=tuple(Option(name, words) for name, words in zip("ABCD", options, strict=False)),
        key=key,
    )


def test_near_duplicates_share_words_and_media() -> None:
    options = ("a red car", "a blue bus", "a green tram", "a white van")
    long = "What does the woman in the long coat take out of the bag before she leaves the room"
    samples = [
        _question(0, long + " again?", "a.mp4", options),
        _question(1, long + " once?", "a.mp4", options),
        _question(2, long + " once?", "b.mp4", options),
        _question(3, "Who sings at the end of the film, and to whom is it sung?", "a.mp4", options),
    ]
    assert find_duplicates(samples) == [[0, 1]]


def test_options_that_stand_out_are_found_where_the_rule_works() -> None:
    short = ("a cat", "a dog", "a cow")
    given = [
        _question(n, "What?", f"{n}.mp4", ("a long and careful description of it", *short)) for n in range(30)
    ]
    cues = {cue.name: cue for cue in find_cues(given)}
    assert cues["longest"].works
    assert cues["longest"].right == 30
    rng = np.random.default_rng(4)
    fair = [
        _question(
            n, "What?", f"{n}.mp4", ("a long and careful description of it", *short), int(rng.integers(4))
        )
        for n in range(200)
    ]
    assert not any(cue.works for cue in find_cues(fair))


def test_people_give_a_ceiling(tmp_path: Path) -> None:
    samples = _planted(tmp_path)
    records = [
        answer(sample, 2 if n == 7 else 0, repeat=repeat)
        for n, sample in enumerate(samples)
        for repeat in range(4)
    ]
    make_run(tmp_path / "runs" / "people", samples, records, model="human", repeat=4)
    result = run_vivant("items", "runs", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Ceiling" in result.stdout
    words = " ".join(result.stdout.split())
    assert "of 4 people 4 agree with them and 0 with the key" in words
    (matrix,) = read_responses([Run(path) for path in sorted((tmp_path / "runs").iterdir())])
    noise = analyse_items(matrix).noise
    assert noise is not None
    assert noise.wrong[7] > 0.9
    assert noise.noise == pytest.approx(1 / 40, abs=0.01)
    # People may have been shown other options: the words and the link are those of a model's run.
    other = [
        msgspec.structs.replace(sample, options=(*sample.options[:3], Option("D", "a tree of another kind")))
        for sample in samples
    ]
    picks = [answer(sample, 0, repeat=repeat) for sample in other for repeat in range(4)]
    people = make_run(tmp_path / "apart", other, picks, model="human", repeat=4)
    (apart,) = read_responses([people, *(Run(tmp_path / "runs" / f"m{number}") for number in range(8))])
    assert [sample.options for sample in apart.samples] == [sample.options for sample in samples]
    assert analyse_items(apart).cues == analyse_items(matrix).cues
    with pytest.raises(UsageError, match="people alone"):
        read_responses([Run(tmp_path / "runs" / "people")])
