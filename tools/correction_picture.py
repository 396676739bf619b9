"""Draw the picture of docs/corrected-judges.md: a judge, people and both together, simulated.

python tools/correction_picture.py docs/images/corrected-judges.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from vivant.metrics.prediction_powered import CorrectedMean, correct_mean
from vivant.reporting.figure_style import COLORS, load_pyplot, save_figure

AGREEMENTS = (0.3, 0.6, 0.9)
TOTAL, LABELLED, TRUTH = 1000, 120, 3.0


def simulate(agreement: float) -> CorrectedMean:
    """1,000 answers scored 0 to 6 by a judge that is 0.9 points too kind, 120 of them by people as well."""
    rng = np.random.default_rng(11)
    quality = rng.normal(size=TOTAL)
    seen = agreement * quality + (1 - agreement**2) ** 0.5 * rng.normal(size=TOTAL)
    people, judge = (np.clip(np.round(3 + 1.5 * x), 0, 6) for x in (quality, seen + 0.6))
    part = np.where(rng.permutation(TOTAL) < LABELLED, people, np.nan)
    return correct_mean(judge, part, binary=False)


def main() -> None:
    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(figsize=(6.4, 3.0))
    for number, agreement in enumerate(AGREEMENTS):
        result = simulate(agreement)
        assert result.interval is not None
        assert result.people_interval is not None
        rows = (
            ("judge alone", result.judge, None),
            ("people alone", result.people, result.people_interval),
            ("corrected", result.value, result.interval),
        )
        for place, (name, value, interval) in enumerate(rows):
            y = -(4 * number + place)
            if interval is not None:
                axes.plot([interval.low, interval.high], [y, y], color=COLORS[place], linewidth=3, alpha=0.6)
            axes.plot([value], [y], "o", color=COLORS[place], label=None if number else name)
        axes.text(
            2.37,
            -(4 * number + 1),
            f"agreement {agreement:g}\nworth {LABELLED * result.gain:.0f}",
            va="center",
        )
    axes.axvline(TRUTH, color="#718096", linestyle=":", label="truth")
    axes.set_yticks([])
    axes.set_xlim(2.35, 4.05)
    axes.set_xlabel("mean score, 0 to 6")
    axes.legend(frameon=False, loc="upper right", fontsize=8)
    save_figure(pyplot, figure, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
