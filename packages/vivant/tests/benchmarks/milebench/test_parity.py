"""The published scorer's outputs, reproduced: every prompt, every extracted name, every score and mean."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vivant.benchmarks.base import PromptContext, ScoredRun, ScoreSettings
from vivant.benchmarks.milebench import MileBench
from vivant.benchmarks.milebench.data import read_samples
from vivant.benchmarks.milebench.native import Annotation, AnnotationItem, AnnotationMeta
from vivant.core.types import Image, Text


def split_words(text: str) -> list[str]:
    """The tokenizer of the parity prompts."""
    return re.findall(r"\s*\S+|\s+$", text)


@pytest.fixture
def folder(parity: Path) -> Path:
    return parity / "milebench"


def load(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_every_prompt_and_kept_image(folder: Path) -> None:
    cases = load(folder / "prompts.json")["cases"]
    assert cases
    for case in cases:
        kind = "multi-choice" if "choice_list" in case["annotation"]["task_instance"] else "open-ended"
        annotation = Annotation(
            AnnotationMeta([case["instruction"]], kind), [msgspec.convert(case["annotation"], AnnotationItem)]
        )
        (sample,) = read_samples(annotation, case["dataset"], "", "prompts.json")
        combine = case["combine_image"] or 0
        context = PromptContext(
            style="zero-shot",
            limits={
                "max_context_len": case["max_context_len"],
                "n_tokens_per_image": case["n_tokens_per_image"],
                "tokenizer": split_words,
            },
        )
        prompt = MileBench(combine=combine).prompt(sample, context)
        parts = prompt.messages[0].parts
        text = "".join(part.text if isinstance(part, Text) else "<ImageHere>" for part in parts)
        assert text == case["expected"]["context"]
        images = [part.path for part in parts if isinstance(part, Image)]
        if combine:
            assert sample.extra["combined"][str(combine)] == case["expected"]["images"]
            assert len(images) == len(case["expected"]["images"])
        else:
            assert images == case["expected"]["images"]
            shown = case["annotation"]["task_instance"]["images_path"]
            assert prompt.lost_images == len(shown) - len(images)


def test_import_score_and_export_reproduce_every_file(folder: Path, tmp_path: Path) -> None:
    benchmark, outputs = MileBench(), folder / "outputs" / "synthetic"
    seen = 0
    for output in sorted(outputs.iterdir()):
        task = f"milebench/{output.name}"
        samples = benchmark.load(folder / "data", task)
        imported = benchmark.native.read_predictions(output / "pred.json", samples, task)
        assert imported is not None
        assert imported.model == "synthetic"
        records = {record.id: record for record in imported.records}
        items = [(sample, records[sample.id]) for sample in samples]
        scores = benchmark.score(items, ScoreSettings(protocol="paper"))
        rows = tuple((s, r, score) for (s, r), score in zip(items, scores, strict=True))
        run = ScoredRun(run="r", model="synthetic", style="zero-shot", task=task, protocol="paper", rows=rows)
        benchmark.native.export([run], "milebench", tmp_path)
        for name in ("eval.json", "eval_score.json", "pred_with_extracted.json"):
            written = tmp_path / "synthetic" / output.name / name
            assert written.exists() == (output / name).exists()
            if written.exists():
                assert written.read_bytes() == (output / name).read_bytes(), f"{output.name}/{name}"
                seen += 1
        assert load(tmp_path / "synthetic" / output.name / "pred.json") == load(output / "pred.json")
    assert seen > 40
    header, line = (tmp_path / "result.csv").read_text().splitlines()
    assert "ALFRED (Rouge-L f)" in header.split(",")
    expected = load(outputs / "GPR1200" / "eval.json")["Accuracy"]
    assert float(line.split(",")[header.split(",").index("GPR1200 (Accuracy)")]) == round(expected * 100, 2)
    results = load(tmp_path / "result.json")["synthetic"]
    assert list(results) == ["Realistic Temporal", "Realistic Semantic", "Diagnostic"]
    assert results["Diagnostic"]["GPR1200"] == load(outputs / "GPR1200" / "eval.json")
    assert results["Realistic Temporal"]["ActionPrediction"] == {}
