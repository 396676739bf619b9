"""Vivant evaluates multimodal models on images, video and long interleaved contexts.

>>> import vivant
>>> run = vivant.evaluate("mime/mcq", "openai/gpt-4o-mini", data="mini", limit=20)
>>> run.table(by="variant")

`plan` says what a run may cost; `evaluate` and `evaluate_async` run a model; `import_predictions` and `import_results`
take in what others have run; `load_run` and `load_runs` read what is there; `table`, `compare`, `corrected`, `rank`,
`items`, `sweep`, `controls`, `repeats` and `permutations` give tables; `judge` scores free answers; `plan_judgements`
says what to ask people; `make_subset`, `report`, `figures` and `export` write files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vivant.api import (
        BenchmarkItems,
        Comparison,
        Decoding,
        FramePolicy,
        JudgeOptions,
        ModelOptions,
        RetryPolicy,
        Run,
        RunRanking,
        Sweep,
        Table,
        VivantError,
        compare,
        controls,
        corrected,
        evaluate,
        evaluate_async,
        export,
        figures,
        import_predictions,
        import_results,
        item_study,
        items,
        judge,
        load_run,
        load_runs,
        make_subset,
        permutations,
        plan,
        plan_judgements,
        rank,
        repeats,
        report,
        sweep,
        table,
    )

__version__ = "0.1.0"
__all__ = [
    "BenchmarkItems",
    "Comparison",
    "Decoding",
    "FramePolicy",
    "JudgeOptions",
    "ModelOptions",
    "RetryPolicy",
    "Run",
    "RunRanking",
    "Sweep",
    "Table",
    "VivantError",
    "__version__",
    "compare",
    "controls",
    "corrected",
    "evaluate",
    "evaluate_async",
    "export",
    "figures",
    "import_predictions",
    "import_results",
    "item_study",
    "items",
    "judge",
    "load_run",
    "load_runs",
    "make_subset",
    "permutations",
    "plan",
    "plan_judgements",
    "rank",
    "repeats",
    "report",
    "sweep",
    "table",
]


def __getattr__(name: str) -> Any:
    # Imported late, so that `import vivant` and `vivant --help` stay light.
    if name not in __all__:
        raise AttributeError(f"module 'vivant' has no attribute '{name}'")
    from vivant import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
