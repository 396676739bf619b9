"""Other people's predictions, and people's own answers, turned into runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from vivant.benchmarks import registry
from vivant.benchmarks.base import Imported, Protocol
from vivant.benchmarks.conditions import matches, parse_where
from vivant.benchmarks.registry import Selection
from vivant.benchmarks.validation import load_samples
from vivant.core.arguments import as_strings
from vivant.core.errors import DataError, UsageError, unknown_name_error
from vivant.core.files import atomic_path
from vivant.core.randomness import sample_ids
from vivant.core.types import Sample
from vivant.runs.directory import RunDir, RunError, command_line, new_manifest
from vivant.runs.log import LogWriter
from vivant.runs.prediction_lines import read_prediction_lines
from vivant.runs.run import Run
from vivant.runs.settings import RunSettings, digest


def import_predictions(
    task: str,
    file: str | Path,
    out: str | Path,
    *,
    data: str | Path | Sequence[str | Path] = (),
    model: str | None = None,
    style: str | None = None,
    options: Mapping[str, object] | None = None,
) -> Run:
    """Turn a prediction file into a run.

    Args:
        task: One task, e.g. mime/mcq, or a file of your own questions.
        file: The predictions, in a native format of the benchmark or as lines of `{"id", "response"}`.
        out: The run directory to write.
        data: Folder of the data, or 'mini'.
        model: Name of the model. Default: from the file.
        style: Prompt style that was used. Default: from the file, else the benchmark's first.
        options: Task options, by name.
    """
    file, out = Path(file), Path(out)
    selection = _select_one_task(task, as_strings(data), options)
    name = selection.tasks[0]
    benchmark = selection.benchmark
    if not file.exists():
        raise DataError(f"No such file: {file}")
    samples = load_samples(benchmark, selection.root, name)
    imported = benchmark.native.read_predictions(file, samples, name)
    if imported is None:
        imported = read_prediction_lines(file, samples, selection, style or benchmark.styles[0])
    chosen_style = style or imported.style or benchmark.styles[0]
    if chosen_style not in benchmark.styles:
        raise unknown_name_error(f"style of {benchmark.name}", chosen_style, benchmark.styles)
    return write_run([imported], selection, out, model or imported.model or file.stem, chosen_style)


def import_folder(
    selector: str,
    folder: Path,
    out: Path,
    *,
    data: str | Path | Sequence[str | Path] = (),
    style: str | None = None,
    options: Mapping[str, object] | None = None,
) -> list[Run]:
    """Turn everything that the original's scripts left in a folder into runs, one per model.

    All files are read and checked before the first run is written.

    Args:
        selector: The benchmark, or a group of its tasks.
        folder: The output folder of the original's scripts.
        out: The run directory; with several models, the folder of their run directories.
        data: Folder of the data, or 'mini'.
        style: Prompt style that was used. Default: from the files, else the benchmark's first.
        options: Task options, by name.
    """
    selection = registry.select([selector], as_strings(data), options)[0]
    benchmark = selection.benchmark
    by_model = benchmark.native.find_predictions(benchmark, folder)
    pools: dict[str, list[Sample]] = {}
    imports: dict[str, list[Imported]] = {}
    for model, files in by_model.items():
        for task, file in files.items():
            if task not in selection.tasks:
                if task.partition("/")[2] in benchmark.expand(selector.partition("/")[2]):
                    raise DataError(
                        f"{file}: {selection.root} holds no data of {task}; add them, or move the file away"
                    )
                continue
            if task not in pools:
                pools[task] = list(load_samples(benchmark, selection.root, task))
            imported = benchmark.native.read_predictions(file, pools[task], task)
            if imported is None:
                raise DataError(f"{file} is no prediction file of {benchmark.name}")
            imports.setdefault(model, []).append(imported)
    if not imports:
        raise DataError(f"{folder} holds no predictions for {selector}")
    chosen_style = style or benchmark.styles[0]
    paths = {model: out / _slug(model) if len(imports) > 1 else out for model in imports}
    for path in paths.values():
        _refuse_existing(path)
    return [
        write_run(parts, selection, paths[model], model, chosen_style) for model, parts in imports.items()
    ]


def _refuse_existing(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RunError(f"{out} exists already; choose another --out")
    if out.resolve() == Path.cwd():
        raise RunError(f"{out} is the folder you are in, and would be replaced; choose another --out")


def _select_one_task(task: str, data: Sequence[str], options: Mapping[str, object] | None) -> Selection:
    selections = registry.select([task], data, options)
    tasks = selections[0].tasks
    if len(tasks) != 1:
        raise UsageError(f"Name one task to import: {', '.join(tasks)}")
    return selections[0]


def import_human(selections: Sequence[Selection], out: Path, style: str) -> Run:
    """People's answers from the benchmarks' own data, as a run of the model `human`. One that is there is reused."""
    if len(selections) != 1:
        raise UsageError("The model 'human' takes one benchmark at a time")
    selection = selections[0]
    parts = []
    for task in selection.tasks:
        imported = selection.benchmark.native.read_human(selection.benchmark, selection.root, task)
        if imported is None:
            raise DataError(f"{selection.root} holds no human answers for {task}")
        parts.append(imported)
    directory = RunDir(out)
    variant = _identify_answers(parts)
    fingerprint = _import_settings(parts, "human", style, variant).fingerprint()
    if not directory.exists():
        return write_run(parts, selection, out, "human", style, variant)
    if directory.manifest().fingerprint != fingerprint:
        raise RunError(f"{out} holds a run of other answers than {selection.root} does; choose another --out")
    return Run(out)


def import_answers(
    selectors: Sequence[str],
    folder: Path,
    out: str | None = None,
    data: Sequence[str] = (),
    options: Mapping[str, object] | None = None,
    *,
    where: Sequence[str] = (),
    limit: int | None = None,
    seed: int = 0,
) -> list[Run]:
    """Prepared answers as runs, one per model. Runs that are there already with the same answers are reused.

    Args:
        selectors: The benchmark, or one of its tasks.
        folder: The answers, in the benchmark's own format.
        out: The run directory; a folder in it for each model where there are several.
        data: The benchmark's own files, for facets that the answers do not bring.
        options: Task options, by name.
        where: Only answers to samples with these facets.
        limit: Answers per task, at most, drawn by `seed`.
        seed: Seed of `limit`.
    """
    if len(selectors) != 1:
        raise UsageError("--answers takes one benchmark at a time")
    name, task = registry.split_selector(selectors[0])
    benchmark = registry.get(name, **(options or {}))
    if not folder.exists():
        raise DataError(f"No such folder: {folder}")
    tasks = {f"{benchmark.name}/{task}" for task in benchmark.expand(selectors[0].partition("/")[2])}
    facets = _load_facets(selectors, data, options) if data else {}
    runs: list[Run] = []
    by_model = benchmark.native.read_answers(benchmark, folder)
    for model, parts in by_model.items():
        chosen = [part for part in parts if part.task in tasks or not task]
        if not chosen:
            raise DataError(f"{folder} holds no answers to {selectors[0]}")
        imported = _choose_answers([_add_facets(part, facets) for part in chosen], where, limit, seed)
        selection = Selection(benchmark, tuple(part.task for part in imported), folder)
        variant = _identify_answers(imported)
        settings = _import_settings(imported, model, "prepared", variant)
        path = Path(out or f"runs/{_slug(benchmark.name, model)}-answers-{settings.fingerprint()[:8]}")
        if out and len(by_model) > 1:
            path = path / _slug(model)
        directory = RunDir(path)
        if directory.exists() and directory.manifest().fingerprint == settings.fingerprint():
            runs.append(Run(path))
        else:
            runs.append(write_run(imported, selection, path, model, "prepared", variant))
    return runs


def _load_facets(
    selectors: Sequence[str], data: Sequence[str], options: Mapping[str, object] | None
) -> dict[str, dict[str, str]]:
    selection = registry.select(selectors, data, options)[0]
    samples = (s for task in selection.tasks for s in selection.benchmark.load(selection.root, task))
    return {sample.id: sample.facets for sample in samples}


def _add_facets(part: Imported, facets: Mapping[str, dict[str, str]]) -> Imported:
    samples = [
        msgspec.structs.replace(sample, facets={**sample.facets, **facets.get(sample.id, {})})
        for sample in part.samples
    ]
    return msgspec.structs.replace(part, samples=tuple(samples))


def _choose_answers(
    parts: Sequence[Imported], where: Sequence[str], limit: int | None, seed: int
) -> list[Imported]:
    """The answers that `where` and `limit` leave, chosen as `vivant run` chooses samples."""
    conditions = parse_where(where, [sample for part in parts for sample in part.samples])
    chosen: list[Imported] = []
    for part in parts:
        ids = [sample.id for sample in part.samples if matches(sample, conditions)]
        kept = set(ids if limit is None else sample_ids(ids, limit, seed, part.task))
        if kept:
            chosen.append(
                msgspec.structs.replace(
                    part,
                    samples=tuple(sample for sample in part.samples if sample.id in kept),
                    records=tuple(record for record in part.records if record.id in kept),
                )
            )
    if not chosen:
        raise UsageError(f"No answer is left after --where {' '.join(where) or '(none)'}")
    return chosen


def _slug(*names: str) -> str:
    return re.sub(r"[^A-Za-z0-9.+_-]+", "-", "-".join(names)).strip("-.")[:80] or "unnamed"


def export_result(run: Run, protocol: Protocol | None) -> list[Path]:
    """The original's own result file beside the log, where a benchmark has one."""
    benchmark = registry.get_by_task(run.manifest.tasks[0])
    kinds = [kind for kind in benchmark.native.exports if kind.endswith("result")]
    parts = run.scores(protocol)
    return [path for kind in kinds for path in benchmark.native.export(parts, kind, run.dir.path)]


