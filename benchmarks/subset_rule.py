"""Is the rule by which `vivant subset make` sorts samples fitted to the models that its error is measured on?

The rule (through the clusters, or by difficulty alone) was found on MIME's published outputs, and the documented
errors are measured on them too. Here each model is left out, the rule is chosen anew on the others by leaving each of
those out in turn, and the error is measured on the first, which has no part in the choice. Beside it stand the errors
of both rules. Six runs of 716 samples take some minutes.

    python -m benchmarks.subset_rule RUN RUN RUN …
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from vivant.analysis.value_matrix import read_value_matrices
from vivant.metrics.anchor_items import Labels, Matrix, choose_anchors, estimate_from_subset
from vivant.metrics.intervals import encode_labels
from vivant.metrics.item_response import fit_rasch
from vivant.runs.run import choose_common_protocol, load_runs

SIZES = (25, 50, 100, 200)
DRAWS = 60


def measure(
    values: Matrix, labels: Labels, past: Sequence[int], tested: Sequence[int], size: int, by_cluster: bool
) -> float:
    """Mean square of what subsets from past runs miss on the tested ones."""
    difficulties = fit_rasch(values[:, past]).difficulties.round(6)
    squares = []
    for draw in range(DRAWS):
        chosen = choose_anchors(difficulties, values[:, past], labels, size, (0, draw), by_cluster=by_cluster)
        for run in tested:
            estimate = estimate_from_subset(difficulties[chosen], difficulties, values[chosen, run])
            squares.append((estimate.value - values[:, run].mean()) ** 2)
    return float(np.mean(squares))


def main(paths: list[str]) -> None:
    """Print a line per task and size."""
    runs = load_runs(paths)
    names = [run.name for run in runs]
    models = {name: run.model for name, run in zip(names, runs, strict=True)}
    for task, matrix in read_value_matrices(runs, names, choose_common_protocol(runs, None)).items():
        values = matrix.values[matrix.shared]
        labels = encode_labels(matrix.clusters[matrix.shared].tolist())
        owners = [models[name] for name in matrix.runs]
        if len(set(owners)) < 3:
            print(f"{task}: left out, because it needs runs of three models")
            continue
        for size in SIZES:
            errors: dict[str, list[float]] = {
                "chosen on the others": [],
                "by cluster": [],
                "by difficulty": [],
            }
            for model in sorted(set(owners)):
                rest = [run for run, owner in enumerate(owners) if owner != model]
                tested = [run for run, owner in enumerate(owners) if owner == model]
                inner = {
                    rule: sum(
                        measure(
                            values,
                            labels,
                            [run for run in rest if owners[run] != other],
                            [run for run in rest if owners[run] == other],
                            size,
                            rule,
                        )
                        for other in sorted({owners[run] for run in rest})
                    )
                    for rule in (True, False)
                }
                outer = {rule: measure(values, labels, rest, tested, size, rule) for rule in (True, False)}
                errors["chosen on the others"].append(outer[min(inner, key=lambda rule: inner[rule])])
                errors["by cluster"].append(outer[True])
                errors["by difficulty"].append(outer[False])
            figures = ", ".join(f"{name} {100 * np.mean(each) ** 0.5:.1f}" for name, each in errors.items())
            print(f"{task}, {size:3} samples, error in points: {figures}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
