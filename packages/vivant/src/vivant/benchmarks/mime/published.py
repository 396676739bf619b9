"""Published accuracies, multiple choice / free form, in percent, as the authors' score files give them."""

from __future__ import annotations

from collections.abc import Iterator

from vivant.benchmarks.base import Published

SOURCE = "MIME (2025), authors' score files"
SOURCE_HUMAN = "MIME (2025), human_eval.jsonl; free form counts where two cut-offs agree"

MODELS = {
    "Q3B": "Qwen2.5-VL-3B",
    "Q7B": "Qwen2.5-VL-7B",
    "Phi": "Phi-3.5",
    "IVL": "InternVL2.5-8B",
    "GPT": "GPT-4o-mini",
    "Gem": "Gemini-1.5-Flash",
    "Human": "human",
}
STYLES = {"ZS": "zero-shot", "CoT": "cot", "FS": "few-shot", "": ""}

SCENES = (
    "base+blank@0",
    "base+aligned@0",
    "base+misaligned@0",
    "adversarial+blank@0",
    "adversarial+aligned@0",
    "adversarial+misaligned@0",
)
"""The columns of tables 2 and 5."""
_BY_SCENE = """
Q3B ZS  | 34.9/2.3 61.6/30.2 27.9/0.0 30.2/1.2 60.5/29.1 24.4/0.0
Q3B CoT | 43.0/0.0 57.0/25.6 27.9/0.0 29.1/0.0 58.1/22.1 25.6/0.0
Q7B ZS  | 39.5/5.8 68.6/38.4 32.6/1.2 34.9/0.0 64.0/30.2 30.2/0.0
Q7B CoT | 41.9/8.1 62.8/37.2 31.4/3.5 27.9/0.0 61.6/17.4 26.7/1.2
Phi ZS  | 29.1/2.3 73.3/27.9 31.4/8.1 44.2/0.0 72.1/27.9 36.0/5.8
Phi CoT | 41.9/4.7 64.0/30.2 24.4/1.2 31.4/1.2 59.3/30.2 33.7/2.3
IVL ZS  | 31.4/2.3 57.0/26.7 22.1/2.3 25.6/2.3 59.3/20.9 30.2/2.3
IVL CoT | 25.6/1.2 60.5/23.3 32.6/2.3 26.7/1.2 52.3/15.1 23.3/0.0
GPT ZS  | 41.9/11.6 66.3/39.5 37.2/3.5 33.7/8.1 67.4/33.7 36.0/2.3
GPT CoT | 43.0/16.3 73.3/47.7 44.2/8.1 44.2/4.7 65.1/38.4 36.0/1.2
GPT FS  | 74.4/9.3 94.2/39.5 52.3/0.0 70.9/2.3 89.5/40.7 59.3/0.0
Gem ZS  | 52.3/19.8 68.6/51.2 37.2/12.8 44.2/8.1 75.6/46.5 36.0/3.5
Gem CoT | 54.6/22.1 69.8/48.8 40.7/11.6 48.8/9.3 74.4/51.2 41.9/7.0
Gem FS  | 57.0/13.9 72.1/41.9 46.5/10.5 48.8/4.7 77.9/39.5 44.2/0.0
Human   | 99.6/89.5 98.5/89.2 99.2/93.4 98.5/93.8 99.2/94.1 99.2/95.0
"""

_WOMAN = """
Q3B ZS  | 29.1/1.2
Q7B ZS  | 41.9/9.3
Phi ZS  | 34.9/2.3
IVL ZS  | 33.7/5.8
GPT ZS  | 44.2/12.8
Gem ZS  | 47.7/20.9
Q3B CoT | 37.2/2.3
Q7B CoT | 46.5/10.5
Phi CoT | 33.7/2.3
IVL CoT | 24.4/5.8
GPT CoT | 53.5/10.5
Gem CoT | 52.3/19.8
GPT FS  | 65.1/10.5
Gem FS  | 59.3/22.1
Human   | 98.5/90.3
"""
"""Table 3."""

_TURNED = ("base+blank@90", "base+blank@180", "base+blank@270")
_BY_ANGLE = """
Q3B ZS  | 34.9/1.2 32.6/0.0 32.6/1.2
Q7B ZS  | 39.5/7.0 50.0/3.5 43.0/8.1
Phi ZS  | 31.4/5.8 33.7/3.5 33.7/3.5
IVL ZS  | 36.0/7.0 33.7/7.0 37.2/4.7
GPT ZS  | 47.7/15.1 43.0/13.9 47.7/13.9
Gem ZS  | 47.7/18.6 52.3/17.4 53.5/23.3
Human   | 98.8/95.0 98.8/90.7 98.7/85.1
"""
"""Table 4; the angle 0 is the first column of table 2."""

_ON_REAL = """
Q3B ZS  | 100.0/73.9
Q7B ZS  | 100.0/84.8
Phi ZS  | 93.5/67.4
IVL ZS  | 97.8/82.6
GPT ZS  | 97.8/91.3
Gem ZS  | 100.0/95.7
Human   | 100.0/77.2
"""
"""Table 1; MIME's side of it is the first column of table 2."""


def list_published() -> Iterator[Published]:
    """Every published accuracy once, by variant (`none` is REAL)."""
    yield from _parse_block(_BY_SCENE, SCENES, 5)
    yield from _parse_block(_WOMAN, ("woman+blank@0",), 3)
    yield from _parse_block(_BY_ANGLE, _TURNED, 4)
    yield from _parse_block(_ON_REAL, ("none",), 1)


def _parse_block(block: str, variants: tuple[str, ...], table: int) -> Iterator[Published]:
    for line in block.strip().splitlines():
        label, _, figures = line.partition("|")
        model, style = (*label.split(), "")[:2]
        source = SOURCE_HUMAN if model == "Human" else SOURCE
        for variant, pair in zip(variants, figures.split(), strict=True):
            for task, value in zip(("mime/mcq", "mime/ff"), pair.split("/"), strict=True):
                yield Published(
                    model=MODELS[model],
                    task=task,
                    style=STYLES[style],
                    group={"variant": variant},
                    value=float(value),
                    source=f"{source}, table {table}",
                )