def _identify_answers(imported: Sequence[Imported]) -> dict[str, object]:
    """What tells these answers from others to the same samples."""
    return {"answers": digest([part.records for part in imported])[:16]}


def _import_settings(
    imported: Sequence[Imported], model: str, style: str, variant: Mapping[str, object] | None
) -> RunSettings:
    return RunSettings(
        tasks=tuple(part.task for part in imported),
        model={"model": model},
        style=style,
        data={part.task: digest(part.samples)[:16] for part in imported},
        variant=variant or {},
    )


def write_run(
    imported: Sequence[Imported],
    selection: Selection,
    out: Path,
    model: str,
    style: str,
    variant: Mapping[str, object] | None = None,
) -> Run:
    """Records as a run directory that looks like any other. It appears whole or not at all."""
    _refuse_existing(out)
    RunDir(out.parent).make()
    settings = _import_settings(imported, model, style, variant)
    manifest = new_manifest(
        out.resolve(),
        model,
        settings,
        planned={part.task: len(part.samples) for part in imported},
        roots={
            part.task: str(selection.benchmark.data.media_root(selection.root).resolve()) for part in imported
        },
        origin="import",
        notes=tuple(note for part in imported for note in part.notes),
        command=command_line(),
    )
    try:
        with atomic_path(out.resolve(), keep_suffix=False) as folder:
            directory = RunDir(folder)
            directory.make()
            with LogWriter(directory.log_file) as log:
                for part in imported:
                    for record in part.records:
                        log.append(record)
            directory.create(manifest, [sample for part in imported for sample in part.samples])
    except OSError as error:
        raise RunError(f"Cannot write the run directory {out}: {error.strerror}") from error
    return Run(out)
